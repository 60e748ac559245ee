"""First step of the read path: parse the text of a question for times, names and words about the past."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal, TypeAlias

from remanence.models.message_words import follow_up_probability
from remanence.recall.referents import NOBODY, Referent, find_referent, without_reason
from remanence.schema import SELF, Window
from remanence.text.lexicon.word_lists import is_common_word
from remanence.text.named_entities.name_rules import find_question_names
from remanence.text.temporal import TimePhrase, find_times
from remanence.text.text import tokens

AnchorRelation: TypeAlias = Literal["before", "after", "during"]
TimeFocus: TypeAlias = Literal["now", "at", "first", "previous", "before", "after", "during", "any"]
"""The time a question is about: now, the times it names ("at"), the first or the previous value, before, after or
during an event it names. "any": an event at no particular time, or all values of all times."""

_pattern = partial(re.compile, flags=re.IGNORECASE)

# The first finite verb decides whether a question asks about now; without one, a verb in the past tense.
_PAST_VERB = _pattern(r"\b(?:did|was|were|had)\b")
_FINITE_VERB = _pattern(r"\b(?:did|was|were|had|do|does|is|are|am|has|have|can|could|should|will|would|may|must)\b")
_PAST_FORM = _pattern(
    r"\b(?:\w{2,}(?<!e)ed|became|began|bought|brought|came|gave|got|held|kept|knew|led|left|made|met|ran|said|saw|sent|"
    r"sold|spent|spoke|taught|told|took|went|won|wrote)\b"
)
_PREVIOUS = r"used to|previous(?:ly)?|former(?:ly)?|before (?:that|then|it changed)"
_IN_THE_PAST = r"in the past|back then|back when|at the time|no longer|any ?more|over the years"
# Asks for a value that is no longer valid: the last one, or the first.
_ASKS_PREVIOUS = _pattern(
    rf"\b(?:{_PREVIOUS})\b|{_PAST_VERB.pattern}[^.?!]{{0,99}}\b"
    r"(?:before\W*$|use to (?:be|have|live|work|like|love|own|study)\b)"
)
_ASKS_FIRST = _pattern(
    rf"\b(?:originally|at first|initially|in the beginning)\b|{_PAST_VERB.pattern}[^.?!]{{0,99}}\bfirst\W*$"
)
# Asks for superseded memories. Plain past tense does not: "Where did Alice meet Bob?" asks for an event, and events are
# not superseded.
_ASKS_PAST = _pattern(
    rf"\b(?:{_PREVIOUS}|{_IN_THE_PAST}|originally|at first|history of|how has|changed over time|"
    r"how did [^.?!]{1,99} change|(?:first|earlier|old(?:er)?) version)\b"
)
# Asks for all values of all times: "Which teachers has she had?" too.
_ASKS_ALL = _pattern(
    r"\b(?:ever|in all|altogether|all (?:of|the|her|his|its|my|our|their)|list|over time)\b|"
    r"^(?:what|which)\s(?:(?!\b(?:do|does|is|are|am|can|will)\b)[^.?!]){0,60}?\b(?:has|have)\b"
    r"(?![^.?!]{0,99}\bbeen \w+ing\b)"
)
# Words about the time, which are not part of the topic.
_PAST_WORDS = _pattern(
    rf"\b(?:{_PREVIOUS}|{_IN_THE_PAST}|use to|before|originally|at first|initially|in the beginning|first)\b"
)
# Asks in the past tense relative to an event: "before she moved to Lisbon", "while at Google".
_ANCHOR = _pattern(r"\s(before|prior to|after|when|while)\s+(?=\S)")
_SENTENCE_ENDS = re.compile(r"[.?!;:]")
_ANCHOR_RELATIONS: Mapping[str, AnchorRelation] = {"before": "before", "prior to": "before", "after": "after"}
"""The other words of an anchor mean "during"."""
# Phrases around a question: "I was going through our last chat. I was wondering if you could remind me of ...".
# A phrase that may be the topic itself ("what was it I wanted to check") counts only at the start of a sentence.
_LAST_CHAT = (
    r"our (?:previous|last|earlier|past|recent) (?:conversation|chat|discussion|talk|session|exchange)s?"
    r"(?: (?:about|on))?"
)
_FRAMING = _pattern(
    r"(?:(?:^|(?<=[.!?] ))(?:"
    r"I(?:['’]m| am| was|['’]ve been)? (?:just )?(?:going|looking|thinking|reading) (?:back )?"
    rf"(?:at|to|through|over|about|on) {_LAST_CHAT}"
    r"|I(?: want(?:ed)?| would like|['’]d like) to (?:follow up on|confirm|clarify|check|ask)"
    rf"(?: something)?(?: about)?(?: {_LAST_CHAT})?)"
    rf"|\b(?:in |from |during )?{_LAST_CHAT}"
    r"|\bI(?:['’]m| am| was)? (?:just )?wondering,?(?: (?:if|whether) you (?:could|can))?"
    r"|\b(?:(?:can|could|would|will) you (?:please )?)?remind me(?: again)?(?: (?:of|about))?"
    r"|\b(?:can|could|would|will) you (?:please )?tell me(?: again)?(?: about)?"
    r"|\bdo you (?:remember|recall)|\bI(?:['’]m| am) trying to (?:remember|recall)"
    r")\b"
)
# Somebody else asks: "The vet wants to know what ...". The reader takes the whole for a statement.
_ASKED_BY = _pattern(
    r"^(?:(?!I\b)[\w'’-]+ ){1,4}(?:asks|is asking|(?:wants|needs|would like) to know|is wondering|wonders)(?: me| us)? "
    r"(?=(?:what|which|who|whom|whose|where|when|why|how|if|whether)\b)"
)
# Asks about the words of the assistant.
_ASKS_ASSISTANT = _pattern(
    r"\byou(?:['’]ve| have| had)? (?:said|told|mentioned|recommended|suggested|gave|provided|wrote|listed|described"
    r"|explained|advised)\b|\bdid you (?:say|tell|mention|recommend|suggest|give|provide|write|list|explain|advise)\b"
)
# Names the kind of answer; not a search term.
_HOW_MUCH = _pattern(r"\bhow (?:many|much)\b|\bin total\b")
_LOWERCASE_WORD = re.compile(r"(?<![\w'’])[^\W\d_]{2,}")
# Of a time, only names and numbers are searched for: memories of May may mention May.
_NAMED_TIME = re.compile(r"\b(?:[A-Z]\w*|\w*\d\w*)")
CONTEXT_TURNS = 4
"""Turns before a question that are used."""
_MAX_TURN_WORDS = 24
"""Words of an earlier turn that are read with a question, the last ones."""
_EVENT_WORDS = frozenset(
    tokens(
        "happen happened occur occurred go going went gone take took taken place event events occasion occasions thing "
        "things anything something everything news new notable special interesting important memorable tell life"
    )
)
"""Words of a question about whatever happened at a time; they name no topic."""
_REFERS_BACK = re.compile(
    r"\b(?:he|she|him|her|hers|his|they|them|their|theirs|it|its|there|here|then|these|those|"
    r"(?:that|this|the|which|other|same) (?:one|ones|other|same|day|time|place|first|second|last)|"
    r"the (?:other|same))\b|"
    r"\b(?:that|this)(?=\W*$|'s| is| was)|"
    r"^\W*(?:and|but|or|so|then|yes|yeah|yep|no|nope|ok|okay|what about|how about|why|who else|what else|because)\b",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"^(?:user|assistant): ")


@dataclass(frozen=True, slots=True)
class TimeRelation:
    """How a question asks about another time, in addition to the times that it names."""

    topic_words: frozenset[str]
    """The words of the clause that asks, without times and words about the past."""
    order: Literal["last", "first"] | None = None
    """Whether it asks for a value that is no longer valid: the last ("previously") or the first ("originally")."""
    relation: AnchorRelation | None = None
    """Whether it asks for values that were valid before, after or during an event, its anchor."""
    anchor_words: frozenset[str] = frozenset()
    """The words of the anchor: "she moved to Lisbon"."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question, parsed."""

    times: tuple[Window, ...]
    names: tuple[str, ...]
    """The names in it; "I" is `SELF`."""
    uncommon_words: tuple[str, ...]
    """Lowercase words that are not common: they may be names."""
    asks_assistant: bool
    """Whether it asks about the words of the assistant."""
    asks_about_past: bool
    search_text: str
    """The text without phrases such as "could you remind me", "how many" and "two weeks ago"."""
    time_relation: TimeRelation
    focus: TimeFocus
    """Which of several statements about the same thing is the answer."""
    text: str
    """The text to embed: the question, with the turns before it if it refers to them."""
    reader_text: str
    """The text for the reader."""
    referent: Referent = NOBODY
    """Whom "he", "she" or "they" in it means."""

    @property
    def may_ask_about_past(self) -> bool:
        """Whether it asks for another time, if something was valid then: "before Lisbon"."""
        return self.asks_about_past or bool(self.time_relation.order or self.time_relation.relation)

    @property
    def names_no_time(self) -> bool:
        """Whether it asks what holds now, in words without a time."""
        return not self.times and self.focus == "now"

    @property
    def has_topic(self) -> bool:
        """Whether it asks about more than a time: not "What happened in May?"."""
        return not self.time_relation.topic_words <= _EVENT_WORDS

    def completed(self, names: tuple[str, ...], window: Window | None, now: datetime) -> ParsedQuestion:
        """The question with all names of whom it names, and with the time that the caller gives beside the text."""
        if window is None:
            return replace(self, names=names)
        return replace(self, names=names, times=(window,), focus=_focus_of_times((window,), now) or self.focus)


