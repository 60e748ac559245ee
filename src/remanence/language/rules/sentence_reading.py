"""One sentence in the third person, read: its names, its claims, what it changes and what it denies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from remanence.language.rules.claim_rules import find_claims
from remanence.language.rules.marked_names import Name
from remanence.language.rules.name_rules import find_names
from remanence.language.rules.negations import Denied, find_denied
from remanence.language.rules.people_words import KIN, PLURAL_KIN
from remanence.language.rules.state_changes import Change, find_change
from remanence.language.rules.third_person import ANSWERING, USER, called
from remanence.schema import SELF, Triple


@dataclass(frozen=True, slots=True)
class Reading:
    """What stands in a sentence."""

    text: str
    names: tuple[Name, ...] = ()
    claims: tuple[Triple, ...] = ()
    change: Change | None = None
    denied: Denied | None = None
    instead: tuple[Triple, ...] = ()
    """What it says is not so, since something else is: "at SAP, not Oracle"."""

    @property
    def found(self) -> bool:
        """Whether it claims, changes or denies anything."""
        return bool(self.claims) or self.change is not None or self.denied is not None


@lru_cache(256)  # a sentence is looked at from several sides
def read(text: str, who: str) -> Reading:
    """The sentence as a reading; `who` is the speaker, whom the text calls by name or "the user".

    >>> [str(claim) for claim in read("The user's sister lives in Porto.", "me").claims]
    ['my sister —lives_in→ Porto']
    """
    names = names_of(text, who)
    claims = find_claims(text, names, who)
    return Reading(
        text,
        names,
        claims,
        find_change(text, names),
        find_denied(text, names, who, claims),
        tuple(_instead(text, claims)),
    )


def _instead(text: str, claims: Sequence[Triple]) -> Iterator[Triple]:
    found = _NOT.search(text)
    if found is not None:
        told = text[: found.start()]
        yield from (replace(claim, object=found[1]) for claim in claims if told.endswith(claim.object))


_NOT = re.compile(
    r"(?:,? (?:and )?not|,? instead of) (?:(?:in|at|on|to|for) )?([\w'’.+#& -]{2,40}?)(?: any ?more)?[.!]*$"
)


@lru_cache(256)
def names_of(text: str, who: str) -> tuple[Name, ...]:
    """The names of a text in the third person, with the speaker and people known by whose kin they are."""
    named = find_names(text)
    spans = [found.span() for found in _speaker(called(who)).finditer(text)]
    own = [
        Name(who, "person", start, end)
        for start, end in spans
        if not any(name.start <= start and end < name.end for name in named)  # Alice, in "Alice Smith"
    ]
    people = own + [name for name in named if not any(_overlap(name, other) for other in own)]
    people.sort(key=lambda name: name.start)
    ends = {name.end: name for name in people}
    for kin in _KIN.finditer(text):
        owner = ends.get(kin.start())
        if owner is not None:
            whose = "my" if owner.text == SELF else f"{owner.text}'s"
            people.append(Name(f"{whose} {kin[1]}", "person", owner.start, kin.end()))
            people.remove(owner)
    return tuple(sorted(people, key=lambda name: name.start))


_KIN = re.compile(
    rf"['’]s (?:[a-z]+ )?({'|'.join(sorted(KIN | set(PLURAL_KIN)))})\b"
    r"(?= (?!(?:is|are) (?:called|named|[A-Z])|(?:was|were) (?:called|named))[a-z]|['’]s (?!name\b))"
)


@lru_cache(64)
def _speaker(written: str) -> re.Pattern[str]:
    spellings = {written, written.lower() if written in (USER, ANSWERING) else written, USER, USER.lower()}
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(spellings)))})(?!\w)(?: and others\b)?")


def _overlap(one: Name, other: Name) -> bool:
    return one.start < other.end and other.start < one.end
