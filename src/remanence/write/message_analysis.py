"""Whether a message is worth remembering, and whether it asks for memory: by rule, in about a millisecond.

The same sentences and topics that the rules find facts by; no model and no index is asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from remanence.core import inputs
from remanence.language.rules.fact_attributes import tags_of
from remanence.language.rules.sentences import is_question, is_request
from remanence.language.text import split_sentences
from remanence.models.extractors import RuleExtractor, find_question_names
from remanence.schema import UTC, Utterance

_LONGEST = 4_000  # characters: what a long message is for shows early
_RULES = RuleExtractor()
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)  # whether a message tells something does not hang on the date


@dataclass(frozen=True, slots=True)
class MessageAnalysis:
    """Whether a message should be saved, how sure that is and why; what it is about.

    `strength` is the importance of the weightiest fact in it, 0 if there is none.
    """

    save: bool
    confidence: float
    entities: tuple[str, ...]
    tags: tuple[str, ...]
    strength: float
    reason: str


@dataclass(frozen=True, slots=True)
class RecallAnalysis:
    """Whether a message asks for memory, how sure that is and why; what to ask the memory for."""

    recall: bool
    query: str
    entities: tuple[str, ...]
    confidence: float
    reason: str


def analyze_message(text: str) -> MessageAnalysis:
    """Whether this message tells something worth remembering.

    >>> told = analyze_message("Hi! I'm allergic to peanuts.")
    >>> told.save, told.strength, told.tags
    (True, 0.9, ('health',))
    >>> analyze_message("Thanks, that sounds great!").reason
    'it tells nothing: a greeting, a question, a request or small talk'
    """
    head = inputs.query_text(text)[:_LONGEST].strip()
    facts = _RULES.facts([Utterance(head)], now=_SOME_DAY).facts
    names = find_question_names(head)
    if not facts:
        reason = "it tells nothing: a greeting, a question, a request or small talk"
        return MessageAnalysis(False, 0.7 if _is_plain(head) else 0.5, names, (), 0.0, reason)
    best = max(facts, key=lambda fact: (fact.importance, fact.confidence))
    tags = tuple(dict.fromkeys(tag for fact in facts for tag in fact.tags))
    confidence = max(fact.confidence for fact in facts)
    more = f" and {len(facts) - 1} more" if len(facts) > 1 else ""
    reason = f"it tells a {best.kind} fact{more}: {best.text}"
    return MessageAnalysis(True, confidence, names, tags, best.importance, reason)


def analyze_for_recall(text: str) -> RecallAnalysis:
    """Whether answering this message needs what is remembered, and what to look for.

    >>> asked = analyze_for_recall("Hey, do you remember where my sister lives?")
    >>> asked.recall, asked.query, asked.reason
    (True, 'where my sister lives?', 'it speaks of what was said before')
    >>> analyze_for_recall("Write a haiku about rain.").recall
    False
    """
    head = inputs.query_text(text)[:_LONGEST].strip()
    names = find_question_names(head)
    query = _asked(head)
    asks = any(is_question(sentence) for sentence in split_sentences(head))
    for recall, confidence, reason, holds in (
        (True, 0.95, "it speaks of what was said before", _REMEMBER.search(head)),
        (False, 0.8, "it is blank or only a greeting", not query or _is_greeting(query)),
        (True, 0.85, "it asks about the speaker", asks and _SELF.search(head)),
        (True, 0.7, "it wants something fitted to the speaker", _FITTED.search(head)),
        (True, 0.6, f"it asks about {', '.join(names)}", asks and names and not _GENERAL.match(query)),
        (False, 0.6, "it asks about the world, not about anybody known", asks),
        (
            True,
            0.55,
            "it wants something done with what is the speaker's own",
            is_request(query) and _SELF.search(head),
        ),
        (False, 0.7, "it asks nothing", True),
    ):
        if holds:
            return RecallAnalysis(recall, query, names, confidence, reason)
    raise AssertionError("the last line always holds")


_REMEMBER = re.compile(
    r"\b(?:(?:do|don['’]t|can|did) you (?:still )?(?:remember|recall|know (?:my|what i|who i|where i"
    r"|when i|how i))|remind me"
    r"|(?:what|where|when|who|how|which)\b.{0,40}\bi (?:told|said|mentioned|asked)|(?:i|we) (?:told you"
    r"|mentioned|talked about"
    r"|discussed|said)\b|as (?:i|we) (?:said|discussed|mentioned)|last time (?:we|i)|(?:earlier"
    r"|previously),? (?:i|we|you)"
    r"|(?:you|we) (?:said|told me|mentioned|suggested|recommended)|have i (?:told|mentioned|said|ever)"
    r"|what do you know about"
    r"|our (?:last|previous|earlier) (?:chat|conversation|discussion))\b",
    re.IGNORECASE,
)
_SELF = re.compile(r"(?<!\w)(?:I|I['’](?:m|ve|d|ll)|my|mine|me|myself|our|we|us)(?!\w)", re.IGNORECASE)
_FITTED = re.compile(
    r"\b(?:recommend|suggest(?:ions?)?|what should i|where should (?:i|we)|help me (?:plan|choose|pick"
    r"|decide)|for my|gift for"
    r"|ideas? for (?:my|me|us|a gift|dinner)|plan (?:my|a|our))\b",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"(?:what (?:is|are|was|were|does .+ mean)|who (?:is|was|wrote|invented|painted|discovered)|how (?:do"
    r"|does|to|can|many|far|tall|old)"
    r"|explain|define|why (?:is|are|do|does))\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|so|well|um|please|btw|by the way|also|and|oh|thanks|thank you)\b[,!.]?\s*"
    r"|(?:can|could|would|will) you (?:please )?(?:tell me|remind me|help me (?:remember|recall)|look up"
    r"|check)\s*(?:about|of)?\s*"
    r"|(?:do|don['’]t|did) you (?:still )?(?:remember|recall|happen to know|know)\s*(?:that|if|whether)?\s*"
    r"|(?:please )?remind me\s*(?:about|of|again)?\s*|i (?:was wondering|want to know|['’]d like to know"
    r"|forgot|can['’]t remember)\s*(?:if|whether)?\s*"
    r"|tell me\s*(?:again|about)?\s*|what do you know about\s*)",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:hi|hey|hello|thanks|thank you|good (?:morning|night|evening|afternoon)|bye|how are you"
    r"|what['’]s up|how['’]s it going"
    r"|ok|okay|cool|great|lol|haha)\b[^a-z]*(?:there|all|everyone|so much|doing|today|[A-Z][a-z]+)?[\W]*",
    re.IGNORECASE,
)


def _asked(text: str) -> str:
    """What is asked for, without the words that only lead to it."""
    rest = text
    for _ in range(5):
        lead = _LEAD.match(rest)
        if lead is None or not lead.group():
            break
        rest = rest[lead.end() :].lstrip()
    return rest or text


def _is_greeting(text: str) -> bool:
    return _GREETING.fullmatch(text) is not None


def _is_plain(text: str) -> bool:
    """Whether it is plainly nothing to remember: a question, a greeting, or too short to tell anything."""
    return is_question(text) or _is_greeting(text) or len(text.split()) < 4 or not tags_of(text)
