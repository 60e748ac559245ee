"""What entries about entities have recorded: attributes of entities and names over ranges of ledger positions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from remanence.language.text import normalize_name
from remanence.state.arrays.columns import DICT_CODEC, INTERNED, JSON, Codec, Interner, SavedPart
from remanence.state.arrays.position_spans import PositionSpan, PositionSpans
from remanence.state.entities.names import Names

NAME_OWNER, DISPLAY_NAME, ENTITY_KIND, PART_OF = range(4)


@lru_cache(1 << 16)
def entity_id(normalized: str) -> str:
    """The id of the entity that a normalized name denotes if nothing was registered."""
    return "e" + hashlib.blake2b(normalized.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class EntityRecords(SavedPart):
    """The attributes of entities and names, by number and ledger position."""

    _saved: ClassVar = {
        "spans": Codec(lambda spans: spans.rows, PositionSpans),
        "entities": INTERNED,
        "strings": INTERNED,
        "_source_names": JSON,
        "undone": DICT_CODEC,
    }

    def __init__(self, names: Names) -> None:
        self._names = names
        self.spans = PositionSpans()
        self.entities: Interner[str] = Interner()
        """The ids of the entities that an entry is about."""
        self.strings: Interner[str] = Interner()
        """Kinds, and names as entries about entities spell them."""
        self.undone: dict[int, int] = {}
        """The positions of undone entries, each with that of the entry that undid it."""
        self._source_names: list[int] = []  # of each entity the number of the name that its id is made from, or -1
        self._name_of_default_id: dict[str, int] = {}  # the ids made from names, as far as they were needed
        self._hashed_names = 0

    def intern(self, id_: str, name: str | None = None) -> int:
        """The number of an entity, which is added if necessary; `name` may be the one its id is made from."""
        if name is not None:
            self._names.intern(name)
        number = self.entities.number(id_)
        if number is None:
            source = self._names.number(name) if name and entity_id(normalize_name(name)) == id_ else None
            source = self.source_name(id_) if source is None else source
            number = self.entities.intern(id_)
            self._source_names.append(-1 if source is None else source)
        return number

    def default_id(self, number: int) -> str:
        """The id that is made from a name."""
        default = entity_id(normalize_name(self._names.spellings[number]))
        self._name_of_default_id[default] = number
        return default

    def source_name(self, id_: str) -> int | None:
        """The number of the name that an id is made from, if that name is known."""
        entity = self.entities.number(id_)
        if entity is not None and self._source_names[entity] >= 0:
            return self._source_names[entity]
        if "-" in id_:
            return None  # made by `new_entity_id`
        if id_ not in self._name_of_default_id:
            for number in range(self._hashed_names, len(self._names)):
                self.default_id(number)
            self._hashed_names = len(self._names)
        return self._name_of_default_id.get(id_)

    def owners(self, number: int, position: int) -> list[PositionSpan]:
        """The entities that a name belongs to, and when."""
        return self.spans.spans_of_key(NAME_OWNER, number, position)

    def merge_target(self, entity: int, position: int) -> int:
        """The entity that an entity is merged into, directly or through others; itself if it is not merged."""
        while spans := self.spans.spans_of_key(PART_OF, entity, position):
            entity = spans[0].value
        return entity

    def merge_target_id(self, entity: int, position: int) -> str:
        return self.entities.values[self.merge_target(entity, position)]

    def merged_entities(self, entity: int, position: int) -> Iterator[int]:
        """An entity and all that were merged into it."""
        waiting = [entity]
        while waiting:
            member = waiting.pop()
            yield member
            waiting += [span.key for span in reversed(self.spans.spans_of_value(PART_OF, member, position))]

    def members_of_id(self, id_: str, position: int) -> Iterator[int]:
        entity = self.entities.number(id_)
        return iter(()) if entity is None else self.merged_entities(entity, position)

    def spans_of_id(self, attribute: int, id_: str, position: int) -> list[PositionSpan]:
        entity = self.entities.number(id_)
        return [] if entity is None else self.spans.spans_of_key(attribute, entity, position)
