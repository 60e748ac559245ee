"""Values and their JSON, made fast, are what the standard library makes of them."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.events import Remembered
from remanence.ledger.jsontext import json_writer
from remanence.schema import Turn
from remanence.values import quick


@quick
@dataclass(frozen=True, slots=True)
class Visit:
    city: str
    days: int = 1
    notes: dict[str, str] = field(default_factory=dict)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
)


def test_a_quick_value_is_frozen() -> None:
    """Nobody changes it once it is made, nor gives it a field that it has not."""
    visit = Visit("Porto")

    with pytest.raises(FrozenInstanceError):
        visit.days = 2  # type: ignore[misc]
    with pytest.raises((FrozenInstanceError, TypeError)):
        visit.weather = "rain"  # type: ignore[attr-defined]


def test_a_quick_value_has_its_defaults_to_itself() -> None:
    """What is left out is as usual, and a dict that was made for one is not another's."""
    porto, lisbon = Visit("Porto"), Visit("Lisbon", days=3)

    assert (porto.days, lisbon.days, porto.notes) == (1, 3, {})
    assert porto.notes is not lisbon.notes


def test_a_quick_value_wants_what_has_no_default() -> None:
    """The complaint names the field."""
    with pytest.raises(TypeError, match="city"):
        Visit()  # type: ignore[call-arg]


def test_a_quick_value_can_be_compared_altered_and_sent() -> None:
    """As any dataclass can."""
    visit = Visit("Porto", 2)

    assert type(visit) is Visit
    assert visit == Visit(city="Porto", days=2) != replace(visit, days=3)
    assert pickle.loads(pickle.dumps(visit)) == visit


@given(ANYTHING)
def test_json_is_written_as_the_standard_library_writes_it(value: object) -> None:
    """To the letter: digests of what was kept years ago have to come out the same."""
    assert json_writer(sort_keys=True)(value) == json.dumps(value, ensure_ascii=False, sort_keys=True)
    assert json_writer(separators=(",", ":"))(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object()])
def test_what_is_no_json_is_refused(value: object) -> None:
    """Rather than written as something else."""
    with pytest.raises(TypeError, match="not JSON serializable"):
        json_writer()(value)


def test_a_circle_is_refused() -> None:
    """It is not looked for, and yet not followed for ever."""
    circle: list[object] = []
    circle.append(circle)

    with pytest.raises(RecursionError):
        json_writer()(circle)


def test_a_version_in_its_place_keeps_all_else() -> None:
    """Every field, also one that is added later."""
    version = Remembered(**{each.name: f"any {each.name}" for each in fields(Remembered)})  # type: ignore[arg-type]
    turn = Turn("chat", 3, "Alice", None)

    assert version.with_id_and_turn("m2", turn) == replace(version, memory="m2", turn=turn)
