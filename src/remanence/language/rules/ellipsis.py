"""What a sentence leaves unsaid, said: "Meeting at 3pm with Bob" is "I have a meeting at 3pm with Bob"."""

from __future__ import annotations

import re

from remanence.language.rules.lexicon import (
    FIRST_NAMES,
    MONTH_PATTERN,
    ORGANIZATIONS,
    PLACES,
    PRODUCTS,
    PROPER_ADJECTIVES,
    word_set,
)

EVENT_NOUN_PATTERN = (
    r"meeting|appointment|interview|flight|exam|test|call|reservation|booking|lesson|class|check-?up"
    r"|concert|party"
    r"|wedding|lunch|dinner|breakfast|brunch|training|practice|rehearsal|conference|session|match|game"
    r"|presentation|deadline|stand-?up|surgery|date|trip|train|bus|shift|demo|review|webinar|workshop|funeral"
)
"""What is bound to the time it takes place at."""

TIME_PHRASE_PATTERN = (
    r"today|tomorrow|tonight|(?:this|next) (?:morning|afternoon|evening|week|weekend|month|year|\w+day)"
    r"|(?:on |by |until )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|at (?:noon|midnight|\d{1,2}(?::\d\d)?\b)"
    rf"|\d{{1,2}}(?::\d\d)? ?(?:am|pm)\b|(?:on )?\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTH_PATTERN})"
    rf"|(?:on )?(?:{MONTH_PATTERN}) \d{{1,2}}|in (?:\d+|an?|two|three|half an) (?:minutes?|hours?|days?|weeks?)"
)
"""The words for a time that is to come, or may be."""


def complete_sentence(sentence: str, *, to_assistant: bool = False) -> str:
    """The sentence with the "I" or the "I have" that it left out, and a standing wish as what it is.

    >>> complete_sentence("Went hiking yesterday.")
    'I went hiking yesterday.'
    >>> complete_sentence("Dentist appointment tomorrow at 9am.")
    'I have a dentist appointment tomorrow at 9am.'
    >>> complete_sentence("Call me Ben."), complete_sentence("Remind me to call Bob.", to_assistant=True)
    ('I am called Ben.', 'I want to be reminded to call Bob.')
    """
    first, _, rest = sentence.partition(" ")
    if first in _SUBJECTLESS and rest and not _OBJECT.match(rest):
        return f"I {first.lower()} {rest}"
    called = _CALL_ME.match(sentence)
    if called:
        return f"I am called {sentence[called.end() :]}"
    for pattern, wish in _WISHES if to_assistant else ():
        found = pattern.match(sentence)
        if found:
            return wish + sentence[found.end() :]
    event = _EVENT.match(sentence)
    if event and _TIME.search(sentence, event.end()) and not _FINITE.search(sentence):
        named = first.lower() in _CAPITALS or not first[1:].islower()  # French lesson, IT training
        what = sentence if named else first.lower() + sentence[len(first) :]
        article = "" if event["noun"].lower() in _MEALS else "an " if what[0].lower() in "aeiou" else "a "
        return f"I have {article}{what}"
    return sentence


_SUBJECTLESS = word_set("""
Went Got Saw Had Met Took Bought Finished Started Moved Joined Visited Ate Watched Made Ran Spent Quit
Left Adopted
""")
_CAPITALS = FIRST_NAMES | PROPER_ADJECTIVES | ORGANIZATIONS | PLACES | PRODUCTS
_MEALS = word_set("lunch dinner breakfast brunch training practice surgery")
_OBJECT = re.compile(r"(?:me|us|it)\b|(?:that|this|you|them)(?:[.,!]|$)")
_CALL_ME = re.compile(
    r"(?:please |you can |just )*(?:call me |i go by )(?-i:(?=[A-Z][a-z]+(?:[.!,]|$| instead| please)))"
    r"(?!\w+day\b|later\b|back\b)",
    re.IGNORECASE,
)
_HOW = (
    r"(?=(?:answer|reply|respond|write|use|address|speak|explain|cite|include|keep|format|translate|suggest"
    r"|recommend)\b)"
)
_FROM_NOW = r"(?:please )?(?:from now on,? |in (?:the )?future,? )(?:please )?"
_WISHES = (
    (re.compile(r"(?:please |pls )?remind me to ", re.IGNORECASE), "I want to be reminded to "),
    (
        re.compile(
            rf"(?:{_FROM_NOW}don['’]t (?:ever )?|(?:please )?never "
            rf"|(?:please )?don['’]t ever ){_HOW}",
            re.IGNORECASE,
        ),
        "I want the assistant to never ",
    ),
    (
        re.compile(rf"(?:{_FROM_NOW}(?:always )?|(?:please )?always ){_HOW}", re.IGNORECASE),
        "I want the assistant to always ",
    ),
)
_NO_EVENT = (
    "the|an?|my|our|your|this|that|no|any|how|what|when|why|about|for|book|cancel|schedule|move|plan|set"
    "|make|change"
    "|send|check|prepare|join|find|get|add|let|in|on|at|to|of"
)
_EVENT = re.compile(
    rf"(?:(?!(?:{_NO_EVENT})\b)[\w'’-]+ ){{0,2}}?(?P<noun>{EVENT_NOUN_PATTERN})"
    r"(?=[,:]| (?:with|at|on|for|about|in|to|by|from|today|tomorrow|tonight|this|next|\d))",
    re.IGNORECASE,
)
_TIME = re.compile(rf"\b(?:{TIME_PHRASE_PATTERN})", re.IGNORECASE)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|will|would|starts?|begins?|leaves?|went|got|i|we|you|he|she|it"
    r"|they|my"
    r"|please|[a-z]+ed)\b|['’](?:s|m|re|ll|ve|d) ",
    re.IGNORECASE,
)
