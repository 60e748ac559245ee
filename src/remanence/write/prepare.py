"""Text to events: the write path.

draft       what was handed in, checked
extract     names, claims and times found by the extractor, where the caller gave none
settle      which memory it is: a new one, a revision, or one that is here already
embed       what has no vector yet
append      one transaction; what follows can be done again from the ledger
"""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remanence.core import inputs
from remanence.events import Remembered
from remanence.language.passages import split
from remanence.language.temporal import read_moment
from remanence.language.text import normal_text
from remanence.ledger.jsontext import json_writer
from remanence.models.extractors import speaker_name
from remanence.schema import (
    Fact,
    Memory,
    Turn,
    Window,
    micros,
)
from remanence.values import quick

if TYPE_CHECKING:
    from remanence.ports import Extractor
    from remanence.state.catalog import Catalog


@quick
@dataclass(frozen=True, slots=True)
class Prepared:
    """A version ready to be settled and written.

    Its memory id holds only if nobody else has written the same by the time the pen is ours, and the
    number of its turn is unknown until then.
    """

    version: Remembered
    at: datetime
    echo: str | None = None
    """The evened-out text, if it may be a recalled text handed back."""
    revises: bool = False
    """Whether this is a new version, in other respects than its words, of the memory it names."""


def prepare(draft: inputs.Draft, extractor: Extractor, now: datetime) -> Prepared:
    """Everything about one memory that needs no lock."""
    if draft.now is not None:
        now = read_moment(draft.now, now, what="now")
    found = extractor.extract(draft.text, now=now, speaker=draft.observed_by)
    stated = inputs.window(draft.valid_from, draft.valid_until, now)
    dated = not stated.bounded and found.valid is not None
    valid = found.valid if dated and found.valid is not None else stated
    expires = None if draft.expires_at is None else read_moment(draft.expires_at, now, what="expires_at")
    tags = tuple(dict.fromkeys(draft.tags))
    words = normal_text(draft.text)
    version = Remembered(
        memory=new_id(),
        text=draft.text,
        identity=keyed(draft.key) if draft.key is not None else _digest("text", words, _ends(valid)),
        content=_digest(
            *(draft.text, draft.kind, _ends(stated), draft.importance, draft.confidence, tags, draft.source),
            *(draft.observed_by, expires and micros(expires), draft.meta),
            draft.entities and [[m.name, m.kind] for m in draft.entities],
            draft.triples and [[t.subject, t.predicate, t.object] for t in draft.triples],
        ),
        key=draft.key,
        kind=draft.kind or ("episode" if dated and valid.end is not None else "semantic"),
        valid=valid,
        importance=0.5 if draft.importance is None else draft.importance,
        confidence=1.0 if draft.confidence is None else draft.confidence,
        tags=tags,
        source=draft.source,
        observed_by=draft.observed_by,
        expires_at=expires,
        mentions=found.mentions if draft.entities is None else draft.entities,
        triples=found.triples if draft.triples is None else draft.triples,
        times=found.times,
        passages=split(draft.text),
        meta=draft.meta,
    )
    return Prepared(version, now, _echo(words, draft.key, stated.bounded))


def prepare_turns(turns: Iterable[inputs.TurnDraft], extractor: Extractor, now: datetime) -> list[Prepared]:
    """Chat turns, each read against its own time, "I" being its speaker."""
    out: list[Prepared] = []
    repeats: dict[str, int] = {}
    for row, turn in enumerate(turns):
        at = None if turn.time is None else read_moment(turn.time, now, what=f"row {row}: time")
        speaker = speaker_name(turn.speaker or turn.role)
        found = extractor.extract(turn.content, now=at or now, speaker=speaker)
        tags = tuple(dict.fromkeys(turn.tags))
        words = normal_text(turn.content)
        # A turn with no time of its own is told from the same words earlier in this batch by counting.
        said = _digest(words, turn.conversation, speaker, at and micros(at), _ends(found.valid or Window()))
        count = repeats[said] = repeats.get(said, -1) + 1
        version = Remembered(
            memory=new_id(),
            text=turn.content,
            identity=keyed(turn.key) if turn.key is not None else _digest("turn", said, count),
            content=_digest(turn.content, turn.conversation, speaker, at and micros(at), tags, turn.meta),
            key=turn.key,
            kind="episode",
            valid=found.valid or Window.at(at or now),
            tags=tags,
            source=turn.conversation,
            observed_by=speaker,
            mentions=found.mentions,
            triples=found.triples,
            times=found.times,
            turn=Turn(turn.conversation, -1, speaker, at or now),
            passages=split(turn.content),
            meta=turn.meta,
        )
        out.append(Prepared(version, now, _echo(words, turn.key, at is not None)))
    return out


def prepare_conversation(
    handed: inputs.Draft | Sequence[inputs.TurnDraft], extractor: Extractor, now: datetime
) -> list[Prepared]:
    """A text or chat turns, as they were said."""
    if isinstance(handed, inputs.Draft):
        return [prepare(handed, extractor, now)]
    return prepare_turns(handed, extractor, now)


