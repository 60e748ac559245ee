"""Step of the read path: the final order of the hits, by what the reader says of each and by the score of the signals.

The first place goes to the hit that the reader chooses, unless the signals clearly prefer one that it likes nearly as
much; the others are ordered by the reader and the signals together. What is closed, trusted less, or about another
person or another time than the question, counts less.
A hit that a later one replaces is marked, and stays findable: nothing is closed because of what a reader says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate

from remanence.index.times import MOSTLY_WITHIN, nearness_of
from remanence.ports import ListReading
from remanence.recall.question import ParsedQuestion
from remanence.recall.referents import Referent, is_about_other, is_about_user
from remanence.schema import READER_MARK, SELF, Evidence, Hit, Memory, Window
from remanence.text.temporal import find_stated_times
from remanence.text.text import normalize_name, tokens

_SIGNAL_SHARE = 0.5
"""The share of a score that comes from the signals; the rest is from the reader. Chosen by hand."""
_CHOICE, _HOLDS, _ANSWERS = 0.25, 0.15, 0.1
"""The shares of a score that come from the reader: its choice, that a hit holds, and that it answers. With
`_SIGNAL_SHARE` they add up to 1. Chosen by hand."""
_SIGNAL_ODDS, _SIGNAL_POWER, _MIN_CHOICE = 12.0, 4, 0.02
"""How much the score of the signals, to this power, adds to the log of the reader's choice for the first hit. A high
score is right far more often than one half as high, and in talk between friends more often than the reader; where no
score is high, the reader decides. A hit that is chosen with less than the last probability does not come first for
that. Fitted on worlds a, b and e, LoCoMo, RealTalk, LongMemEval, BEAM and FactConsolidation together."""
_MIN_ANSWERING = 0.5
"""The least probability that a hit tells what is asked, for it to come before those that are trusted less: more
probable than not."""
_MIN_REPLACED, _MAX_HOLDING, _MIN_REPLACING, _SAME_MATTER = 0.9, 0.3, 0.5, 0.7
"""A hit is marked as replaced if the reader says so with at least the first probability and that it holds with at most
the second, and a later one holds, or is chosen, with at least the third. Both must tell what is asked with at least the
fourth: then they are about one matter. The fourth is between two that were measured on worlds a, b and e: with 0.8, 91%
of the marks were right; with 0.5, 76%, of twice as many."""
_OTHER_PERSON, _USER = 0.2, 0.02
"""The factors for the probabilities of memories about another person than the one a question means; the second one for
memories about the user, if the question is not about the user at all: "What should she avoid?", but not "What could I
serve her?". Chosen by hand."""
_CODE = re.compile(r"\b[A-Za-z]+[-_#/]?\d{2,}[\w-]*")
_OTHER_TIME = 0.01
"""The factor for the probabilities of what is closed, and of events of another time than the one a question names.
Chosen by hand."""


@dataclass(frozen=True, slots=True, eq=False)
class _ReadHit:
    """A hit with the probabilities by the reader: that it answers, that it holds at the time asked about, that a later
    one replaces it, and that it is the one to choose."""

    hit: Hit
    told_at: datetime
    answers: float
    holds: float
    replaced: float
    choice: float
    is_lowered: bool
    """Whether it is closed, or about another person or another time than the question: then it is not chosen."""

    @property
    def score(self) -> float:
        return _SIGNAL_SHARE * self.hit.score + _CHOICE * self.choice + _HOLDS * self.holds + _ANSWERS * self.answers

    @property
    def tells_it(self) -> bool:
        """Whether it is about the matter of the question, however much it is trusted."""
        return self.answers >= _SAME_MATTER * self.memory.trust

    @property
    def memory(self) -> Memory:
        return self.hit.memory


