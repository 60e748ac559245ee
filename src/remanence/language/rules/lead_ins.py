"""The words that announce a statement and are not part of it: "Just so you know, …", "Don't forget: …", "I'm glad I …".

1. Words before a colon, a dash or a comma that only speak of telling, knowing or remembering. They are known by their
   words: each is in `lead_in_words` or `telling_words`, and one is in the latter.
2. A main clause that presupposes the next one: "I should mention that my brother …", "I'm so glad we moved".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.language.rules.lexicon import compile_pattern, load_words


class Announced(NamedTuple):
    """A sentence without its lead-in."""

    text: str
    remember_requested: bool = False
    """Whether the speaker asks to remember it."""


def without_lead_in(sentence: str) -> Announced:
    """The sentence without its lead-in.

    >>> without_lead_in("One thing you should know about me: I'm colour-blind.")
    Announced(text="I'm colour-blind.", remember_requested=False)
    >>> without_lead_in("Don't forget: I prefer tea."), without_lead_in("My boss told me: no tea.").text
    (Announced(text='I prefer tea.', remember_requested=True), 'My boss told me: no tea.')
    >>> without_lead_in("I'm so glad we moved to Porto."), without_lead_in("I should add that Bob is vegan.").text
    (Announced(text='we moved to Porto.', remember_requested=False), 'Bob is vegan.')
    """
    found = _HEAD.match(sentence)
    remember = False
    if found and _is_lead_in(found["head"]):
        remember = _TO_KEEP.search(found["head"]) is not None
        sentence = sentence[found.end() :]
    frame = _FRAME.match(sentence)
    if frame:
        sentence = sentence[frame.end() :]
        if frame["asked"]:
            sentence = sentence.rstrip("? ")
    return Announced(sentence, remember)


def _is_lead_in(head: str) -> bool:
    words = [word.replace("’", "'") for word in _WORD.findall(head.lower())]
    return (
        all(word in _LEAD_IN_WORDS or word in _TELLING_WORDS for word in words)
        and not _TELLING_WORDS.isdisjoint(words)
        and not _OF_OTHERS.search(head)
    )


_LEAD_IN_WORDS = load_words("lead_in_words")
_TELLING_WORDS = load_words("telling_words")
_WORD = re.compile(r"[\w'’]+")
# A head has at most ten words. After a comma a clause with its own subject follows.
_HEAD = re.compile(
    r"\W*(?P<head>[A-Za-z][\w'’-]*\.?(?:[ -][\w'’-]+){0,9}?)(?:\s*[:–—]|\s+-+|(?:\.\.\.|…)|,(?= ))\s+(?=[\w\"'‘“(])"
)
_OF_OTHERS = re.compile(
    r"^(?:you|they|he|she|what|how|who|why|where|when)\b(?! (?:should|may|might|must|ought|need|can|could|know\b))",
    re.IGNORECASE,
)
_TO_KEEP = re.compile(r"\b(?:remember|forget|note|mind|down|save|important|reference)\b", re.IGNORECASE)
_FRAME = compile_pattern("telling_frame", re.IGNORECASE)
