"""Which names a text says belong to one person: "Katherine Holm, whom everyone calls Katie"."""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.language.rules.lexicon import compile_pattern, data_lines
from remanence.language.rules.name_rules import find_names
from remanence.language.text import normalize_name

MAX_CHARS = 4_000
"""A longer text is a document about many people."""


class AliasPair(NamedTuple):
    """A name and another one of the same person, and the words that say so."""

    name: str
    alias: str
    why: str


def find_aliases(text: str) -> list[AliasPair]:
    """The pairs of names that a text says are one person's, the fuller name first.

    >>> [pair[:2] for pair in find_aliases("Katherine Holm, whom everyone calls Katie, runs the desk.")]
    [('Katherine Holm', 'Katie'), ('Katherine Holm', 'Katie Holm')]
    >>> [pair[:2] for pair in find_aliases("My wife's called Concepción, Conchita to her family, Connie to mine.")]
    [('Concepción', 'Conchita'), ('Concepción', 'Connie')]
    >>> find_aliases("I call Bob every day. Ana, Ben and Carol are friends.")
    []
    """
    if len(text) > MAX_CHARS:
        return []
    found: dict[tuple[str, str], AliasPair] = {}
    for pattern in _TOLD:
        for match in pattern.finditer(text):
            _add(found, _group(match, "name"), _group(match, "alias"), match.group())
    for match in _IN_QUOTES.finditer(text):
        _add(found, f"{match['first']} {match['last']}", match["alias"], match.group())
        _add(found, f"{match['first']} {match['last']}", match.group(), match.group())
    for match in _TO_OTHERS.finditer(text):
        for alias in _ALIAS_TO.findall(match["rest"]):
            _add(found, match["name"], alias, match.group())
    _add_of_only_person(found, text)
    for pair in list(found.values()):  # Kasia, short for Katarzyna Wójcik, is also Kasia Wójcik
        first, _, surname = pair.name.rpartition(" ")
        if first and " " not in pair.alias and pair.alias not in pair.name.split():
            _add(found, pair.name, f"{pair.alias} {surname}", pair.why)
    for match in _FORMER.finditer(text):
        name, former = _group(match, "name"), _group(match, "alias")
        first = name.partition(" ")[0]
        _add(found, name, former if " " in former or first == name else f"{first} {former}", match.group())
    return list(found.values())


def are_nicknames(one: str, other: str) -> bool:
    """Whether one first name is a short form of the other, in lower case.

    >>> are_nicknames("liz", "elizabeth"), are_nicknames("bob", "robert"), are_nicknames("ana", "anna")
    (True, True, False)
    """
    return is_short_form(one, other) or is_short_form(other, one)


def is_short_form(one: str, other: str) -> bool:
    """Whether the first is a short form of the second."""
    return other in _SHORT_FORMS.get(one, ())


def _add_of_only_person(found: dict[tuple[str, str], AliasPair], text: str) -> None:
    """ "Our neighbour is Giuseppe Riva. He says call me Beppe": the only one whose name has two words."""
    called = _CALL_THEM.search(text)
    if called is None or normalize_name(_group(called, "alias")) in _NO_ALIASES:
        return
    names = {name.text for name in find_names(text[: called.start()]) if name.kind in ("person", "thing")}
    full = [name for name in names if " " in name] or list(names)
    if len(full) == 1:
        _add(found, full[0], _group(called, "alias"), called.group())


def _group(match: re.Match[str], role: str) -> str:
    """What a pattern found for a role; its alternatives number their groups "name", "name_", "name__"."""
    return next(value for group, value in match.groupdict().items() if value and group.rstrip("_") == role).strip()


def _add(found: dict[tuple[str, str], AliasPair], name: str, alias: str, why: str) -> None:
    if name.lower() != alias.lower() and alias.lower() not in _NO_ALIASES:
        found.setdefault((name, alias), AliasPair(name, alias, " ".join(why.split())))


_TOLD = tuple(compile_pattern(name) for name in ("alias_after_name", "alias_before_name", "name_in_real_life"))
_FORMER = compile_pattern("former_name")
_TO_OTHERS = compile_pattern("alias_to_others")
_ALIAS_TO = re.compile(r"([A-Z][\w'’-]+) to (?:her|his|my|our|their|the|most|some|all|every\w*|mine|friends|family)\b")
_IN_QUOTES = re.compile(r"(?P<first>[A-Z]\w+) [\"“'‘(](?P<alias>[A-Z]\w+)[\"”'’)] (?P<last>[A-Z]\w+)")
_CALL_THEM = compile_pattern("alias_call_them")
_NO_ALIASES = frozenset(("i", "me", "he", "she", "it", "the", "him", "her", "monday", "tuesday", "friday"))
_SHORT_FORMS: dict[str, frozenset[str]] = {}
for _line in data_lines("nicknames.txt"):
    _full, _, _short = _line.partition(":")
    for _form in _short.split():
        _SHORT_FORMS[_form] = _SHORT_FORMS.get(_form, frozenset()) | {_full}
