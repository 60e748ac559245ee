"""The profile of a space: current facts and preferences in a few sentences, for a prompt.

It is written by template, or by a language model if the space has one. Every sentence names the memories behind it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from remanence.core.engine import Engine
from remanence.core.index import Index
from remanence.language.claims.predicates import LASTING_PREDICATES
from remanence.language.framing import estimate_tokens, plain_line
from remanence.language.lexicon.verb_forms import conjugate
from remanence.language.lexicon.word_lists import compile_pattern
from remanence.language.temporal import find_stated_times
from remanence.ports import Extractor, SummarizingExtractor
from remanence.read.supersession import unsuperseded_mask
from remanence.schema import SELF, Link, Memory, Snapshot, Window
from remanence.schema.display import html_table

log = logging.getLogger(__name__)

_MAX_MEMORIES = 400
_MIN_IMPORTANCE = 0.3
_MAX_FACT_LENGTH = 300
"""Longer texts are documents, not facts."""
_MAX_CACHED = 16
_FIRST_PERSON = re.compile(r"^(?:I|i|me)\b(?!['’])")
_FIRST_PERSON_WORD = re.compile(r"\b(?:I|I['’]m|I['’]ve|my|me|mine|myself)\b")
_VERB = re.compile(r"^([a-z]+)\b")
_HABIT = compile_pattern("habit")
_ONCE = compile_pattern("only_once", re.IGNORECASE)
_FIRST_CLAUSE = re.compile(r"(?:[\w'’-]+ ){2,}?[\w'’-]+(?=, | and [a-z])")
_CERTAIN_VERBS = frozenset(
    "am have do go was live work like love hate prefer own study teach drive play speak use want need eat drink run "
    "think enjoy know believe plan dislike avoid collect".split()
)
"""Verbs that are put into the third person. Other words after "I" may be no verbs."""


@dataclass(frozen=True, slots=True)
class ProfileStatement:
    """One sentence of a profile, and the ids of the memories behind it."""

    text: str
    memories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """Sentences about the person that a space is about, the most important first. `str(profile)` is the text.

    Attributes:
        statements: The sentences, each with the ids of the memories behind it.
        position: The last ledger position that was read.
        by: What wrote it: "template", or the name of the extractor with the language model.
        since: The moment for which it was made.
        until: Until when it is valid, unless new memories are added; None for no known end.
    """

    statements: tuple[ProfileStatement, ...] = ()
    position: int = 0
    by: str = "template"
    since: datetime | None = None
    until: datetime | None = None

    @property
    def text(self) -> str:
        """All sentences as one text."""
        return " ".join(statement.text for statement in self.statements)

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.statements)

    def _repr_html_(self) -> str:
        rows = [(statement.text, ", ".join(statement.memories)) for statement in self.statements]
        return html_table(f"Profile, written by {self.by}", ("statement", "memories"), rows)


_CACHE: WeakKeyDictionary[Index, dict[tuple[int, int], Profile]] = WeakKeyDictionary()
"""The profiles of each index, by position and `max_tokens`."""


def build_profile(
    engine: Engine, space: str, position: Callable[[Index], int], moment: datetime | None, max_tokens: int
) -> Profile:
    """The profile of a space at a position; made once for each position."""
    now = moment or engine.now()
    with engine.open_index(space) as index:
        at = position(index)
        cache = _CACHE.setdefault(index, {})
        result = cache.get((at, max_tokens))
        # A fact may have expired since, without a new ledger entry.
        if result is None or now not in Window(result.since, result.until):
            result = _make_profile(index, engine.extractor, at, now, max_tokens)
            if len(cache) >= _MAX_CACHED:
                cache.clear()
            cache[at, max_tokens] = result
        return result


def _make_profile(index: Index, extractor: Extractor, position: int, now: datetime, max_tokens: int) -> Profile:
    facts = _current_facts(index, position, now)
    changes = [moment for m in facts for moment in (m.expires_at, m.valid.start, m.valid.end) if moment is not None]
    until = min((moment for moment in changes if moment > now), default=None)
    memories = [memory for memory in facts if _is_stated(memory, now)][:_MAX_MEMORIES]
    statements, by = _summarize(extractor, memories, max_tokens), extractor.name
    if not statements:
        statements, by = [ProfileStatement(_sentence(memory), (memory.id,)) for memory in memories], "template"
    return Profile(tuple(_within_budget(statements, max_tokens)), position, by, now, until)


def _is_stated(memory: Memory, now: datetime) -> bool:
    """Whether a current fact is stated: it holds now; nothing ends it, as a birth, or its time comes again, as that of
    a habit; it names a time to come; or its time is only that of a part of it: "Ana learns Japanese, aiming for the
    exam in July"."""
    if now in memory.valid or memory.kind == "episode":
        return True
    if any(claim.predicate in LASTING_PREDICATES for claim in memory.triples):
        return True
    times = find_stated_times(memory.text, memory.told_at)
    if not times:  # a window that the caller gave, or a state that was derived from a plan
        return False
    clause = _FIRST_CLAUSE.match(memory.text)
    if clause is not None and times[0].start > clause.end():
        return True
    if _HABIT.match(memory.text) and not _ONCE.search(memory.text):
        return True
    return memory.valid.start is not None and memory.valid.start > now


