"""Storing many texts or chat turns at once. All are checked before any is stored.

Of many texts, a child process finds the names, claims and times of the next ones, while this process stores those
before. Only for the rules, which give the same results in every process. The child does not import the caller's main
module, and is not forked. If it cannot be started, or ends, this process extracts from the texts itself.
"""

from __future__ import annotations

import logging
import os
import pickle
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from io import BytesIO
from pathlib import Path
from queue import Queue
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from remanence.errors import InvalidInput
from remanence.index.engine.engine import Engine
from remanence.index.engine.inputs import check_window
from remanence.models.extractors import speaker_name
from remanence.remember.add_options import AddOptions, TurnOptions
from remanence.remember.append import append, counting_stored_rows
from remanence.remember.prepare import PreparedVersion, prepare, prepare_turns, read_by_rules
from remanence.schema import Extraction, Memory, Mention, Triple, Window
from remanence.text.rule_extractor import RuleExtractor
from remanence.text.temporal import parse_moment
from remanence.text.temporal.date_order import given_date_order, use_date_order

if TYPE_CHECKING:
    from remanence.ports import Extractor, Progress

log = logging.getLogger(__name__)

MIN_TEXTS = 5_000
"""Texts from which on a child process extracts: for fewer, starting it takes longer than the extraction."""
_BATCH = 250
_SIZE = struct.Struct("<I")
_CODE = "from remanence.remember.bulk import run_child; run_child()"


ExtractionInput: TypeAlias = tuple[str, datetime, str | None]
"""The arguments of `Extractor.extract`: text, now and speaker. Not a class of its own: Python's garbage collector stops
looking at plain tuples of such values."""


def can_extract_in_parallel(extractor: Extractor, count: int) -> bool:
    """Whether the extraction from this many texts is faster with a child process.

    A program that is not run by a plain Python interpreter, such as a frozen one, has no child process: its executable
    would start that program again.
    """
    is_python = Path(sys.executable or "").name.lower().startswith(("python", "pypy"))
    can_start = is_python and not getattr(sys, "frozen", False) and (os.cpu_count() or 1) > 1
    return type(extractor) is RuleExtractor and count >= MIN_TEXTS and can_start


class ParallelExtractor:
    """An extractor for these texts, which have to be given to `extract` in this order. Use it in a `with` block."""

    def __init__(self, extractor: Extractor, texts: Sequence[ExtractionInput]) -> None:
        self.name = extractor.name
        self._extractor, self._texts = extractor, texts
        self._next = self._received = 0
        self._extractions: dict[int, Extraction] = {}  # by the number of the text
        self._child: subprocess.Popen[bytes] | None = None
        self._sender: threading.Thread | None = None

    def __enter__(self) -> ParallelExtractor:
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-c", _CODE],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            log.info("no child process could be started, so this process extracts alone: %s", error)
            return self
        arguments = (self._child.stdin, given_date_order())
        self._sender = threading.Thread(target=self._send, args=arguments, name="remanence-extraction", daemon=True)
        self._sender.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._child is None or self._sender is None:
            return
        self._child.kill()
        self._sender.join()
        if self._child.stdout is not None:
            self._child.stdout.close()
        self._child.wait()

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """The names, claims and times of the text."""
        number, self._next = self._next, self._next + 1
        if number < len(self._texts) and self._texts[number] == (text, now, speaker):
            if number == self._received:
                self._receive()
            if (found := self._extractions.pop(number, None)) is not None:
                return found
        return self._extractor.extract(text, now=now, speaker=speaker)

    def _receive(self) -> None:
        """Read the next answer of the child, if there is one."""
        answer = None if self._child is None or self._child.stdout is None else _read_answer(self._child.stdout)
        if answer is not None:
            batch: list[Extraction] = pickle.loads(answer)  # written by our own child
            self._extractions = dict(enumerate(batch, self._received))
            self._received += len(batch)

    def _send(self, pipe: IO[bytes], order: bool | None) -> None:
        with suppress(OSError), pipe:  # if the child has ended, this process extracts from the rest
            for begin in range(0, len(self._texts), _BATCH):
                pickle.dump((order, self._texts[begin : begin + _BATCH]), pipe)
                pipe.flush()


def run_child() -> None:
    """The child process: read texts from the standard input, and write their extractions to the standard output."""
    extractor = RuleExtractor()
    answers: Queue[bytes] = Queue(16)  # batches that the child process may be ahead: the results are in memory
    threading.Thread(target=_write_answers, args=(answers,), daemon=True).start()
    while True:
        try:
            order, texts = pickle.load(sys.stdin.buffer)
        except EOFError:
            break
        with use_date_order(order):
            found = [extractor.extract(text, now=now, speaker=speaker) for text, now, speaker in texts]
        answers.put(_pickle_answer(found))
    answers.join()


def _pickle_answer(found: list[Extraction]) -> bytes:
    out = BytesIO()
    pickler = pickle.Pickler(out, pickle.HIGHEST_PROTOCOL)
    # As calls of their classes: in the form that dataclasses choose, they take three times as long to load.
    pickler.dispatch_table = dict.fromkeys((Extraction, Mention, Triple, Window), _as_call)
    pickler.dump(found)
    return out.getvalue()


def _as_call(value: Any) -> tuple[type, tuple[Any, ...]]:
    return type(value), tuple([getattr(value, name) for name in value.__slots__])


def _write_answers(answers: Queue[bytes]) -> None:
    while True:
        answer = answers.get()
        sys.stdout.buffer.write(_SIZE.pack(len(answer)) + answer)
        sys.stdout.buffer.flush()
        answers.task_done()


def _read_answer(pipe: IO[bytes]) -> bytes | None:
    """The next answer; None if there is no more, or only a part of it."""
    head = pipe.read(_SIZE.size)
    if len(head) < _SIZE.size:
        return None
    [size] = _SIZE.unpack(head)
    answer = pipe.read(size)
    return answer if len(answer) == size else None


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
            texts_to_read.append((read_by_rules(turn), at or now, speaker_name(turn.speaker or turn.role)))
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
