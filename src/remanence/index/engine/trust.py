"""How far a memory is trusted: a number from 0 to 1, given with the memory or by a rule about its source.

A memory never supersedes, revises or ends claims of a memory with higher trust. Recall weights hits by trust and leaves
out memories below `min_trust`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType

from remanence.errors import InvalidInput

LEVELS: Mapping[str, float] = MappingProxyType({"trusted": 1.0, "user": 0.8, "tool": 0.5, "web": 0.2})
"""The names of levels. A memory without a level is trusted."""


@dataclass(frozen=True, slots=True)
class TrustRules:
    """The trust of sources and observers, for `remanence.Policy(trust=...)`.

    Attributes:
        sources: The trust of a `source` (for chat turns: of the conversation) or of an `observed_by`: the name of a
            level, or a number from 0 to 1. A `*` in a name matches anything. If both match, the lower one counts.
        levels: Levels of your own, in addition to `LEVELS`.
        default: The trust of what no rule matches.

    Example:
        >>> rules = TrustRules({"crawler*": "web", "Bob": "partner"}, levels={"partner": 0.6})
        >>> rules.trust_of("crawler-7", "Bob"), rules.trust_of("crm", "Bob"), rules.trust_of(None, None)
        (0.2, 0.6, 1.0)
    """

    sources: Mapping[str, str | float] = field(default_factory=dict)
    levels: Mapping[str, float] = field(default_factory=dict)
    default: str | float = "trusted"

    def __post_init__(self) -> None:
        if not isinstance(self.sources, Mapping) or not isinstance(self.levels, Mapping):
            raise InvalidInput("the sources and the levels of TrustRules are dicts: {'crawler*': 'web'}.")
        for name, level in self.levels.items():
            if _number(level) is None:
                raise InvalidInput(f"the level {name!r} is {level!r}. Give a number from 0 to 1.")
        for value in (*self.sources.values(), self.default):
            self.level(value, "trust")

    def level(self, value: object, what: str) -> float:
        """The number of a level, given by its name or as a number.

        Args:
            value: The name of a level, or a number from 0 to 1.
            what: The name of the argument, for the error.

        Returns:
            The trust, from 0 to 1.

        Raises:
            InvalidInput: There is no such level.
        """
        if isinstance(value, str):
            named = self.levels.get(value, LEVELS.get(value))
            if named is not None:
                return float(named)
        elif (number := _number(value)) is not None:
            return number
        known = ", ".join({**LEVELS, **self.levels})
        raise InvalidInput(f"{what}={value!r} is neither a number from 0 to 1 nor one of {known}.")

    def trust_of(self, source: str | None, observed_by: str | None, override: object = None) -> float:
        """The trust of a memory.

        Args:
            source: Where it comes from.
            observed_by: Who said or saw it.
            override: The trust given with the memory itself, which counts more than the rules.

        Returns:
            The trust, from 0 to 1.

        Raises:
            InvalidInput: `override` is not valid.
        """
        if override is not None:
            return self.level(override, "trust")
        if not self.sources:
            return 1.0 if self.default == "trusted" else self.level(self.default, "trust")
        levels = [
            self.level(trust, "trust")
            for name in (source, observed_by)
            if name is not None
            for pattern, trust in self.sources.items()
            if pattern == name or fnmatchcase(name, pattern)
        ]
        return min(levels, default=self.level(self.default, "trust"))


NO_RULES = TrustRules()


def parse_trust_rules(value: object) -> TrustRules:
    """The rules that a caller gives: `TrustRules`, the dict of its sources, or None."""
    if value is None:
        return NO_RULES
    if isinstance(value, TrustRules):
        return value
    if isinstance(value, Mapping):
        return TrustRules(value)
    raise InvalidInput(f"trust={value!r} is neither TrustRules nor a dict such as {{'crawler*': 'web'}}.")


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if is_number else None  # type: ignore[arg-type]