def parse_question(text: str, now: datetime, turns: Sequence[str] = ()) -> ParsedQuestion:
    """Parse a question. Times are relative to `now`. If the question refers to the `turns` before it, the texts for the
    search and for the reader include them."""
    asked, whole, reader_text, referent = _without_framing(text), text, _ASKED_BY.sub("", text), NOBODY
    phrases, names = find_times(asked, now), find_question_names(asked)
    searched, searched_phrases = asked, phrases
    if turns and is_follow_up(text, [name for name in names if name != SELF]):
        referent, reader_text = find_referent(text, users_turns(turns)), with_turns(text, turns)
        whole = with_last_turn(text, turns, referent)
        searched = _without_framing(whole)
        searched_phrases, names = find_times(searched, now), find_question_names(searched)
    times = tuple(phrase.window for phrase in phrases)
    verb = _FINITE_VERB.search(asked)
    relation = _time_relation(asked, phrases, verb)
    has_ended = any(window.end is not None and window.end <= now for window in times)
    return ParsedQuestion(
        times=times,
        names=names,
        uncommon_words=tuple(
            word for word in _LOWERCASE_WORD.findall(searched) if word.islower() and not is_common_word(word)
        ),
        asks_assistant=bool(_ASKS_ASSISTANT.search(asked)),
        asks_about_past=has_ended or bool(_ASKS_PAST.search(asked)),
        search_text=_search_text(searched, searched_phrases, _NAMED_TIME),
        time_relation=relation,
        focus=_focus(asked, times, relation, now, verb),
        text=whole,
        reader_text=reader_text,
        referent=referent,
    )


