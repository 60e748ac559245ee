"""Part of the rerank step: which of the answers was valid at the time that the question asks about.

For a question about now, the best answer is put first that most probably no later statement replaces. For a past
moment, only statements up to that moment count. "First", "previously", "before", "after" and "during" have rules of
their own (`choose_by_time`).

A reader that can read a timeline is also given the best hits together, in the order in which they were stated. It says
for each hit how probable it is that this hit is the answer. That probability counts in addition to the score. Together
with the probability of the hit alone it decides for questions that ask for an earlier value or for the moment of a
change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

from remanence.language.message_words import moment_of_change_probability
from remanence.language.text import tokens
from remanence.models.reader_input import TIMELINE_LINES
from remanence.ports import Reader, RelationReader, TimelineReader
from remanence.read.hits import ScoredHit
from remanence.read.question import ParsedQuestion, TimeFocus
from remanence.schema import SELF, Memory

_MIN_PROBABILITY = 0.2
"""The least probability of a hit that counts as an answer."""
_MIN_PART_OF_BEST = 0.2
"""The same, as a part of the probability of the best hit."""
_MIN_LATER_PROBABILITY = 0.01
"""The least probability that a later statement answers the question, for it to be compared with an earlier answer. It
is low, because the statement that replaces an answer often does not sound like one ("scrapped the Corolla")."""
_MAX_COMPARED = 5
"""How many answers are compared with later statements."""
# The log odds that a later statement replaces an earlier answer are a weighted sum. Fitted on the worlds to develop on
# of `benchmarks/unseen.py`; the bias also on chats in which little changes.
_W_READER = 0.65
"""The weight of the log odds by the reader, for these two statements and this question."""
_W_ANSWER = 0.36
"""The weight of the probability that the later statement is an answer, relative to the earlier one, as a logarithm."""
_W_DAYS = 0.55
"""The weight of the days between the statements, as a logarithm: most things last a while."""
_BIAS = -2.8
_CHOICE_WEIGHT: Mapping[TimeFocus, float] = {"any": 0.2, "now": 0.5, "at": 0.5}
"""The exponent of the probability in the timeline, by the time that a question asks about. A score is multiplied by
that power. Higher exponents do well on questions about facts that change, and badly on chats, in which most facts are
stated once."""
_MIN_CHOICE = 1e-4
"""Added to the probability in the timeline, so that no score becomes zero."""
_MAX_SINGLE_ANSWERS = 6
"""If more hits answer, the question probably has several valid answers at a time, as is frequent in chats."""
_MIN_CHOICE_TO_LEAD = 0.3
"""With several valid answers, and for a question about a change that is recognised by a table of words only, a hit is
put first only if its probability in the timeline is at least this. In chats most events are told once."""
_MIN_CHANGE = 0.5
"""The least probability, by its words, that a question asks for the moment of a change."""
_NOT_EARLIER = 0.1
"""The factor for hits that cannot be the earlier value which a question asks for: those stated from the event on that
it names, and what is valid now by its claims, if something else was replaced."""
_CHOSEN = "chosen among those read together"
_WORD = re.compile(r"[\w-]+")
_MIN_IDENTIFIER_LENGTH = 3


class TimeChoice(NamedTuple):
    """The hit to put first, if any, and the reason as text."""

    hit: ScoredHit | None = None
    reason: str = ""


def read_timeline(
    scored_hits: Sequence[ScoredHit],
    parsed: ParsedQuestion,
    now: datetime,
    reader: Reader,
    as_statement: Callable[[ScoredHit], str],
) -> dict[str, float]:
    """For the best hits, by id, the probability that each is the answer at the time asked about. Empty if the reader
    cannot tell, and for a question that refers to the turns before it: readers are not trained to read timelines with
    these turns. Memories with less trust than an answer are excluded."""
    if not isinstance(reader, TimelineReader) or parsed.is_follow_up:
        return {}
    answers = (scored for scored in scored_hits if scored.probability >= _MIN_PROBABILITY)
    min_trust = max((answer.memory.trust for answer in answers), default=0.0)
    trusted = [scored for scored in scored_hits if scored.memory.trust >= min_trust]
    by_statement: dict[str, ScoredHit] = {}  # a statement that was repeated on one day is read once
    for scored in _best_first(trusted):
        if len(by_statement) == TIMELINE_LINES:
            break
        by_statement.setdefault(as_statement(scored), scored)
    statements = sorted(by_statement.items(), key=lambda item: item[1].time)
    moment = _moment_asked_about(parsed, now)
    stated_by_then = sum(scored.time <= moment for _, scored in statements)
    choice = reader.choose(parsed.reader_text, [statement for statement, _ in statements], stated_by_then)
    return {scored.id: probability for (_, scored), probability in zip(statements, choice, strict=False)}


def choose_by_time(
    scored_hits: Sequence[ScoredHit],
    parsed: ParsedQuestion,
    now: datetime,
    reader: Reader,
    timeline: Mapping[str, float],
) -> TimeChoice:
    """Of the hits that answer, the one that was valid at the time asked about. `timeline` is the result of
    `read_timeline`."""
    candidates = _matching_identifiers(parsed, scored_hits)
    best = max(scored.probability for scored in candidates)
    min_probability = max(_MIN_PROBABILITY, _MIN_PART_OF_BEST * best)
    answers = _best_first(scored for scored in candidates if scored.probability >= min_probability)
    if not answers:
        return TimeChoice()
    question, focus = parsed.reader_text, parsed.focus
    is_before = focus in ("before", "previous")
    if timeline and (is_before or (focus not in ("first", "at") and _asks_about_change(parsed))):
        chosen = _best_in_timeline(candidates, answers, parsed, timeline)
        is_clear = timeline.get(chosen.id, 0.0) >= _MIN_CHOICE_TO_LEAD and _has_names_asked(chosen, candidates, parsed)
        if is_before or is_clear:
            return TimeChoice(chosen, _CHOSEN)
    match focus:
        case "any":
            factors = _choice_factors(candidates, timeline, focus)
            best_answer = max(answers, key=lambda answer: answer.score * factors[answer.id])
            if not timeline or not _has_names_asked(best_answer, candidates, parsed):
                return TimeChoice()
            return TimeChoice(_if_single(best_answer, answers, timeline), _CHOSEN)
        case "now" | "at":
            moment = _moment_asked_about(parsed, now)
            factors = _choice_factors(candidates, timeline, focus)
            valid = _valid_at(moment, answers, candidates, question, reader, factors)
            reason = "nothing told later replaces it" if focus == "now" else "valid at the time asked about"
            return TimeChoice(_if_single(valid, answers, timeline), reason)
        case "first":
            return TimeChoice(_oldest_first(answers)[0], f"the first of {len(answers)} that answer")
        case "previous":
            return TimeChoice(_last_replaced(answers, question, reader), "replaced by what was told later")
        case "before" | "after" | "during":
            return _relative_to_anchor(answers, parsed)


def _asks_about_change(parsed: ParsedQuestion) -> bool:
    """Whether a question asks for an earlier value or for the moment of a change, in any wording."""
    return parsed.asks_earlier_value or moment_of_change_probability(parsed.reader_text) >= _MIN_CHANGE


def _moment_asked_about(parsed: ParsedQuestion, now: datetime) -> datetime:
    """The end of the past time that a question names, or now."""
    return next((window.end for window in parsed.times if window.end is not None and window.end <= now), now)


def _matching_identifiers(parsed: ParsedQuestion, scored_hits: Sequence[ScoredHit]) -> Sequence[ScoredHit]:
    """The hits with the identifiers and numbers of the question, if there is such a hit: readers confuse similar
    identifiers."""
    words = [word for word in _WORD.findall(parsed.search_text.lower()) if len(word) >= _MIN_IDENTIFIER_LENGTH]
    identifiers = [word for word in words if any(map(str.isdecimal, word))]
    matching = [
        scored for scored in scored_hits if all(identifier in scored.memory.text.lower() for identifier in identifiers)
    ]
    return matching or scored_hits


def _has_names_asked(chosen: ScoredHit, candidates: Sequence[ScoredHit], parsed: ParsedQuestion) -> bool:
    """Whether a hit has as many names of the question as the hit with the best score. Readers confuse similar
    statements: "When did I move to Lisbon?" is not answered by "I moved to Porto in January"."""
    best = max(candidates, key=lambda scored: scored.score)
    return _count_names(chosen.memory, parsed) >= _count_names(best.memory, parsed)


def _count_names(memory: Memory, parsed: ParsedQuestion) -> int:
    """How many names of the question a memory mentions, or has as its speaker."""
    speaker = "" if memory.turn is None else memory.turn.speaker or ""
    words = set(tokens(f"{memory.text} {speaker}"))
    return sum(not words.isdisjoint(tokens(name)) for name in parsed.names if name != SELF)


def _best_in_timeline(
    candidates: Sequence[ScoredHit], answers: Sequence[ScoredHit], parsed: ParsedQuestion, timeline: Mapping[str, float]
) -> ScoredHit:
    """The hit that most probably is the answer, alone and in the timeline; the latest of several."""
    anchors = _anchors(answers, parsed) if parsed.focus == "before" else []
    anchor_time = min((anchor.time for anchor in anchors), default=None)
    is_any_replaced = parsed.asks_earlier_value and any(not answer.hit.current for answer in answers)

    def probability(scored: ScoredHit) -> float:
        not_earlier = scored.hit.current and is_any_replaced if anchor_time is None else scored.time >= anchor_time
        factor = _NOT_EARLIER if not_earlier else 1.0
        return factor * scored.probability * (timeline.get(scored.id, 0.0) + _MIN_CHOICE)

    return max(candidates, key=lambda scored: (probability(scored), scored.time))


def _choice_factors(
    scored_hits: Sequence[ScoredHit], timeline: Mapping[str, float], focus: TimeFocus
) -> dict[str, float]:
    """The factor for the score of each hit, by id: a power of its probability in the timeline. A hit that answers only
    together with another one is no answer in the timeline, so the probability of the pair counts too."""
    if not timeline:
        return {scored.id: 1.0 for scored in scored_hits}
    weight, factors = _CHOICE_WEIGHT[focus], {}
    for scored in scored_hits:
        probability = max(timeline.get(scored.id, 0.0), scored.probability if scored.chain_text else 0.0)
        factors[scored.id] = math.pow(probability + _MIN_CHOICE, weight)
    return factors


def _if_single(
    chosen: ScoredHit | None, answers: Sequence[ScoredHit], timeline: Mapping[str, float]
) -> ScoredHit | None:
    """The chosen hit; None if the question probably has several valid answers and the timeline does not prefer it."""
    if chosen is None or not timeline or len(answers) <= _MAX_SINGLE_ANSWERS:
        return chosen
    return chosen if timeline.get(chosen.id, 0.0) >= _MIN_CHOICE_TO_LEAD else None


def _valid_at(
    moment: datetime,
    answers: Sequence[ScoredHit],
    candidates: Sequence[ScoredHit],
    question: str,
    reader: Reader,
    factors: Mapping[str, float],
) -> ScoredHit | None:
    """Of the hits stated up to a moment, the one with the best score that most probably was not replaced by then. A hit
    that replaces an answer is an answer itself: it gets the score of that answer, if its own score is lower."""
    stated = _oldest_first(scored for scored in candidates if scored.time <= moment)
    compared = [answer for answer in answers if answer.time <= moment][:_MAX_COMPARED]
    if not compared:
        return None
    scores = {scored.id: scored.score for scored in stated}
    validity = dict.fromkeys(scores, 1.0)
    for answer in _oldest_first(compared):
        for later_id, probability in _replacements(answer, stated, question, reader):
            scores[later_id] = max(scores[later_id], probability * scores[answer.id])
            validity[answer.id] = min(validity[answer.id], 1 - probability)

    def score_if_valid(scored: ScoredHit) -> float:
        return scores[scored.id] * validity[scored.id] * factors[scored.id]

    return max(stated, key=score_if_valid)


def _last_replaced(answers: Sequence[ScoredHit], question: str, reader: Reader) -> ScoredHit | None:
    """The last answer that is no longer valid."""
    oldest = _oldest_first(answers)
    replaced = {answer.id for answer in answers if _replacements(answer, oldest, question, reader, 0.5)}
    past = [answer for answer in answers if not answer.hit.current or answer.id in replaced]
    return max(past, key=lambda answer: answer.time, default=None)


def _relative_to_anchor(answers: Sequence[ScoredHit], parsed: ParsedQuestion) -> TimeChoice:
    """The answer before, after or during an event that the question names, its anchor: "before Lisbon"."""
    oldest, focus = _oldest_first(answers), parsed.focus
    anchors = _anchors(oldest, parsed)
    if not anchors:
        return TimeChoice()
    time = anchors[0].time
    if focus == "after":
        later = (answer for answer in oldest if answer.time > time and answer not in anchors)
        return TimeChoice(next(later, None), "told after it")
    earlier = [answer for answer in oldest if answer.time < time or (focus == "during" and answer.time == time)]
    return TimeChoice(earlier[-1] if earlier else None, f"what was valid {focus} it")


def _anchors(answers: Sequence[ScoredHit], parsed: ParsedQuestion) -> list[ScoredHit]:
    """The answers that mention the event that a question names."""
    words = parsed.time_relation.anchor_words
    return [answer for answer in answers if _mentions_half_of(answer.memory, words)]


def _replacements(
    answer: ScoredHit, others: Sequence[ScoredHit], question: str, reader: Reader, min_probability: float = 0.0
) -> list[tuple[str, float]]:
    """The ids of the later hits that may replace or end an answer, each with the probability that it does, at least
    `min_probability`. Two hits with claims are not compared: the rules have compared their claims already. For a reader
    that cannot compare, every later answer replaces an earlier one."""
    has_claims, trust = bool(answer.memory.triples), answer.memory.trust
    later = [other for other in others if other.time > answer.time and not (has_claims and other.memory.triples)]
    later = [other for other in later if other.memory.trust >= trust]
    if not isinstance(reader, RelationReader):
        min_answer = max(_MIN_PROBABILITY, _MIN_PART_OF_BEST * answer.probability)
        return [(other.id, 1.0) for other in later if other.probability >= min_answer]
    later = [other for other in later if other.probability >= _MIN_LATER_PROBABILITY]
    if not later:
        return []
    relations = reader.compare([(answer.passage, other.passage) for other in later], question)
    replaces = np.array([relation.get("replaces", 0.0) + relation.get("ends", 0.0) for relation in relations])
    relative = np.array([min(1.0, other.probability / answer.probability) for other in later])
    days = np.array([(other.time - answer.time).total_seconds() / 86_400 for other in later])
    log_odds = _W_READER * np.log((replaces + 1e-3) / (1 - replaces + 1e-3)) + _W_ANSWER * np.log(relative)
    log_odds += _W_DAYS * np.log1p(days) + _BIAS
    probabilities = (1 / (1 + np.exp(-log_odds))).tolist()
    return [(other.id, p) for other, p in zip(later, probabilities, strict=True) if p >= min_probability]


def _best_first(scored_hits: Iterable[ScoredHit]) -> list[ScoredHit]:
    return sorted(scored_hits, key=lambda scored: -scored.score)


def _oldest_first(scored_hits: Iterable[ScoredHit]) -> list[ScoredHit]:
    return sorted(scored_hits, key=lambda scored: scored.time)


def _mentions_half_of(memory: Memory, words: frozenset[str]) -> bool:
    return bool(words) and 2 * len(words.intersection(tokens(memory.text))) >= len(words)
