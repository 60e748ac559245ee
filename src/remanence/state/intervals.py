"""Which of several claims holds when: arithmetic over half-open stretches of time, in microseconds.

Where only one value can hold at a time, two claims with different values disagree, and how they do
depends on these columns alone; the first line that fits decides.

    one value at a time?  windows meet?  starts     who says so                     class
    no                    -              -          -                               coexistence
    yes                   no             -          -                               coexistence
    yes                   yes            different  -                               succession
    yes                   yes            same       the same observer, or none      correction
                                                    twice
    yes                   yes            same       one of them unnamed; the later  correction
                                                    claim is as sure, both state
                                                    one and the same window
    yes                   yes            same       anything else                   conflict

In a succession the one that starts later holds from its start on; in a correction the one said later
holds; in a conflict neither wins, and both hold. A claim with no start counts from when it was said, or,
if it was over by then, from always; it reaches further back only where no other claim came earlier. A
claim that was ended afterwards (`until`) holds no longer, and what it had replaced does not come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from remanence.schema import OPEN_END, OPEN_START

DisagreementKind: TypeAlias = Literal["succession", "correction", "conflict", "coexistence"]


class Claim(NamedTuple):
    """That something has `value` from `start` to `end`, as `observer` said.

    Later claims have higher numbers. `recorded` is when it was said, ALWAYS for what never changes;
    `until` is when it was ended afterwards.
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
        """The start by which claims are put in order."""
        if self.start != OPEN_START:
            return self.start
        return self.recorded_at if self.recorded_at < min(self.end, self.ended_at) else OPEN_START

    @property
    def effective_end(self) -> int:
        """When it holds no longer, for whichever reason."""
        return min(self.end, self.ended_at)


class Interval(NamedTuple):
    """`value` holds from `start` to `end`, as `claims` say, in the order they were said.

    `lead` is the claim that is taken for it: the one with which the stretch begins.
    """

    value: int
    start: int
    end: int
    first_claim: Claim
    claims: tuple[Claim, ...]

    def __contains__(self, moment: object) -> bool:
        return isinstance(moment, int) and self.start <= moment < self.end


def classify_disagreement(a: Claim, b: Claim, single_valued: bool = True) -> DisagreementKind:
    """How two claims about one thing, with different values, disagree. See the table above.

    >>> porto, lisbon = Claim(1, value=7, start=10), Claim(2, value=8, start=20)
    >>> classify_disagreement(porto, lisbon), classify_disagreement(porto, lisbon, single_valued=False)
    ('succession', 'coexistence')
    """
    earlier, later = (a, b) if a.number < b.number else (b, a)
    if not single_valued or max(a.effective_start, b.effective_start) >= min(a.effective_end, b.effective_end):
        return "coexistence"
    if a.effective_start != b.effective_start:
        return "succession"
    if a.observer == b.observer:
        return "correction"
    stated = (a.start, a.end) == (b.start, b.end) and a.start != OPEN_START
    if None in (a.observer, b.observer) and stated and later.confidence >= earlier.confidence:
        return "correction"
    return "conflict"


def resolve_single_valued(claims: Iterable[Claim]) -> list[Interval]:
    """What holds when, where only one value can hold at a time: the whole line, in order.

    >>> porto, lisbon = Claim(1, value=7, start=10), Claim(2, value=8, start=50)
    >>> faro = Claim(3, value=9, start=30, end=40)  # learned last, and lands where it belongs
    >>> [(s.value, s.start, s.end) for s in resolve_single_valued([porto, lisbon, faro])][:3]
    [(7, 10, 30), (9, 30, 40), (7, 40, 50)]
    """
    told = [claim for claim in claims if claim.effective_start < claim.effective_end]
    if len(told) < 2:  # as nearly always, in a graph of many things
        return [_alone(claim) for claim in told]
    runs = _runs(told)
    first = min(run[0].effective_start for run in runs)
    begins = [_begin(run, first) for run in runs]
    if _each_followed(runs):
        ends = [*begins[1:], OPEN_END]
        return [
            Interval(run[0].value, begin, end, run[0], tuple(run))
            for run, begin, end in zip(runs, begins, ends, strict=True)
        ]
    order = sorted(range(len(runs)), key=begins.__getitem__, reverse=True)
    marks = {mark for run in runs for mark in (run[0].end, run[0].ended_at)}
    active: list[tuple[int, int]] = []
    open_: dict[int, _Open] = {}
    done: list[Interval] = []
    for begin, end in pairwise(sorted(marks.union(begins))):
        while order and begins[order[-1]] <= begin:
            run = order.pop()
            heappush(active, (-runs[run][0].effective_start, run))
        holding = _holding(active, runs, begin)
        done += [open_.pop(value).closed() for value in list(open_) if value not in holding]
        for value, saying in holding.items():
            open_.setdefault(value, _Open(value, begin)).extend(end, saying)
    done += [stretch.closed() for stretch in open_.values()]
    return sorted(done, key=lambda stretch: (stretch.start, stretch.first_claim.number))