def order_by_reading(
    hits: Sequence[Hit], told_at: Sequence[datetime], reading: ListReading, pinned: int, parsed: ParsedQuestion
) -> tuple[Hit, ...]:
    """The hits in their final order, each that was read with the reader's probability as evidence.

    The first `pinned` ones, which were valid at the time asked about by their claims, stay first. What answers and is
    trusted more comes before what is trusted less.
    """
    first, unread = hits[: len(told_at)], hits[len(told_at) :]
    name_factors = map(min, _name_factors(first, parsed), _code_factors(first, parsed))
    read = [
        _read_hit(hit, told, parsed, name_factor, *probabilities)
        for hit, told, name_factor, *probabilities in zip(first, told_at, name_factors, *reading[:4], strict=True)
    ]
    others = sorted(read[pinned:], key=lambda each: -each.score)
    trusted = max((each.memory.trust for each in others if each.answers >= _MIN_ANSWERING), default=0.0)
    candidates = (each for each in others if not each.is_lowered and each.memory.trust >= trusted)
    chosen = max(candidates, key=_worth_of_first, default=None)
    if chosen is not None and chosen.choice >= _MIN_CHOICE:
        others = [chosen, *(each for each in others if each is not chosen)]
    ordered = [*read[:pinned], *others]
    rest = [replace(hit, score=_SIGNAL_SHARE * hit.score, evidence=_scaled(hit)) for hit in unread]
    least = rest[0].score if rest else 0.0
    # A hit that was moved up has at least the score of what follows it.
    scores = list(accumulate(reversed([each.score for each in ordered]), max, initial=least))[:0:-1]
    rank_of = {id(each): rank for rank, each in enumerate(sorted(read, key=lambda each: -each.holds), 1)}
    hits = [
        _with_reading(each, score, rank_of[id(each)], read, is_pinned=place < pinned)
        for place, (each, score) in enumerate(zip(ordered, scores, strict=True))
    ]
    return (*hits, *rest)


def _read_hit(
    hit: Hit,
    told_at: datetime,
    parsed: ParsedQuestion,
    name_factor: float,
    answers: float,
    holds: float,
    replaced: float,
    choice: float,
) -> _ReadHit:
    relevance = _time_factor(hit, parsed) * _person_factor(hit.memory, parsed.referent) * name_factor
    factor = hit.memory.trust * relevance
    # What does not tell what is asked is no answer, however little else is left to choose.
    choice = min(choice, answers)
    return _ReadHit(hit, told_at, factor * answers, factor * holds, replaced, factor * choice, relevance < 1)


def _time_factor(hit: Hit, parsed: ParsedQuestion) -> float:
    """The factor for the probabilities of what is closed, if the question is about now; of what is from another time,
    if the question asks for nothing but a time; and of a note of an event that was given another time than the question
    names. Of other times the reader knows better: a turn or a note may tell what began then."""
    memory, times = hit.memory, parsed.times
    if parsed.focus == "now" and not hit.current:
        return _OTHER_TIME
    if times and not parsed.has_topic:
        return float(any(nearness_of(own, asked) >= MOSTLY_WITHIN for own in _times_of(memory) for asked in times))
    if not times or memory.kind != "episode" or memory.turn is not None:
        return 1.0
    is_at_asked_time = any(memory.valid.overlaps(asked) for asked in times)
    return 1.0 if is_at_asked_time or find_stated_times(memory.text, memory.told_at) else _OTHER_TIME


def _times_of(memory: Memory) -> list[Window]:
    """The times that a memory is about: of a turn, the moment at which it was said."""
    valid = memory.valid
    if memory.turn is not None and valid == Window(memory.turn.at):
        valid = Window.from_moment(memory.told_at)
    return [valid, *(phrase.window for phrase in find_stated_times(memory.text, memory.told_at))]


