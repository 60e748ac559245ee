"""What the claims of a memory have come to: what took their place, whether they were ended, and what says
otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from remanence.schema import Sight, micros
from remanence.state.claim_view import Look, Tie
from remanence.state.claims import Claims
from remanence.state.intervals import Claim, Disagreement, Stretch, classify
from remanence.state.names import Names

_MOST_CLASHES = 64

Clash: TypeAlias = tuple[int, Disagreement, str]
"""A row that disagrees with another one, how, and about what."""


class Fates:
    """The fates of rows, kept until another sight asks: a recall asks several times of each."""

    def __init__(self, names: Names, claims: Claims) -> None:
        self._names, self._claims = names, claims
        self._asked: Sight | None = None
        self._known: dict[int, list[_Fate]] = {}
        self._clashes: dict[int, list[Clash]] = {}

    def superseded(self, row: int, look: Look, sight: Sight) -> int | None:
        """The last of the rows that took the place of all that this one claims."""
        fates = self._of(row, look, sight)
        rows = [self._row_of(fate.replaced_by, sight) for fate in fates]
        found = [row for row in rows if row is not None]
        return max(found) if found and len(found) == len(fates) else None

    def over(self, row: int, look: Look, sight: Sight) -> list[bool]:
        """Of each claim of a row, whether it was replaced or ended by hand."""
        return [bool(fate.replaced_by) or fate.ended for fate in self._of(row, look, sight)]

    def held(self, row: int, look: Look, sight: Sight) -> list[tuple[Tie, Stretch]]:
        """What a row claims, and when it holds, as far as something else holds there at another time."""
        out: list[tuple[Tie, Stretch]] = []
        for tie in self._made_by(row, look, sight):
            line = [held.stretch for held in look.held(tie)] if tie.rule.single else []
            if len({stretch.value for stretch in line}) > 1:
                out += [(tie, stretch) for stretch in line if tie.claim in stretch.claims]
        return out

    def clashes(self, row: int, look: Look, sight: Sight) -> list[Clash]:
        """The rows that disagree with this one: which, how, and about what ("Alice lives_in")."""
        self._turn_to(sight)
        known = self._clashes.get(row)
        if known is None:
            known = self._clashes[row] = self._disagreeing(row, look, sight)
        return known

    def _of(self, row: int, look: Look, sight: Sight) -> list[_Fate]:
        """What each claim of a row has come to by now."""
        self._turn_to(sight)
        known = self._known.get(row)
        if known is None:
            known = self._known[row] = self._worked_out(row, look, sight)
        return known

    def _turn_to(self, sight: Sight) -> None:
        # Not only what is seen matters, but also when it is asked.
        if self._asked is not sight:
            self._asked, self._known, self._clashes = sight, {}, {}

    def _worked_out(self, row: int, look: Look, sight: Sight) -> list[_Fate]:
        now = micros(sight.now)
        out: list[_Fate] = []
        for tie in self._made_by(row, look, sight):
            ended = tie.claim.until <= now
            held = look.held(tie) if tie.rule.single else []
            begun = [h for h in held if h.stretch.start <= now]
            latest = [h for h in begun if now in h.stretch] or begun[-1:]
            lasting = any(h.stretch.end > now and tie.claim in h.stretch.claims for h in held)
            replacing = [h for h in latest if any(_replaces(c, tie.claim) for c in h.stretch.claims)]
            out.append(_Fate(() if lasting or not replacing else replacing[0].stretch.claims, ended))
        return out

    def _disagreeing(self, row: int, look: Look, sight: Sight) -> list[Clash]:
        out: dict[tuple[int, str], Disagreement] = {}
        for tie in self._made_by(row, look, sight):
            if not tie.rule.single:
                continue
            others = [other for other in look.slot(tie).ties if other.claim.value != tie.claim.value]
            about = f"{self._names.spelled[tie.ends[tie.rule.of_object]]} {tie.rule.name}"
            for other in others[-_MOST_CLASHES:]:
                for another in self._claims.rows_for(other.claim.number, sight):
                    if another != row:
                        out[another, about] = classify(tie.claim, other.claim)
        return [(another, how, about) for (another, about), how in out.items()]

    def _made_by(self, row: int, look: Look, sight: Sight) -> list[Tie]:
        claims = self._claims.of_row(row)
        return list(map(look.tie, self._claims.seen(claims, sight))) if claims else []

    def _row_of(self, claims: Sequence[Claim], sight: Sight) -> int | None:
        rows = [row for claim in claims for row in self._claims.rows_for(claim.number, sight)]
        return max(rows, default=None)


class _Fate(NamedTuple):
    """What a claim has come to: the claims that took its place, and whether it was ended by hand."""

    replaced_by: Sequence[Claim]
    ended: bool


def _replaces(other: Claim, claim: Claim) -> bool:
    """Whether another claim took the place of this one: began while it held, or after it was ended."""
    if other.value == claim.value:
        return False
    if claim.until <= other.since:
        return True
    how = classify(claim, other)
    return (how == "succession" and other.since > claim.since) or (
        how == "correction" and other.number > claim.number
    )
