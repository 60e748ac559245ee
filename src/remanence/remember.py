"""Text to events: the write path.

draft       what was handed in, checked
extract     names, claims and times found by the extractor, where the caller gave none
settle      which memory it is: a new one, a revision, or one that is here already
embed       what has no vector yet
append      one transaction; what follows can be done again from the ledger
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remanence import drafts
from remanence.events import Remembered
from remanence.extractors import speaker_name
from remanence.model import Turn, Window, micros
from remanence.passages import split
from remanence.text import normal_text
from remanence.timewords import read_moment

if TYPE_CHECKING:
    from remanence.catalog import Catalog
    from remanence.ports import Extractor


@dataclass(frozen=True, slots=True)
class Prepared:
    """A version ready to be settled and written.

    Its memory id is still blank, and the number of its turn unknown, because both depend on what others
    have written by the time the pen is ours.
    """

    version: Remembered
    at: datetime
    echo: str | None = None
    """The evened-out text, if it may be a recalled text handed back."""


def prepare(draft: drafts.Draft, extractor: Extractor, now: datetime) -> Prepared:
    """Everything about one memory that needs no lock."""
    if draft.now is not None:
        now = read_moment(draft.now, now, what="now")
    found = extractor.extract(draft.text, now=now, speaker=draft.observed_by)
    stated = drafts.window(draft.valid_from, draft.valid_until, now)
    dated = not stated.bounded and found.valid is not None
    valid = found.valid if dated and found.valid is not None else stated
    version = Remembered(
        memory="",
        text=draft.text,
        identity="",
        key=draft.key,
        kind=draft.kind or ("episode" if dated and valid.end is not None else "semantic"),
        valid=valid,
        importance=0.5 if draft.importance is None else draft.importance,
        confidence=1.0 if draft.confidence is None else draft.confidence,
        tags=tuple(dict.fromkeys(draft.tags)),
        source=draft.source,
        observed_by=draft.observed_by,
        expires_at=None
        if draft.expires_at is None
        else read_moment(draft.expires_at, now, what="expires_at"),
        mentions=found.mentions if draft.entities is None else draft.entities,
        triples=found.triples if draft.triples is None else draft.triples,
        times=found.times,
        passages=split(draft.text),
        meta=draft.meta,
    )
    return _identified(version, now, said_before=0, dated=stated.bounded)


def prepare_turns(turns: Sequence[drafts.TurnDraft], extractor: Extractor, now: datetime) -> list[Prepared]:
    """Chat turns, each read against its own time, "I" being its speaker."""
    out: list[Prepared] = []
    repeats: dict[tuple[str, str | None, datetime | None, str], int] = {}
    for turn in turns:
        at = None if turn.time is None else read_moment(turn.time, now, what="time")
        speaker = speaker_name(turn.speaker or turn.role)
        found = extractor.extract(turn.content, now=at or now, speaker=speaker)
        version = Remembered(
            memory="",
            text=turn.content,
            identity="",
            key=turn.key,
            kind="episode",
            valid=found.valid or Window.at(at or now),
            tags=tuple(dict.fromkeys(turn.tags)),
            source=turn.conversation,
            observed_by=speaker,
            mentions=found.mentions,
            triples=found.triples,
            times=found.times,
            turn=Turn(turn.conversation, -1, speaker, at or now),
            passages=split(turn.content),
            meta=turn.meta,
        )
        # A turn with no time of its own is told from the same words earlier in this batch by counting.
        said = (turn.conversation, speaker, at, normal_text(turn.content))
        count = repeats[said] = repeats.get(said, -1) + 1
        timeless = version if at is not None else replace(version, valid=found.valid or Window())
        identified = _identified(timeless, now, said_before=count, dated=at is not None, at=at)
        out.append(replace(identified, version=replace(identified.version, valid=version.valid)))
    return out


class Settling:
    """Decides, with the pen in hand, which memory each prepared version is: a new one, a revision, or one
    that is here already. Knows the catalog and what it has itself decided since."""

    def __init__(self, catalog: Catalog, recalled: Mapping[str, str]) -> None:
        self._catalog = catalog
        self._recalled = recalled
        self._decided: dict[str, Remembered] = {}
        self._turns: dict[str, int] = {}

    def settle(self, prepared: Prepared) -> tuple[str, Remembered | None]:
        """The id of the memory, and the line to write if one is needed."""
        version = prepared.version
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
            memory = new_id()
        settled = replace(version, memory=memory, turn=self._numbered(version.turn))
        self._decided[version.identity] = settled
        return memory, settled

    def _echoed(self, prepared: Prepared) -> str | None:
        """The memory whose words were just recalled and are now handed back, unless it is forgotten."""
        memory = None if prepared.echo is None else self._recalled.get(prepared.echo)
        number = None if memory is None else self._catalog.number(memory)
        shown = number is not None and self._catalog.shown(number, self._catalog.position)
        return memory if shown else None

    def _numbered(self, turn: Turn | None) -> Turn | None:
        if turn is None:
            return None
        number = self._turns.get(turn.conversation, self._catalog.next_turn(turn.conversation))
        self._turns[turn.conversation] = number + 1
        return replace(turn, number=number)


def new_id() -> str:
    """An id never given before, that sorts by when it was made.

    >>> len(new_id())
    24
    """
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(6).hex()}"


_ECHO_FROM = 16
"""Shorter texts ("yes", "thank you") are said again without being echoes."""


def _identified(
    version: Remembered, now: datetime, *, said_before: int, dated: bool, at: datetime | None = None
) -> Prepared:
    """Say when two adds are about one memory, and when they say the same of it.

    One that is `dated` by its caller is no echo: the same dinner a week later is another dinner.
    """
    words = normal_text(version.text)
    turn = version.turn
    about: Sequence[Any] = (
        ["key", version.key]
        if version.key is not None
        else [
            "text",
            words,
            _ends(version.valid),
            turn and [turn.conversation, turn.speaker, at and micros(at), said_before],
        ]
    )
    says = {
        "text": version.text,
        "kind": version.kind,
        "valid": _ends(version.valid),
        "importance": version.importance,
        "confidence": version.confidence,
        "tags": version.tags,
        "source": version.source,
        "observed_by": version.observed_by,
        "expires_at": version.expires_at and micros(version.expires_at),
        "mentions": [[m.name, m.kind] for m in version.mentions],
        "triples": [[t.subject, t.predicate, t.object] for t in version.triples],
        "meta": version.meta,
    }
    echo = words if version.key is None and not dated and len(words) >= _ECHO_FROM else None
    return Prepared(replace(version, identity=_digest(about), content=_digest(says)), now, echo)


def _ends(window: Window) -> list[int | None]:
    return [
        None if window.start is None else micros(window.start),
        None if window.end is None else micros(window.end),
    ]


def _digest(value: Sequence[Any] | Mapping[str, Any]) -> str:
    return hashlib.blake2b(_written(value).encode(), digest_size=12).hexdigest()


# Made once: `json.dumps` with options makes an encoder for each call, at more than the price of the work.
_written = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=list).encode