def _name_factors(hits: Sequence[Hit], parsed: ParsedQuestion) -> list[float]:
    """The factors for the probabilities of memories that differ from another one only in names and times, and have no
    name of the question, while the other one has: "I moved to Faro" for "When did I move to Lisbon?"."""
    asked = {normalize_name(name) for name in parsed.names if name != SELF}
    names = [{normalize_name(mention.name) for mention in hit.memory.mentions} for hit in hits]
    named = [at for at, own in enumerate(names) if own & asked]
    if not named or len(named) == len(hits):
        return [1.0] * len(hits)
    words = [set(tokens(hit.memory.text)) for hit in hits]
    factors = []
    for hit, own_names, own_words in zip(hits, names, words, strict=True):
        alike = [words[at] for at in named if len(names[at]) == len(own_names)] if not own_names & asked else []
        if alike:
            times = find_stated_times(hit.memory.text, hit.memory.told_at)
            named_words = [*own_names, *(hit.memory.text[time.start : time.end] for time in times)]
            own_words = own_words.difference(*map(tokens, named_words))
        factors.append(_OTHER_PERSON if any(own_words <= other for other in alike) else 1.0)
    return factors


def _code_factors(hits: Sequence[Hit], parsed: ParsedQuestion) -> list[float]:
    """The factors for the probabilities of memories without the code that a question names, if others have it: order
    ZX-4417 is not ZX-4714."""
    asked = _codes(parsed.text)
    has_one = [bool(asked & _codes(hit.memory.text)) for hit in hits] if asked else []
    return [1.0 if one else _OTHER_PERSON for one in has_one] if any(has_one) else [1.0] * len(hits)


def _codes(text: str) -> set[str]:
    return {code.casefold() for code in _CODE.findall(text)}


def _person_factor(memory: Memory, referent: Referent) -> float:
    """The factor for the probabilities of a memory by whom it is about, if the question is about somebody else than the
    user."""
    if referent and is_about_user(memory, referent):
        return _OTHER_PERSON if referent.with_user else _USER
    return _OTHER_PERSON if referent and is_about_other(memory, referent) else 1.0


def _worth_of_first(each: _ReadHit) -> float:
    """How much a hit is worth the first place."""
    return math.log(each.choice + 1e-3) + _SIGNAL_ODDS * each.hit.score**_SIGNAL_POWER


def _with_reading(each: _ReadHit, score: float, rank: int, read: Sequence[_ReadHit], *, is_pinned: bool) -> Hit:
    note = f"answers the question with probability {each.holds:.2f}"
    signals = _SIGNAL_SHARE * each.hit.score
    share = (each.score if is_pinned else score) - signals
    evidence = (*_scaled(each.hit), Evidence("reader", rank, share, each.holds, note))
    if is_pinned and score != each.score:
        evidence = (*evidence, Evidence("time", 1, score - each.score, 0.0, "valid at the time asked about"))
    hit = replace(each.hit, score=score, evidence=evidence)
    # What a language model was shown and did not end holds, unless something contradicts it.
    is_decided = bool(hit.found_in) and not hit.by_rules and not hit.contradicted_by
    successor = _successor(each, read) if hit.current and not is_decided else None
    if successor is None:
        return hit
    mark = Evidence(READER_MARK, 1, 0.0, each.replaced, f"a later one replaces it with probability {each.replaced:.2f}")
    return replace(hit, current=False, superseded_by=successor, evidence=(*hit.evidence, mark))


def _successor(each: _ReadHit, read: Sequence[_ReadHit]) -> Memory | None:
    """The memory that replaces a hit by what the reader says; None if it may still hold."""
    if each.replaced < _MIN_REPLACED or each.holds > _MAX_HOLDING or not each.tells_it:
        return None
    later = [
        other
        for other in read
        if other.told_at > each.told_at
        and max(other.holds, other.choice) >= _MIN_REPLACING
        and other.tells_it
        and other.memory.trust >= each.memory.trust
    ]
    return max(later, key=lambda other: other.holds).memory if later else None


def _scaled(hit: Hit) -> tuple[Evidence, ...]:
    return tuple(replace(evidence, share=_SIGNAL_SHARE * evidence.share) for evidence in hit.evidence)
