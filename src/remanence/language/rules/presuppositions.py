"""What a question or a request takes for granted: "a gift for my nephew Otis, who is seven", "as a nurse, …"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from remanence.language.rules.lexicon import CALENDAR_WORDS, compile_pattern


class Presupposition(NamedTuple):
    """A person, or what the speaker is, and a sentence about that which a text takes for granted."""

    name: str
    statement: str


def find_presuppositions(text: str) -> Iterator[Presupposition]:
    """Who the people of a text are to the speaker, and what it adds about them.

    >>> [one.statement for one in find_presuppositions("Where could my partner Anselm, who uses a wheelchair, park?")]
    ['Anselm is my partner', 'Anselm uses a wheelchair']
    >>> [one.statement for one in find_presuppositions("Need a text for Paula, my best friend since school.")]
    ['Paula is my best friend since school']
    >>> [one.statement for one in find_presuppositions("As a vegetarian, what can I eat in Prague?")]
    ['I am a vegetarian']
    """
    own = _ROLE_OF_SPEAKER.match(text)
    if own:
        yield Presupposition(own["role"], f"I am {own['role']}")
    for pattern in (_RELATIVE_NAMED, _NAMED_RELATIVE):
        for found in pattern.finditer(text):
            if found["name"].lower() not in CALENDAR_WORDS:
                yield Presupposition(found["name"], f"{found['name']} is {found['role'].lower()}")
    for found in _WHO.finditer(text):
        verb = "is" if found["verb"] in ("'s", "’s") else found["verb"].strip()
        yield Presupposition(found["name"], f"{found['name']} {verb} {found['rest']}")


_ROLE_OF_SPEAKER = compile_pattern("role_of_speaker")
_RELATIVE_NAMED = compile_pattern("relative_with_name")
_NAMED_RELATIVE = compile_pattern("name_with_relative")
_WHO = compile_pattern("name_with_clause")
