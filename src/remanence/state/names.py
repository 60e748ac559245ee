"""Every name in a space, numbered in the order of first occurrence.

Graph, relations and registry all use these numbers. Two spellings with one normal form are one name. The
registry records that different names denote one entity.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from remanence.events import Remembered
from remanence.language.text import normalize_name
from remanence.schema import SELF
from remanence.state.columns import JSON, TEXTS, SavedPart


class Names(SavedPart):
    """Names by number."""

    _saved: ClassVar = {"spellings": TEXTS, "kinds": TEXTS, "_numbers": JSON}

    def __init__(self) -> None:
        self.spellings: list[str] = []
        """Each name as it was first written."""
        self.kinds: list[str] = []
        """The kind of each name: the first one other than "thing"."""
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.spellings)

    def number(self, name: str) -> int | None:
        return self._numbers.get(normalize_name(name))

    def intern(self, name: str, kind: str = "thing") -> int:
        normalized = normalize_name(name)
        number = self._numbers.get(normalized)
        if number is None:
            number = self._numbers[normalized] = len(self.spellings)
            self.spellings.append(name)
            self.kinds.append(kind)
        elif kind != "thing" and self.kinds[number] == "thing":
            self.kinds[number] = kind
        return number

    def apply(self, versions: Iterable[Remembered | None]) -> None:
        for version in versions:
            for name, kind in () if version is None else names_in(version):
                self.intern(name, kind)


def names_in(version: Remembered) -> Iterable[tuple[str, str]]:
    """All names in a version with their kinds: the speaker, mentions, subjects and objects of claims."""
    speaker = speaker_of(version)
    if speaker:
        yield speaker, "person"
    for mention in version.mentions:
        yield mention.name, mention.kind
    for triple in version.triples:
        yield triple.subject, "thing"
        yield triple.object, "thing"


def speaker_of(version: Remembered) -> str | None:
    """The speaker of a memory: of its turn, else its observer, else "me" if its text says "I"."""
    if version.turn is not None:
        return version.turn.speaker
    if version.observed_by is not None:
        return version.observed_by
    for mention in version.mentions:
        if mention.name == SELF:
            return SELF
    return None
