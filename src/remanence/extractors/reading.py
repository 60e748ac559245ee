"""One sentence in the third person, read: its names, its claims, what it changes and what it denies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from remanence.extractors.changes import Change, Denied, find_change, find_denied
from remanence.extractors.claims import find_claims
from remanence.extractors.lexicon import KIN
from remanence.extractors.marked import Name
from remanence.extractors.names import find_names
from remanence.extractors.person import ASSISTANT, USER, called
from remanence.model import SELF, Triple


@dataclass(frozen=True, slots=True)
class Reading:
    """What stands in a sentence."""

    text: str
    names: tuple[Name, ...] = ()
    claims: tuple[Triple, ...] = ()
    change: Change | None = None
    denied: Denied | None = None

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
    return Reading(text, names, claims, find_change(text, names), find_denied(text, names, who))


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
    rf"['’]s (?:[a-z]+ )?({'|'.join(sorted(KIN))})\b(?= (?!is (?:called|named|[A-Z])|was (?:called"
    rf"|named))[a-z])"
)


@lru_cache(64)
def _speaker(written: str) -> re.Pattern[str]:
    spellings = {written, written.lower() if written in (USER, ASSISTANT) else written, USER, USER.lower()}
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(spellings)))})(?!\w)(?: and others\b)?")


def _overlap(one: Name, other: Name) -> bool:
    return one.start < other.end and other.start < one.end
