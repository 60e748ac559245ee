"""What is known of names and words before reading. In small letters, unless the capitals are the evidence."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as text."""
    return frozenset(text.split())


def phrase_set(text: str) -> frozenset[str]:
    """The phrases of a list written as text, between commas."""
    return frozenset(phrase.strip() for phrase in text.replace("\n", " ").split(",") if phrase.strip())


FIRST_NAMES = word_set("""
aaron abby abdul abigail ada adam adrian agnes ahmed aidan aisha akira alan albert alberto alejandro alex
alexa alexander alexandra alexis alfred ali alice alicia alina allison alvin amanda amber amelia amir amit
amy ana anders andre andrea andreas andrew andy angela angelica angelina anil anita anja ann anna anne annie
anthony anton antonio april archie ariana arjun arnold arthur asha ashley astrid audrey austin ava ayesha
barbara barry beatrice becky ben benjamin bernard bernie beth betty bianca bill billy blake bob bobby bonnie
brad bradley brandon brenda brendan brent brett brian brianna bridget brittany bruce bruno bryan caitlin
caleb calvin cameron camila carl carla carlos carmen carol carolina caroline carolyn carrie casey cassandra
catherine cathy cecilia charles charlie charlotte chen cheryl chloe chris christian christina christine
christopher cindy claire clara claudia clayton clifford colin connie connor corey courtney craig cristina
crystal curtis cynthia daisy dale dan dana daniel daniela danielle danny daphne darren dave david dawn dean
deborah debra denis denise dennis derek diana diane diego dmitri dolores dominic don donald donna doris
dorothy doug douglas duncan dustin dylan earl eddie edgar edith eduardo edward edwin eileen elaine eleanor
elena eli elijah elisa elisabeth elise elizabeth ella ellen ellie elliot elsa emil emily emma eric erica
erik erika erin ernest esther ethan eugene eva evan eve evelyn faith farah fatima felipe felix fernando
fiona florence frances francesca francis francisco frank franz fred frederick gabriel gabriela gary gavin
gemma gene george georgia gerald gerard gina giovanni giulia gloria gordon grace graham grant greg gregory
greta guillermo gustavo gwen hana hannah hans harold harper harriet harry harvey hassan hazel heather hector
heidi helen helena helga henry herbert hiroshi holly hope howard hugh hugo ian ibrahim ida igor ines ingrid
irene iris irina isaac isabel isabella isaiah ivan ivy jack jackie jackson jacob jacqueline jaime jake james
jamie jan jane janet janice jared jasmine jason javier jay jean jeff jeffrey jenna jennifer jenny jeremy
jerome jerry jesse jessica jessie jesus jill jim jimmy jin jo joan joanna joanne joe joel johan johanna john
johnny jolene jon jonas jonathan jordan jorge jose josef joseph josephine josh joshua joy joyce juan juanita
judith judy julia julian juliana julie juliet julio june jun jurgen justin kai karen karim karin karl kate
katherine kathleen kathryn kathy katie katrina kay kayla keith kelly kelsey ken kenji kenneth kevin khalid
kim kimberly klaus kristen kristin kristina kumar kurt kyle lana larry lars laura lauren lawrence leah lee
leila lena leo leon leonard leslie levi lewis liam lily lin linda lindsay lindsey lisa liz logan lola
lorenzo loretta lori louis louisa louise luca lucas lucia lucy luis luka luke luna lydia lynn mackenzie
madison maggie malcolm manuel marc marcel marcia marco marcos marcus margaret maria marie marina mario
marion marisa mark marta martha martin marvin mary mason mateo mathew matt matteo matthew maureen max maya
megan mei melanie melinda melissa mia michael michel michelle miguel mike mikhail mila miles milo mira
miranda miriam mitchell mohamed mohammad mohammed moira molly mona monica muhammad mustafa myra nadia nancy
naomi natalia natalie natasha nate nathan nathaniel neil nicholas nick nicola nicolas nicole nikita nikolai
nina noah noel nora norman nuno olaf olga oliver olivia omar oscar otto owen pablo paige pam pamela paola
pat patricia patrick paul paula pauline pavel pedro peggy penelope penny pete peter petra phil philip
philippe phillip phoebe pierre pilar priya rachel rafael raj rajesh ralph ramon randy raquel rashid raul
ravi ray raymond rebecca regina reginald renee ricardo richard rick rita rob robert roberta roberto robin
rodney rodrigo roger roland roman ron ronald rosa rosalind rose rosemary ross roxanne roy ruben ruby russell
ruth ryan sabrina sally sam samantha samir samuel sandra sandy sanjay santiago sara sarah sasha savannah
scott sean sebastian serena sergei sergio seth shane shannon sharon shaun sheila shelly sherry shirley sibyl
sidney silvia simon simone sofia sonia sophia sophie spencer stacey stacy stan stanley stefan stella
stephanie stephen steve steven stuart sue summer susan suzanne svetlana sven sylvia tamara tanya tara taylor
ted teresa terry thelma theo theodore theresa thomas tiffany tim timothy tina todd tom tommy tony tracy
travis trevor tristan tyler uma ursula valentina valerie vanessa vera veronica vicky victor victoria vikram
vincent viola violet virginia vivian vladimir walter wanda warren wayne wendy wesley will willem william
willow winston xavier yan yasmin yolanda yuki yusuf yvonne zach zachary zara zoe
""")

