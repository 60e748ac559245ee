"""What rows can be filtered by besides kind, tags and time: source, speaker, conversation, whether a turn states
anything, and metadata: `{"lang": "pt", "page": {"$gte": 3}}`."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.index.arrays.codecs import COLUMN, DICT_CODEC, GROWING, INTERNED, SavedPart
from remanence.index.arrays.columns import Column, Interner
from remanence.index.batch import Batch
from remanence.index.numbers import Row
from remanence.index.passages import only_asks, tells
from remanence.index.versions.catalog import Catalog
from remanence.schema import DOCUMENT_FIELD, Turn
from remanence.text.text import truncate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NONE = -1
"""Stands for the number of a source, a speaker or a conversation where there is none."""
_LONG_VALUE = -1
"""Stands for the number of a value that is not in the index, because it is long."""
_MAX_VALUE_LENGTH = 200
"""Characters of a metadata value, as JSON, that is in the index. A longer one is read from the ledger when a filter
names its field."""

ReadMetadata = Callable[[Sequence[Row]], Sequence[Mapping[str, Any]]]


class RowFields(SavedPart):
    """The source, speaker, conversation and metadata of each row."""

    _saved: ClassVar = {
        **dict.fromkeys(("_source_names", "_speaker_names", "_field_names", "_values"), INTERNED),
        **dict.fromkeys(("_source", "_speaker", "_conversation", "_document", "_telling"), GROWING),
        **dict.fromkeys(("_asking", "_metadata"), GROWING),
        "_more_sources": DICT_CODEC,
        "_conversations": INTERNED,
        "_next_turns": COLUMN,
    }

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._source_names: Interner[str] = Interner()  # also of conversations, which are the source of their turns
        self._speaker_names: Interner[str] = Interner()
        self._source, self._speaker, self._conversation = Column(np.int32), Column(np.int32), Column(np.int32)
        self._document, self._telling, self._asking = Column(np.bool_), Column(np.bool_), Column(np.bool_)
        self._more_sources: dict[int, list[int]] = {}  # by row: where else the same text came from
        self._conversations: Interner[str] = Interner()
        self._next_turns = Column(np.int64)  # of each conversation
        self._field_names: Interner[str] = Interner()
        self._values: Interner[str] = Interner()  # as JSON
        self._parsed: dict[int, Any] = {}  # those of them that a filter was asked about
        self._metadata = Column(np.int32, width=3)  # row, field, value

    def apply(self, batch: Batch) -> None:
        """Add a row for each version. The catalog has them already."""
        versions = batch.versions
        sources, speakers = self._source_names, self._speaker_names
        source: list[int] = []
        speaker: list[int] = []
        conversation: list[int] = []
        for row, version in batch.numbered():
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
        self._telling.extend([version is None or tells(version) for version in versions])
        self._asking.extend([version is not None and only_asks(version) for version in versions])
        for row, version in batch.numbered():
            # A text without a key that is added again with another source is still the same text: it has both.
            earlier = self._catalog.previous_row(row)
            if earlier is not None and version is not None and version.key is None:
                known = {int(self._source.values[earlier]), *self._more_sources.get(earlier, ())}
                if more := sorted(known - {_NONE, source[row - batch.first]}):
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

    @property
    def asking_mask(self) -> NDArray[np.bool_]:
        """The rows of chat turns that tell nothing and ask with a question mark."""
        return self._asking.values

    def earlier_version_of_same_origin(self, row: Row) -> Row | None:
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

    def _add_metadata(self, row: Row, meta: Mapping[str, Any]) -> None:
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


Predicate: TypeAlias = Callable[[Any], bool]
Mask: TypeAlias = "NDArray[np.bool_]"

MISSING: Final = object()
_EXAMPLE = "Give for example {'lang': 'pt', 'page': {'$gte': 3}}."


def check_filter(value: object) -> dict[str, Any]:
    """The filter as plain JSON values.

    Raises:
        InvalidInput: It is not a filter; the message names the part that is wrong.
    """
    try:
        checked = json.loads(json.dumps(value, allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"meta={truncate(repr(value), 120) if not isinstance(error, RecursionError) else '...'} cannot be "
            f"written as JSON ({error}). Use only text, numbers, booleans, None and lists of them."
        ) from None
    try:
        _check(checked, "meta")
    except RecursionError:
        raise InvalidInput(f"meta is nested too deeply. {_EXAMPLE}") from None
    return dict(checked)


def filter_mask(checked: Mapping[str, Any], field_mask: Callable[[str, Predicate], Mask]) -> Mask:
    """The rows that match a filter. `field_mask` returns those of which one field satisfies a predicate."""
    return reduce(operator.and_, [_part_mask(name, operand, field_mask) for name, operand in checked.items()])


def value_at(value: Any, path: str) -> Any:
    """The value in nested metadata that a name with dots leads to, or `MISSING`.

    >>> value_at({"author": {"name": "Ana"}}, "author.name")
    'Ana'
    """
    if not isinstance(value, Mapping):
        return MISSING
    if path in value:
        return value[path]
    first, _, rest = path.partition(".")
    return value_at(value[first], rest) if rest and first in value else MISSING


def _part_mask(name: str, operand: Any, field_mask: Callable[[str, Predicate], Mask]) -> Mask:
    if name in ("$and", "$or"):
        masks = [filter_mask(part, field_mask) for part in operand]
        return reduce(operator.and_ if name == "$and" else operator.or_, masks)
    if name == "$not":
        negated: Mask = ~filter_mask(operand, field_mask)
        return negated
    return field_mask(name, _predicate(operand))


def _predicate(operand: Any) -> Predicate:
    if not _is_condition(operand):
        return lambda found: _equal(found, operand)
    tests = [(_OPERATORS[name], value) for name, value in operand.items()]
    return lambda found: all(test(found, value) for test, value in tests)


def _equal(value: Any, operand: Any) -> bool:
    if value is MISSING:
        return operand is None
    if isinstance(value, bool) or isinstance(operand, bool):  # True is not 1
        return value is operand
    return bool(value == operand)


def _compare(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(found: Any, operand: Any) -> bool:
        comparable = isinstance(found, str) if isinstance(operand, str) else _is_number(found)
        return comparable and compare(found, operand)

    return test


def _contains(value: Any, operand: Any) -> bool:
    if isinstance(value, list):
        return any(_equal(item, operand) for item in value)
    return isinstance(value, str) and isinstance(operand, str) and operand in value


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "$eq": _equal,
        "$ne": lambda found, operand: not _equal(found, operand),
        "$gt": _compare(operator.gt),
        "$gte": _compare(operator.ge),
        "$lt": _compare(operator.lt),
        "$lte": _compare(operator.le),
        "$in": lambda found, operand: any(_equal(found, option) for option in operand),
        "$nin": lambda found, operand: not any(_equal(found, option) for option in operand),
        "$contains": _contains,
        "$exists": lambda found, operand: (found is not MISSING) == operand,
    }
)
_COMPARISONS = ("$gt", "$gte", "$lt", "$lte")


def _check(value: object, where: str) -> None:
    if not isinstance(value, dict) or not value:
        raise InvalidInput(f"{where}={_shown(value)} is not a dict of fields. {_EXAMPLE}")
    for name, operand in value.items():
        if name in ("$and", "$or"):
            if not isinstance(operand, list) or not operand:
                raise InvalidInput(f"{where}: {name} is given {_shown(operand)}. Give it a list of filters.")
            for place, part in enumerate(operand):
                _check(part, f"{where}: {name}[{place}]")
        elif name == "$not":
            _check(operand, f"{where}: $not")
        elif name.startswith("$"):
            raise InvalidInput(
                f"{where}: {name!r} stands where a field is expected. Only $and, $or and $not may stand there; "
                f"an operator belongs to a field: {{'page': {{'$gte': 3}}}}."
            )
        elif _is_condition(operand):
            _check_condition(operand, f"{where}: {name}")


def _check_condition(condition: Mapping[str, Any], where: str) -> None:
    for name, operand in condition.items():
        if name not in _OPERATORS:
            raise InvalidInput(f"{where}: there is no operator {name!r}. The operators are {', '.join(_OPERATORS)}.")
        if name in ("$in", "$nin") and not isinstance(operand, list):
            raise InvalidInput(f"{where}: {name} is given {_shown(operand)}. Give it a list.")
        if name in _COMPARISONS and not (isinstance(operand, str) or _is_number(operand)):
            raise InvalidInput(f"{where}: {name} is given {_shown(operand)}. Give it a number or a text.")
        if name == "$exists" and not isinstance(operand, bool):
            raise InvalidInput(f"{where}: $exists is given {_shown(operand)}. Give it True or False.")


def _is_condition(operand: object) -> bool:
    """Whether this is a dict of operators. Any other dict is a value."""
    return isinstance(operand, dict) and any(name.startswith("$") for name in operand)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return truncate(repr(value), 120)
