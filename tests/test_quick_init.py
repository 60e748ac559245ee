"""Values with a faster `__init__` are like other frozen dataclasses."""

from __future__ import annotations

import inspect
import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import pytest

from remanence.schema import Evidence, Hit, Memory, Mention, Window
from remanence.schema.quick_init import quick_init


@dataclass(frozen=True, slots=True)
class Plain:
    first: int
    second: str = "b"
    third: dict[str, int] = field(default_factory=dict)
    fourth: int = field(default=4, kw_only=True)


@quick_init
@dataclass(frozen=True, slots=True)
class Quick:
    first: int
    second: str = "b"
    third: dict[str, int] = field(default_factory=dict)
    fourth: int = field(default=4, kw_only=True)


@pytest.mark.parametrize(
    ("values", "options"),
    [((1,), {}), ((1, "x"), {}), ((1, "x", {"a": 1}), {"fourth": 5}), ((), {"first": 2, "third": {}, "second": "y"})],
)
def test_it_sets_what_a_dataclass_sets(values: tuple[Any, ...], options: dict[str, Any]) -> None:
    made, plain = Quick(*values, **options), Plain(*values, **options)
    names = ("first", "second", "third", "fourth")
    assert [getattr(made, name) for name in names] == [getattr(plain, name) for name in names]
    assert repr(made).replace("Quick", "Plain") == repr(plain)


@pytest.mark.parametrize(
    ("values", "options"), [((), {}), ((1, 2, {}, 4), {}), ((1,), {"fifth": 5}), ((1,), {"first": 1})]
)
def test_it_refuses_what_a_dataclass_refuses(values: tuple[Any, ...], options: dict[str, Any]) -> None:
    for cls in (Quick, Plain):
        with pytest.raises(TypeError):
            cls(*values, **options)


def test_each_value_has_a_default_of_its_own() -> None:
    assert Quick(1).third is not Quick(1).third


@pytest.mark.parametrize("cls", [Memory, Evidence, Hit, Mention, Window])
def test_its_signature_is_that_of_the_fields(cls: type[Any]) -> None:
    """Names, defaults and types are documented."""
    assert list(inspect.signature(cls).parameters) == list(cls.__slots__)
    assert inspect.signature(cls.__init__).return_annotation is None
    assert cls.__init__.__qualname__ == f"{cls.__name__}.__init__"


def test_values_are_compared_copied_and_stored() -> None:
    """And cannot be changed."""
    memory = Memory("m1", "default", "Ana lives in Porto.", mentions=(Mention("Ana", "person"),), meta={"page": 3})
    hit = Hit(memory, 0.5, (Evidence("words", 1, 0.5, 7.0, "holds 'Ana'"),))
    assert pickle.loads(pickle.dumps(hit)) == deepcopy(hit) == hit
    assert replace(memory, text="Other.").meta == memory.meta
    assert replace(memory, text="Other.") != memory
    assert hash(Window()) == hash(Window(None, None))
    with pytest.raises(FrozenInstanceError):
        memory.text = "Other."  # type: ignore[misc]


def test_what_it_would_leave_out_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Checked:
        first: int

        def __post_init__(self) -> None: ...

    with pytest.raises(TypeError, match="__post_init__"):
        quick_init(Checked)
