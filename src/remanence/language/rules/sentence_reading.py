"""One sentence in the third person, read: its names, its claims, what it changes and what it denies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from remanence.language.rules.claim_rules import find_claims
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.name_rules import find_names
from remanence.language.rules.negations import Denial, find_denial
from remanence.language.rules.people_words import PLURAL_RELATIONSHIP_NOUNS, RELATIONSHIP_NOUNS
from remanence.language.rules.state_changes import StateChange, find_state_change
from remanence.language.rules.third_person import ASSISTANT_LABEL, USER_LABEL, speaker_label
from remanence.schema import SELF, Triple


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """What stands in a sentence."""

    text: str
    names: tuple[NameSpan, ...] = ()
    claims: tuple[Triple, ...] = ()
    change: StateChange | None = None
    denial: Denial | None = None
    replaced_claims: tuple[Triple, ...] = ()
    """What it says is not so, since something else is: "at SAP, not Oracle"."""

    @property
    def found(self) -> bool:
        """Whether it claims, changes or denies anything."""
        return bool(self.claims) or self.change is not None or self.denial is not None


@lru_cache(256)  # a sentence is looked at from several sides
def parse_sentence(text: str, speaker: str) -> ParsedSentence:
    """The sentence as a reading; `who` is the speaker, whom the text calls by name or "the user".

    >>> [str(claim) for claim in parse_sentence("The user's sister lives in Porto.", "me").claims]
    ['my sister —lives_in→ Porto']
    """
    names = find_sentence_names(text, speaker)
    claims = find_claims(text, names, speaker)
    return ParsedSentence(
        text,
        names,
        claims,
        find_state_change(text, names),
        find_denial(text, names, speaker, claims),
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
def find_sentence_names(text: str, speaker: str) -> tuple[NameSpan, ...]:
    """The names of a text in the third person, with the speaker and people known by whose kin they are."""
    named = find_names(text)
    spans = [found.span() for found in _speaker(speaker_label(speaker)).finditer(text)]
    own = [
        NameSpan(speaker, "person", start, end)
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
            people.append(NameSpan(f"{whose} {kin[1]}", "person", owner.start, kin.end()))
            people.remove(owner)
    return tuple(sorted(people, key=lambda name: name.start))


_KIN = re.compile(
    rf"['’]s (?:[a-z]+ )?({'|'.join(sorted(RELATIONSHIP_NOUNS | set(PLURAL_RELATIONSHIP_NOUNS)))})\b"
    r"(?= (?!(?:is|are) (?:called|named|[A-Z])|(?:was|were) (?:called|named))[a-z]|['’]s (?!name\b))"
)


@lru_cache(64)
def _speaker(written: str) -> re.Pattern[str]:
    spellings = {
        written,
        written.lower() if written in (USER_LABEL, ASSISTANT_LABEL) else written,
        USER_LABEL,
        USER_LABEL.lower(),
    }
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(spellings)))})(?!\w)(?: and others\b)?")


def _overlap(one: NameSpan, other: NameSpan) -> bool:
    return one.start < other.end and other.start < one.end
