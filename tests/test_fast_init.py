"""What makes data classes and JSON faster changes nothing else."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from remanence.read.receipts import Receipt
from remanence.schema import EPOCH, Memory, Triple
from remanence.schema.fast_init import fast_init
from remanence.schema.json_encoding import reused_encoder


@dataclass(frozen=True, slots=True)
class Plain:
    """A class as `dataclass` makes it."""

    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list)
    last: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("first")


@fast_init
@dataclass(frozen=True, slots=True)
class Fast:
    """The same with the other `__init__`."""

    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list)
    last: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("first")


@dataclass(frozen=True)
class Sub(Fast):
    """A subclass with a field of its own, which has no slot."""

    more: int = 7


@pytest.mark.parametrize(
    ("args", "kwargs"), [((1,), {}), ((1, "x"), {"last": 3}), ((), {"third": [4], "first": 1}), ((1, "x", [2]), {})]
)
def test_it_makes_the_same_object(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Defaults, default factories and fields by keyword only are those of the class."""
    made = Fast(*args, **kwargs)
    assert type(made) is Fast
    assert asdict(made) == asdict(Plain(*args, **kwargs))
    assert asdict(replace(made, second="z")) == asdict(replace(Plain(*args, **kwargs), second="z"))
    assert copy.copy(made) == made == pickle.loads(pickle.dumps(made)) == copy.deepcopy(made)
    assert hash(Triple("a", "b", "c")) == hash(Triple(subject="a", predicate="b", object="c"))


def test_it_refuses_the_same() -> None:
    """Wrong arguments, values that `__post_init__` refuses, and changes."""
    for wrong in ({}, {"first": 1, "other": 2}, {"first": 1, "second": "x", "third": [], "fourth": 1}):
        with pytest.raises(TypeError):
            Fast(**wrong)
    with pytest.raises(TypeError):
        Fast(1, "x", [], 4)  # type: ignore[misc]
    with pytest.raises(ValueError, match="first"):
        Fast(-1)
    with pytest.raises(FrozenInstanceError):
        Fast(1).first = 2  # type: ignore[misc]
    assert Fast(1).third is not Fast(1).third
    assert inspect.signature(Fast) == inspect.signature(Plain)


def test_a_subclass_is_made_as_before() -> None:
    """It may have other slots."""
    assert asdict(Sub(1, more=2)) == {"first": 1, "second": "b", "third": [], "last": 0, "more": 2}
    assert type(Sub(1)) is Sub


def test_the_classes_of_the_library() -> None:
    """A memory has its fields in the order in which it is made; a receipt inherits most of its fields."""
    assert pickle.loads(pickle.dumps(Memory("m", "s", "text"))) == Memory(text="text", id="m", space="s")
    receipt = Receipt("s", 7, "h", "Where?", EPOCH, kinds=("episode",), limit=3)
    assert (receipt.space, receipt.kinds, receipt.limit, receipt.vault) == ("s", ("episode",), 3, False)
    assert replace(receipt, vault=True).vault


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=9,
)


@given(value=st.lists(values) | st.dictionaries(st.text(), values))
@settings(max_examples=examples(60), deadline=None, derandomize=True)
def test_json_is_that_of_the_standard_library(value: Any) -> None:
    """Digests depend on every character of it."""
    for options in ({"sort_keys": True}, {"separators": (",", ":")}, {"ensure_ascii": True}):
        encoder = json.JSONEncoder(**{"ensure_ascii": False, "check_circular": False, **options})
        assert reused_encoder(encoder)(value) == encoder.encode(value)
