"""What a fact is about, and how much it matters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from remanence.language.rules.lexicon import word_set
from remanence.language.rules.people_words import RELATIONSHIP_NOUNS
from remanence.language.rules.predicate_rules import OPINION_PREDICATES
from remanence.schema import Triple

TAG_PATTERNS: dict[str, str] = {
    "work": r"work(?:s|ed|ing)?|jobs?|boss|manager|colleagues?|coworkers?|office|company|career"
    r"|promot(?:ed|ion)|hired"
    r"|employ(?:ed|er)|salary|interview|clients?|startup|intern(?:ship)?|resign(?:ed)?|retired",
    "home": r"lives?|lived|moved|house|apartment|flat|rent|landlord|neighbou?rs?|roommate|garden|kitchen"
    r"|mortgage",
    "family": r"mother|father|mom|mum|dad|sisters?|brothers?|sons?|daughters?|wife|husband|parents|kids?"
    r"|child(?:ren)?"
    r"|baby|cousins?|uncle|aunt|nephew|niece|grand(?:ma|pa|mother|father|parents)|family|married|wedding"
    r"|divorced",
    "relationship": r"girlfriend|boyfriend|partner|dating|engaged|broke up|fiancée?|best friend|friends?",
    "health": r"allerg\w+|diabet\w+|doctor|dentist|hospital|surgery|medication|metformin|insulin|pills?"
    r"|therap\w+|sick|ill(?:ness)?"
    r"|injur\w+|pregnant"
    r"|asthma|diagnos\w+|anxiety|depress\w+|vaccin\w+|migraines?|blood pressure",
    "food": r"eats?|ate|food|cook\w*|bak(?:e|es|ed|ing)|vegan|vegetarian|gluten|restaurants?|dinner|lunch"
    r"|breakfast|coffee"
    r"|tea|recipes?|drinks?|wine|beer|pizza|sushi|chocolate|dish(?:es)?|meals?",
    "travel": r"trips?|travel\w*|flights?|flew|vacation|holiday|visit(?:ed|ing|s)?|hotels?|passport"
    r"|airport|road ?trip|abroad",
    "education": r"stud(?:y|ies|ied|ying)|school|university|college|degree|exams?|graduat\w+|class(?:es)?"
    r"|courses?|thesis|phd",
    "hobby": r"hik(?:e|es|ed|ing)|guitar|piano|paint\w*|reading|novels?|games?|gaming|yoga|gym|runn?(?:s"
    r"|ing)|marathon|chess"
    r"|football|tennis|soccer|basketball|camping|photography|danc(?:e|es|ing)|garden(?:ing)?|climb\w*"
    r"|swim\w*|music|band",
    "pet": r"dogs?|cats?|pupp(?:y|ies)|kittens?|pets?|parrot|rabbit|hamster|vet",
    "finance": r"budget|loans?|mortgage|savings?|invest\w*|bank|taxes|debt|insurance|\$ ?\d+",
    "technology": r"python|software|laptop|computer|phone|code|coding|programming|app|server|database"
    r"|editor|linux|windows|mac",
    "plan": r"plan(?:s|ned|ning)?|going to|will|tomorrow|next (?:week|month|year|weekend)|appointment"
    r"|meeting|deadline|wants to"
    r"|goal|schedule[ds]?",
}
"""A small fixed vocabulary of tags, each with the words that speak for it; "preference" is for opinions."""

_IDENTITY = word_set("""
name birthday born_on born_in age lives_in works_at works_as married_to engaged_to allergic_to is_from
grew_up_in called native_language nationality
""")
_FAMILY = frozenset(RELATIONSHIP_NOUNS) - {
    "colleague",
    "coworker",
    "neighbor",
    "neighbour",
    "friend",
    "teacher",
    "coach",
    "dog",
    "cat",
}
_OFFSPRING = re.compile(r"\b(?:kids?|children|sons?|daughters?|siblings|brothers?|sisters?)\b")
_ESSENTIAL = re.compile(
    r"\b(?:allerg(?:y|ies|ic)|important|never(?! (?:been|seen|had|heard|tried|met|visited|tasted|used)\b)"
    r"|always|must not|intolerant|diabetic|celiac|coeliac|asthma"
    r"|pregnant|epilep\w+"
    r"|vegan|vegetarian|emergency|can(?:not|['’]t) (?:eat|drink|have|take))\b",
    re.IGNORECASE,
)
_SPEAKS = {tag: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for tag, pattern in TAG_PATTERNS.items()}
_MOST_TAGS = 4


def tags_of(text: str, *, preference: bool = False) -> tuple[str, ...]:
    """The tags that the words speak for.

    >>> tags_of("Alice lives in Porto with her dog.")
    ('home', 'pet')
    """
    found = _found(text)
    return ("preference", *found)[:_MOST_TAGS] if preference else found


@lru_cache(256)  # a sentence is asked about for its fact, and for whether it is one or two
def _found(text: str) -> tuple[str, ...]:
    found = (tag for tag, pattern in _SPEAKS.items() if pattern.search(text))
    return tuple(islice(found, _MOST_TAGS))


def importance_of(
    text: str, claims: Iterable[Triple], *, remember_requested: bool = False, is_minor: bool = False
) -> float:
    """0.9 for what defines somebody or must not be forgotten, 0.3 for what is `plain`, 0.6 for the rest.

    >>> importance_of("Alice is allergic to nuts.", ()), importance_of("Alice likes tea.", ())
    (0.9, 0.6)
    """
    if remember_requested or _ESSENTIAL.search(text) or any(_defines(claim) for claim in claims):
        return 0.9
    return 0.3 if is_minor and not _SPEAKS["health"].search(text) else 0.6


def _defines(claim: Triple) -> bool:
    predicate = claim.predicate
    if predicate in OPINION_PREDICATES:
        return False
    return (
        predicate in _IDENTITY
        or (predicate.endswith("_of") and predicate[:-3] in _FAMILY)
        or (predicate == "has" and _OFFSPRING.search(claim.object) is not None)
    )
