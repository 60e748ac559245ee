"""Whether a message is worth storing, and whether it needs a recall, in about a millisecond.

The first is judged by the rules that find facts, the second by its words. No language model is
called and no index read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from remanence.core import inputs
from remanence.language.fact_extraction.sentences import is_question, is_request
from remanence.language.lexicon.word_lists import compile_pattern, tags_of
from remanence.language.message_words import asking_probability, evidence_words, need_of_memory, without_quotations
from remanence.language.named_entities.name_rules import find_names
from remanence.language.text import split_sentences
from remanence.models.extractors import RuleExtractor, find_question_names
from remanence.schema import UTC, Utterance

_MAX_LENGTH = 4_000  # characters: the purpose of a long message shows early
_RULES = RuleExtractor()
_EARLIER_CONVERSATION = compile_pattern("message_earlier_conversation", re.IGNORECASE)
_GENERAL_KNOWLEDGE = compile_pattern("message_general_knowledge", re.IGNORECASE)
_INTRODUCTION = compile_pattern("message_introduction", re.IGNORECASE)
_GREETING = compile_pattern("message_greeting", re.IGNORECASE)
_SAVE = compile_pattern("message_save", re.IGNORECASE)
_PUBLIC_KINDS = frozenset({"place", "product", "code", "url"})
"""The kinds of names that a question of general knowledge often has."""
_ASKED_CONFIDENCE, _ASKED_STRENGTH = 0.9, 0.6
_MIN_ASKING = 0.5
"""From this probability on, by its words, that it tells nothing to remember, a message asks: "I forgot my code"."""
ONLY_GREETING = "it is blank or only a greeting"
_MIN_NEED = 0.4
"""The least probability at which a recall is advised. A missing recall costs more than a useless one."""


@dataclass(frozen=True, slots=True)
class MessageAnalysis:
    """Whether a message should be stored, with confidence and reason, and what it is about.

    `strength` is the importance of the most important fact in it, 0 if there is none.
    """

    save: bool
    confidence: float
    entities: tuple[str, ...]
    tags: tuple[str, ...]
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
    tags: tuple[str, ...] = ()
    """Tags that `remember` gives to facts of this kind, to filter by."""


def analyze_message(text: str) -> MessageAnalysis:
    """Whether this message contains something worth storing.

    Args:
        text: The message.

    Returns:
        Whether to store the message, how important it is, tags and names for it, and the reason as a sentence.

    Example:
        >>> analysis = analyze_message("Hi! I'm allergic to peanuts.")
        >>> analysis.save, analysis.strength, analysis.tags
        (True, 0.9, ('health',))
        >>> analyze_message("Thanks, that sounds great!").reason
        'no fact in it: a greeting, a question, a request or small talk'
    """
    head = inputs.check_query(text)[:_MAX_LENGTH].strip()
    facts = _RULES.facts([Utterance(head)], now=datetime.now(UTC)).facts
    names = find_question_names(head)
    asked = any(_SAVE.match(sentence) and not is_question(sentence) for sentence in split_sentences(head))
    if not facts and asked:
        reason = "it asks to be remembered, though the rules find no fact in it"
        return MessageAnalysis(True, _ASKED_CONFIDENCE, names, tags_of(head), _ASKED_STRENGTH, reason)
    if not facts:
        certain = is_question(head) or _GREETING.fullmatch(head) or len(head.split()) < 4 or not tags_of(head)
        reason = "no fact in it: a greeting, a question, a request or small talk"
        return MessageAnalysis(False, 0.7 if certain else 0.5, names, (), 0.0, reason)
    best = max(facts, key=lambda fact: (fact.importance, fact.confidence))
    tags = tuple(dict.fromkeys(tag for fact in facts for tag in fact.tags))
    confidence = max(_ASKED_CONFIDENCE if asked else 0.0, *(fact.confidence for fact in facts))
    more = f" and {len(facts) - 1} more" if len(facts) > 1 else ""
    article = "an" if best.kind == "episode" else "a"
    reason = f"it states {article} {best.kind} fact{more}: {best.text}"
    reason = f"it asks to be remembered: {best.text}" if asked else reason
    return MessageAnalysis(True, confidence, names, tags, best.importance, reason)


def analyze_for_recall(text: str) -> RecallAnalysis:
    """Whether answering this message needs a recall, and the query for it.

    Args:
        text: The message.

    Returns:
        Whether to recall, the query, and the reason as a sentence.

    Example:
        >>> analysis = analyze_for_recall("Hey, do you remember where my sister lives?")
        >>> analysis.recall, analysis.query, analysis.reason
        (True, 'where my sister lives?', 'it refers to an earlier conversation')
        >>> analyze_for_recall("Write a haiku about rain.").recall
        False
    """
    head = inputs.check_query(text)[:_MAX_LENGTH].strip()
    names = find_question_names(head)
    query = _without_introduction(head)
    recall, confidence, reason = _recall_verdict(head, query)
    return RecallAnalysis(recall, query, names, confidence, reason, tags_of(query))


def _recall_verdict(head: str, query: str) -> tuple[bool, float, str]:
    """Whether a message needs a recall, with confidence and reason. What it only quotes does not count."""
    own = without_quotations(head)
    if _EARLIER_CONVERSATION.search(own):
        return True, 0.95, "it refers to an earlier conversation"
    if not query or _GREETING.fullmatch(query) or _GREETING.fullmatch(head):
        return False, 0.95, ONLY_GREETING
    need = need_of_memory(head)
    others = dict.fromkeys(name.text for name in find_names(own, is_question=True) if name.kind not in _PUBLIC_KINDS)
    asks = "?" in query or is_question(query) or is_request(head)
    if need < _MIN_NEED and others and asks and not _GENERAL_KNOWLEDGE.match(query):
        return True, _MIN_NEED, f"it asks about {', '.join(others)}"
    if not asks and asking_probability(head) < _MIN_ASKING and analyze_message(head).save:
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
