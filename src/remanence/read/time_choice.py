"""Part of the reading step: which of the hits that answer was valid at the time that the question asks about.

For now that is the best one that most probably nothing told later replaces; for a past moment the same of what was told
by then; and "first", "before" and "previously" accordingly. A reader that can read a timeline is given the best hits
together, in the order they were told. Its choice counts beside that, decides where a question asks about an event at no
particular time, and says how probable it is that any of them answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from remanence.language.text import tokens
from remanence.models.reader_input import TIMELINE_LINES
from remanence.ports import Reader, RelationReader, TimelineReader
from remanence.read.question import ParsedQuestion
from remanence.schema import Hit, Memory

_MIN_PROBABILITY, _PART_OF_BEST = 0.2, 0.2
"""A hit counts as an answer if its probability is at least this, and at least this part of the best."""
_MIN_LATER = 0.01
"""The least probability that a later statement answers the question, for it to be compared with an earlier one: what
replaces an answer is often put in words that do not sound like one ("scrapped the Corolla")."""
_MOST_COMPARED = 5
"""How many of the hits that answer are compared with what was told later."""
_COMPARED, _ANSWERS, _TIME_PASSED, _NOTHING_CHANGES = 0.65, 0.36, 0.55, -2.8
"""The weights of the log odds that a later statement replaces an earlier answer: what the reader says of the two for
this question, how probable an answer the later one is beside the earlier, and the days between them, for most things
last a while. Fitted on the worlds to develop on of `benchmarks/unseen.py`; the constant also on chats in which little
changes."""
_CHOICE_WEIGHT = {"any": 0.05, "now": 0.15, "at": 0.15}
"""How much the choice in a timeline counts beside the score, as an exponent of its probability, by what time a question
asks about. Higher ones do well on questions about what changes, and badly on chats, in which most is told once."""
_LEAST_CHOICE = 1e-4
_MANY_ANSWERS, _SURE = 6, 0.3
"""If more hits answer, the question probably has several valid answers at a time, as is frequent in chats. Then one is
put first only if its probability in the timeline is at least this."""
_DECIDED = 0.6
"""The probability in the timeline from which on the choice also decides for "before" and "previously"."""
_REASONS = {
    "any": "chosen among those read together",
    "now": "nothing told later replaces it",
    "at": "valid at the time asked about",
}
_CODE, _MIN_CODE = re.compile(r"[\w-]+"), 3  # one with a digit: searched for in the pattern, a long word takes O(n²)


@dataclass(frozen=True, slots=True, eq=False)
class ReadHit:
    """A hit as it was read."""

    hit: Hit
    passage: str
    probability: float
    score: float
    time: datetime
    """When it was told. A date in the text may be that of something else."""
    before: str = ""
    """The turn before it, if it needs that to be understood."""
    after: str = ""
    """The hit that it answers together with, if it does not alone."""


def moment_asked_about(parsed: ParsedQuestion, now: datetime) -> datetime:
    """The end of the past time that a question names, or now."""
    return next((window.end for window in parsed.times if window.end is not None and window.end <= now), now)


def read_timeline(
    read: Sequence[ReadHit], question: str, moment: datetime, reader: Reader, as_statement: Callable[[ReadHit], str]
) -> dict[str, float]:
    """For the best hits, by id, the probability that each is the answer at that moment; nothing if the reader cannot
    tell. What a less trusted source told does not compete with an answer of a more trusted one."""
    if not isinstance(reader, TimelineReader):
        return {}
    trust = max((each.hit.memory.trust for each in read if each.probability >= _MIN_PROBABILITY), default=0.0)
    trusted = [each for each in read if each.hit.memory.trust >= trust]
    by_statement: dict[str, ReadHit] = {}  # what was told twice on a day is read once
    for each in sorted(trusted, key=lambda each: -each.score):
        if len(by_statement) == TIMELINE_LINES:
            break
        by_statement.setdefault(as_statement(each), each)
    best = sorted(by_statement.items(), key=lambda item: item[1].time)
    told = sum(each.time <= moment for _, each in best)
    choice = reader.choose(question, [statement for statement, _ in best], told)
    return {each.hit.memory.id: probability for (_, each), probability in zip(best, choice, strict=False)}


def first_by_time(
    read: Sequence[ReadHit], parsed: ParsedQuestion, now: datetime, reader: Reader, choice: Mapping[str, float]
) -> tuple[ReadHit | None, str]:
    """Of the hits that answer, the one that was valid at the time asked about, and why in words. `choice` is that of
    `read_timeline`."""
    read = _with_codes_of(parsed, read)
    best = max(each.probability for each in read)
    answering = [each for each in read if each.probability >= max(_MIN_PROBABILITY, _PART_OF_BEST * best)]
    answering.sort(key=lambda each: -each.score)
    question, focus, moment = parsed.reading_text, parsed.focus, moment_asked_about(parsed, now)
    if not answering:
        return None, ""
    if focus in ("any", "now", "at"):
        factor = {each.hit.memory.id: _choice_factor(each, choice, focus) for each in read}
        if focus == "any":
            chosen = max(answering, key=lambda each: each.score * factor[each.hit.memory.id]) if choice else None
        else:
            chosen = _valid_at(moment, answering, read, question, reader, factor)
        unsure = chosen is not None and bool(choice) and choice.get(chosen.hit.memory.id, 0.0) < _SURE
        return (None if unsure and len(answering) > _MANY_ANSWERS else chosen), _REASONS[focus]
    if focus in ("before", "previous"):
        decided = next((each for each in read if choice.get(each.hit.memory.id, 0.0) >= _DECIDED), None)
        if decided is not None:
            return decided, _REASONS["any"]
    oldest = sorted(answering, key=lambda each: each.time)
    if focus == "first":
        return oldest[0], f"the first of {len(answering)} that answer"
    if focus == "previous":
        replaced = {each.hit.memory.id for each in answering if _replaced_by(each, oldest, question, reader, 0.5)}
        past = [each for each in answering if not each.hit.current or each.hit.memory.id in replaced]
        return max(past, key=lambda each: each.time, default=None), "replaced by what was told later"
    anchors = [each for each in oldest if _mentions(each.hit.memory, parsed.time_relation.anchor_words)]
    if not anchors:
        return None, ""
    anchor = anchors[0].time
    if focus == "after":
        return next((each for each in oldest if each.time > anchor and each not in anchors), None), "told after it"
    earlier = [each for each in oldest if each.time < anchor or (focus == "during" and each.time == anchor)]
    return (earlier[-1] if earlier else None), f"what was valid {focus} it"


def _with_codes_of(parsed: ParsedQuestion, read: Sequence[ReadHit]) -> Sequence[ReadHit]:
    """Those that have the codes and numbers of the question, if any has: a reader takes like ones for each other."""
    words = _CODE.findall(parsed.search_text.lower())
    codes = [word for word in words if len(word) >= _MIN_CODE and any(map(str.isdecimal, word))]
    having = [each for each in read if all(code in each.hit.memory.text.lower() for code in codes)]
    return having or read


def _choice_factor(each: ReadHit, choice: Mapping[str, float], focus: str) -> float:
    """What the score of a hit is multiplied by, for the choice in the timeline. One that answers only after another is
    no answer there by itself."""
    if not choice:
        return 1.0
    chance = max(choice.get(each.hit.memory.id, 0.0), each.probability if each.after else 0.0)
    return math.pow(chance + _LEAST_CHOICE, _CHOICE_WEIGHT[focus])


def _valid_at(
    moment: datetime,
    answering: Sequence[ReadHit],
    read: Sequence[ReadHit],
    question: str,
    reader: Reader,
    factor: Mapping[str, float],
) -> ReadHit | None:
    """Of what was told by a moment, the hit that scores best and was most probably not replaced by then. What replaces
    an answer is an answer itself, though it may not sound like one. `factor` is that of `_choice_factor`, by id."""
    told = sorted((each for each in read if each.time <= moment), key=lambda each: each.time)
    compared = [each for each in answering if each.time <= moment][:_MOST_COMPARED]
    if not compared:
        return None
    score = {each.hit.memory.id: each.score for each in told}
    valid = dict.fromkeys(score, 1.0)
    for each in sorted(compared, key=lambda each: each.time):
        own = each.hit.memory.id
        for later, probability in _replaced_by(each, told, question, reader):
            score[later] = max(score[later], probability * score[own])
            valid[own] = min(valid[own], 1 - probability)

    def worth(each: ReadHit) -> float:
        own = each.hit.memory.id
        return score[own] * valid[own] * factor[own]

    return max(told, key=worth)


def _replaced_by(
    earlier: ReadHit, others: Sequence[ReadHit], question: str, reader: Reader, least: float = 0.0
) -> list[tuple[str, float]]:
    """The ids of the later hits that may replace or end an answer, each with the probability that it does, if that is
    at least so much. Where both make claims, the rules have compared these already. For a reader that cannot compare,
    every later answer replaces an earlier one."""
    claims, p = earlier.hit.memory.triples, earlier.probability
    later = [other for other in others if other.time > earlier.time and not (claims and other.hit.memory.triples)]
    later = [other for other in later if other.hit.memory.trust >= earlier.hit.memory.trust]
    if not isinstance(reader, RelationReader):
        enough = max(_MIN_PROBABILITY, _PART_OF_BEST * p)
        return [(other.hit.memory.id, 1.0) for other in later if other.probability >= enough]
    later = [other for other in later if other.probability >= _MIN_LATER]
    if not later:
        return []
    compared = reader.compare([(earlier.passage, other.passage) for other in later], question)
    replaced = np.array([odds.get("replaces", 0.0) + odds.get("ends", 0.0) for odds in compared])
    answers = np.array([min(1.0, other.probability / p) for other in later])
    days = np.array([(other.time - earlier.time).total_seconds() / 86_400 for other in later])
    log_odds = _COMPARED * np.log((replaced + 1e-3) / (1 - replaced + 1e-3)) + _ANSWERS * np.log(answers)
    log_odds += _TIME_PASSED * np.log1p(days) + _NOTHING_CHANGES
    odds = zip(later, (1 / (1 + np.exp(-log_odds))).tolist(), strict=True)
    return [(other.hit.memory.id, probability) for other, probability in odds if probability >= least]


def _mentions(memory: Memory, words: frozenset[str]) -> bool:
    return bool(words) and 2 * len(words.intersection(tokens(memory.text))) >= len(words)
