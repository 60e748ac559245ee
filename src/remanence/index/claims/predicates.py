"""How predicates are written, and their properties: one value at a time or many, and the inverse.

Undeclared predicates have the properties that the language rules give them. Most go from the holder of the
value to the value ("Alice lives_in Porto"); a role goes the other way ("Tim Cook ceo_of Apple": Apple has
one CEO).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from remanence.errors import InvalidInput
from remanence.events import Declared
from remanence.index.arrays.columns import Interner
from remanence.index.numbers import Position
from remanence.schema import Triple
from remanence.text.claims.predicates import IMMUTABLE_PREDICATES, STATE_AFTER_EVENT, claim_key

_MAX_LENGTH = 128
"""Characters of a predicate, at most; one of a language model may be a sentence."""
_SEPARATOR = re.compile(r"[\W_]+")
_ALLOWED = re.compile(r"[\w -]+")


class PredicateRule(NamedTuple):
    """The properties of a predicate at one ledger position.

    A claim with an `is_inverse` predicate is the same as one with `name` and exchanged ends. If
    `single_valued`, there is one value at a time; `keyed_by_object`: the object has it, not the subject.
    The value of an `immutable` predicate never changes, so two values are never a succession.
    """

    name: str
    inverse: str | None = None
    is_inverse: bool = False
    single_valued: bool = False
    keyed_by_object: bool = False
    immutable: bool = False

    @property
    def symmetric(self) -> bool:
        """Whether it is its own inverse, as married_to may be."""
        return self.inverse == self.name


class Predicates(Interner[str]):
    """The normalized predicates of a space, by number, and their declarations, by ledger position."""

    def __init__(
        self, names: Iterable[str] = (), declared: Iterable[tuple[Position, str, bool | None, str | None]] = ()
    ) -> None:
        super().__init__(names)
        self.declared = list(declared)
        self._rules: dict[tuple[str, int], PredicateRule] = {}

    def declare(self, event: Declared, position: Position) -> None:
        """Note what the entry at a position declares about a predicate."""
        inverse = None if event.inverse is None else normalize_predicate(event.inverse)
        self.declared.append((position, normalize_predicate(event.predicate), event.single_valued, inverse))
        self._rules.clear()

    def declared_single_valued(self, name: str, position: Position) -> bool | None:
        """Whether a predicate was declared single-valued, by the latest statement; None if there is none."""
        values = [
            value for _, declared_name, value, _ in self.declared[: self._count(position)] if declared_name == name
        ]
        return next((value for value in reversed(values) if value is not None), None)

    def rule(self, name: str, position: Position) -> PredicateRule:
        key = name, self._count(position)
        rule = self._rules.get(key)
        if rule is None:
            rule = self._rules[key] = self._build_rule(name, position)
        return rule

    def equivalent_numbers(self, name: str, position: Position) -> list[int]:
        rule = self.rule(name, position)
        numbers = (self.number(predicate) for predicate in {rule.name, rule.inverse} if predicate is not None)
        return [number for number in numbers if number is not None]

    def _count(self, position: Position) -> int:
        return bisect_right(self.declared, position, key=lambda declared: declared[0])

    def _build_rule(self, name: str, position: Position) -> PredicateRule:
        declared = self.declared[: self._count(position)]
        inverses = _latest_inverses(
            (declared_name, inverse) for _, declared_name, _, inverse in declared if inverse is not None
        )
        forward = next((predicate for predicate, inverse in inverses.items() if inverse == name), None)
        if name not in inverses and forward is not None:
            return self._build_rule(forward, position)._replace(is_inverse=True)
        inverse = inverses.get(name)
        by_subject = self._is_single_valued(name, position, "subject")
        by_object = self._is_single_valued(name, position, "object")
        if inverse is not None and inverse != name:
            by_object = by_object or self._is_single_valued(inverse, position, "subject")
        single = by_subject or by_object
        return PredicateRule(name, inverse, False, single, single and not by_subject, name in IMMUTABLE_PREDICATES)

    def _is_single_valued(self, name: str, position: Position, end: str) -> bool:
        """Whether each value of this end ("subject" or "object") has one other end at a time."""
        declared = self.declared_single_valued(name, position)
        return _default_key(name) == end if declared is None else declared and end == "subject"


@lru_cache(1 << 12)
def normalize_predicate(text: str) -> str:
    """One form for the spellings of one predicate."""
    return _snake_case(text) or "related_to"


def parse_predicate(value: object, parameter: str = "predicate") -> str:
    """A predicate given by a user, normalized.

    >>> parse_predicate("lives in")
    'lives_in'
    >>> parse_predicate("a->b")
    Traceback (most recent call last):
    remanence.errors.InvalidInput: predicate='a->b' contains '>'. Use letters, digits and underscores.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{parameter}={value!r} has type {type(value).__name__}. Give a text such as 'lives_in'.")
    if len(value) > _MAX_LENGTH:
        raise InvalidInput(f"{parameter} has {len(value):,} characters. Use at most {_MAX_LENGTH}.")
    if other := _ALLOWED.sub("", value):
        raise InvalidInput(f"{parameter}={value!r} contains {other!r}. Use letters, digits and underscores.")
    if not (name := _snake_case(value)):
        raise InvalidInput(f"{parameter}={value!r} contains no word. Give a text such as 'lives_in'.")
    return name


def states_after_event(predicate: str) -> Sequence[str]:
    """The states that begin with an event: who moved to Porto lives there."""
    state = STATE_AFTER_EVENT.get(predicate)
    return () if state is None else (state,)


def _snake_case(text: str) -> str:
    return _SEPARATOR.sub("_", unicodedata.normalize("NFKC", text).casefold()).strip("_")


@lru_cache(1 << 12)
def _default_key(predicate: str) -> str | None:
    """Which end of an undeclared predicate has one other end at a time: "subject", "object" or None."""
    key = claim_key(Triple("subject", predicate, "object"))
    return None if key is None else key[1]


def _latest_inverses(declared: Iterable[tuple[str, str]]) -> dict[str, str]:
    inverses: dict[str, str] = {}
    for name, inverse in declared:
        if inverses.get(inverse) == name:
            continue  # declared before, in the other direction
        inverses = {p: q for p, q in inverses.items() if not {p, q} & {name, inverse}}
        inverses[name] = inverse
    return inverses
