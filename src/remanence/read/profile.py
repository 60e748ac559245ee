"""Who somebody is, in a few sentences for a system prompt: current facts and preferences only.

By template, or by a model where the space has one; either way every sentence names the memories behind
it, and nothing superseded, expired or forgotten is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from remanence.core.engine import Engine
from remanence.core.index import Index
from remanence.language.framing import estimate_tokens
from remanence.read.supersession import is_current_row
from remanence.schema import SELF, Memory

if TYPE_CHECKING:
    from remanence.ports import Extractor

_MOST_MEMORIES = 400
_LEAST_IMPORTANCE = 0.3


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of a profile, and the ids of the memories behind it."""

    text: str
    memories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """What a space knows about whom it is about, most defining first. As text it is ready for a prompt."""

    statements: tuple[Statement, ...] = ()
    position: int = 0
    by: str = "template"
    since: datetime | None = None
    until: datetime | None = None
    """From when to when it is so, if nothing is learned: then something in it, or left out, changes."""

    def is_valid_at(self, now: datetime) -> bool:
        """Whether it is still, or was already, so at a moment."""
        return (self.since is None or self.since <= now) and (self.until is None or now < self.until)

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join(statement.text for statement in self.statements)

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.statements)


_CACHE: WeakKeyDictionary[Index, dict[tuple[int, int], Profile]] = WeakKeyDictionary()
_MOST_PROFILES = 16


def profile(
    engine: Engine, space: str, position: Callable[[Index], int], moment: datetime | None, max_tokens: int
) -> Profile:
    """The profile of a space as one view knows it; made once for each position."""
    now = moment or engine.now()
    with engine.open_index(space) as index:
        at = position(index)
        cache = _CACHE.setdefault(index, {})
        made = cache.get((at, max_tokens))
        # Time passes without an entry being written: a fact may have expired since.
        if made is None or not made.is_valid_at(now):
            made = _make_profile(index, engine.extractor, at, now, max_tokens)
            if len(cache) >= _MOST_PROFILES:
                cache.clear()
            cache[at, max_tokens] = made
        return made


def _make_profile(index: Index, extractor: Extractor, position: int, now: datetime, max_tokens: int) -> Profile:
    """The profile of a space as one view knows it."""
    considered = _considered(index, position, now)
    turning = [moment for m in considered for moment in _turns(m) if moment > now]
    until = min(turning, default=None)
    memories = [memory for memory in considered if now in memory.valid][:_MOST_MEMORIES]
    lines = [_sentence(memory) for memory in memories]
    summarise = getattr(extractor, "summarise", None)
    if lines and summarise is not None and (sentences := summarise(lines, max_tokens=max_tokens)):
        told = [Statement(s.text, tuple(memories[n].id for n in s.lines)) for s in sentences]
        return Profile(tuple(_fitting(told, max_tokens)), position, extractor.name, now, until)
    plain = [Statement(line, (memory.id,)) for line, memory in zip(lines, memories, strict=True)]
    return Profile(tuple(_fitting(plain, max_tokens)), position, since=now, until=until)


def _considered(index: Index, position: int, now: datetime) -> list[Memory]:
    """Standing facts and preferences, the most important first, of equals the latest."""
    with index.lock:
        rows = np.array(index.current_rows(position), np.int64)
        rows = rows[index.catalog.current(rows, position, now)]
        importance = index.catalog.importance(rows)
        rows, importance = rows[importance >= _LEAST_IMPORTANCE], importance[importance >= _LEAST_IMPORTANCE]
        order = np.lexsort((-index.catalog.event_times(rows), -importance))[: 4 * _MOST_MEMORIES]
        wanted = rows[order].tolist()
        sight = index.snapshot(position, now)
        # A sentence of which half is past would say something untrue.
        standing = [
            row
            for row in wanted
            if is_current_row(index, row, sight) and not index.relations.is_partly_stale(row, sight)
        ]
        memories = index.readable_memories(standing)
        sources = index.journal.extractions
    facts = [m for m in memories if m.turn is None and m.kind != "episode" and len(m.text) <= _LONGEST]
    # A source that told several things is spoken for by the facts found in it.
    return [fact for fact in facts if fact.id not in sources or _is_its_own_fact(fact, index)]


def _is_its_own_fact(memory: Memory, index: Index) -> bool:
    return memory.id in index.journal.extractions[memory.id][-1].facts


_LONGEST = 300
"""Longer texts are documents, not facts."""


def _turns(memory: Memory) -> Iterator[datetime]:
    for moment in (memory.expires_at, memory.valid.start, memory.valid.end):
        if moment is not None:
            yield moment


def _sentence(memory: Memory) -> str:
    """A memory as a sentence in the third person."""
    text = " ".join(memory.text.split())
    who = memory.observed_by if memory.observed_by not in (None, SELF) else None
    said = _third_person(text, who or "The user")
    return said if said.endswith((".", "!", "?")) else f"{said}."


_FIRST_PERSON = re.compile(r"^(?:I|i|me)\b(?!['’])")
_MINE = re.compile(r"\b(?:I|I['’]m|I['’]ve|my|me|mine|myself)\b")
_VERB = re.compile(r"^([a-z]+)\b")
_IRREGULAR = {"am": "is", "have": "has", "do": "does", "go": "goes", "was": "was", "were": "was"}
_PRESENT = frozenset(
    "live work like love hate prefer own study teach drive play speak use want need eat drink run think "
    "enjoy know believe plan dislike avoid collect".split()
)


def _third_person(text: str, who: str) -> str:
    """As another would say it, where that is certain; else as a quotation.

    >>> _third_person("I live in Porto.", "The user"), _third_person("Alice lives in Porto.", "The user")
    ('The user lives in Porto.', 'Alice lives in Porto.')
    >>> _third_person("I told my sister.", "The user")
    'The user: "I told my sister."'
    """
    if not _MINE.search(text):
        return text
    start = _FIRST_PERSON.match(text)
    rest = text[start.end() :].lstrip() if start else ""
    verb = _VERB.match(rest)
    if verb is None or _MINE.search(rest):
        return f'{who}: "{text}"'
    word = verb[1]
    if word in _IRREGULAR:
        return f"{who} {_IRREGULAR[word]}{rest[verb.end() :]}"
    if word in _PRESENT:
        ending = "es" if word.endswith(("ch", "sh", "s", "x", "o")) else "s"
        stem = word[:-1] + "ie" if word.endswith("y") and word[-2] not in "aeiou" else word
        return f"{who} {stem}{ending}{rest[verb.end() :]}"
    if word.endswith("ed"):
        return f"{who} {rest}"
    return f'{who}: "{text}"'


def _fitting(statements: Sequence[Statement], max_tokens: int) -> Iterator[Statement]:
    room = max_tokens
    for statement in statements:
        room -= estimate_tokens(statement.text)
        if room < 0:
            return
        yield statement
