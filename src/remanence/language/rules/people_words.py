"""What people are to each other, what they do and have. In small letters."""

from __future__ import annotations

from remanence.language.rules.lexicon import PROPER_ADJECTIVES, phrase_set, word_set

RELATIONSHIP_NOUNS = word_set("""
brother sister mother father mom mum dad son daughter wife husband partner girlfriend boyfriend fiancé
fiancée friend cousin uncle aunt nephew niece grandmother grandfather grandma grandpa boss manager colleague
coworker neighbor neighbour roommate teacher coach mentor boyfriend dog cat puppy kitten doctor therapist
grandson granddaughter half-brother half-sister stepmother stepfather stepmom stepdad stepson stepdaughter
stepbrother stepsister mother-in-law father-in-law sister-in-law brother-in-law son-in-law daughter-in-law
spouse fiance fiancee flatmate housemate classmate landlord landlady rabbit hamster parrot horse
""")

PLURAL_RELATIONSHIP_NOUNS = {
    "brothers": "brother", "sisters": "sister", "sons": "son", "daughters": "daughter", "cousins": "cousin",
    "friends": "friend", "dogs": "dog", "cats": "cat", "puppies": "puppy", "kittens": "kitten",
    "roommates": "roommate", "kids": "child", "children": "child", "kid": "child", "parents": "parent",
    "siblings": "sibling", "grandparents": "grandparent", "colleagues": "colleague",
    "coworkers": "coworker", "neighbors": "neighbor", "neighbours": "neighbour", "grandkids": "grandchild",
    "grandchildren": "grandchild", "grandsons": "grandson", "granddaughters": "granddaughter",
    "flatmates": "flatmate", "housemates": "housemate", "classmates": "classmate", "uncles": "uncle",
    "aunts": "aunt", "nephews": "nephew", "nieces": "niece", "rabbits": "rabbit", "hamsters": "hamster",
    "parrots": "parrot", "horses": "horse", "twins": "twin",
}  # fmt: skip
"""What several of them are called, with the word for one."""

NATIONALITY_ADJECTIVES = PROPER_ADJECTIVES - word_set("""
african asian european english arab arabic persian caribbean latin latino latina hispanic mediterranean
scandinavian nordic slavic celtic roman hebrew jewish christian christianity catholic protestant muslim
islamic islam hindu hinduism buddhist buddhism jew jews christians catholics muslims mandarin cantonese hindi
urdu bengali tamil swahili soviet byzantine victorian californian texan parisian californians americans
germans italians greeks romans russians europeans asians africans indians mexicans canadians australians
""")
"""What somebody can be a national of."""

LANGUAGES = PROPER_ADJECTIVES | word_set("""
bengali catalan basque farsi esperanto gaelic hindi mandarin cantonese urdu tamil telugu swahili yiddish zulu
malay tagalog sanskrit afrikaans kurdish armenian georgian kazakh uzbek javanese punjabi gujarati marathi
latin
""")

# what "I'm a …" makes a job
PROFESSIONS = word_set("""
accountant actor actress administrator analyst architect artist astronaut author baker banker barber barista
bartender biologist bookkeeper botanist builder butcher carpenter cashier chef chemist clerk cleaner coach
comedian composer consultant contractor cook counselor counsellor dancer dentist dermatologist designer
detective developer dietitian director doctor driver economist editor electrician engineer entrepreneur
epidemiologist farmer filmmaker firefighter fisherman florist freelancer gardener geologist guide hairdresser
historian illustrator interpreter investor janitor jeweler journalist judge lawyer lecturer librarian linguist
machinist manager marketer mathematician mechanic midwife model musician neurologist novelist nurse
nutritionist
officer optician painter paleontologist paralegal paramedic pediatrician pharmacist photographer physicist
physiotherapist pianist pilot plumber poet policeman policewoman politician principal producer professor
programmer psychiatrist psychologist realtor receptionist recruiter reporter researcher sailor salesperson
scientist sculptor secretary singer sociologist soldier solicitor statistician strategist student surgeon
tailor
teacher technician therapist translator tutor vet veterinarian violinist waiter waitress welder writer
actuary acupuncturist anesthesiologist animator anthropologist archaeologist archeologist astronomer attendant
auditor babysitter ballerina bassist beautician beekeeper blogger bouncer brewer broker buyer cardiologist
caregiver cartoonist caterer chiropractor choreographer conductor cop courier curator diplomat drummer
ecologist
ethicist geneticist guitarist gynecologist hairstylist homemaker housewife instructor intern lifeguard
locksmith
masseur masseuse meteorologist miner monk nanny nun oncologist pastor physician playwright podcaster postdoc
priest publicist rabbi radiologist rancher rapper roofer screenwriter songwriter sommelier stockbroker
stylist
surveyor tattooist trader trainer underwriter worker youtuber zoologist
""")

# what "I work in …" makes a line of work
WORK_FIELDS = word_set("""
accounting advertising agriculture banking biotech construction consulting cybersecurity education engineering
fashion finance healthcare hospitality hr insurance it journalism law logistics manufacturing marketing
medicine
nursing pharma politics pr publishing recruiting research retail sales software tech television tourism
""")

# what "I work at a …" makes a place to work at
WORKPLACES = word_set("""
agency airline airport bakery bank bar bookstore brewery cafe café clinic coffeehouse company daycare
dealership
factory farm firm florist garage gym hospital hotel kindergarten lab laboratory library mall museum newspaper
nursery office pharmacy pub restaurant salon school shelter shop spa startup start-up store studio
supermarket
university warehouse winery zoo
""")

ILLNESSES = phrase_set("""
adhd, add, anemia, anxiety, arthritis, asthma, autism, cancer, celiac disease, coeliac disease,
crohn's disease, depression,
diabetes, type 1 diabetes, type 2 diabetes, dyslexia, eczema, endometriosis, epilepsy,
fibromyalgia,
hay fever, high blood pressure, high cholesterol, hypertension, insomnia, lupus, migraines, ocd, parkinson's,
pcos,
psoriasis, ptsd, sleep apnea, tinnitus, vertigo
""")
