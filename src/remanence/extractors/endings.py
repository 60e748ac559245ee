"""What comes to an end: a relationship, a job, a habit, what somebody had.

Like changes.py, which asks it, it reads sentences in the third person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from remanence.extractors.denials import find_denied
from remanence.extractors.marked import Name
from remanence.extractors.predicates import OPPOSITES, STATE_BEFORE
from remanence.model import Triple


@dataclass(frozen=True, slots=True)
class Change:
    """An event: what it claims, what it ends, and the state it leaves, in words and as a claim.

    `over` is what it ends without saying which: who "got divorced" is married to nobody, whoever it was.
    """

    events: tuple[Triple, ...]
    ends: tuple[Triple, ...] = ()
    state: str | None = None
    claims: tuple[Triple, ...] = ()
    over: tuple[tuple[str, str], ...] = ()


def end_claims(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The states that these events put an end to."""
    return tuple(
        Triple(claim.subject, state, claim.object)
        for claim in claims
        for state in STATE_BEFORE.get(claim.predicate, ())
    )


def opposed(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The claims that cannot hold together with these."""
    return tuple(
        Triple(claim.subject, other, claim.object)
        for claim in claims
        for other in OPPOSITES.get(claim.predicate, ())
    )


def parted(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    found = _PARTED.match(text, who.end)
    other = starts.get(found.end()) if found else None
    if other is None:
        return None
    if other.text == who.text:  # with their girlfriend, whoever that was
        return Change((), (), over=tuple((who.text, predicate) for predicate in (*_COUPLE, *_PARTNERS)))
    events = (Triple(who.text, "broke_up_with", other.text),)
    kin = [Triple(other.text, role, who.text) for role in _PARTNERS]
    return Change(events, (*end_claims(events), *kin))


def finished(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    """Got divorced, quit their job: over is whatever it was."""
    found = _FINISHED.match(text, who.end)
    if found is None:
        return None
    over = (*_COUPLE, *_PARTNERS) if found["couple"] else _WORK
    ends: tuple[Triple, ...] = ()
    other = beside(text, who, starts.values())
    if found["couple"] and other is not None and other.text[0].isupper():  # by a name of their own
        ends = (
            *(Triple(who.text, predicate, other.text) for predicate in _COUPLE),
            *(Triple(other.text, predicate, who.text) for predicate in _PARTNERS),
        )
    return Change((), ends, over=tuple((who.text, predicate) for predicate in over))


def gave_up(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    found = _GAVE_UP.match(text, who.end)
    if found is None:
        return None
    if found["sold"]:
        return Change(
            (), tuple(Triple(who.text, predicate, found["thing"]) for predicate in ("has", "owns", "drives"))
        )
    if found["service"]:
        return Change(
            (), (Triple(who.text, "uses", found["service"]), Triple(who.text, "has", found["service"]))
        )
    denied = find_denied(text, sorted(starts.values(), key=_start), who.text)
    return Change((), denied.claims if denied else ())


def _start(name: Name) -> int:
    return name.start


def beside(text: str, who: Name, names: Iterable[Name]) -> Name | None:
    """Who stands before this one with "and", as a subject too."""
    for name in names:
        if name.kind == "person" and text[name.end : who.start] == " and ":
            return name if _OPENS.fullmatch(text, 0, name.start) else None
    return None


ADVERBS = r"(?: (?:has|have|just|recently|finally|already|also|actually|then|officially))*"
"""What may stand between a subject and its verb."""

_OPENS = re.compile(r"(?:[\w.' ’-]+['’]s [a-z ]+,? )?")  # nothing, or whose wife it is
_PARTED = re.compile(
    rf"{ADVERBS} (?:has )?(?:broke(?:n)? up with|split(?: up)? with|(?:got |is )?divorced(?: from)?"
    rf"|separated from) "
)
_COUPLE = ("married_to", "engaged_to", "dating")
_PARTNERS = (
    "wife_of",
    "husband_of",
    "girlfriend_of",
    "boyfriend_of",
    "partner_of",
    "fiancé_of",
    "fiancée_of",
)
_WORK = ("works_at", "works_as")
_FINISHED = re.compile(
    rf"{ADVERBS} (?:(?P<couple>(?:has |is )?(?:got |getting )?(?:divorced|separated)(?! from)"
    rf"|is (?:no longer |not )(?:married|engaged)|is (?:now )?(?:single"
    r"|divorced|widowed)(?: now| again)?|broke up|split up|(?:has )?split)"
    r"|(?P<work>(?:has |is )?retired(?! from)|(?:has )?(?:quit|lost|left) (?:my|their|his|her) job"
    r"|is (?:now |currently )?unemployed|(?:was|got) (?:laid off|fired|let go)(?! from| by)))"
    r"(?=[.,;!]|$| (?:last|this|in|on|because|since|for|after|when|a|two|three|yesterday|today|recently"
    r"|now|right"
    r"|again|and)\b)"
)
_GAVE_UP = re.compile(
    rf"{ADVERBS} (?:has )?(?:cancell?ed (?:my|their|his|her) (?P<service>[\w' +-]{{2,30}}?) (?:subscription"
    rf"|membership|account)|(?P<sold>sold|gave away|returned) (?:my|their|his"
    rf"|her) (?P<thing>[\w' -]{{2,30}}?)"
    r"|(?:stopped|quit|gave up) (?P<habit>[a-z]+ing(?: [\w' -]{1,30}?)??))"
    r"(?=[.,;!]|$| (?:last|this|in|on|because|since|for|after|when|to|a|two|three|yesterday|today|recently"
    r"|at)\b)"
)
