"""Storing many texts or chat turns at once. All are checked before any is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput
from remanence.index.engine.engine import Engine
from remanence.index.engine.inputs import check_window
from remanence.models.extractors import speaker_name
from remanence.remember.add_options import AddOptions, TurnOptions
from remanence.remember.append import append, counting_stored_rows
from remanence.remember.parallel_extraction import ExtractionInput, ParallelExtractor, can_extract_in_parallel
from remanence.remember.prepare import PreparedVersion, prepare, prepare_turns
from remanence.schema import Memory
from remanence.text.temporal import parse_moment

if TYPE_CHECKING:
    from remanence.ports import Extractor, Progress

_SLICE = 1_000
"""Texts that are prepared and stored before the next ones, if a child process extracts from them."""

PrepareRows = Callable[["Extractor", range], list[PreparedVersion]]


def store_drafts(
    engine: Engine,
    space: str,
    drafts: Sequence[AddOptions],
    now: datetime,
    progress: Progress | None,
    embed_later: bool,
) -> list[Memory]:
    """Store these memories, and return them in the same order. InvalidInput names the row. With `embed_later` their
    vectors are made in the background."""

    def prepare_rows(extractor: Extractor, rows: range) -> list[PreparedVersion]:
        versions: list[PreparedVersion] = []
        try:
            for row in rows:
                versions.append(prepare(engine, drafts[row], now, extractor))
        except InvalidInput as error:
            raise InvalidInput(f"row {rows[len(versions)] + 1}: {error}") from None
        return versions

    def texts() -> list[ExtractionInput]:
        texts_to_read: list[ExtractionInput] = []
        try:
            for draft in drafts:
                at = now if draft.now is None else parse_moment(draft.now, now, argument="now")
                check_window(draft.valid_from, draft.valid_until, at)
                if draft.expires_at is not None:
                    parse_moment(draft.expires_at, at, argument="expires_at")
                texts_to_read.append((draft.text, at, draft.observed_by))
        except InvalidInput as error:
            raise InvalidInput(f"row {len(texts_to_read) + 1}: {error}") from None
        return texts_to_read

    return _store(engine, space, len(drafts), texts, prepare_rows, progress, embed_later)


def store_turns(
    engine: Engine,
    space: str,
    turns: Sequence[TurnOptions],
    now: datetime,
    progress: Progress | None,
    embed_later: bool,
) -> list[Memory]:
    """Store these chat turns, and return their memories in the same order, as `store_drafts` does."""
    repetitions: dict[str, int] = {}

    def prepare_rows(extractor: Extractor, rows: range) -> list[PreparedVersion]:
        some = turns[rows.start : rows.stop]
        return prepare_turns(engine, some, now, extractor, repetitions)

    def texts() -> list[ExtractionInput]:
        texts_to_read: list[ExtractionInput] = []
        for row, turn in enumerate(turns, 1):
            at = None if turn.time is None else parse_moment(turn.time, now, argument=f"row {row}: time")
            if turn.expires_at is not None:
                parse_moment(turn.expires_at, now, argument=f"row {row}: expires_at")
            texts_to_read.append((turn.content, at or now, speaker_name(turn.speaker or turn.role)))
        return texts_to_read

    return _store(engine, space, len(turns), texts, prepare_rows, progress, embed_later)


def _store(
    engine: Engine,
    space: str,
    count: int,
    texts: Callable[[], list[ExtractionInput]],
    prepare_rows: PrepareRows,
    progress: Progress | None,
    embed_later: bool,
) -> list[Memory]:
    """Prepare and store all rows. `texts` returns the extraction input of each row, and checks it. It is used only to
    extract many texts with the rules, which never fail. With other extractors all rows are prepared before the first is
    stored."""
    if engine.redactor is not None or not can_extract_in_parallel(engine.extractor, count):
        return append(engine, space, prepare_rows(engine.extractor, range(count)), progress, embed_later=embed_later)
    memories: list[Memory] = []

    def report(done: int, _: int) -> None:
        if progress is not None:
            progress(len(memories) + done, count)

    with ParallelExtractor(engine.extractor, texts()) as extractor:
        for begin in range(0, count, _SLICE):
            prepared = prepare_rows(extractor, range(begin, min(begin + _SLICE, count)))
            with counting_stored_rows(memories):
                memories += append(engine, space, prepared, report, embed_later=embed_later)
    return memories