def _summarize(extractor: Extractor, memories: Sequence[Memory], max_tokens: int) -> list[ProfileStatement]:
    """The sentences that an extractor writes about these memories; none if it cannot write any, or fails."""
    if not memories or not isinstance(extractor, SummarizingExtractor):
        return []
    try:
        sentences = extractor.summarize([_sentence(memory) for memory in memories], max_tokens=max_tokens) or ()
        # The model may have followed instructions in a memory.
        return [ProfileStatement(plain_line(s.text), tuple(memories[n].id for n in s.lines)) for s in sentences]
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        log.warning("%s raised %s, so the profile is made by the template.", extractor.name, type(error).__name__)
        return []


def _current_facts(index: Index, position: int, now: datetime) -> list[Memory]:
    """Current facts and preferences, the most important first; if equal, the latest first."""
    with index.lock:
        rows = np.array(index.current_rows(position), np.int64)
        rows = rows[index.catalog.current_mask(rows, position, now)]
        importance = index.catalog.attributes.importance(rows)
        rows, importance = rows[importance >= _MIN_IMPORTANCE], importance[importance >= _MIN_IMPORTANCE]
        order = np.lexsort((-index.catalog.times.event_times(rows), -importance))[: 4 * _MAX_MEMORIES]
        snapshot = index.snapshot(position, now)
        # A sentence that is only partly valid would be wrong.
        current = rows[order][unsuperseded_mask(index, rows[order], snapshot)].tolist()
        memories = index.readable_memories(
            [row for row in current if not index.relations.is_partly_stale(row, snapshot)]
        )
        sources = index.journal.extractions
        # An event is stated if it ended a fact and no new fact replaced that fact; an appointment, until it is over.
        states = {m.id for m in memories if m.kind != "episode" and _is_stated(m, now)}
        events = {m.id for m in memories if m.kind == "episode" and _is_stated_event(index, m, states, snapshot)}
    facts = [m for m in memories if m.turn is None and len(m.text) <= _MAX_FACT_LENGTH]
    facts = [m for m in facts if m.kind != "episode" or m.id in events]
    # A source with several facts is represented by these facts.
    return [fact for fact in facts if fact.id not in sources or fact.id in sources[fact.id][-1].facts]


def _is_stated_event(index: Index, event: Memory, states: Container[str], snapshot: Snapshot) -> bool:
    """Whether an event is in the future, or superseded a memory that none of these states superseded."""
    moments = (event.expires_at, event.valid.start)
    if any(moment is not None and moment > snapshot.now for moment in moments):
        return True
    ended = [link.target for link in _supersedes_links(index, event.id, snapshot, "out")]
    return any(
        not any(link.source in states for link in _supersedes_links(index, memory, snapshot, "in")) for memory in ended
    )


def _supersedes_links(index: Index, memory: str, snapshot: Snapshot, direction: Literal["in", "out"]) -> list[Link]:
    number = index.catalog.number(memory)
    if number is None:
        return []
    return index.links.links_of(number, snapshot, kinds=("supersedes",), direction=direction, at=snapshot.now)


def _sentence(memory: Memory) -> str:
    text = plain_line(memory.text)
    speaker = memory.observed_by if memory.observed_by not in (None, SELF) else None
    sentence = _third_person(text, plain_line(speaker or "The user"))
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _third_person(text: str, speaker: str) -> str:
    """The text in the third person if that is certain, else as a quotation."""
    if not _FIRST_PERSON_WORD.search(text):
        return text
    start = _FIRST_PERSON.match(text)
    rest = text[start.end() :].lstrip() if start else ""
    verb = _VERB.match(rest)
    if verb is None or _FIRST_PERSON_WORD.search(rest):
        return f'{speaker}: "{text}"'
    if verb[1] in _CERTAIN_VERBS or verb[1].endswith("ed"):
        return f"{speaker} {conjugate(verb[1])}{rest[verb.end() :]}"
    return f'{speaker}: "{text}"'


def _within_budget(statements: Sequence[ProfileStatement], max_tokens: int) -> Iterator[ProfileStatement]:
    remaining_tokens = max_tokens
    for statement in statements:
        remaining_tokens -= estimate_tokens(statement.text)
        if remaining_tokens < 0:
            return
        yield statement
