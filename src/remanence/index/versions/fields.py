"""What rows can be filtered by besides kind, tags and time: source, speaker, conversation, metadata, and whether a turn
states anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.index.arrays.columns import COLUMN, DICT_CODEC, GROWING, INTERNED, Column, Interner, SavedPart
from remanence.index.versions.catalog import Catalog
from remanence.index.versions.metadata_filter import MISSING, Predicate, filter_mask, value_at
from remanence.models.message_words import tells_probability
from remanence.schema import DOCUMENT_FIELD, Turn

_NONE = -1
_MIN_TELLING = 0.2
"""A chat turn that tells something with a lower probability, by its words, is left out of prompts. In ../shared/chats,
one telling turn in two hundred is lower, and half of the others."""
_LONG_VALUE = -1
_MAX_VALUE_LENGTH = 200
"""Metadata values that are longer as JSON are read from the ledger when a filter names their field."""

ReadMetadata = Callable[[Sequence[int]], Sequence[Mapping[str, Any]]]
"""Returns the metadata of these rows, from the ledger."""


def _tells(text: str) -> bool:
    return tells_probability(text) >= _MIN_TELLING


class RowFields(SavedPart):
    """The source, speaker, conversation and metadata of each row."""

    _saved: ClassVar = {
        **dict.fromkeys(("_source_names", "_speaker_names", "_field_names", "_values"), INTERNED),
        **dict.fromkeys(("_source", "_speaker", "_conversation", "_document", "_telling", "_metadata"), GROWING),
        "_more_sources": DICT_CODEC,
        "_conversations": INTERNED,
        "_next_turns": COLUMN,
    }

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._source_names: Interner[str] = Interner()  # also of conversations, which are the source of their turns
        self._speaker_names: Interner[str] = Interner()
        self._source, self._speaker, self._conversation = Column(np.int32), Column(np.int32), Column(np.int32)
        self._document, self._telling = Column(np.bool_), Column(np.bool_)
        self._more_sources: dict[int, list[int]] = {}  # by row: where else the same text came from
        self._conversations: Interner[str] = Interner()
        self._next_turns = Column(np.int64)  # of each conversation
        self._field_names: Interner[str] = Interner()
        self._values: Interner[str] = Interner()  # as JSON
        self._parsed: dict[int, Any] = {}  # those of them that a filter was asked about
        self._metadata = Column(np.int32, width=3)  # row, field, value

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Add rows from `first` on. The catalog has them already."""
        sources, speakers = self._source_names, self._speaker_names
        source: list[int] = []
        speaker: list[int] = []
        conversation: list[int] = []
        for row, version in enumerate(versions, first):
            if version is None:  # erased
                source.append(_NONE)
                speaker.append(_NONE)
                conversation.append(_NONE)
                continue
            source.append(_NONE if version.source is None else sources.intern(version.source))
            speaker.append(_NONE if version.observed_by is None else speakers.intern(version.observed_by))
            conversation.append(_NONE if version.turn is None else sources.intern(version.turn.conversation))
            if version.meta:
                self._add_metadata(row, version.meta)
            if version.turn is not None:
                self._add_turn(version.turn)
        self._source.extend(source)
        self._speaker.extend(speaker)
        self._conversation.extend(conversation)
        self._document.extend([version is not None and DOCUMENT_FIELD in version.meta for version in versions])
        self._telling.extend([version is None or version.turn is None or _tells(version.text) for version in versions])
        for row, version in enumerate(versions, first):
            # A text without a key that is added again with another source is still the same text: it has both.
            earlier = self._catalog.previous_row(row)
            if earlier is not None and version is not None and version.key is None:
                known = {int(self._source.values[earlier]), *self._more_sources.get(earlier, ())}
                if more := sorted(known - {_NONE, source[row - first]}):
                    self._more_sources[row] = more

    def next_turn(self, conversation: str) -> int:
        """The number of the next turn of a conversation."""
        number = self._conversations.number(conversation)
        return 0 if number is None else int(self._next_turns.values[number])

    @property
    def document_mask(self) -> NDArray[np.bool_]:
        """The rows that are documents or nodes of a framework. Like chat turns they are kept verbatim."""
        return self._document.values

    @property
    def informative_mask(self) -> NDArray[np.bool_]:
        """The rows that tell something: all but chat turns that probably only ask, greet, thank or agree."""
        return self._telling.values

    def earlier_version_of_same_origin(self, row: int) -> int | None:
        """The row of the previous version of a memory, if it has the same source, speaker and conversation."""
        earlier = self._catalog.previous_row(row)
        columns = self._source.values, self._speaker.values, self._conversation.values
        same = earlier is not None and all(column[row] == column[earlier] for column in columns)
        return earlier if same else None

    def source_mask(self, names: Collection[str]) -> NDArray[np.bool_]:
        """The rows that come from one of these sources."""
        wanted = self._numbers(self._source_names, names)
        mask = np.isin(self._source.values, list(wanted))
        mask[[row for row, more in self._more_sources.items() if not wanted.isdisjoint(more)]] = True
        return mask

    def only_source_mask(self, names: Collection[str]) -> NDArray[np.bool_]:
        """The rows that come from one of these sources, observers or conversations, and from no other source."""
        wanted = self._numbers(self._source_names, names)
        mask = np.isin(self._source.values, list(wanted)) | self.speaker_mask(names) | self.conversation_mask(names)
        mask[[row for row, more in self._more_sources.items() if not wanted.issuperset(more)]] = False
        return mask

    def speaker_mask(self, names: Collection[str]) -> NDArray[np.bool_]:
        """The rows that one of these people said or saw, in any spelling of upper and lower case."""
        wanted = {name.casefold() for name in names}
        numbers = [n for n, name in enumerate(self._speaker_names.values) if name.casefold() in wanted]
        return np.isin(self._speaker.values, numbers)

    def conversation_mask(self, names: Collection[str]) -> NDArray[np.bool_]:
        """The turns of these conversations."""
        return np.isin(self._conversation.values, list(self._numbers(self._source_names, names)))

    def metadata_mask(
        self, checked: Mapping[str, Any], among: NDArray[np.bool_], read: ReadMetadata
    ) -> NDArray[np.bool_]:
        """The rows whose metadata match a filter. The result is only valid for the rows `among` these."""

        def field_mask(path: str, matches: Predicate) -> NDArray[np.bool_]:
            mask = np.full(len(among), matches(MISSING))
            first, _, rest = path.partition(".")
            if rest:
                self._match(mask, first, lambda value: matches(value_at(value, rest)), among, read)
            self._match(mask, path, matches, among, read)
            return mask

        return filter_mask(checked, field_mask)

    def _match(
        self, mask: NDArray[np.bool_], field: str, matches: Predicate, among: NDArray[np.bool_], read: ReadMetadata
    ) -> None:
        """Write into the mask whether each row that has this field matches."""
        number = self._field_names.number(field)
        if number is None:
            return
        cells = self._metadata.values
        cells = cells[cells[:, 1] == number]
        distinct, inverse = np.unique(cells[:, 2], return_inverse=True)
        matching_values = [value != _LONG_VALUE and matches(self._value(value)) for value in distinct.tolist()]
        mask[cells[:, 0]] = np.array(matching_values, np.bool_)[inverse]
        long = cells[cells[:, 2] == _LONG_VALUE, 0]
        long = long[among[long]]
        if len(long):
            mask[long] = [matches(meta.get(field, MISSING)) for meta in read(long.tolist())]

    def _value(self, number: int) -> Any:
        if number not in self._parsed:
            self._parsed[number] = json.loads(self._values.values[number])
        return self._parsed[number]

    def _add_turn(self, turn: Turn) -> None:
        number, following = self._conversations.intern(turn.conversation), turn.number + 1
        if number == len(self._next_turns):
            self._next_turns.append(max(following, 0))
        elif following > self._next_turns.values[number]:
            self._next_turns.values[number] = following

    def _add_metadata(self, row: int, meta: Mapping[str, Any]) -> None:
        for name, value in meta.items():
            number = _LONG_VALUE
            if not isinstance(value, str) or len(value) <= _MAX_VALUE_LENGTH:
                text = json.dumps(value, ensure_ascii=False, sort_keys=True)
                if len(text) <= _MAX_VALUE_LENGTH:
                    number = self._values.intern(text)
            self._metadata.append((row, self._field_names.intern(name), number))

    def count_sources(self, rows: NDArray[np.int64]) -> dict[str, int]:
        """How many of these rows come from each source; conversations are the source of their turns."""
        return _counts(self._source.values[rows], self._source_names)

    def count_speakers(self, rows: NDArray[np.int64]) -> dict[str, int]:
        """How many of these rows each person said or saw."""
        return _counts(self._speaker.values[rows], self._speaker_names)

    def source_ranks(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the source of each row in the alphabet; rows without one come last."""
        return _ranks(self._source.values[rows], self._source_names)

    def speaker_ranks(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the speaker of each row in the alphabet; rows without one come last."""
        return _ranks(self._speaker.values[rows], self._speaker_names)

    @staticmethod
    def _numbers(names: Interner[str], wanted: Collection[str]) -> set[int]:
        found = (names.number(name) for name in wanted)
        return {number for number in found if number is not None}


def _counts(numbers: NDArray[np.int32], names: Interner[str]) -> dict[str, int]:
    """How often each name occurs, the most frequent first."""
    counts = np.bincount(numbers[numbers != _NONE], minlength=len(names))
    order = np.argsort(-counts, kind="stable").tolist()
    return {names.values[number]: int(counts[number]) for number in order if counts[number]}


def _ranks(numbers: NDArray[np.int32], names: Interner[str]) -> NDArray[np.int64]:
    order = sorted(range(len(names)), key=lambda number: names.values[number].casefold())
    rank_of = np.empty(len(names) + 1, np.int64)
    rank_of[order] = np.arange(len(names))
    rank_of[_NONE] = len(names)
    return rank_of[numbers]
