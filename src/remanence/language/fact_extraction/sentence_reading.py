"""One sentence in the third person, parsed: its names, its claims, its state change and what it denies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from remanence.language.claim_extraction.claim_rules import find_claims
from remanence.language.claim_extraction.state_changes import Denial, StateChange, find_denial, find_state_change
from remanence.language.fact_extraction.third_person import ASSISTANT_LABEL, USER_LABEL, speaker_label
from remanence.language.lexicon.word_lists import compile_pattern
from remanence.language.named_entities.name_rules import find_names
from remanence.language.named_entities.name_spans import NameSpan
from remanence.schema import SELF, Triple


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """A sentence with its names, claims, state change and denial."""

    text: str
    names: tuple[NameSpan, ...] = ()
    claims: tuple[Triple, ...] = ()
    change: StateChange | None = None
    denial: Denial | None = None
    replaced_claims: tuple[Triple, ...] = ()
    """Claims that the sentence replaces by others: "at SAP, not Oracle"."""


@lru_cache(256)  # the same sentence is parsed for several purposes
def parse_sentence(text: str, speaker: str) -> ParsedSentence:
    """Parse a sentence in which `speaker` is called by name or "the user".

    >>> [str(claim) for claim in parse_sentence("The user's sister lives in Porto.", "me").claims]
    ['my sister —lives_in→ Porto']
    """
    names = find_sentence_names(text, speaker)
    claims = find_claims(text, names, speaker)
    change, denial = find_state_change(text, names), find_denial(text, names, speaker, claims)
    return ParsedSentence(text, names, claims, change, denial, _replaced_claims(text, claims))


def _replaced_claims(text: str, claims: Sequence[Triple]) -> tuple[Triple, ...]:
    match = _INSTEAD_OF.search(text)
    if match is None:
        return ()
    before = text[: match.start()]
    return tuple(replace(claim, object=match[1]) for claim in claims if before.endswith(claim.object))


_INSTEAD_OF = compile_pattern("instead_of")


@lru_cache(256)
def find_sentence_names(text: str, speaker: str) -> tuple[NameSpan, ...]:
    """The names of a sentence in the third person, with the speaker and relatives such as "Alice's sister"."""
    named = find_names(text)
    spans = [match.span() for match in _speaker_pattern(speaker_label(speaker)).finditer(text)]
    own = [
        NameSpan(speaker, "person", start, end)
        for start, end in spans
        if not any(name.start <= start and end < name.end for name in named)  # Alice, in "Alice Smith"
    ]
    names = own + [
        name for name in named if not any(name.start < other.end and other.start < name.end for other in own)
    ]
    names.sort(key=lambda name: name.start)
    by_end = {name.end: name for name in names}
    for relative in _RELATIVE.finditer(text):
        owner = by_end.get(relative.start())
        if owner is not None:
            possessive = "my" if owner.text == SELF else f"{owner.text}'s"
            which = f"{relative['which']} " if relative["which"] else ""  # "my other sister" is not "my sister"
            names.append(NameSpan(f"{possessive} {which}{relative['noun']}", "person", owner.start, relative.end()))
            names.remove(owner)
    return tuple(sorted(names, key=lambda name: name.start))


_RELATIVE = compile_pattern("relative_of_name")


@lru_cache(64)
def _speaker_pattern(label: str) -> re.Pattern[str]:
    spellings = {label, USER_LABEL, USER_LABEL.lower()}
    if label == ASSISTANT_LABEL:
        spellings.add(label.lower())
    named = "|".join(map(re.escape, sorted(spellings)))
    return re.compile(rf"(?:(?<!\w)(?:{named})(?!\w)|^User(?=['’]s| [a-z]))(?: and others\b)?")
