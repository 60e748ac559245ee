"""Ordinary English words in their base forms, which common.py knows the others of."""

from __future__ import annotations

from remanence.language.rules.lexicon import word_set

COMMON_WORDS = word_set("""
abandoned abbreviated ability able aboard abolished about above abroad absence absolute abstract abuse
academic academy accept acceptance access accessible accessories accident accidentally acclaim accommodate
accommodation accompanied accomplished accomplishment according account accountability accountable accuracy
accurate accused ace achievable achieve achievement acknowledge acoustic acquire acquisition acre across act
action actionable active activist activity actor actress actual ad adapt adaptability adaptation adaptive
add addition additional address adherents adjacent adjust adjustments administered administration
administrative administrator admission admitted adopt adoption adorable ads adult advance advancement
advantage adventure adventurous advertising advice advisor advocacy advocate aerial affairs affect affiliate
afford affordable afraid after afterlife afternoon afterwards again against age agency agenda agent
aggregate aggressive agility ago agree agreement agricultural agriculture ah aha ahead ahh ai aid aim aint
air aircraft airline airport aka album alcohol alert algebra algorithm align alignment alive all allegations
alleged alliance allies allocate allocation allow almond almost alone along alongside already alright also
alternate alternative although altitude alumni always am amateur amazing ambiance amenities among amongst
amount amusement an analysis analyst analytics analyze anarchist anchor ancient and anecdotes angle angry
animal animated animation anime ankle anniversary announced announcement annoying annual another answer
anthem anthology antique anxiety anxious any anyhow anymore anyone anything anyway anywhere apart apartment
apologize app apparent appeal appear appearance appliances applicable application applied appointed
appointment appraisal appreciate appreciation approach appropriate approval approved approx approximately
aquarium arch architect architectural architecture are area arena arent argued argument arise arm army
around arrange arrangement array arrest arrival arrive art article artifacts artificial artillery artist
artistic artwork as asap aside ask asleep asparagus aspect aspirations assassination assembly assert assess
assessment asset assign assignment assist assistance assistant associate association assume astronomy at ate
athlete athletic atmosphere atmospheric atomic attached attack attempt attend attendance attendees attention
attitude attorney attract attraction attractive attributed auction audience audio audiobook audit aunt
auntie authentic authentication authenticity author authority authorization authorized auto automate
automatic automatically automation automobile autonomous autumn availability available average aviation
avocado avoid aw await award aware awareness away awesome awkward aww awww baby back background backpack
backup backyard bacteria bad bag bagels bail bake balance balcony ball ballet ban banana band bank banker
bar barbecue barely barn barrier base baseball bash basic basically basil basin basis basket basketball bass
bassist batch bath bathroom battery battle be beach beans bear beat beaten beautiful beauty became because
become bed bedroom bedtime beef been beer before beforehand began begin beginner begun behalf behavior
behind being belief believe bell belong below belt bench beneficial benefit berries besides best bet beta
better between beyond bias bid big bigger biggest bike bill billion bin biography biological bird birth
birthday bishop bit bitte biz black blame blanket blast blend blessed blind block blog blonde blood blue
board boat body boiler bold bomb bombings bond bonjour bonus book bookshelf boost boot border bored boring
born borough boss both bottle bottlenecks bottom bought boundary bouquet bowl box boxer boy boyfriend brain
brake branch brand brave bread break breakdown breakfast breast breath breathtaking breed brick bridge brief
brigade bright brightness brilliant bring brisket bro broad broadcast broadcaster broader broccoli broke
broken bronze broth brother brought brown browser bruh brunch brush btw bubble buddy budget buffer bugs
build built bulbs bulk bullet bunch bundle burger burial buried burned burnout bus business businessman busy
but butter button buy buyers by bye cabin cabinet cable cache cafe caffeine cake calculate calculation
calculus calendar call calm cam came camera camp campaign campfire campus can cancel cancer candidate candle
candy cannot canon cant canvas canyon cap capabilities capable capacity capital captain captivating capture
car caramel carbon card cardio care career careful cargo carried carrier carrot carry cartoon case cash cast
castle casual cat catalog catch catchy categorize category cater cathedral cattle caught cause cautious
ceased ceiling celebrate celebration celebrity cell census center central centre century cereal ceremony
certain certificate certification certified chain chair chairman challenge champion championship chance
change channel chapter character characteristics characterized charge charger charity charm chart charter
chase chat cheap cheaper check checklist cheer cheese chef chemical chemistry cherry chess chest chews
chicken chief child childhood children chili chill chips chocolate choice choose chopped choreographer chose
chosen chunks church ciao cinema cinnamon circle circuit circular circulation circumstances citation cited
citizen citizenship citrus city civil civilian civilizations claim clarification clarify clarity class
classic classical classification classified classify clay clean cleaner cleanser clear clearer click client
climate climb clinical clock close closer closet closure cloth cloud cloudy club cm coach coal coalition
coast coastal coaster coat cocktail coconut code coffee coin cold collaborate collaboration collaborative
colleague collect collectibles collection collective collectors college colonial colonialism colony color
colorful colour column combat combination combine come comeback comedian comedic comedy comfort comfortable
comfy comic command commander comment commentary commentator commercial commission commit commitment
committee common commune communicate communication community commute compact companion companionship company
compare comparison compatible compelling compensation compete competition competitive competitors
compilation complement complete completion complex complexity compliance complicated component composed
composer composition compost comprehensive comprises compromise computer conceived concentration concept
concern concert concise concluded conclusion concrete condition conditional conditioner condo conduct
conductor conference confidence confident configuration configure confirm conflict confluence confused
confusion congestion congrats congratulations congregation congressional conjunction connect connection
connectivity conquer conquest cons conscious consecutive consensus consent consequences consequently
conservation conservative consider considerable consideration consisted consistency consistent consisting
consists console consolidated conspiracy constant constitution constitutional constraints constructed
construction constructive consult consultant consumer consumption contact contain container contemporary
content contest contestants context continent continue continuous contract contrast contribute contribution
control controller controversial controversy convenient convention conversation conversational conversion
convert convey convicted convinced cook cookies cool cooperation coordination coordinator cope copper copy
coral core corner coronation corporate corporation correct corresponding corruption cost costume cotton
couch could couldnt council counseling count counter country countryside county coup couple coupons courage
course court courthouse cousin cover coverage covid cow coworker cozy craft crash craving crazy cream creamy
create creation creative creativity creator creatures credentials credibility credit creek crew cricket
cricketer crime criminal crisis crispy criteria criterion critic critical criticism criticized cross crowd
crown crucial cruise crush crust crystal cucumber cuddle cuisine culinary cultural culture cup curator
curious currency current curriculum cursor curve cushioning custom customer customizable customize cut cute
cycle cyclone da dad daddy dairy damage damn dance dancer dang dangerous danke dark dash dashboard data
database dataset date datetime daughter day dead deadline deal dealers death debate debris debt debug debut
decade deceased decent decide decision deck declaration declared decline decor decoration decorative decree
dedicate dedication deep deepen deeper deer default defeat defence defender defending defense defensive
define definetly definitely definition degree delay delegate delegation deleted delicate delicious
delightful deliver delivery demand demo democracy democratic demographic demolished demonstrate denied dense
departed department departure dependencies dependent depending depends depicted depicts deploy deployment
deposits depression depth deputy derived descent describe description descriptive desert design designated
designation designer desire desk despite dessert destination destroyed destroyer detail detect detection
determination determine develop developer development device devoted diagnosis diagrams dialogue diameter
diamond dice did didnt die diet dietary differ difference different difficult difficulty digital dill dining
dinner diocese diplomatic direct direction director directorial directory dirt dirty disappointing disaster
disbanded discipline discography discomfort discount discouraged discover discovery discrimination discuss
discussion disease dish dismissed display dispute dissolved distance distant distinct distinction
distinctive distractions distribute distribution district dive diverse diversity divide division divorce diy
dm do doctor document documentary documentation does doesnt dog doggy doing dollar domain domestic dominant
dominated donate donation done dont door double doubt dough down download downtown dozen draft dragon drama
dramatic draw drawn dream dress drew dried drills drink drive driven driver drop drove drug drum drummer dry
dual ducks dude due duet dumb dunno duo durability durable duration during dust duty dying dynamic dynasty
each eager ear earlier earliest earn earth ease easier east eastern easy eat eaten ecclesiastical economic
economist economy ecosystem edge edit edition editor editorial educated education educational educator
effect effective effectiveness efficiency efficient effort eg egg eh eight eighth either elaborate elder
eldest elected election electoral electric electrical electricity electronic elegant element elementary
elevate elevation eleven eligible eliminated else elsewhere em email embeddings emerged emergency emerging
emissions emotional emotions empathy emperor emphasis emphasize empire employed employee employer employment
empty enable encounter encourage encouragement encryption end endemic endless endurance enemy energized
energy enforce enforcement engage engagement engine engineer enhance enjoy enjoyable enjoyment enough
enrolled ensemble ensure enter entertaining entertainment enthusiasm enthusiasts entire entitled entity
entrance entrepreneur entrepreneurship entry environment environmental epic episode eponymous equal equality
equipment equipped equity equivalent er era erected err errands error escape especially essay essence
essential establish establishment estate estimate etc ethical ethics ethnic euro evaluate evaluation eve
even event eventual ever every everyday everyone everything everywhere evidence evil evolution evolved exact
exam example exceed excellence excellent except exception exceptional excess excessive exchange excited
excitement exciting exclusive execute execution executive exercise exhibit exhibition exile exist existence
exit expand expansion expect expectations expedition expense expensive experience experiment experimental
expert expertise explain explanation exploration explore export exposed exposure express expression
expressive extend extension extensive extent exterior external extinct extra extract extreme eye fabric
facade face facilitate facility fact factor factory faculty fail failure fair fairness faith fake fall false
fam fame familiar family famous fan fantastic fantasy faq far farm farmer fascinating fashion fast faster
fastest fat father fatigue fave favor favorable favorite favour fear feat feature federal fee feedback feel
feet fell fellow felt female fence fermentation festival festive fetch few fewer fiber fiction fictional
field fifteen fifth fight fighter figure file fill film filmmaker filter final finale finalist finalize
finance financial find fine finger finish fire firm first fiscal fish fit fitness five fix flag flagship
flakes flash flask flat flavor flavorful fleet flew flexibility flexible flight flip floating flood floor
flour flow flower fluffy fluid fly focal focus folk follow followers fond font food foot footage football
footballer footprint for force ford forecast foreign forest forever forget forgot form formal format
formation former formula forth fortunately forty forums forward foster fought found foundation founder four
fourth frame framework franchise frankly free freedom freelance freeze freight freighter frequency frequent
fresh freshman friday fridge fried friend friendship fries frisbee from front frozen fruit fruity frustrated
frustrating ft fuck fuel fulfilling fulfillment full fully fun function functional functionality fund
fundamental fundraising funeral funny fur furniture furry further furthermore future fwd fyi gain gallery
gals game gameplay gap garage garden garlic garnered gas gateway gather gauge gave gay gear geez gems gender
general generate generation genre gentle gently genuine genus geographical geometric geometry get getaway
giant gift gin ginger girl girlfriend give given glad glass global globe glory gloves go goal goat goes
going gold golden golf gone gonna good goodbye goodnight gorgeous gosh gospel got gotcha gotta gotten
gourmet governed governing government governor grab grace gracias grade gradually graduate graduation grains
grammar grand grandfather grandma grandmother grandpa grandparents grandson granny grant graphic grass
grassy grateful gray great greater greatest green greenery grew grey grid grill grip grocery grooming gross
ground group grow grown growth guard guardians guess guest guidance guide guidelines guilty guitar guitarist
gun guten guy gym ha habit habitat had haha hahah hahaha hair half hall hallo hand handbag handle handmade
hang happen happiness happy hard harder hardware harmonica harsh has hashing hashtags hasnt hat hate have
havent he head headers headquartered headquarters healing health healthcare healthier healthy hear heard
heart heartwarming heat heavier heavy heck hectic height heir held hell hello helmet help helpful hence her
herbs here heritage hero herself hes hesitate hey hi hidden hiding high higher highest highlight highway
hike hilarious hill him himself hint hip hire his historian historic historical history hit hiya hm hmm hmmm
hobby hockey hola hold holder hole holiday home homeless homemade hometown honest honey honor honorary
honour hook hooray hop hope hopeful horror horse hospital host hot hotel hour house household how howdy
however hub huge huh human humidity hummus humor humorous hundred hung hungry hunt hurricane hurt husband
husky hustle hybrid hydrated hydration hypotenuse hypothetical ice icon iconic id idea ideal identical
identification identified identify identity ideology idk ie if ikr ill illegal illness illustrate im image
imagine imho immediate immersive immigrants immigration immune imo impact impactful imperial imperialism
implement implementation implications import importance important impossible impostor impress impression
impressionist impressive improve improvement in inaugural inception inches incident include inclusion
inclusive inclusivity income incorporate increase incredible incredibly incumbent indeed independence
independent index indicate indicator indie indigenous individual indoor inducted industrial industry
inequality infantry inflation influence influencers influential info inform informal information informative
infrastructure ingredient inhabitants inherited initial initiated initiative injured injury inner innovation
innovative input insane inside insight inspect inspiration inspire install installation installment instance
instead institution instruction instructor instrument instrumental insurance intake integrate integration
integrity intellectual intelligence intended intense intensity intent intention interact interaction
interactive interest interface interim interior intermediate internal international internet internship
interpretation intersection interval intervention interview interviewers intimate into intricate intrigued
intriguing introduce introduction invaded invalid invaluable invasion inventory invest investigation
investment investors invitation invite involve involvement iron is island isnt isolated issue it item
itinerary its itself ive jacket jam jar javascript jazz jeans jeez jerseys jest jet jewelry job jog join
joint joke journal journalism journalist journey joy judge judgment juice jump junction junior jurisdiction
just justice justify kayaking keen keep kept key keyboard keywords kg kick kid kill killer kilometres kimchi
kind kinda kindness king kingdom kit kitchen kk km knee knew knife know knowledge known label labor labour
lack laid lake lamp land landmark landscape language lap laptop large larger largest lasagna last late later
latest latter laughing launch laundry lava lavender law lawyer lay layer layout lazy lead leader leadership
league leaning learn lease leash least leather leave lecture led left leftover leg legacy legal legendary
legislation legislative legislature legitimate lemme lemon length lens less lesson let letter lettuce level
leverage li liberal library libretto license lie life lifestyle lifetime lift light lighter lightweight like
lime limit limitations line lineup link liquid list listen listener lit literacy literally literary
literature litter little live lmao load loan local located location lock locomotive log logic logistics logo
lol long longer longest longtime look loop loose lose loss lost lot loud lounge love low lower lowest loyal
loyalty luck lucky luggage lunch lung lush luxury lying lyrics ma'am machine mad madam made magazine magic
magical magnet main mainland mainstream maintain maintenance major majority make maker makeup male mall mama
man manage manageable management manager manga manner manual manufactured manufacturer manufacturing
manuscript many map marathon margin marine maritime mark market marriage married martial marvel mask mass
massage massive master mat match mate material maternal math mathematical mathematician mathematics matter
maximize maximum may maybe mayor me meal mean meaningful meant meanwhile measurable measure measurements
meat mechanic mechanical mechanism medal media median medical medication medicine medieval meditation medium
meds meet meh member membership memoir memorable memorial memory men mental mention mentor mentorship menu
merchandise merchant merci merged merger mess message met meta metal meters method metres metric
metropolitan mid middle midfielder might migration mild mile milestone military milk mill million mind
mindful mindfulness mindset mine minimal minimize minimum minister ministry minor minority mint minute
mirror miss mission mistake mitigate mitigation mix mixer mixture mm mmm mobile mock mode model moderate
modern modified modify module moisture mom moment momentum mommy monarch monarchy monday monetary money
monitor monster month monument mood moon moral morale more moreover morning mortality mortgage most mother
motion motivate motivation motor mount mountain mouse mouth move movement movie mph mr mrs ms much multiple
mum municipal municipality mural murder muscle museum mushrooms music musical musician must mustard mutual
my myself mystery mythology nah nail name nana narrated narration narrative narrator narrow nation national
nationwide native natural nature naval navigate navigation navy near nearby nearest necessary neck necklace
need negative negotiate negotiations neighbor neighborhood neither neon nephew nervous net network neural
neutral never nevertheless new newer newspaper next nice niche nickname niece night nine ninth no noise
nominated nomination nominee none nonetheless noodles nope nor normal north northeast northeastern northern
northwest nose not notable notably note notebook notepad nothing notice notifications novel novelist now
nowhere np nuclear null number numerous nutrients nutrition nutritional nutritious nuts oatmeal oats object
objective observations observe obsessed obstacles obtain obviously occasion occasional occupation occupied
occur ocean odd of off offense offensive offer office officer official offset often oh oil ok okay old older
oldest olive omg on onboarding once one ongoing onion online only onto onwards ooh oops open opener opera
operate operation operational opinion opponent opportunity opposed opposing opposite opposition optimal
optimization optimize option optional or orange orchestra order organ organic organisation organised
organization organizational organize organizer origin original originated other otherwise our ourselves out
outcome outdoor outer outfit outlet outline output outreach outside outstanding oven over overall overcome
overhaul overlooking overnight overseas oversight overtime overview overwhelmed overwhelming own owner
ownership oz pace pack package pad page pageant paid pain paint painter pair pal palace palette pan panda
pandemic panel pants papa paper parade paradise paradox paragraph parallel parameters parent parish park
parliament parliamentary parody parrot parsley part partial participants participate participation
particular partner partnership party pass passage passenger passion passionate passive passport password
past pasta paste pastry path patience patient patrol pattern paved pay payment peace peaceful peacefulness
peak peanut pedals pedestrian peer pellets pen penalty pendant peninsula people pepper per perceived percent
percentage perfect perfection perform performance performer perhaps period periodically permanent permission
permutations perseverance person personal personality personalized personnel perspective pests pet phase
phew philosophy phone photo photographer photographs photography phrase physical physicist physics pianist
piano pic pick picnic picture pie piece pillow pilot pineapple pink pioneer pip pipeline pitch pitcher
pivotal pizza place plague plain plan plane planet planner plant plantation plastic plate platform platinum
play playback player playful playlist playoff playwright please plenty plot plus pm pocket podcast podium
poem poet poetry point pokemon polar pole police policy polished political politician politics poll
pollution pond pool poor pop popcorn popular popularity populated population populous pork port portable
portfolio portion portrait portrayal portrayed portrays pose position positive positivity possibility
possible possibly post postcode poster pot potato potential pottery pound pov poverty powder power powerful
pp pps practical practice praised prayer preceded precise precision predators predecessor predominantly
prefer preference premier premiere premium prep preparation prepare presence present presentation presenter
preservation preserve presidency president presidential press pressure prestigious pretend pretty prevalent
prevent prevention previous price pride priest primary prime prince principal principle print printmaking
prior prioritize priority prison prisoners privacy private prize pro proactive probability probably problem
procedure proceed process proclaimed produce producer product production productive productivity prof
professional professor profile profit profound program programme progress progressive project prolific
prominence prominent promise promote promotion promotional prompt prone pronounced proof proper property
proposal propose protagonist protect protection protein protest protocols proud prove proven provide
provider province provincial ps psychological psychology public publication publish publisher pull pumped
punk pup puppy purchase purple purpose pursue pursuit push put puzzle python qualifications qualified
qualify quality quantity quarter quarterback queen query quest question quick quiet quinoa quit quite quiz
quota quote race racist rack racket radiation radio rail railroad railway rain rainbow rainforest raise
ramen ran random range rank rap rapid rapper rare rate rather ratio ravioli raw ray re reach react reaction
read readability reader readiness ready real realistic reality realize realm reason reasonable rebellion
rebuilt recall receipts receive recent reception recharge recipe recipient recognised recognition recognize
recommend recommendation record recover recovery recreational recruitment recurring recycled red redirect
reduce reduction reefs refer reference referendum refine reflect reflection reform refresh refrigerator
refuge refused regard regardless regime regiment region regional register registration regular regulate
regulations reign reinforce reinforcement rejected relatable relate relation relationship relative relax
relaxation release relegated relegation relevant reliable relief religion religious relocated rely remain
remainder remake remarkable remember remind reminder reminiscent remote removal remove renamed renewable
renewed renovated renovation renowned rent rental repair repeat replace replacement report reporter
repository represent representation representative reps republic reputable reputation request require
requirements research researchers reservation reserve reset residence resident residential resignation
resigned resilience resilient resist resistance resolution resolve resonate resort resource respect
respectful respective respond response responsibility responsible responsive rest restaurant restoration
restore restrictions result resume retail retailers retain retention retire retirement retreat return
reunion reusable revealed revenue review revise revision revival revolution revolutionary reward rewrite
rhythm ribs rice rich rid ride right ring rise risk rival rivalry river road roast robot robotics robust
rock rocky role roll roller romance romantic roof rooftop rookie room roommate root rose rough round route
routine row royal rt rug rugby ruins rule ruler run runner rural rush sacked sad safe safety said sailing
salad salary sale salmon salsa salt salutation same sample sand sandwich sang sat satellite satire
satisfaction satisfying saturday sauce save savory saw saxophone say scale scandal scare scary scenario
scene scenery scenic schedule schema scheme scholar scholarship school science scientific scientist scope
score scorer scratch screen screenplay screenshot screenwriter script sculpting sculpture sea seafood search
season seasonal seat second secondary secret secretary section sector secular secure security see seek seem
seen segment segmentation select selection self sell seller semester seminar send senior sense sensitive
sent sentence sentiment separate separation sequel sequence serene serial series serious serve server
service session set setbacks settled settlement settlers settling setup seven seventh several severe sex
sexual shadow shake shall shame shampoo shape share shareholder sharp she sheesh sheet shelf shell shelter
shelves shift shine ship shirt shit shoe shoot shop shore short shortened shorter shot should shoulder
shouldnt show showcase shower shown shrimp shut siblings sick side sidewalk siege sight sign signal
signature significance significant silent silver similar similarity simple simpler simplicity simply
simulate simultaneously sin since singer singing single sir sis sister sit sitcom site situated situation
six sixteen sixth size skating sketch skiing skill skin skincare sky skyline slave sleep slept slice slide
slight slope slot slow slower small smaller smallest smart smell smh smile smoke smooth smoother smoothie
snack snake snap sneakers snorkeling snow snowy so soak soap soccer social socialist society socks soda soft
software soil solar sold soldier sole solid solo solution solve some someday someone something sometime
somewhat somewhere son song songwriter soon sooner soothing sore sorry sort sorta sought soul sound
soundtrack soup sour source sourdough south southeast southeastern southern southwest southwestern sovereign
soy spa space span spare spark speak speaker special specialist specialize species specific specifically
specified specify speech speed spell spend spent spice spicy spider spin spinach spirit spiritual splash
split spoke spoken sponsor sponsorship spoon sport spot spouse spray spread spreadsheet spring sq squad
squadron square stability stable stack stadium staff stage stained stake stakeholders stand standard
standout star start starter startup state statement station statistical statistics statue status stay steady
steam steel steep stem step stick sticky still stir stock stoked stomach stone stood stop storage store
storm story storyline storytelling straight straightforward strain strange stranger strategic strategy straw
strawberry streak stream streamline street strength strengthen stress stressful stretch strict strike
striker string strip stroll strong stronger strongest struck structural structure struggle stuck student
studied studio study stuff stunning sturdy style stylish subject submarine submission submit subscription
subsequent subsidiary substantial substitute subtle suburb suburban subway succeed success successful
succession successive successor such suck sudden suffered suffering sufficient sugar sugary suggest
suggestion suicide suit suitable sum summarize summary summer summit sun sunday sung sunk sunlight sunny
sunscreen sunset sunshine super superhero superior supernatural supervision supplement supply support
supporter supportive supposed sure surface surfboard surprise surrounded surrounding survey survive sushi
suspended suspension suspicious sustainability sustainable sustained sweater sweet sweetness swelling swim
swing switch sword symbol symptoms syndicated syrup system table tackle tactics tag tailor tails take
takeaways taken tale talent talk tall tallest tangy tank target tart task taste tasty tattoo taught tax tbh
tea teach teacher team teammate teamwork teaspoon tech technical technique technological technology teen
teenage teeth television tell temperature template temple temporary ten tend tender tennis tension tenth
tenure term terrain terrible territorial territory test text textbook texture than thank thankful that the
theater theatre theatrical their them theme themselves then theorem theoretical theory therapeutic therapist
therapy there thereafter thereby therefore these thesis they theyre thick thin think third thirteen this tho
thorough those though thought thoughtful thousand thread threat threatened three threshold threw thrill
thriller thrive throne through throughout throw thrown thumb thursday thus thx ticket tie tier tight till
timbers time timeless timeline timeout timer timestamp tiny tip tire title tldr to toast today toes tofu
together toilet token told tomato tomorrow ton tone tonight too took tool top topic toppings toss total
touch tough tour tourism tourist tournament toward tower town toy track tracker trade tradition traditional
traffic trail trailer train trainer traits tranquil tranquility trans transaction transfer transform
transgender transit transition translate translation translator transmission transparency transparent
transport transportation trash travel travelers treasure treat treatment treaty tree trend trendy trial
triangle triangular triathlon tribal tribe tributary tribute trick tricky tried trillion trilogy trip tripod
troops trophy tropical trouble truck true truly trust truth try tuesday tune turbines turkey turn tutorial
tv tweets twelve twenty twice twin twist two ty type typical ugh uh ukulele ultimately um umbrella unable
unbiased uncle unclear uncredited und undefeated under undergraduate underground understand understandable
understood unemployment unexpected unforgettable unfortunately unified uniform unincorporated union unique
unit unity universal universe university unknown unless unlike unlucky unnecessary unprecedented
unpredictable unsuccessful unsure until unusual unwind up upbeat upcoming update upgrade upon upper uprising
ups upset uranium urban urgent us usage use useful user username usual utility vacation valid validation
valley valuable value vanilla variable variations varied variety various vary vase vast vegan vegetable
vegetarian veggie vehicle vendor venture venue verify versatile version versus vertical very vessel vet
veteran via vibe vibrant vice victims victory video view viewer viewership village vinegar vintage vinyl
violation violence virtual virus visa visibility visible vision visit visitors visual visualization
visualize vital vitamin vivid vocal vocalist voice volleyball volume volunteer vote voters vs wait wake walk
wall wanna want war warfare warm warmth wartime was wash wasnt waste watch water watercolor waterfall
waterproof watershed wave way we weak weaknesses wealth wealthy weapons wear weather web webinar website
wedding wednesday week weekdays weekend weigh weight weird welcome welfare well wellness went were werent
west western wet what whatever wheat wheel when whenever where whereas whether which while white who whoa
whole whom whoops whose why wide wider widespread widow width wife wild wildlife will willingness win wind
window windy wine wing winner winter wireless wise wish with withdrawn withdrew within without witness woah
woke woman women won wonder wonderful wont woo wood wooden woohoo word wore work worker workflow workforce
workload workout workplace workshop workspace world worldwide worn worried worry worse worship worst worth
would wouldnt wow wrap wrestler wrestling write writer written wrong wrote y'all ya yacht yall yard yarn yay
yea yeah year yeast yellow yep yes yesterday yet yikes yo yoga yogurt you young younger youngest your youre
yourself youth yummy yup zone
""")