PLACES = phrase_set("""
afghanistan, albania, algeria, andorra, angola, argentina, armenia, australia, austria, azerbaijan, bahrain,
bangladesh, barbados, belarus, belgium, belize, benin, bhutan, bolivia, bosnia, botswana, brazil, brunei,
bulgaria, burundi, cambodia, cameroon, canada, chad, chile, china, colombia, congo, costa rica, croatia,
cuba, cyprus, czech republic, czechia, denmark, dominican republic, ecuador, egypt, el salvador, england,
eritrea, estonia, ethiopia, fiji, finland, france, gabon, gambia, germany, ghana, great britain, greece,
greenland, guatemala, guinea, guyana, haiti, honduras, hong kong, hungary, iceland, india, indonesia, iran,
iraq, ireland, israel, italy, jamaica, japan, jordan, kazakhstan, kenya, kosovo, kuwait, laos, latvia,
lebanon, liberia, libya, lithuania, luxembourg, madagascar, malawi, malaysia, maldives, mali, malta,
mauritius, mexico, moldova, monaco, mongolia, montenegro, morocco, mozambique, myanmar, namibia, nepal,
netherlands, new zealand, nicaragua, niger, nigeria, north korea, northern ireland, norway, oman, pakistan,
palestine, panama, papua new guinea, paraguay, peru, philippines, poland, portugal, puerto rico, qatar,
romania, russia, rwanda, saudi arabia, scotland, senegal, serbia, sierra leone, singapore, slovakia,
slovenia, somalia, south africa, south korea, soviet union, spain, sri lanka, sudan, sweden, switzerland,
syria, taiwan, tanzania, thailand, tibet, tunisia, turkey, uganda, ukraine, united arab emirates, united
kingdom, united states, united states of america, uruguay, uzbekistan, venezuela, vietnam, wales, yemen,
zambia, zimbabwe, africa, antarctica, asia, europe, america, north america, south america, middle east,
scandinavia, alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida,
hawaii, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts,
michigan, minnesota, mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey, new
mexico, new york, north carolina, north dakota, ohio, oklahoma, oregon, pennsylvania, rhode island, south
carolina, south dakota, tennessee, texas, utah, vermont, west virginia, wisconsin, wyoming, ontario, quebec,
british columbia, alberta, bavaria, catalonia, tuscany, sicily, brittany, normandy, andalusia, abu dhabi,
accra, addis ababa, amsterdam, ankara, antwerp, athens, atlanta, auckland, baghdad, bali, baltimore,
bangalore, bangkok, barcelona, basel, beijing, beirut, belfast, belgrade, berlin, bern, bogota, bogotá,
bologna, bombay, bordeaux, boston, bratislava, brisbane, bristol, brooklyn, brussels, bucharest, budapest,
buenos aires, buffalo, cairo, calgary, cambridge, cape town, caracas, cardiff, casablanca, chennai, chicago,
cincinnati, cleveland, cologne, copenhagen, dallas, damascus, delhi, denver, detroit, dhaka, doha, dubai,
dublin, durban, düsseldorf, edinburgh, florence, frankfurt, geneva, genoa, glasgow, gothenburg, hamburg,
hanoi, havana, helsinki, ho chi minh city, hollywood, honolulu, houston, istanbul, jakarta, jerusalem,
johannesburg, kabul, karachi, kathmandu, kiev, kyiv, kolkata, krakow, kuala lumpur, kyoto, lagos, lahore,
las vegas, leeds, leipzig, lima, lisbon, liverpool, ljubljana, london, los angeles, lyon, madrid,
manchester, manhattan, manila, marseille, melbourne, memphis, mexico city, miami, milan, milwaukee,
minneapolis, minsk, montevideo, montreal, montréal, moscow, mumbai, munich, münchen, nairobi, naples,
nashville, new delhi, new orleans, new york city, nice, oakland, osaka, oslo, ottawa, oxford, palermo,
paris, perth, philadelphia, phoenix, pittsburgh, portland, porto, prague, pretoria, quito, reykjavik, riga,
rio de janeiro, rome, rotterdam, sacramento, saigon, salt lake city, san diego, san francisco, san josé, san
jose, santiago, sapporo, sarajevo, seattle, seoul, seville, shanghai, sofia, stockholm, stuttgart, sydney,
taipei, tallinn, tampa, tashkent, tbilisi, tehran, tel aviv, tokyo, toronto, toulouse, tunis, turin,
utrecht, valencia, vancouver, venice, vienna, vilnius, warsaw, washington, washington d.c., wellington,
yokohama, zagreb, zurich, zürich, alps, andes, himalayas, rockies, grand canyon, silicon valley, wall
street, times square, central park, golden gate bridge, georgia, virginia, austin, charlotte, madison,
savannah, victoria, orlando, tirana, south wales, new south wales, broadway
""")

