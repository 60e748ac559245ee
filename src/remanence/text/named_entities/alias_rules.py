"""Which names a text says belong to one person: "Katherine Holm, whom everyone calls Katie"."""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.text.lexicon.word_lists import FIRST_NAMES, compile_pattern, data_lines, is_common_word
from remanence.text.named_entities.name_rules import find_names
from remanence.text.text import normalize_name, split_sentences, strip_accents

MAX_CHARS = 4_000
"""Characters of a text in which other names are looked for; a longer one is a document about many people."""
_MAX_SHORT_FORM = 20
"""Characters of a short form of a name, at most."""


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
    pairs: dict[tuple[str, str], AliasPair] = {}
    for pattern in _TOLD:
        for match in pattern.finditer(text):
            _add(pairs, _group(match, "name"), _group(match, "alias"), match.group())
    for match in _IN_QUOTES.finditer(text):
        _add(pairs, f"{match['first']} {match['last']}", match["alias"], match.group())
        _add(pairs, f"{match['first']} {match['last']}", match.group(), match.group())
    for match in _TO_OTHERS.finditer(text):
        for alias in _ALIAS_TO.findall(match["rest"]):
            _add(pairs, match["name"], alias, match.group())
    _add_of_only_person(pairs, text)
    for sentence in split_sentences(text):
        if _NAMING.search(sentence):
            _add_resembling(pairs, sentence)
    for pair in list(pairs.values()):  # Kasia, short for Katarzyna Wójcik, is also Kasia Wójcik
        first, _, surname = pair.name.rpartition(" ")
        if first and " " not in pair.alias and pair.alias not in pair.name.split():
            _add(pairs, pair.name, f"{pair.alias} {surname}", pair.why)
    for match in _FORMER.finditer(text):
        name, former = _group(match, "name"), _group(match, "alias")
        first = name.partition(" ")[0]
        _add(pairs, name, former if " " in former or first == name else f"{first} {former}", match.group())
    for match in _ACRONYM.finditer(text):
        _add(pairs, match["name"], match["alias"], match.group())
    return list(pairs.values())


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
    if len(one) > _MAX_SHORT_FORM or (one in FIRST_NAMES and one not in _SHORT_FORMS):
        return False  # a name of its own: Paul, not a short Paulina
    stem = _DIMINUTIVE.sub(r"\g<stem>", one)
    return any(
        len(short) > 2 and len(other) - len(short) > 1 and other.startswith(short) and len(one) < len(other)
        for short in (one, stem)
    )


def full_forms(short: str) -> frozenset[str]:
    """The first names of which this is a known short form."""
    return _SHORT_FORMS.get(short, frozenset())


def _resembles(short: str, name: str) -> bool:
    """Whether a name in lower case can be made of another: Tadek of Tadeusz, Fina of Seraphina, Katya of Ekaterina."""
    one, other = strip_accents(short), strip_accents(name)
    if are_nicknames(one, other):
        return True
    if len(one) >= len(other) or (one in FIRST_NAMES and one not in _SHORT_FORMS and other in FIRST_NAMES):
        return False  # Daniel and Daniela are two
    return one[:2] == other[:2] or any(one[at : at + 3] in other for at in range(len(one) - 2))


def _add_resembling(pairs: dict[tuple[str, str], AliasPair], sentence: str) -> None:
    """The only two names of a sentence about names, where one can be made of the other, or they are the names of one
    person before and after a wedding."""
    spans = [name for name in find_names(sentence) if name.kind in ("person", "thing")]
    names = list(dict.fromkeys(_TITLE.sub("", name.text) for name in spans))
    names += [
        name for name in dict.fromkeys(_CAPITALIZED.findall(sentence)) if not any(name in other for other in names)
    ]
    names = [name for name in names if not is_common_word(name.lower())]
    if len(names) != 2 or any(name in pair for pair in pairs for name in names):
        return  # or a pattern has told already which of them is the fuller one
    full, short = sorted(names, key=lambda name: (-len(name.split()), -len(name)))
    if len(short.split()) == 1 and any(_resembles(short.lower(), word.lower()) for word in full.split()[:1]):
        _add(pairs, full, short, sentence)
    elif len(short.split()) == len(full.split()) == 2 and full.split()[0] == short.split()[0]:
        first, second = sorted(names, key=sentence.find)
        renamed = _RENAMED.search(sentence[sentence.find(first) + len(first) : sentence.find(second)])
        if renamed:
            _add(pairs, *((second, first) if renamed["new"] else (first, second)), sentence)


