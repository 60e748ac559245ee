"""How predicates are written, and how each behaves: one value at a time or many, and its name from the
other end.

What nobody declared is taken from what the rules know of predicates. Most go from what has the value to
the value ("Alice lives_in Porto"); a role goes the other way ("Tim Cook ceo_of Apple": Apple has one).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from remanence.errors import InvalidInput
from remanence.events import Declared
from remanence.language.rules.predicate_rules import (
    EVENT_PREDICATES,
    IMMUTABLE_PREDICATES,
    STATE_AFTER_EVENT,
    claim_key,
)
from remanence.schema import Entry, Triple

MOST_LETTERS = 128
_BETWEEN = re.compile(r"[\W_]+")
_PLAIN = re.compile(r"[\w -]+")


class PredicateRule(NamedTuple):
    """How claims with a predicate are taken, as one view knows it.

    A claim with a `flipped` predicate is one with `name` and its ends exchanged. `single`: one value at
    a time; `of_object` says that it is the object which has one. `mirrored`: it holds both ways. `fixed`:
    its value never changes, so that two are never a succession.
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


class Predicates:
    """The predicates of a space, by number, and what was declared about them, by ledger position."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._declared: list[tuple[int, str, bool | None, str | None]] = []
        self._rules: dict[tuple[str, int], PredicateRule] = {}

    def intern(self, name: str) -> int:
        """The number of a predicate in its normal form, a new one if need be."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number

    def number(self, name: str) -> int | None:
        """The number of a predicate in its normal form, or None for one never met."""
        return self._numbers.get(name)

    def apply_entry(self, entry: Entry, declared: Declared) -> None:
        """Take in a declaration."""
        inverse = None if declared.inverse is None else normalize_predicate(declared.inverse)
        name = normalize_predicate(declared.predicate)
        self._declared.append((entry.position, name, declared.single_valued, inverse))
        self._rules.clear()

    def declared_single_valued(self, name: str, position: int) -> bool | None:
        """Whether a predicate was declared single-valued, by the last word on that; None if by nobody."""
        said = [one for _, about, one, _ in self._declared[: self._count(position)] if about == name]
        return next((one for one in reversed(said) if one is not None), None)

    def rule(self, name: str, position: int) -> PredicateRule:
        """How claims with this predicate are taken."""
        key = name, self._count(position)
        rule = self._rules.get(key)
        if rule is None:
            rule = self._rules[key] = self._made(name, position)
        return rule

    def equivalent_numbers(self, name: str, position: int) -> list[int]:
        """The numbers of the predicates that say the same as `name`, one way or the other."""
        rule = self.rule(name, position)
        spelled = {rule.name, rule.inverse}
        return [self._numbers[one] for one in spelled if one is not None and one in self._numbers]

    def save(self) -> dict[str, Any]:
        """Everything, as JSON can say it."""
        return {"names": self.names, "declared": self._declared}

    def load(self, words: Mapping[str, Any]) -> None:
        """Become what `save` wrote."""
        self.names = words["names"]
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._declared = [(position, name, one, other) for position, name, one, other in words["declared"]]

    def _count(self, position: int) -> int:
        return bisect_right(self._declared, position, key=lambda declared: declared[0])

    def _made(self, name: str, position: int) -> PredicateRule:
        inverses = _pairs([(p, q) for _, p, _, q in self._declared[: self._count(position)] if q is not None])
        forward = next((p for p, q in inverses.items() if q == name), None)
        if name not in inverses and forward is not None:
            return self._made(forward, position)._replace(is_inverse=True)
        inverse = inverses.get(name)
        of_subject = self._one(name, position, of_object=False)
        of_object = self._one(name, position, of_object=True)
        if inverse is not None and inverse != name:
            of_object = of_object or self._one(inverse, position, of_object=False)
        single = of_subject or of_object
        return PredicateRule(name, inverse, False, single, single and not of_subject, name in IMMUTABLE_PREDICATES)

    def _one(self, name: str, position: int, *, of_object: bool) -> bool:
        """Whether one end of a predicate has one other end at a time: as declared, or else as usual."""
        single = self.declared_single_valued(name, position)
        if single is not None:
            return single and not of_object
        return _usual(name) == ("object" if of_object else "subject")


@lru_cache(1 << 12)
def normalize_predicate(text: str) -> str:
    """One form for the spellings of one predicate, whatever it is made of.

    >>> normalize_predicate("Lives in"), normalize_predicate("works/at"), normalize_predicate("?!")
    ('lives_in', 'works_at', 'related_to')
    """
    return _snake(text) or "related_to"


def parse_predicate(value: object, what: str = "predicate") -> str:
    """A predicate as somebody gives it, in its normal form.

    >>> parse_predicate("lives in")
    'lives_in'
    >>> parse_predicate("a->b")
    Traceback (most recent call last):
    remanence.errors.InvalidInput: predicate='a->b' holds '>'. Use letters, digits and underscores.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what}={value!r} is of type {type(value).__name__}, not text. Say 'lives_in'.")
    if len(value) > MOST_LETTERS:
        raise InvalidInput(f"{what} has {len(value):,} characters. Use at most {MOST_LETTERS}.")
    if odd := _PLAIN.sub("", value):
        raise InvalidInput(f"{what}={value!r} holds {odd!r}. Use letters, digits and underscores.")
    if not (name := _snake(value)):
        raise InvalidInput(f"{what}={value!r} names no relation. Give a word such as 'lives_in'.")
    return name


def resulting_states(predicate: str) -> Sequence[str]:
    """The states that a claim with this predicate says begin with it: who moved to Porto lives there.

    >>> resulting_states("moved_to"), resulting_states("lives_in")
    (('lives_in',), ())
    """
    after = STATE_AFTER_EVENT.get(predicate)
    return () if after is None else (after,)


def is_state(predicate: str) -> bool:
    """Whether this says how things are, rather than what happened once.

    >>> is_state("lives_in"), is_state("visited")
    (True, False)
    """
    return predicate not in EVENT_PREDICATES


def _snake(text: str) -> str:
    return _BETWEEN.sub("_", unicodedata.normalize("NFKC", text).casefold()).strip("_")


@lru_cache(1 << 12)
def _usual(predicate: str) -> str | None:
    """Which end of an undeclared predicate has one other end at a time, if either."""
    key = claim_key(Triple("subject", predicate, "object"))
    return None if key is None else key[1]


def _pairs(declared: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Each predicate with its inverse, the latest word on either counting."""
    out: dict[str, str] = {}
    for name, inverse in declared:
        if out.get(inverse) == name:
            continue  # said before, from the other end
        out = {p: q for p, q in out.items() if not {p, q} & {name, inverse}}
        out[name] = inverse
    return out