def _without_framing(text: str) -> str:
    unframed = _FRAMING.sub(" ", text)
    return unframed if tokens(unframed) else text


def _focus(
    text: str, times: Sequence[Window], relation: TimeRelation, now: datetime, verb: re.Match[str] | None
) -> TimeFocus:
    named = _focus_of_times(times, now)
    if named is not None:
        return named
    if relation.order is not None:
        return "first" if relation.order == "first" else "previous"
    if relation.relation is not None:
        return relation.relation
    return "any" if _is_past(text, verb) or _ASKS_ALL.search(text) else "now"


def _focus_of_times(times: Sequence[Window], now: datetime) -> TimeFocus | None:
    begun = [window for window in times if window.start is None or window.start <= now]
    if any(window.end is not None and window.end <= now for window in begun):
        return "at"
    return "now" if begun else None


def _is_past(text: str, verb: re.Match[str] | None) -> bool:
    """Whether a question is in the past tense, or has no verb and asks for a previous value. `verb` is its first
    auxiliary."""
    if verb is None:
        return bool(_PAST_FORM.search(text) or _ASKS_PREVIOUS.search(text))
    return _PAST_VERB.fullmatch(verb[0]) is not None


def in_first_person(text: str, speakers: Iterable[str]) -> str:
    """The question with "I" and "my" in place of these names: speakers do not use their own names.

    >>> in_first_person("Where did Elise go with Elise's sister?", ["Elise"]), in_first_person("Elise?", ["Elise"])
    ('Where did I go with my sister?', 'Elise?')
    """
    result = text
    for name in speakers:
        name_pattern = rf"\b{re.escape(name)}"
        result = re.sub(rf"{name_pattern}(?:['’`]s?\b|['’`](?=\s))", "my", result)
        result = re.sub(rf"{name_pattern}\b", "I", result)
    return result if tokens(result) else text


