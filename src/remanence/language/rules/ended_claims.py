"""What comes to an end: a relationship, a job, a habit, what somebody had.

Like changes.py, which asks it, it reads sentences in the third person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.negations import find_denial
from remanence.language.rules.predicate_rules import OPPOSITE_PREDICATES, STATES_ENDED_BY_EVENT
from remanence.language.rules.subjects import coordinated_subjects
from remanence.schema import Triple


@dataclass(frozen=True, slots=True)
class StateChange:
    """An event: what it claims, what it ends, and the state it leaves, in words and as a claim.

    What it ends without saying which has an end left empty: who "got divorced" is married to nobody,
    whoever it was.
    """

    event_claims: tuple[Triple, ...]
    ended_claims: tuple[Triple, ...] = ()
    state_text: str | None = None
    state_claims: tuple[Triple, ...] = ()

    @property
    def has_unspecified_end(self) -> bool:
        """Whether it ends something without saying which."""
        return any(not (claim.subject and claim.object) for claim in self.ended_claims)


def claims_ended_by(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The states that these events put an end to."""
    return tuple(
        Triple(claim.subject, state, claim.object)
        for claim in claims
        for state in STATES_ENDED_BY_EVENT.get(claim.predicate, ())
    )


def claims_opposed_to(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The claims that cannot hold together with these."""
    return tuple(
        Triple(claim.subject, other, claim.object)
        for claim in claims
        for other in OPPOSITE_PREDICATES.get(claim.predicate, ())
    )


def find_breakup(text: str, subject: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    """Broke up with Tom, or with their girlfriend, whoever that was; was left by their wife."""
    deserted = _deserted(text, subject, starts)
    found = _PARTED.match(text, subject.end)
    if deserted is not None or found is None:
        return deserted
    other = starts.get(found.end())
    if other is not None and other.kind not in ("person", "thing"):
        return StateChange((), _jobless(subject)) if found["with"] and other.kind == "organization" else None
    if other is None or other.text == subject.text or _KIN_OF.search(other.text):
        whose = _PARTNER.match(text, found.end() if other is None else other.end)
        return StateChange((), _alone(subject)) if whose or other is not None else None
    events = () if found["with"] else (Triple(subject.text, "broke_up_with", other.text),)
    return StateChange(events, _apart(subject, other))


def _deserted(text: str, who: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    """Alice's wife left Alice: it is Alice who is on her own now."""
    found = _DESERTED.match(text, who.end)
    other = starts.get(found.end()) if found else None
    if other is None or other.kind != "person" or not _ENDS_HERE.match(text, other.end):
        return None
    if _PARTNER_OF.search(who.text):
        return StateChange((), _alone(other))
    return StateChange((), _apart(other, who)) if found and found["left"] and not _KIN_OF.search(who.text) else None


def _apart(one: NameSpan, other: NameSpan) -> tuple[Triple, ...]:
    """That these two are a couple, from whichever side it was said."""
    pairs = ((one.text, other.text), (other.text, one.text))
    return tuple(Triple(subject, bond, object_) for subject, object_ in pairs for bond in _COUPLE)


def find_unspecified_ending(text: str, subject: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    """Got divorced, quit their job: over is whatever it was."""
    found = _FINISHED.match(text, subject.end)
    if found is None:
        return None
    others = coordinated_subjects(text, subject, {name.end: name for name in starts.values()})
    if not found["couple"]:
        return StateChange((), tuple(end for one in (*others, subject) for end in _jobless(one)))
    if len(others) == 1 and not _KIN_OF.search(others[0].text):  # by a name of their own
        return StateChange((), _apart(subject, others[0]))
    return StateChange((), _alone(subject))


def _alone(who: NameSpan) -> tuple[Triple, ...]:
    """That somebody is one of a couple: who has no husband is nobody's wife either."""
    return tuple(end for bond in _COUPLE for end in (Triple(who.text, bond, ""), Triple("", bond, who.text)))


def _jobless(who: NameSpan) -> tuple[Triple, ...]:
    """That somebody works anywhere, as anything; who works for them goes on to."""
    return tuple(Triple(who.text, predicate, "") for predicate in ("works_at", "works_as"))


def find_discontinued(text: str, subject: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    found = _GAVE_UP.match(text, subject.end)
    if found is None:
        return None
    if found["sold"]:
        return StateChange(
            (), tuple(Triple(subject.text, predicate, found["thing"]) for predicate in ("has", "owns", "drives"))
        )
    if found["service"]:
        return StateChange(
            (), (Triple(subject.text, "uses", found["service"]), Triple(subject.text, "has", found["service"]))
        )
    denied = find_denial(text, sorted(starts.values(), key=_start), subject.text)
    return StateChange((), denied.claims if denied else ())


def _start(name: NameSpan) -> int:
    return name.start


ADVERB_PATTERN = r"(?: (?:has|have|just|recently|finally|already|also|actually|then|officially))*"
"""What may stand between a subject and its verb."""

_PARTNER_WORDS = "wife|husband|girlfriend|boyfriend|partner|fiancée?|fiancee?|spouse"
_PARTED = re.compile(
    rf"{ADVERB_PATTERN} (?:(?:has )?(?:broke(?:n)? up with|split(?: up)? with|(?:got |is )?divorced(?: from)?"
    rf"|(?:is )?separated from|dumped)|(?P<with>(?:is|are) (?:no longer|not) (?:together )?with)) "
)
_DESERTED = re.compile(rf"{ADVERB_PATTERN} (?:(?P<left>left)|dumped|divorced|broke up with|separated from) ")
_ENDS_HERE = re.compile(
    r"[.,;!]|$| (?:last|this|in|on|because|since|for|after|when|two|three|yesterday|today|recently|and|any)\b"
)
_KIN_OF = re.compile(r"^my |['’]s ")
_PARTNER = re.compile(rf" ?(?:their|his|her) (?:[a-z]+ )?(?:{_PARTNER_WORDS})\b")
_PARTNER_OF = re.compile(rf" (?:{_PARTNER_WORDS})$")
_COUPLE = (
    "married_to",
    "engaged_to",
    "dating",
    "wife_of",
    "husband_of",
    "girlfriend_of",
    "boyfriend_of",
    "partner_of",
    "fiancé_of",
    "fiancée_of",
    "fiance_of",
    "fiancee_of",
    "spouse_of",
)
_FINISHED = re.compile(
    rf"(?: and (?:his|her|their) (?:{_PARTNER_WORDS}))?"
    rf"{ADVERB_PATTERN} (?:(?P<couple>(?:has |is |are )?(?:got |getting )?(?:divorced|separated)(?! from)"
    rf"|is (?:no longer |not )(?:married|engaged)|is (?:now )?(?:single"
    r"|divorced|widowed)(?: now| again)?|broke up|split up|(?:has )?split)"
    r"|(?P<work>(?:has |is )?retired(?! from)|(?:has )?(?:quit|lost|left) (?:my|their|his|her) job"
    r"|is (?:now |currently )?unemployed|(?:was|got) (?:laid off|fired|let go)(?! from| by)))"
    r"(?=[.,;!]|$| (?:last|this|in|on|because|since|for|after|when|a|two|three|yesterday|today|recently"
    r"|now|right"
    r"|again|and)\b)"
)
_GAVE_UP = re.compile(
    rf"{ADVERB_PATTERN} (?:has )?(?:cancell?ed (?:my|their|his|her) (?P<service>[\w' +-]{{2,30}}?) (?:subscription"
    rf"|membership|account)|(?P<sold>sold|gave away|returned) (?:my|their|his"
    rf"|her) (?P<thing>[\w' -]{{2,30}}?)"
    r"|(?:stopped|quit|gave up) (?P<habit>[a-z]+ing(?: [\w' -]{1,30}?)??))"
    r"(?=[.,;!]|$| (?:last|this|in|on|because|since|for|after|when|to|a|two|three|yesterday|today|recently"
    r"|at)\b)"
)
