"""Every number that upkeep goes by, in one frozen value; also from environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from remanence.errors import InvalidInput
from remanence.schema import MEMORY_KINDS
from remanence.state.usage import MAX_TRACKED_USES
from remanence.upkeep.decay import DECAY_MODELS

PREFIX = "REMANENCE_"
GC = ("forget", "archive")

_RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("half_life_days", "promote_days", "lasting_stretch"), (1e-6, 1e6)),
    **dict.fromkeys(("promote_after_days",), (0.0, 1e6)),
    **dict.fromkeys(("beta", "forget_below", "promote_above", "danger_from", "danger_until"), (0.0, 10.0)),
    **dict.fromkeys(
        (
            *("boost", "cross_domain_below", "cluster_similarity", "duplicate_similarity"),
            *("merge_cohesion", "review_cohesion", "relate_above", "vault_weight"),
        ),
        (0.0, 1.0),
    ),
    **dict.fromkeys(("cluster_neighbours", "relate_most"), (1, 1_000)),
    "promote_uses": (1, MAX_TRACKED_USES),
    "cluster_size": (2, 100),
    "relate_shared": (1, 100),
    "relate_hub": (2, 10_000),
}
_ORDERED = (("forget_below", "danger_from"), ("danger_from", "danger_until"), ("review_cohesion", "merge_cohesion"))


def _slow_kinds() -> Mapping[str, float]:
    return {"semantic": 30.0, "viewpoint": 30.0}


@dataclass(frozen=True, slots=True)
class UpkeepSettings:
    """What fades how fast, what is alike, what lasts.

    Each field can also be set in the environment, as `REMANENCE_` and its name in capitals; the half-life
    of one kind as `REMANENCE_HALF_LIFE_DAYS_EPISODE`.

    >>> UpkeepSettings(half_life_days=7).half_life_days
    7
    >>> UpkeepSettings.from_env({"REMANENCE_BETA": "0.5"}).beta
    0.5
    """

    decay: str = "power_law"
    """How memories fade: "power_law", "exponential" or "two_component"."""
    half_life_days: float = 3.0
    """After so many days without use, half is left; of chatter that nobody called important."""
    half_life_by_kind: Mapping[str, float] = field(default_factory=_slow_kinds)
    """The half-life of a kind, where it is another."""
    lasting_stretch: float = 16.0
    """How many times longer something identity-defining (importance 0.9) lasts."""
    beta: float = 0.6
    """Score grows with the number of uses to this power."""
    boost: float = 0.1
    """How much stronger a boost, or use in another domain, makes a memory."""
    cross_domain_below: float = 0.3
    """Use where fewer tags than this are shared (Jaccard) is use in another domain."""
    forget_below: float = 0.05
    """`gc` lets go of what scores less."""
    gc: str = "forget"
    """How: "forget" hides it, "archive" puts it away, where it can be looked up."""
    danger_from: float = 0.15
    danger_until: float = 0.35
    """Between these two a memory is at risk."""
    promote_above: float = 0.65
    """What scores this much is promoted, once it is `promote_after_days` old."""
    promote_after_days: float = 3.0
    """A score says little about a memory younger than this: everything new scores high."""
    promote_uses: int = 5
    promote_days: float = 14.0
    """So many uses within so many days promote a memory whatever its score."""
    cluster_similarity: float = 0.83
    """Memories this near (cosine) are in one cluster."""
    duplicate_similarity: float = 0.88
    """And in duplicates mode, this near."""
    cluster_size: int = 12
    cluster_neighbours: int = 16
    """How many nearest memories of each are looked at."""
    merge_cohesion: float = 0.85
    """Clusters whose pairs are this near on average are merged."""
    review_cohesion: float = 0.65
    """And these are for a person to look at; the rest is kept as it is."""
    relate_shared: int = 2
    """How many entities two memories must share to be related."""
    relate_above: float = 0.3
    """And how much of their entities (70%) and tags (30%)."""
    relate_most: int = 5
    """How many relations of each memory are proposed, the best."""
    relate_hub: int = 64
    """Entities that more memories name together say little about any two of those."""
    vault: str | None = None
    """The folder that promoted memories are written to as Markdown notes."""
    vault_weight: float = 0.7
    """What a hit in a person's own notes weighs beside one in the space."""

    def __post_init__(self) -> None:
        if self.decay not in DECAY_MODELS:
            raise InvalidInput(f"decay={self.decay!r} is no model of decay. Use one of {', '.join(DECAY_MODELS)}.")
        if self.gc not in GC:
            raise InvalidInput(f"gc={self.gc!r} is no way to let go. Use one of {', '.join(GC)}.")
        for name, (least, most) in _RANGES.items():
            _check_number(name, getattr(self, name), least, most)
        if not isinstance(self.half_life_by_kind, Mapping):
            raise InvalidInput(f"half_life_by_kind={self.half_life_by_kind!r} is no dict, such as {{'episode': 7}}.")
        for kind, days in self.half_life_by_kind.items():
            if kind not in MEMORY_KINDS:
                raise InvalidInput(
                    f"half_life_by_kind names the kind {kind!r}. The kinds are {', '.join(MEMORY_KINDS)}."
                )
            _check_number(f"half_life_by_kind[{kind!r}]", days, *_RANGES["half_life_days"])
        for smaller, larger in _ORDERED:
            if getattr(self, smaller) > getattr(self, larger):
                raise InvalidInput(
                    f"{smaller}={getattr(self, smaller)} is above {larger}={getattr(self, larger)}: "
                    "nothing would lie between them. Change one of the two."
                )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> UpkeepSettings:
        """The defaults, changed by what the environment says."""
        given = os.environ if environ is None else environ
        changes: dict[str, Any] = {}
        for each in fields(cls):
            name = PREFIX + each.name.upper()
            if each.name == "half_life_by_kind":
                continue
            if given.get(name):
                changes[each.name] = _read(name, given[name], each.type)
        kinds: dict[str, str] = {kind: f"{PREFIX}HALF_LIFE_DAYS_{kind.upper()}" for kind in MEMORY_KINDS}
        told: dict[str, float] = {
            kind: _read(name, given[name], "float") for kind, name in kinds.items() if given.get(name)
        }
        return cls(**changes, half_life_by_kind={**_slow_kinds(), **told})

    def with_changes(self, **changes: Any) -> UpkeepSettings:
        """These settings with some of them changed.

        >>> UpkeepSettings().with_changes(beta=1.0).beta
        1.0
        """
        known = {each.name for each in fields(self)}
        for name in changes:
            if name not in known:
                raise InvalidInput(f"{name!r} is no setting of upkeep. The settings are {', '.join(sorted(known))}.")
        return replace(self, **changes)


def _read(name: str, value: str, kind: Any) -> Any:
    if kind not in ("float", "int"):
        return value
    try:
        return int(value) if kind == "int" else float(value)
    except ValueError:
        whole = "a whole number" if kind == "int" else "a number"
        raise InvalidInput(f"the environment says {name}={value!r}, which is not {whole}.") from None


def _check_number(name: str, value: Any, least: float, most: float) -> None:
    whole = isinstance(least, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise InvalidInput(f"{name}={value!r} is not {'a whole number' if whole else 'a number'}.")
    if not least <= value <= most:
        raise InvalidInput(f"{name}={value!r} is not between {least:g} and {most:g}.")