PLACE_ACRONYMS = word_set("""
US USA UK UAE EU UN NYC LA SF DC U.S U.S.A U.K D.C L.A U.S. U.S.A. U.K. D.C. L.A.
""")

ORGANIZATIONS = phrase_set("""
apple, amazon, google, microsoft, facebook, meta, netflix, twitter, tesla, nvidia, intel, ibm, oracle,
samsung, sony, nintendo, toyota, honda, ford, bmw, nike, adidas, starbucks, walmart, target, costco, ikea,
uber, lyft, airbnb, spotify, youtube, instagram, tiktok, linkedin, reddit, snapchat, whatsapp, paypal, ebay,
disney, pixar, marvel, hbo, hulu, cnn, bbc, nba, nfl, mlb, nhl, fifa, nasa, fbi, cia, nato, unicef, mit,
harvard, stanford, yale, princeton, oxfam, red cross, congress, senate, openai, anthropic, deepmind, github,
adobe, etsy, fedex, ups, dhl, visa, mastercard, pepsi, nestle, nestlé, unilever, siemens, bosch, volkswagen,
mercedes, boeing, airbus, home depot, best buy, whole foods, white house, united nations, european union,
trader joe's, mcdonald's, wendy's, domino's, levi's, macy's, kohl's, sotheby's, christie's, lay's, reese's,
denny's, arby's, carl's jr, kellogg's, hershey's, moody's, lloyd's, sainsbury's, ben & jerry's, papa john's,
chili's, applebee's, lowe's
""")

PRODUCTS = phrase_set("""
iphone, ipad, imac, macbook, ipod, airpods, android, windows, linux, macos, ios, ubuntu, excel, powerpoint,
photoshop, playstation, xbox, kindle, siri, chatgpt, gpt, wikipedia, zoom, slack, discord, gmail, outlook,
chrome, firefox, python, javascript, java, rust, docker, kubernetes, postgresql, sqlite, minecraft,
fortnite, tetris, lego, coca-cola, prius
""")

ORGANIZATION_WORDS = word_set("""
inc llc ltd gmbh corp corporation co plc ag sa company group university college institute school academy
hospital clinic bank foundation association society council ministry department agency committee commission
union club church orchestra museum library press airlines airways motors records studios pictures
entertainment technologies systems labs laboratories solutions partners holdings industries party league
team band times post journal court army navy police fc services school schools theatre theater festival
""")

PLACE_WORDS = word_set("""
city town county province state street avenue road boulevard lane square plaza park garden gardens lake
river creek bay beach coast island islands mountain mountains hills valley canyon desert forest peninsula
bridge airport station village district republic kingdom ocean sea falls springs castle palace cathedral
stadium mall restaurant cafe café hotel
""")

HONORIFICS = word_set("""
mr mrs ms miss mx dr prof professor sir dame lord lady captain president king queen prince princess judge
senator governor pope saint st rev father sister brother aunt uncle
""")

CALENDAR_WORDS = word_set("""
monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
saturdays sundays mon tue tues wed thu thur thurs fri sat sun january february march april may june july
august september october november december jan feb mar apr jun jul aug sep sept oct nov dec christmas easter
halloween thanksgiving hanukkah ramadan diwali spring summer autumn fall winter
""")

