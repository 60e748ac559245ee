"""Entities by number, which of them are one, and which names they have: the ground the registry stands on.

Four sorts of things are said, each over a span of the ledger: a name is OWNED by an entity in some time,
an entity is CALLED by a name, is of a KIND, and is PART_OF another. A name that nobody owns belongs to
the entity that has its id from it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.language.text import normalize_name
from remanence.schema import Window
from remanence.state.columns import pack, unpack
from remanence.state.names import Names
from remanence.state.position_spans import Span, Spans

NAME_OWNER, DISPLAY_NAME, ENTITY_KIND, PART_OF = range(4)
_SHAPE = re.compile(r"e[0-9a-f]{16}(-\d+)?")


@lru_cache(1 << 16)
def entity_id(form: str) -> str:
    """The id of the entity that a name stands for of itself; `form` is the name's normal form.

    >>> entity_id("alice")
    'e4deaec0cce54da89'
    """
    return "e" + hashlib.blake2b(form.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def is_entity_id(text: str) -> bool:
    """Whether a text looks like the id of an entity.

    >>> is_entity_id(entity_id("alice")), is_entity_id("Alice")
    (True, False)
    """
    return _SHAPE.fullmatch(text) is not None


class EntityName(NamedTuple):
    """A name that an entity goes by; `said` in a line about entities, or only in memories."""

    number: int
    spelling: str
    valid: Window
    is_registered: bool


class Clusters:
    """Entities by number, each with all that is part of it."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.spans = Spans()
        self.ids: list[str] = []
        """The ids of the entities that some line is about."""
        self.strings: list[str] = []
        """Names as lines about entities spell them, and kinds."""
        self._homes: list[int] = []  # of each entity, the number of the name that its id comes from
        self._number: dict[str, int] = {}
        self._word: dict[str, int] = {}
        # The ids of names: as they are met, and of all of them once an unknown one is asked for.
        self._by_id: dict[str, int] = {}
        self._hashed = 0

    def number(self, id_: str) -> int | None:
        """The number of an entity, or None for one that no line is about."""
        return self._number.get(id_)

    def intern(self, id_: str, name: str | None = None) -> int:
        """The number of an entity, a new one if need be; `name` is one that it may have its id from."""
        if name is not None:
            self._names.intern(name)
        number = self._number.get(id_)
        if number is None:
            own = None if name is None or entity_id(normalize_name(name)) != id_ else self._names.number(name)
            home = self.source_name(id_) if own is None else own
            number = self._number[id_] = len(self.ids)
            self.ids.append(id_)
            self._homes.append(-1 if home is None else home)
        return number

    def intern_string(self, word: str) -> int:
        """The number of a word."""
        number = self._word.get(word)
        if number is None:
            number = self._word[word] = len(self.strings)
            self.strings.append(word)
        return number

    def fresh_id(self, name: str) -> str:
        """An id for another entity of this name, which no line has been about."""
        own = made = entity_id(normalize_name(name))
        count = 1
        while made in self._number:
            count += 1
            made = f"{own}-{count}"
        return made

    def default_id(self, number: int) -> str:
        """The id of the entity that a name stands for of itself."""
        own = entity_id(normalize_name(self._names.spellings[number]))
        self._by_id[own] = number
        return own

    def source_name(self, id_: str) -> int | None:
        """The number of the name that an id comes from, if that name was met."""
        entity = self._number.get(id_)
        if entity is not None and self._homes[entity] >= 0:
            return self._homes[entity]
        if "-" in id_:
            return None  # made for a name whose own id was in use
        if id_ not in self._by_id:
            for number in range(self._hashed, len(self._names)):
                self.default_id(number)
            self._hashed = len(self._names)
        return self._by_id.get(id_)

    # At a position

    def root_number(self, entity: int, position: int) -> int:
        """What an entity is part of in the end; itself if of nothing."""
        while whole := self.spans.with_key(PART_OF, entity, position):
            entity = whole[0].value
        return entity

    def members(self, entity: int, position: int) -> Iterator[int]:
        """An entity and all that is part of it."""
        waiting = [entity]
        while waiting:
            member = waiting.pop()
            yield member
            waiting += [span.key for span in reversed(self.spans.with_value(PART_OF, member, position))]

    def owner_spans(self, number: int, position: int) -> list[Span]:
        """To whom a name was given."""
        return self.spans.with_key(NAME_OWNER, number, position)

    def owner_id(self, number: int, position: int) -> str:
        """The id of what a name stands for, the last one if there were several."""
        owners = self.owner_spans(number, position)
        if owners:
            last = max(owners, key=lambda span: (span.end, span.start, span.opened))
            return self.ids[self.root_number(last.value, position)]
        own = self.default_id(number)
        entity = self._number.get(own)
        return own if entity is None else self.ids[self.root_number(entity, position)]

    def root_id(self, id_: str, position: int) -> str:
        """The id of what an entity is part of in the end."""
        entity = self._number.get(id_)
        if entity is not None:
            entity = self.root_number(entity, position)
            id_ = self.ids[entity]
            if next(self.name_numbers(entity, position), None) is not None:
                return id_
        # No name is left to it: it is whatever the name now stands for that its id comes from.
        home = self.source_name(id_)
        return id_ if home is None else self.owner_id(home, position)

    def name_numbers(self, entity: int, position: int) -> Iterator[int]:
        """The numbers of the names of an entity and of all that is part of it."""
        for member in self.members(entity, position):
            home = self.source_name(self.ids[member])
            if home is not None and not self.owner_spans(home, position):
                yield home
            for span in self.spans.with_value(NAME_OWNER, member, position):
                yield span.key

    def names_of(self, root: str, position: int) -> Iterator[EntityName]:
        """The names of an entity, which is part of no other, as they are spelled."""
        entity = self._number.get(root)
        for member in [None] if entity is None else self.members(entity, position):
            home = self.source_name(root if member is None else self.ids[member])
            if home is not None and not self.owner_spans(home, position):
                yield EntityName(home, self._names.spellings[home], Window(), is_registered=False)
            for span in () if member is None else self.spans.with_value(NAME_OWNER, member, position):
                yield EntityName(span.key, self.strings[span.spelling], span.valid, is_registered=True)

    # Snapshots

    def save(self) -> dict[str, NDArray[Any]]:
        """Everything as plain arrays."""
        return {
            "words": pack({"ids": self.ids, "words": self.strings}),
            "homes": np.array(self._homes, np.int64),
            "spans": self.spans.rows,
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `save` wrote."""
        words = unpack(arrays["words"])
        self.ids, self.strings = words["ids"], words["words"]
        self._homes = arrays["homes"].tolist()
        self._number = {id_: number for number, id_ in enumerate(self.ids)}
        self._word = {word: number for number, word in enumerate(self.strings)}
        self.spans = Spans(arrays["spans"])
