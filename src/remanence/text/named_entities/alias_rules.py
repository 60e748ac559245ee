"""Which names a text says belong to one person: "Katherine Holm, whom everyone calls Katie"."""

from __future__ import annotations

import re

from remanence.text.lexicon.word_lists import FIRST_NAMES, compile_pattern, data_lines
from remanence.text.named_entities.name_rules import find_names


def find_aliases(text: str) -> list[tuple[str, str]]:
    """The pairs of names that a text says are one person's, the fuller name first.

    >>> find_aliases("Katherine Holm, whom everyone calls Katie, runs the desk.")
    [('Katherine Holm', 'Katie'), ('Katherine Holm', 'Katie Holm')]
    >>> find_aliases("I call Bob every day. Ana, Ben and Carol are friends.")
    []
    """
    if len(text) > 4_000:  # a document about many people
        return []
    pairs = [(_group(match, "name"), _group(match, "alias")) for told in _TOLD for match in told.finditer(text)]
    pairs += [(f"{found['first']} {found['last']}", found["alias"]) for found in _IN_QUOTES.finditer(text)]
    if called := _CALL_THEM.search(text):  # "Our neighbour is Giuseppe Riva. He says call me Beppe."
        people = {name.text for name in find_names(text[: called.start()]) if name.kind in ("person", "thing")}
        full = [name for name in people if " " in name] or list(people)
        pairs += [(full[0], _group(called, "alias"))] if len(full) == 1 else []
    found = {(n, a): None for n, a in pairs if n.lower() != a.lower() and a.lower() not in _NO_ALIASES}
    for name, alias in list(found):  # Kasia, short for Katarzyna Wójcik, is also Kasia Wójcik
        first, _, surname = name.rpartition(" ")
        if first and " " not in alias and alias not in name.split():
            found[name, f"{alias} {surname}"] = None
    return list(found)


def are_nicknames(one: str, other: str) -> bool:
    """Whether one first name is a short form of the other, in lower case.

    >>> are_nicknames("liz", "elizabeth"), are_nicknames("bob", "robert"), are_nicknames("ana", "anna")
    (True, True, False)
    """
    return is_short_form(one, other) or is_short_form(other, one)


def is_short_form(one: str, other: str) -> bool:
    """Whether the first is a short form of the second: a known one, or its beginning, perhaps with an ending.

    >>> is_short_form("bob", "robert"), is_short_form("sid", "siddharth"), is_short_form("steffi", "stefanie")
    (True, True, True)
    >>> is_short_form("paul", "paula"), is_short_form("daniel", "daniela"), is_short_form("maria", "marianne")
    (False, False, False)
    """
    if other in _SHORT_FORMS.get(one, ()):
        return True
    if len(one) > 20 or (one in FIRST_NAMES and one not in _SHORT_FORMS):
        return False  # a name of its own: Paul, not a short Paulina
    return any(
        len(short) > 2 and len(other) - len(short) > 1 and other.startswith(short) and len(one) < len(other)
        for short in (one, stem_of(one))
    )


def full_forms(short: str) -> frozenset[str]:
    """The first names of which this is a known short form."""
    return _SHORT_FORMS.get(short, frozenset())


def stem_of(short: str) -> str:
    """A first name in lower case without the ending of a short form: "steff" of "steffi"."""
    return _DIMINUTIVE.sub(r"\g<stem>", short)


def _group(match: re.Match[str], role: str) -> str:
    """The text of a match for a role; its alternatives number their groups "name", "name_", "name__"."""
    return next(value for group, value in match.groupdict().items() if value and group.rstrip("_") == role).strip()


_DIMINUTIVE = re.compile(r"(?<![a-z])(?P<stem>[a-z]{2,}?[^aeiouy])(?:(?<=(.))\2)?(?:y|ie|i|ey|o)$")
_TOLD = compile_pattern("alias_after_name"), compile_pattern("alias_before_name")
_IN_QUOTES = re.compile(r"(?P<first>[A-Z]\w{1,30}) [\"“'‘(](?P<alias>[A-Z]\w{1,30})[\"”'’)] (?P<last>[A-Z]\w{1,30})")
_CALL_THEM = compile_pattern("alias_call_them")
_NO_ALIASES = frozenset(("i", "me", "he", "she", "it", "the", "him", "her", "monday", "tuesday", "friday"))
_SHORT_FORMS: dict[str, frozenset[str]] = {}
for _line in data_lines("nicknames.txt"):
    _full, _, _short = _line.partition(":")
    for _form in _short.split():
        _SHORT_FORMS[_form] = _SHORT_FORMS.get(_form, frozenset()) | {_full}
