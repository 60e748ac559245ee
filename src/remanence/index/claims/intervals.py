"""Which of several claims holds when: arithmetic over half-open intervals, in microseconds.

If only one value can hold at a time, two claims with different values disagree. How they do is decided by
the first row of this table that applies.

    single-valued?  windows overlap?  starts     observers                        kind
    no              -                 -          -                                coexistence
    yes             no                -          -                                coexistence
    yes             yes               see below  -                                correction
    yes             yes               different  -                                succession
    yes             yes               same       the same, or none twice          correction
    yes             yes               same       one unnamed, the same stated     correction
                                                 window, the later claim is at
                                                 least as confident
    yes             yes               same       anything else                    conflict

In a succession the claim that starts later holds from its start on; in a correction the later claim
holds; in a conflict both hold. A claim without a start holds from when it was recorded, or, if it had
ended by then, without a start. A claim that was ended afterwards (`ended_at`) no longer holds, and what it
had replaced does not hold again.

"I work at Google", and the day after "I started at Stripe two weeks ago": the claim told later began before the other
one was told, which has no start of its own. It is a correction if it began within the year before it was told. "I moved
to Porto in 2019" ends no home that was told of before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from remanence.schema import MICROS_PER_DAY, OPEN_END, OPEN_START, DisagreementKind

_RECENT = 366 * MICROS_PER_DAY
"""Microseconds of a year. A claim that began at most this long before it was told was no history then."""


class TimedClaim(NamedTuple):
    """Something has `value` from `start` to `end`, as stated by `observer`.

    Later claims have higher numbers. `recorded_at` is OPEN_START for immutable predicates.
    """

    number: int
    value: int
    start: int = OPEN_START
    end: int = OPEN_END
    recorded_at: int = OPEN_START
    observer: str | None = None
    confidence: float = 1.0
    ended_at: int = OPEN_END

    @property
    def effective_start(self) -> int:
        """The start by which claims are ordered."""
        if self.start != OPEN_START:
            return self.start
        recorded_at = self.recorded_at
        return recorded_at if recorded_at < self.end and recorded_at < self.ended_at else OPEN_START

    @property
    def effective_end(self) -> int:
        """When it no longer holds, for either reason."""
        return min(self.end, self.ended_at)


class Interval(NamedTuple):
    """`value` holds from `start` to `end`, as stated by `claims`; it begins with `first_claim`."""

    value: int
    start: int
    end: int
    first_claim: TimedClaim
    claims: tuple[TimedClaim, ...]

    def __contains__(self, moment: object) -> bool:
        return isinstance(moment, int) and self.start <= moment < self.end


def classify_disagreement(a: TimedClaim, b: TimedClaim) -> DisagreementKind:
    """How two claims with different values of a single-valued predicate disagree. See the table above."""
    start, other_start = a.effective_start, b.effective_start
    if max(start, other_start) >= min(a.end, a.ended_at, b.end, b.ended_at):
        return "coexistence"
    if _began_before(a, b) or _began_before(b, a):
        return "correction"
    if start != other_start:
        return "succession"
    if a.observer == b.observer:
        return "correction"
    earlier, later = (a, b) if a.number < b.number else (b, a)
    same_window = (a.start, a.end) == (b.start, b.end) and a.start != OPEN_START
    if None in (a.observer, b.observer) and same_window and later.confidence >= earlier.confidence:
        return "correction"
    return "conflict"


def resolve_single_valued(claims: Iterable[TimedClaim]) -> list[Interval]:
    """What holds when, if only one value can hold at a time, in order."""
    nonempty = [claim for claim in claims if claim.effective_start < claim.effective_end]
    if len(nonempty) > 1 and (recent := [claim for claim in nonempty if _is_of_the_year_before(claim)]):
        nonempty = [claim for claim in nonempty if not any(_began_before(other, claim) for other in recent)]
    if len(nonempty) < 2:  # the most frequent case
        return [_interval(claim.effective_start, claim.effective_end, [claim]) for claim in nonempty]
    runs = _runs(nonempty)
    starts = [run[0].effective_start for run in runs]
    waiting = sorted(range(len(runs)), key=starts.__getitem__, reverse=True)
    moments = {moment for run in runs for moment in (run[0].end, run[0].ended_at)}
    active: list[tuple[int, int]] = []
    open_: dict[int, tuple[int, int, dict[TimedClaim, None]]] = {}  # by value: start, end, claims so far
    done: list[Interval] = []
    for start, end in pairwise(sorted(moments.union(starts))):
        while waiting and starts[waiting[-1]] <= start:
            run = waiting.pop()
            heappush(active, (-runs[run][0].effective_start, run))
        holding = _values_at(active, runs, start)
        done += [_interval(*open_.pop(value)) for value in list(open_) if value not in holding]
        for value, stated in holding.items():
            first_start, _, before = open_.get(value, (start, end, {}))
            before.update(dict.fromkeys(stated))
            open_[value] = first_start, end, before
    done += [_interval(*arguments) for arguments in open_.values()]
    return sorted(done, key=lambda interval: (interval.start, interval.first_claim.number))


def merge_same_value(claims: Iterable[TimedClaim]) -> list[Interval]:
    """When a value holds that several claims state, if many values may hold at a time."""
    nonempty = [claim for claim in claims if claim.effective_start < claim.effective_end]
    if len(nonempty) < 2:  # the most frequent case
        return [_interval(claim.effective_start, claim.effective_end, [claim]) for claim in nonempty]
    merged: list[tuple[int, int, list[TimedClaim]]] = []
    for claim in sorted(nonempty, key=lambda claim: (claim.effective_start, claim.number)):
        if not merged or claim.effective_start > merged[-1][1]:
            merged.append((claim.effective_start, claim.effective_end, []))
        start, end, before = merged[-1]
        before.append(claim)
        merged[-1] = start, max(end, claim.effective_end), before
    return [_interval(*arguments) for arguments in merged]


def _is_of_the_year_before(claim: TimedClaim) -> bool:
    """Whether a claim began, by its own words, within the year before it was told, and held then."""
    return 0 < claim.recorded_at - claim.start <= _RECENT and claim.recorded_at < claim.effective_end


def _began_before(later: TimedClaim, claim: TimedClaim) -> bool:
    """Whether a claim told later began before this one was told, which held from then on until that was told."""
    return (
        claim.start in (OPEN_START, claim.recorded_at)
        and later.number > claim.number
        and later.value != claim.value
        and later.start < claim.recorded_at < later.recorded_at < claim.effective_end
        and _is_of_the_year_before(later)
    )


def _interval(start: int, end: int, claims: Iterable[TimedClaim]) -> Interval:
    first, *others = claims
    if not others:
        return Interval(first.value, start, end, first, (first,))
    return Interval(first.value, start, end, first, tuple(sorted((first, *others))))


def _runs(claims: Sequence[TimedClaim]) -> list[list[TimedClaim]]:
    """Consecutive claims with the same value and end, as one run.

    No other value starts between them, so they are replaced together, and a claim that was repeated a
    thousand times costs as much as a single one.
    """
    values: dict[int, set[int]] = {}  # by start
    for claim in claims:
        values.setdefault(claim.effective_start, set()).add(claim.value)
    runs: list[list[TimedClaim]] = []
    for claim in sorted(claims, key=lambda claim: (claim.effective_start, claim.number)):
        last = runs[-1][-1] if runs else None
        if (
            last is not None
            and (last.value, last.end, last.ended_at) == (claim.value, claim.end, claim.ended_at)
            and len(values[last.effective_start]) == len(values[claim.effective_start]) == 1
        ):
            runs[-1].append(claim)
        else:
            runs.append([claim])
    return runs


def _values_at(
    active: list[tuple[int, int]], runs: Sequence[Sequence[TimedClaim]], moment: int
) -> dict[int, list[TimedClaim]]:
    """The values that hold from `moment` to the next moment, each with its claims.

    These are the runs that started last, and earlier ones with the same value, up to the first with another
    value: those would hold too if the later ones had not been stated.
    """
    popped: list[tuple[int, int]] = []
    leading: list[TimedClaim] = []
    while active:
        item = heappop(active)
        run = runs[item[1]]
        if run[0].end <= moment:
            continue  # has ended
        popped.append(item)
        if leading and -item[0] != leading[0].effective_start and {claim.value for claim in leading} != {run[0].value}:
            break
        leading += run
    for item in popped:
        heappush(active, item)
    disputed = any(claim.value != leading[0].value for claim in leading)
    claims_by_value: dict[int, list[TimedClaim]] = {}
    for claim in leading:
        if moment < claim.ended_at and not (disputed and any(_corrects(other, claim) for other in leading)):
            claims_by_value.setdefault(claim.value, []).append(claim)
    return claims_by_value


def _corrects(later: TimedClaim, claim: TimedClaim) -> bool:
    return (
        later.number > claim.number
        and later.value != claim.value
        and later.effective_start == claim.effective_start
        and classify_disagreement(claim, later) == "correction"
    )