PROPER_ADJECTIVES = word_set("""
american african afro-american asian european british english scottish welsh irish french german italian
spanish portuguese dutch belgian swiss austrian swedish norwegian danish finnish icelandic polish czech
slovak hungarian romanian bulgarian greek turkish russian ukrainian serbian croatian slovenian albanian
bosnian lithuanian latvian estonian israeli palestinian lebanese syrian jordanian iraqi iranian persian arab
arabic saudi egyptian moroccan tunisian algerian libyan nigerian ghanaian kenyan ethiopian somali indian
pakistani bangladeshi nepali nepalese tibetan chinese japanese korean vietnamese thai filipino indonesian
malaysian singaporean taiwanese mongolian australian canadian mexican cuban brazilian argentine argentinian
chilean peruvian colombian venezuelan bolivian jamaican haitian caribbean latin latino latina hispanic
mediterranean scandinavian nordic slavic celtic roman hebrew jewish christian christianity catholic
protestant muslim islamic islam hindu hinduism buddhist buddhism jew jews christians catholics muslims
mandarin cantonese hindi urdu bengali tamil swahili latin soviet byzantine victorian californian texan
parisian californians americans germans italians greeks romans russians europeans asians africans indians
mexicans canadians australians
""")

NON_NAME_ACRONYMS = word_set("""
OK TV LOL OMG BTW IMO IMHO FYI IDK TBH LMAO ROFL WTF SMH NP TY THX RT DM DIY FAQ ASAP RSVP AM PM AC DC BC AD
BCE CE PS PPS VS ETC EG IE ID PC CD DVD GPS HIV DNA RNA CEO CFO CTO COO VP PR HR IT UI UX QA PHD MBA BA MA
BS MD DJ MC MVP GOAT POV NSFW TLDR ATM SUV LED LCD USB PDF HTML CSS URL API SQL JSON XML HTTP HTTPS RAM CPU
GPU SEO ROI KPI SUM B2B B2C AI ML VR AR TBD TBA EST PST GMT UTC CET EDT PDT XX XXX XD II III IV VI VII VIII
IX XI XII LP EP FM UV BBQ SMS AKA RIP MRI IQ ER ICU GPA SAT PTO WFH FOMO YOLO BFF LGBT LGBTQ LGBTQIA RPG CGI
MMA CS PT GDP FPS MMO NPC STEM NGO PCR BMI HIIT PTSD ADHD OCD CPR IVF XL XS ABC NO YES SO DIYS
""")

MONTH_PATTERN = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
)

GREETINGS = word_set("""
hey hi hello dear thanks congrats congratulations bye welcome sorry ok okay wow oh
""")

VERBS_AFTER_NAMES = word_set("""
is was has had does did will would can could said says told asks asked lives lived works worked went goes
got gets loves loved likes liked hates hated prefers wants wanted thinks thought knows knew moved plays
played owns owned bought made makes came comes took takes gave gives met visited started joined left became
wrote runs ran studied studies enjoys enjoyed needs needed called founded married died won builds built sells
sold designs designed produces produced develops developed hires hired launches launched announces announced
releases released opens opened leads led manages managed teaches taught writes paints painted cooks cooked
grew grows speaks spoke drives drove drinks eats ate bakes baked collects collected sings sang
""")

VERBS_OF_PEOPLE = VERBS_AFTER_NAMES - word_set("""
is was has had does did will would can could made makes won builds built sells sold designs designed produces
produced develops developed hires hired launches launched announces announced releases released opens opened
grew grows
""")

# a capital after one of these is evidence, even at the start of a sentence
FUNCTION_WORDS = word_set("""
who whom whose what when where which why how is are was were am be do does did has have had will would can
could should shall may might must and but or so if then because since while although though after before
until as at by for from in into of off on onto out over to under up with without about against between
during than besides like unlike both only even just also not no yes yeah well maybe perhaps let tell ask he
she it they we you i this that these those there here call meet see met saw visit near inside outside
through via per
""")

# before an "I" that is a number
WORDS_BEFORE_NUMERAL = word_set("""
war part phase type class act volume chapter elizabeth james charles henry francis
""")

# without a capital in a title
LOWERCASE_TITLE_WORDS = word_set("""
a an and as at but by de for from in into is la le of on or the to vs with
""")

NAME_SUFFIXES = word_set("""
jr sr inc llc ltd corp co gmbh phd md esq
""")

DETERMINERS = word_set("""
the a an this that my our your his her their its
""")

# small words inside a name
NAME_PARTICLES = phrase_set("""
of the, of, the, de la, de los, de, del, della, da, di, dos, du, van der, van den, van de, van, von, der, den,
ten, bin, ibn, al, el, la, le, y, &
""")

# how words end that are rarely names
NON_NAME_ENDINGS = tuple(sorted(word_set("s ing ness tion ity ment hood ism ship ly ed ance ence ology")))