def merge_same_value(claims: Iterable[Claim]) -> list[Interval]:
    """When one value holds that several claims give, where many values may hold at a time.

    >>> [(s.start, s.end) for s in merge_same_value([Claim(1, 7, 10, 30), Claim(2, 7, 20, 40), Claim(3, 7, 50, 60)])]
    [(10, 40), (50, 60)]
    """
    told = [claim for claim in claims if claim.start < claim.effective_end]
    if len(told) < 2:
        return [_alone(claim) for claim in told]
    out: list[_Open] = []
    for claim in sorted(told, key=lambda claim: (claim.start, claim.number)):
        if not out or claim.start > out[-1].end:
            out.append(_Open(claim.value, claim.start))
        out[-1].extend(max(out[-1].end, claim.effective_end), [claim])
    return [stretch.closed() for stretch in out]


def _alone(claim: Claim) -> Interval:
    return Interval(claim.value, claim.start, claim.effective_end, claim, (claim,))


class _Open:
    """A stretch that may grow yet."""

    def __init__(self, value: int, start: int) -> None:
        self.value, self.start, self.end = value, start, OPEN_START
        self._claims: dict[int, Claim] = {}

    def extend(self, end: int, claims: Iterable[Claim]) -> None:
        self.end = end
        for claim in claims:
            self._claims.setdefault(claim.number, claim)

    def closed(self) -> Interval:
        claims = tuple(self._claims.values())
        return Interval(self.value, self.start, self.end, claims[0], tuple(sorted(claims)))


def _runs(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Claims put together that say the same one after the other, with one end.

    No other value starts between them, so they win and lose together; a thing that was said a thousand
    times costs as much as one that was said once.
    """
    starting: dict[int, set[int]] = {}
    for claim in claims:
        starting.setdefault(claim.effective_start, set()).add(claim.value)
    out: list[list[Claim]] = []
    for claim in sorted(claims, key=lambda claim: (claim.effective_start, claim.number)):
        last = out[-1][-1] if out else None
        if (
            last is not None
            and (last.value, last.end, last.ended_at) == (claim.value, claim.end, claim.ended_at)
            and len(starting[last.effective_start]) == len(starting[claim.effective_start]) == 1
        ):
            out[-1].append(claim)
        else:
            out.append([claim])
    return out


def _each_followed(runs: Sequence[Sequence[Claim]]) -> bool:
    """Whether each run simply lasts until the next one starts: none has an end of its own."""
    open_ = all(run[0].end == run[0].ended_at == OPEN_END for run in runs)
    return open_ and all(a[-1].effective_start < b[0].effective_start for a, b in pairwise(runs))


def _begin(run: Sequence[Claim], first: int) -> int:
    """Where a run begins: an undated one reaches back to always if nothing came before it."""
    undated = any(claim.start == OPEN_START and claim.effective_start == first for claim in run)
    return OPEN_START if undated else run[0].effective_start


def _holding(active: list[tuple[int, int]], runs: Sequence[Sequence[Claim]], moment: int) -> dict[int, list[Claim]]:
    """The values that hold from `moment` to the next mark, each with the claims that say so.

    These are the runs that started last; and behind them others of the same value, up to the first that
    says something else: those would hold just the same if the ones before had not been said.
    """
    taken: list[tuple[int, int]] = []
    leading: list[Claim] = []
    while active:
        item = heappop(active)
        run = runs[item[1]]
        if run[0].end <= moment:
            continue  # over for good
        taken.append(item)
        if leading and -item[0] != leading[0].effective_start and {claim.value for claim in leading} != {run[0].value}:
            break
        leading += run
    for item in taken:
        heappush(active, item)
    disputed = any(claim.value != leading[0].value for claim in leading)
    out: dict[int, list[Claim]] = {}
    for claim in leading:
        if moment < claim.ended_at and not (disputed and any(_corrects(other, claim) for other in leading)):
            out.setdefault(claim.value, []).append(claim)
    return out


def _corrects(later: Claim, claim: Claim) -> bool:
    return (
        later.number > claim.number
        and later.value != claim.value
        and later.effective_start == claim.effective_start
        and classify_disagreement(claim, later) == "correction"
    )
