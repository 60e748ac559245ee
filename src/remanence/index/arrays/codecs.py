"""How the values of a part of an index are turned into the arrays of its file, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sized
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.index.arrays.columns import Column, Interner, PackedTexts, TextList


def pack(value: Any) -> NDArray[np.uint8]:
    """A JSON value as an array (index files contain only arrays, so that no pickle is ever read)."""
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpack(array: NDArray[np.uint8]) -> Any:
    return json.loads(array.tobytes().decode("utf-8", "surrogatepass"))


def pack_columns(columns: Mapping[str, Column]) -> NDArray[np.uint8]:
    """A column of whole numbers for each of several texts as an array: their number, their sizes, the columns, the
    texts."""
    sizes = np.array([len(column) for column in columns.values()], "<i8")
    values = [column.values.astype("<i8").view(np.uint8) for column in columns.values()]
    names = PackedTexts().array(columns)
    return np.concatenate((np.array([len(sizes)], "<i8").view(np.uint8), sizes.view(np.uint8), *values, names))


def unpack_columns(array: NDArray[np.uint8]) -> dict[str, Column]:
    """
    >>> packed = pack_columns({"a": Column(np.int64, np.array([1, 2])), "b": Column(np.int64)})
    >>> {name: column.values.tolist() for name, column in unpack_columns(packed).items()}
    {'a': [1, 2], 'b': []}
    """
    count = int(array[:8].view("<i8")[0])
    ends = [0, *array[8 : 8 * (count + 1)].view("<i8").cumsum().tolist()]
    first = 8 * (count + 1)
    values = array[first : first + 8 * ends[-1]].view("<i8")
    columns = (Column(np.int64, values[start:end]) for start, end in pairwise(ends))
    return dict(zip(PackedTexts.unpack(array[first + 8 * ends[-1] :]), columns, strict=True))


def to_tuples(value: Any) -> Any:
    """An unpacked value with tuples in place of lists."""
    return tuple(map(to_tuples, value)) if isinstance(value, list) else value


class Codec(NamedTuple):
    """How a value is turned into an array for the index file, and back."""

    to_array: Callable[[Any], NDArray[Any]]
    from_array: Callable[[NDArray[Any]], Any]


JSON = Codec(pack, unpack)
TEXTS = Codec(lambda texts: PackedTexts().array(texts), PackedTexts.unpack)
DICT_CODEC = Codec(lambda values: pack(list(values.items())), lambda array: dict(unpack(array)))
GROWING_TEXTS = Codec(lambda texts: texts.packed.array(texts), TextList.from_array)
COLUMNS = Codec(pack_columns, unpack_columns)
TUPLES = Codec(pack, lambda array: list(to_tuples(unpack(array))))
INTERNED = Codec(lambda interner: interner.packed.array(interner.values), lambda array: Interner.from_array(array))
COLUMN = Codec(lambda column: column.values.copy(), lambda array: Column(array.dtype, array))
"""For a column whose values may change."""
GROWING = Codec(lambda column: column.values, lambda array: Column(array.dtype, array))
"""For a column that is only continued at its end: it is not copied while others wait."""


def named_tuple_codec(kind: Callable[..., Any]) -> Codec:
    """For a dictionary of named tuples of this kind."""
    return Codec(DICT_CODEC.to_array, lambda array: {key: kind(*to_tuples(values)) for key, values in unpack(array)})


class SavedPart:
    """A part of an index; `_saved` lists the attributes that the index file contains, except those that are empty: in a
    small space most are."""

    saves_stable_arrays = True
    _saved: ClassVar[Mapping[str, Codec]]

    def save(self) -> Mapping[str, NDArray[Any]]:
        values = ((name, codec, getattr(self, name)) for name, codec in self._saved.items())
        return {
            name: codec.to_array(value) for name, codec, value in values if not isinstance(value, Sized) or len(value)
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the saved values. The part is empty, as it was made."""
        for name, array in arrays.items():
            setattr(self, name, self._saved[name].from_array(array))
