"""Whether a message is worth storing, and whether it needs a recall, in a few milliseconds.

Both are judged by tables of words that were learned from messages which people labelled, and what it is by the default
embedder. No language model is called and no index read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from remanence.index.engine import inputs
from remanence.models.message_words import (
    evidence_words,
    need_of_memory,
    only_greets,
    tells_probability,
    without_quotations,
)
from remanence.models.turn_classes import classify_turn
from remanence.schema import EPOCH, SELF, MemoryKind
from remanence.text.lexicon.word_lists import compile_pattern
from remanence.text.named_entities.name_rules import find_names, find_question_names
from remanence.text.rule_extractor import RuleExtractor

_MAX_LENGTH = 4_000
_EARLIER_CONVERSATION = compile_pattern("message_earlier_conversation", re.IGNORECASE)
_GENERAL_KNOWLEDGE = compile_pattern("message_general_knowledge", re.IGNORECASE)
_INTRODUCTION = compile_pattern("message_introduction", re.IGNORECASE)
_PUBLIC_KINDS = frozenset({"place", "product", "code", "url"})
_MIN_TELLING = 0.5
"""The probability, by its words, from which on a message tells something to remember: more probable than not."""
_CERTAIN = 0.95
"""The confidence, from 0 to 1, in what the form of a message says: that it makes a claim, refers to an earlier
conversation, or only greets."""
NOTHING_TOLD = "it asks, requests or chats, and tells nothing that lasts"
ONLY_GREETING = "it is blank or only a greeting"
_MIN_NEED = 0.2
"""The least probability at which a recall is advised. A missing recall costs more than a useless one."""


@dataclass(frozen=True, slots=True)
class MessageAnalysis:
    """Whether a message should be stored, with confidence and reason, and what it is about.

    Attributes:
        save: Whether it tells something that lasts.
        confidence: How certain that is, 0 to 1.
        kind: What a memory of it would be.
        strength: How important it is: 0.3 minor, 0.6 moderate, 0.9 identity-defining; 0 if it is not worth storing.
        reason: The reason as a sentence.
    """

    save: bool
    confidence: float
    entities: tuple[str, ...]
    kind: MemoryKind
    strength: float
    reason: str


@dataclass(frozen=True, slots=True)
class RecallAnalysis:
    """Whether a message needs a recall, with confidence and reason, and the query for it."""

    recall: bool
    query: str
    entities: tuple[str, ...]
    confidence: float
    reason: str


def analyze_message(text: str) -> MessageAnalysis:
    """Whether this message contains something worth storing.

    Returns:
        Whether to store the message, how important it is, names for it, and the reason as a sentence.

    Example:
        >>> analysis = analyze_message("Hi! I'm allergic to peanuts.")
        >>> analysis.save, analysis.kind
        (True, 'semantic')
        >>> analyze_message("Thanks, that sounds great!").reason
        'it asks, requests or chats, and tells nothing that lasts'
    """
    head = inputs.check_message(text)[:_MAX_LENGTH].strip()
    names = find_question_names(head)
    tells = tells_probability(head) if head else 0.0
    claims = RuleExtractor().extract(head, now=EPOCH, speaker=SELF).triples if head else ()
    if claims:
        tells = max(tells, _CERTAIN)
    if tells < _MIN_TELLING:
        return MessageAnalysis(False, 1 - tells, names, "episode", 0.0, NOTHING_TOLD)
    turn = classify_turn(head, makes_claims=bool(claims))
    return MessageAnalysis(True, tells, names, turn.kind, turn.importance, f"it tells {turn.label}")


def analyze_for_recall(text: str) -> RecallAnalysis:
    """Whether answering this message needs a recall, and the query for it.

    Example:
        >>> analysis = analyze_for_recall("Hey, do you remember where my sister lives?")
        >>> analysis.recall, analysis.query, analysis.reason
        (True, 'where my sister lives?', 'it refers to an earlier conversation')
        >>> analyze_for_recall("Write a haiku about rain.").recall
        False
    """
    head = inputs.check_message(text)[:_MAX_LENGTH].strip()
    names = find_question_names(head)
    query = _without_introduction(head)
    recall, confidence, reason = _recall_verdict(head, query)
    return RecallAnalysis(recall, query, names, confidence, reason)


def _recall_verdict(head: str, query: str) -> tuple[bool, float, str]:
    """Whether a message needs a recall, with confidence and reason. What it only quotes does not count."""
    own = without_quotations(head)
    if _EARLIER_CONVERSATION.search(own):
        return True, _CERTAIN, "it refers to an earlier conversation"
    if not query or only_greets(query) or only_greets(head):
        return False, _CERTAIN, ONLY_GREETING
    need = need_of_memory(head)
    others = dict.fromkeys(name.text for name in find_names(own, is_question=True) if name.kind not in _PUBLIC_KINDS)
    tells = tells_probability(head)
    asks = "?" in query or tells < _MIN_TELLING
    if need < _MIN_NEED and others and asks and not _GENERAL_KNOWLEDGE.match(query):
        return True, _MIN_NEED, f"it asks about {', '.join(others)}"
    if not asks:
        return False, 0.6, "it tells something and asks nothing"
    if need < _MIN_NEED:
        return False, 1 - need, "nothing in it asks for something personal"
    words = ", ".join(repr(word) for word in evidence_words(head))
    return True, need, f"it sounds personal: {words}" if words else "it sounds personal"


def _without_introduction(text: str) -> str:
    """The request in a message, without "hey", "could you tell me" and the like."""
    rest = text
    for _ in range(5):
        introduction = _INTRODUCTION.match(rest)
        if introduction is None or not introduction.group():
            break
        rest = rest[introduction.end() :].lstrip()
    return rest or text
