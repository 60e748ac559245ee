"""The settings of upkeep: one frozen value, also read from environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.journal import MAX_TRACKED_USES
from remanence.schema import MEMORY_KINDS

PREFIX = "REMANENCE_"
DECAY_MODELS = ("power_law", "exponential", "two_component")
GC_MODES = ("forget", "archive")

_RANGES: Mapping[str, tuple[float, float]] = {
    "half_life_days": (1e-6, 1e6),
    "use_exponent": (0.0, 2.0),
    "forget_below": (0.0, 10.0),
    "promote_above": (0.0, 10.0),
    "promote_uses": (1, MAX_TRACKED_USES),
    "cluster_similarity": (0.0, 1.0),
    "duplicate_similarity": (0.0, 1.0),
    "merge_cohesion": (0.0, 1.0),
    "relate_above": (0.0, 1.0),
    "vault_weight": (0.0, 1.0),
}


_HALF_LIVES: Mapping[str, float] = {"semantic": 30.0, "viewpoint": 30.0}
"""Days without use until half of the score is left, for the kinds that keep longer than `half_life_days`. Chosen by
hand."""


@dataclass(frozen=True, slots=True)
class UpkeepSettings:
    """How fast memories decay, and the thresholds of each step.

    Each setting has an environment variable: `REMANENCE_` and its name in capitals. The half-life of one
    kind is `REMANENCE_HALF_LIFE_DAYS_EPISODE` and so on.

    Attributes:
        decay: The decay model: "power_law", "exponential" or "two_component".
        half_life_days: Days without use until half of the score is left, for a memory of ordinary importance.
        half_life_by_kind: Half-lives of kinds that differ from `half_life_days`.
        use_exponent: The score grows with the number of uses to this power.
        forget_below: `gc` hides memories that score less.
        gc: What `gc` does: "forget" hides memories, "archive" moves them to the archive.
        promote_above: Memories that score at least this much are promoted once they are a few days old.
        promote_uses: Memories used this often within two weeks are promoted whatever their score.
        cluster_similarity: Memories at least this similar (cosine) belong to one cluster.
        duplicate_similarity: Memories at least this similar are duplicates for `clusters(duplicates=True)`.
        merge_cohesion: Clusters whose pairs are at least this similar on average are merged.
        relate_above: Memories whose common names and tags score at least this much are linked.
        vault: The folder to which promoted memories are written as Markdown notes.
        vault_weight: A factor for the scores of hits in a person's own notes.

    Raises:
        InvalidInput: A value is of the wrong type or out of range; the message names it.

    Example:
        >>> UpkeepSettings(half_life_days=7).half_life_days
        7
        >>> UpkeepSettings.from_env({"REMANENCE_FORGET_BELOW": "0.1"}).forget_below
        0.1
    """

    decay: str = "power_law"
    half_life_days: float = 3.0
    half_life_by_kind: Mapping[str, float] = field(default_factory=lambda: _HALF_LIVES)
    use_exponent: float = 0.6
    forget_below: float = 0.05
    gc: str = "forget"
    promote_above: float = 0.65
    promote_uses: int = 5
    cluster_similarity: float = 0.83
    duplicate_similarity: float = 0.88
    merge_cohesion: float = 0.85
    relate_above: float = 0.3
    vault: str | None = None
    vault_weight: float = 0.7

    def __post_init__(self) -> None:
        if self.decay not in DECAY_MODELS:
            raise InvalidInput(f"decay={self.decay!r} is not a decay model. Use one of {', '.join(DECAY_MODELS)}.")
        if self.gc not in GC_MODES:
            raise InvalidInput(f"gc={self.gc!r} is not a mode of gc. Use one of {', '.join(GC_MODES)}.")
        for name, (minimum, maximum) in _RANGES.items():
            _check_number(name, getattr(self, name), minimum, maximum)
        if not isinstance(self.half_life_by_kind, Mapping):
            raise InvalidInput(f"half_life_by_kind={self.half_life_by_kind!r} is not a dict such as {{'episode': 7}}.")
        for kind, days in self.half_life_by_kind.items():
            if kind not in MEMORY_KINDS:
                raise InvalidInput(f"half_life_by_kind has the kind {kind!r}. Kinds are {', '.join(MEMORY_KINDS)}.")
            _check_number(f"half_life_by_kind[{kind!r}]", days, *_RANGES["half_life_days"])

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> UpkeepSettings:
        """The defaults, changed by environment variables.

        Args:
            environ: The variables; `os.environ` if left out.

        Returns:
            The settings.

        Raises:
            InvalidInput: A variable does not hold a valid value.
        """
        environ = os.environ if environ is None else environ
        return _from_variables(tuple((name, value) for name in _variables() if (value := environ.get(name))))

    def with_changes(self, **changes: Any) -> UpkeepSettings:
        """These settings with some of them changed.

        Args:
            **changes: Settings to change, by name.

        Returns:
            The new settings.

        Raises:
            InvalidInput: A name is not a setting, or a value is not valid.

        Example:
            >>> UpkeepSettings().with_changes(promote_uses=3).promote_uses
            3
        """
        known = [setting.name for setting in fields(self)]
        for name in changes:
            if name not in known:
                raise InvalidInput(f"{name!r} is not a setting of upkeep. The settings are {', '.join(known)}.")
        return replace(self, **changes)


@cache
def _variables() -> list[str]:
    """The names of all environment variables for settings."""
    names = [setting.name for setting in fields(UpkeepSettings) if setting.name != "half_life_by_kind"]
    return [PREFIX + name.upper() for name in (*names, *(f"half_life_days_{kind}" for kind in MEMORY_KINDS))]


@lru_cache(8)  # every recall asks for them
def _from_variables(variables: tuple[tuple[str, str], ...]) -> UpkeepSettings:
    values = dict(variables)
    changes: dict[str, Any] = {}
    for setting in fields(UpkeepSettings):
        variable = PREFIX + setting.name.upper()
        if setting.name != "half_life_by_kind" and variable in values:
            changes[setting.name] = _parse(variable, values[variable], setting.type)
    half_lives = dict(_HALF_LIVES)
    for kind in MEMORY_KINDS:
        variable = f"{PREFIX}HALF_LIFE_DAYS_{kind.upper()}"
        if variable in values:
            half_lives[kind] = _parse(variable, values[variable], "float")
    return UpkeepSettings(**changes, half_life_by_kind=half_lives)


def _parse(variable: str, value: str, type_name: Any) -> Any:
    """The value of an environment variable; annotations of the fields are strings."""
    if type_name not in ("float", "int"):
        return value
    try:
        return int(value) if type_name == "int" else float(value)
    except ValueError:
        expected = "a whole number" if type_name == "int" else "a number"
        raise InvalidInput(f"the environment variable {variable}={value!r} is not {expected}.") from None


def _check_number(name: str, value: Any, minimum: float, maximum: float) -> None:
    integral = isinstance(minimum, int)
    if isinstance(value, bool) or not isinstance(value, int if integral else (int, float)):
        raise InvalidInput(f"{name}={value!r} is not {'a whole number' if integral else 'a number'}.")
    if not minimum <= value <= maximum:
        raise InvalidInput(f"{name}={value!r} is not between {minimum:g} and {maximum:g}.")