def prepare_fact(fact: Fact, now: datetime, *, of: Memory | None) -> Prepared:
    """What was found in a source, as a memory of its own."""
    version = Remembered(
        memory=new_id(),
        text=fact.text,
        identity=_digest("fact", normal_text(fact.text), _ends(fact.valid)),
        content=_digest(fact.text, fact.kind, _ends(fact.valid), fact.importance, fact.tags),
        source=None if of is None else of.source,
        observed_by=None if of is None else of.turn.speaker if of.turn is not None else of.observed_by,
        passages=split(fact.text),
    )
    return Prepared(_told(version, fact), now)


def better(version: Remembered, fact: Fact, now: datetime) -> Prepared:
    """A source that says just one thing, with what was found in it."""
    return Prepared(_told(version, fact), now, revises=True)


def _told(version: Remembered, fact: Fact) -> Remembered:
    return replace(
        version,
        kind=fact.kind,
        valid=fact.valid if fact.valid.bounded else version.valid,
        importance=fact.importance,
        confidence=fact.confidence,
        tags=tuple(dict.fromkeys((*version.tags, *fact.tags))),
        expires_at=fact.expires_at or version.expires_at,
        mentions=fact.mentions or version.mentions,
        triples=fact.triples or version.triples,
    )


class Settling:
    """Decides, with the pen in hand, which memory each prepared version is: a new one, a revision, or one
    that is here already. Knows the catalog and what it has itself decided since."""

    def __init__(
        self,
        catalog: Catalog,
        recalled: Mapping[str, str],
        latest: Callable[[str], Remembered | None],
    ) -> None:
        self._catalog = catalog
        self._recalled = recalled
        self._latest = latest  # the version of a memory that the ledger has
        self._decided: dict[str, Remembered] = {}
        self._turns: dict[str, int] = {}

    def settle(self, prepared: Prepared) -> tuple[str, Remembered | None]:
        """The id of the memory, and the line to write if one is needed."""
        version = prepared.version
        if prepared.revises:
            return version.memory, version
        earlier = self._decided.get(version.identity)
        number = self._catalog.with_identity(version.identity)
        if earlier is not None:
            if earlier.content == version.content:
                return earlier.memory, None
            memory = earlier.memory
        elif number is not None:
            memory = self._catalog.ids[number]
            visible = self._catalog.shown(number, self._catalog.position)
            if visible and self._catalog.contents[number] == version.content:
                return memory, None
        elif (echoed := self._echoed(prepared)) is not None:
            return echoed, None
        else:
            memory = version.memory
        settled = version
        if memory != version.memory or version.turn is not None:
            settled = version.placed(memory, self._numbered(version, memory))
        self._decided[version.identity] = settled
        return memory, settled

    def _echoed(self, prepared: Prepared) -> str | None:
        """The memory whose words were just recalled and are now handed back, unless it is forgotten."""
        memory = None if prepared.echo is None else self._recalled.get(prepared.echo)
        number = None if memory is None else self._catalog.number(memory)
        shown = number is not None and self._catalog.shown(number, self._catalog.position)
        return memory if shown else None

    def _numbered(self, version: Remembered, memory: str) -> Turn | None:
        """The turn of a version, with its number: the next one, or that of the version before."""
        turn = version.turn
        if turn is None:
            return None
        before = None
        if memory != version.memory:
            earlier = self._decided.get(version.identity) or self._latest(memory)
            before = None if earlier is None else earlier.turn
        if before is not None and before.conversation == turn.conversation:
            number = before.number
        else:
            number = self._turns.get(turn.conversation, self._catalog.next_turn(turn.conversation))
            self._turns[turn.conversation] = number + 1
        return Turn(turn.conversation, number, turn.speaker, turn.at)


def keyed(key: str) -> str:
    """The identity of the memory that is kept under a key."""
    return _digest("key", key)


def new_id() -> str:
    """An id never given before, that sorts by when it was made.

    >>> len(new_id())
    24
    """
    return f"{time.time_ns() // 1_000_000:012x}{_dice.getrandbits(48):012x}"


_dice = random.Random()  # our own: a program that seeds the common one would give out the same ids again
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_dice.seed)


_ECHO_FROM = 16
"""Shorter texts ("yes", "thank you") are said again without being echoes."""


def _echo(words: str, key: str | None, dated: bool) -> str | None:
    """The words by which a recalled text handed back is known; None where it cannot be one.

    One that its caller dated is no echo: the same dinner a week later is another dinner.
    """
    return words if key is None and not dated and len(words) >= _ECHO_FROM else None


def _ends(window: Window) -> list[int | None]:
    return [
        None if window.start is None else micros(window.start),
        None if window.end is None else micros(window.end),
    ]


def _digest(*values: Any) -> str:
    """What stands for these values. Two adds with one identity are about one memory; with one content as
    well, the second says nothing new. What an extractor found is in neither: a better one changes nothing
    about what was said."""
    return hashlib.blake2b(_written(values).encode(), digest_size=12).hexdigest()


_written = json_writer(sort_keys=True)