def _add_of_only_person(pairs: dict[tuple[str, str], AliasPair], text: str) -> None:
    """ "Our neighbour is Giuseppe Riva. He says call me Beppe": the only one whose name has two words."""
    called = _CALL_THEM.search(text)
    if called is None or normalize_name(_group(called, "alias")) in _NO_ALIASES:
        return
    names = {name.text for name in find_names(text[: called.start()]) if name.kind in ("person", "thing")}
    full = [name for name in names if " " in name] or list(names)
    if len(full) == 1:
        _add(pairs, full[0], _group(called, "alias"), called.group())


def _group(match: re.Match[str], role: str) -> str:
    """The text of a match for a role; its alternatives number their groups "name", "name_", "name__"."""
    return next(value for group, value in match.groupdict().items() if value and group.rstrip("_") == role).strip()


def _add(pairs: dict[tuple[str, str], AliasPair], name: str, alias: str, why: str) -> None:
    if name.lower() != alias.lower() and alias.lower() not in _NO_ALIASES:
        pairs.setdefault((name, alias), AliasPair(name, alias, " ".join(why.split())))


_NAMING = compile_pattern("about_names")
_RENAMED = re.compile(r"\b(?:(?P<new>is now|became|goes by|now)|used to be|formerly|née|previously)(?: called)? $")
_TITLE = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof|Lt|Sir)\.? ")
_CAPITALIZED = re.compile(r"(?<![.!?] )(?<=[ (\"“'‘])[A-ZÀ-Þ][\w-]{0,30}[a-zß-ÿ](?![\w'’])")
_ACRONYM = re.compile(
    r"(?P<name>(?:[A-Z][\w&-]{1,30} (?:of |for |and |the |de |in )?){1,6}[A-Z][\w&-]{1,30})"
    r" \((?:the )?(?P<alias>[A-Z][A-Z&]{1,6})\)"
)
_DIMINUTIVE = re.compile(r"(?<![a-z])(?P<stem>[a-z]{2,}?[^aeiouy])(?:(?<=(.))\2)?(?:y|ie|i|ey|o)$")
_TOLD = tuple(compile_pattern(name) for name in ("alias_after_name", "alias_before_name", "name_in_real_life"))
_FORMER = compile_pattern("former_name")
_TO_OTHERS = compile_pattern("alias_to_others")
_ALIAS_TO = re.compile(
    r"([A-Z][\w'’-]{1,30}) to (?:her|his|my|our|their|the|most|some|all|every\w*|mine|friends|family)\b"
)
_IN_QUOTES = re.compile(r"(?P<first>[A-Z]\w{1,30}) [\"“'‘(](?P<alias>[A-Z]\w{1,30})[\"”'’)] (?P<last>[A-Z]\w{1,30})")
_CALL_THEM = compile_pattern("alias_call_them")
_NO_ALIASES = frozenset(("i", "me", "he", "she", "it", "the", "him", "her", "monday", "tuesday", "friday"))
_SHORT_FORMS: dict[str, frozenset[str]] = {}
for _line in data_lines("nicknames.txt"):
    _full, _, _short = _line.partition(":")
    for _form in _short.split():
        _SHORT_FORMS[_form] = _SHORT_FORMS.get(_form, frozenset()) | {_full}
