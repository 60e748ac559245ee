"""What the claims of a memory have come to: what took their place, whether they were ended, and what says
otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from remanence.schema import Snapshot, micros
from remanence.state.claim_view import ClaimView, EntityEdge
from remanence.state.claims import Claims
from remanence.state.intervals import Claim, DisagreementKind, Interval, classify_disagreement
from remanence.state.names import Names

_MOST_CLASHES = 64

RowDisagreement: TypeAlias = tuple[int, DisagreementKind, str]
"""A row that disagrees with another one, how, and about what."""


class ClaimStatus:
    """The fates of rows, kept until another sight asks: a recall asks several times of each."""

    def __init__(self, names: Names, claims: Claims) -> None:
        self._names, self._claims = names, claims
        self._asked: Snapshot | None = None
        self._known: dict[int, list[_Fate]] = {}
        self._clashes: dict[int, list[RowDisagreement]] = {}

    def superseding_row(self, row: int, look: ClaimView, sight: Snapshot) -> int | None:
        """The last of the rows that took the place of all that this one claims."""
        fates = self._of(row, look, sight)
        rows = [self._row_of(fate.replaced_by, sight) for fate in fates]
        found = [row for row in rows if row is not None]
        return max(found) if found and len(found) == len(fates) else None

    def stale_flags(self, row: int, look: ClaimView, sight: Snapshot) -> list[bool]:
        """Of each claim of a row, whether it was replaced or ended by hand."""
        return [bool(fate.replaced_by) or fate.ended for fate in self._of(row, look, sight)]

    def valid_periods(self, row: int, look: ClaimView, sight: Snapshot) -> list[tuple[EntityEdge, Interval]]:
        """What a row claims, and when it holds, as far as something else holds there at another time."""
        out: list[tuple[EntityEdge, Interval]] = []
        for tie in self._made_by(row, look, sight):
            line = [held.interval for held in look.resolved_claims(tie)] if tie.rule.single_valued else []
            if len({stretch.value for stretch in line}) > 1:
                out += [(tie, stretch) for stretch in line if tie.claim in stretch.claims]
        return out

    def disagreements(self, row: int, look: ClaimView, sight: Snapshot) -> list[RowDisagreement]:
        """The rows that disagree with this one: which, how, and about what ("Alice lives_in")."""
        self._turn_to(sight)
        known = self._clashes.get(row)
        if known is None:
            known = self._clashes[row] = self._disagreeing(row, look, sight)
        return known

    def _of(self, row: int, look: ClaimView, sight: Snapshot) -> list[_Fate]:
        """What each claim of a row has come to by now."""
        self._turn_to(sight)
        known = self._known.get(row)
        if known is None:
            known = self._known[row] = self._worked_out(row, look, sight)
        return known

    def _turn_to(self, sight: Snapshot) -> None:
        # Not only what is seen matters, but also when it is asked.
        if self._asked is not sight:
            self._asked, self._known, self._clashes = sight, {}, {}

    def _worked_out(self, row: int, look: ClaimView, sight: Snapshot) -> list[_Fate]:
        now = micros(sight.now)
        out: list[_Fate] = []
        for tie in self._made_by(row, look, sight):
            ended = tie.claim.ended_at <= now
            held = look.resolved_claims(tie) if tie.rule.single_valued else []
            begun = [h for h in held if h.interval.start <= now]
            latest = [h for h in begun if now in h.interval] or begun[-1:]
            lasting = any(h.interval.end > now and tie.claim in h.interval.claims for h in held)
            replacing = [h for h in latest if any(_replaces(c, tie.claim) for c in h.interval.claims)]
            out.append(_Fate(() if lasting or not replacing else replacing[0].interval.claims, ended))
        return out

    def _disagreeing(self, row: int, look: ClaimView, sight: Snapshot) -> list[RowDisagreement]:
        out: dict[tuple[int, str], DisagreementKind] = {}
        for tie in self._made_by(row, look, sight):
            if not tie.rule.single_valued:
                continue
            others = [other for other in look.group_of(tie).edges if other.claim.value != tie.claim.value]
            about = f"{self._names.spellings[tie.endpoints[tie.rule.keyed_by_object]]} {tie.rule.name}"
            for other in others[-_MOST_CLASHES:]:
                for another in self._claims.evidence_rows(other.claim.number, sight):
                    if another != row:
                        out[another, about] = classify_disagreement(tie.claim, other.claim)
        return [(another, how, about) for (another, about), how in out.items()]

    def _made_by(self, row: int, look: ClaimView, sight: Snapshot) -> list[EntityEdge]:
        claims = self._claims.claims_of_row(row)
        return list(map(look.to_edge, self._claims.active_claims(claims, sight))) if claims else []

    def _row_of(self, claims: Sequence[Claim], sight: Snapshot) -> int | None:
        rows = [row for claim in claims for row in self._claims.evidence_rows(claim.number, sight)]
        return max(rows, default=None)


class _Fate(NamedTuple):
    """What a claim has come to: the claims that took its place, and whether it was ended by hand."""

    replaced_by: Sequence[Claim]
    ended: bool


def _replaces(other: Claim, claim: Claim) -> bool:
    """Whether another claim took the place of this one: began while it held, or after it was ended."""
    if other.value == claim.value:
        return False
    if claim.ended_at <= other.effective_start:
        return True
    how = classify_disagreement(claim, other)
    return (how == "succession" and other.effective_start > claim.effective_start) or (
        how == "correction" and other.number > claim.number
    )
