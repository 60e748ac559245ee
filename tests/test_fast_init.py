"""Frozen dataclasses with a faster `__init__` are as other frozen dataclasses."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from remanence.schema import Entry, Evidence, Hit, HitUsage, Memory, Query, Ranking
from remanence.schema.fast_init import fast_init


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    size: int = 3
    tags: list[str] = field(default_factory=list)
    note: str = field(default="-", kw_only=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.strip())


@fast_init
@dataclass(frozen=True, slots=True)
class Fast:
    name: str
    size: int = 3
    tags: list[str] = field(default_factory=list)
    note: str = field(default="-", kw_only=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.strip())


@pytest.mark.parametrize("arguments", [("a ",), ("a", 4), ("a", 4, ["x"])])
@pytest.mark.parametrize("options", [{}, {"note": "n"}])
def test_the_same_object_is_made(arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    """With defaults, factories, fields by name, and what runs after them."""
    plain, fast = Plain(*arguments, **options), Fast(*arguments, **options)
    assert repr(fast) == repr(plain).replace("Plain", "Fast")
    assert type(fast) is Fast
    assert fast == Fast(*arguments, note="another") == replace(fast, note="third") == copy.deepcopy(fast)
    assert pickle.loads(pickle.dumps(fast)) == fast
    assert str(inspect.signature(Fast)) == str(inspect.signature(Plain))


def test_no_default_is_shared() -> None:
    """Each object has a list of its own."""
    assert Fast("a").tags is not Fast("a").tags


@pytest.mark.parametrize("arguments", [(), ("a", 1, [], "too many")])
def test_wrong_arguments_are_refused(arguments: tuple[Any, ...]) -> None:
    """As by any function."""
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        Fast(*arguments)


def test_it_is_frozen() -> None:
    """Also right after it was made."""
    with pytest.raises(FrozenInstanceError):
        Fast("a").size = 4  # type: ignore[misc]


def test_a_subclass_may_have_more_fields() -> None:
    """It is made as other dataclasses are."""

    @dataclass(frozen=True)
    class More(Fast):
        more: int = 1

    class Same(Fast):
        pass

    assert More("a", more=2) == More("a", 3, [], 2)
    assert Same("a ").name == "a"


def test_a_class_with_other_slots_is_refused_at_once() -> None:
    """Its objects could not change their class."""

    class Base:
        pass

    with pytest.raises(TypeError, match="layout differs"):

        @fast_init
        @dataclass(frozen=True, slots=True)
        class Derived(Base):
            name: str


@pytest.mark.parametrize("kind", [Entry, Evidence, Hit, HitUsage, Memory, Query, Ranking])
def test_the_types_that_are_made_most_have_it(kind: type[Any]) -> None:
    """Their `__init__` says which one it replaces."""
    assert kind.__init__.__wrapped__ is not kind.__init__  # type: ignore[misc]