def _time_relation(text: str, phrases: Sequence[TimePhrase], verb: re.Match[str] | None) -> TimeRelation:
    if not _is_past(text, verb):
        return TimeRelation(_topic_words(text, phrases))  # asks about now
    begin = 0 if verb is None else verb.end()  # "Who taught Ana before Bo?" has no other verb
    match = _ANCHOR.search(text, begin)
    if match is None or _SENTENCE_ENDS.search(text, begin, match.start()):
        clause, relation, anchor = text, None, ""
    else:
        clause, anchor = text[: match.start()], text[match.end() :]
        relation = _ANCHOR_RELATIONS.get(match[1].lower(), "during")
    return TimeRelation(
        _topic_words(clause, phrases),
        order="last" if _ASKS_PREVIOUS.search(clause) else "first" if _ASKS_FIRST.search(clause) else None,
        relation=None if phrases else relation,
        anchor_words=frozenset(tokens(anchor)).difference(tokens(clause)) if not phrases else frozenset(),
    )


def _topic_words(clause: str, phrases: Sequence[TimePhrase]) -> frozenset[str]:
    return frozenset(tokens(_PAST_WORDS.sub(" ", _search_text(clause, phrases, re.compile(r"(?!)")))))


def _search_text(text: str, phrases: Sequence[TimePhrase], time_words: re.Pattern[str]) -> str:
    """The text to search for. Its time phrases are removed, except the words that `time_words` matches."""
    parts, end = [], 0
    for phrase in phrases:
        parts += [text[end : phrase.start], *time_words.findall(text[phrase.start : phrase.end])]
        end = phrase.end
    return _HOW_MUCH.sub(" ", " ".join([*parts, text[end:]]))


# Questions that are understood only with the turns before them: "What should she avoid?", "And staging?", "Why?".


def is_follow_up(question: str, names: Sequence[str]) -> bool:
    """Whether a question refers to the turns before it. `names` are the names in it: a pronoun may refer to
    one of them.

    >>> is_follow_up("What should she avoid?", []), is_follow_up("Where does Ana keep her keys?", ["Ana"])
    (True, False)
    """
    if len(tokens(question)) < 3 and follow_up_probability(question) >= 0.5:
        return True
    return not names and _REFERS_BACK.search(without_reason(question)) is not None


def with_last_turn(question: str, turns: Sequence[str], referent: Referent) -> str:
    """The text to search for: the question, the last turn of the same speaker before it, and whom the question means,
    if that is in an earlier turn."""
    last = "".join(users_turns(turns)[-1:])
    earlier = "" if referent.words.issubset(tokens(last)) else f"{referent.text}. "
    return f"{earlier}{last} {question}".strip()


def users_turns(turns: Sequence[str]) -> list[str]:
    """The last turns without those of the assistant."""
    return [_SPEAKER.sub("", turn) for turn in turns[-CONTEXT_TURNS:] if not turn.startswith("assistant: ")]


def with_turns(question: str, turns: Sequence[str]) -> str:
    """The text for the reader: the last turns, each shortened, and the question. Readers are trained on this form.

    >>> with_turns("What should she avoid?", ["user: Ana comes to dinner.", "assistant: How nice!"])
    'user: Ana comes to dinner. assistant: How nice! user: What should she avoid?'
    """
    return " ".join([*map(_shorten_turn, turns[-CONTEXT_TURNS:]), f"user: {question}"])


def _shorten_turn(turn: str) -> str:
    words = turn.split()
    if len(words) <= _MAX_TURN_WORDS:
        return turn
    speaker = _SPEAKER.match(turn)
    return f"{speaker[0] if speaker else ''}... {' '.join(words[-_MAX_TURN_WORDS:])}"
