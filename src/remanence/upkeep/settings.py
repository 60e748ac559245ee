"""The settings of upkeep: one frozen value, also read from environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.journal import MAX_TRACKED_USES
from remanence.schema import MEMORY_KINDS

DECAY_MODELS = ("power_law", "exponential", "two_component")
_CHOICES = {"decay": DECAY_MODELS, "gc": ("forget", "archive")}
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
_HALF_LIFE_VARIABLES = {f"REMANENCE_HALF_LIFE_DAYS_{kind.upper()}": kind for kind in MEMORY_KINDS}


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
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise InvalidInput(f"{name}={value!r} is not one of {', '.join(choices)}.")
        for name, limits in _RANGES.items():
            _check_number(name, getattr(self, name), *limits)
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

        Raises:
            InvalidInput: A variable does not hold a valid value.
        """
        environ = os.environ if environ is None else environ
        names = (*_VARIABLES, *_HALF_LIFE_VARIABLES)
        return _from_variables(tuple((name, value) for name in names if (value := environ.get(name))))

    def with_changes(self, **changes: Any) -> UpkeepSettings:
        """These settings with some of them changed.

        Args:
            **changes: Settings to change, by name.

        Raises:
            InvalidInput: A name is not a setting, or a value is not valid.
        """
        known = [setting.name for setting in fields(self)]
        for name in changes:
            if name not in known:
                raise InvalidInput(f"{name!r} is not a setting of upkeep. The settings are {', '.join(known)}.")
        return replace(self, **changes)


_VARIABLES = {
    f"REMANENCE_{setting.name.upper()}": setting.name
    for setting in fields(UpkeepSettings)
    if setting.name != "half_life_by_kind"
}


@lru_cache(8)  # every recall asks for them
def _from_variables(variables: tuple[tuple[str, str], ...]) -> UpkeepSettings:
    changes: dict[str, Any] = {}
    half_lives = dict(_HALF_LIVES)
    for variable, value in variables:
        if variable in _HALF_LIFE_VARIABLES:
            half_lives[_HALF_LIFE_VARIABLES[variable]] = _number(variable, value, whole=False)
        elif (name := _VARIABLES[variable]) in _RANGES:
            changes[name] = _number(variable, value, whole=isinstance(_RANGES[name][0], int))
        else:
            changes[name] = value
    return UpkeepSettings(**changes, half_life_by_kind=half_lives)


def _number(variable: str, value: str, *, whole: bool) -> float:
    try:
        return int(value) if whole else float(value)
    except ValueError:
        expected = "a whole number" if whole else "a number"
        raise InvalidInput(f"the environment variable {variable}={value!r} is not {expected}.") from None


def _check_number(name: str, value: Any, minimum: float, maximum: float) -> None:
    whole = isinstance(minimum, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise InvalidInput(f"{name}={value!r} is not {'a whole number' if whole else 'a number'}.")
    if not minimum <= value <= maximum:
        raise InvalidInput(f"{name}={value!r} is not between {minimum:g} and {maximum:g}.")
