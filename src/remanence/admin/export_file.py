"""A space as a file: every line of its ledger, with its time, as JSON lines. `arriving` reads it back.

Lines are numbered in the file from 1 in each space, and what points at a line says that number, so that the
same lines make the same file whatever ledger they stand in. The file reads:

    {"remanence": "export", "version": 1, …}              what it holds
    {"space": "users/bob", "lines": 2}                     for each space; "" is the one that was exported
    {"at": …, "kind": "remembered", "event": {…}}          for each line; times in microseconds since 1970
    {"at": …, "kind": "remembered", "subject": "…"}        a line whose words were erased
    {"vectors": {"<hash of a text>": "<base64>", …}}       if they were asked for
    {"end": {"lines": …, "sha256": "…"}}                   see `jsonlines`, which also adds the checksums
"""

from __future__ import annotations

import json
from array import array
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from remanence import __version__
from remanence.admin.jsonlines import JsonLinesWriter
from remanence.admin.position_mapping import remap_positions, without_space
from remanence.errors import LedgerUnavailable
from remanence.ledger.codec import encode
from remanence.schema import micros

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress, Vector

EXPORT_VERSION = 1
_BATCH = 1_000
_VECTORS = 200  # in one line
_TRIES = 5


@dataclass(frozen=True, slots=True)
class TransferReport:
    """What went into a file, or came out of one: so many lines of these spaces, and so many vectors.

    `digest` is the SHA-256 of what the file says, packed or not.
    """

    path: str
    spaces: tuple[str, ...]
    entries: int
    vectors: int
    digest: str

    def __str__(self) -> str:
        spaces = self.spaces[0] if len(self.spaces) == 1 else f"{len(self.spaces)} spaces"
        vectors = f", {self.vectors:,} vectors" if self.vectors else ""
        return f"{self.path}: {self.entries:,} {'line' if self.entries == 1 else 'lines'} of {spaces}{vectors}"


def export(
    engine: Engine, root: str, spaces: Sequence[str], path: Path, *, vectors: bool, progress: Progress | None = None
) -> TransferReport:
    """Write these spaces, which are `root` or lie below it, into a file."""
    ledger = engine.ledger
    for _ in range(_TRIES):
        head = ledger.head()
        with JsonLinesWriter(path) as file:
            out = _Export(engine, file, head, progress)
            out.header(root, spaces, vectors)
            for space in spaces:
                out.space(space, space[len(root) + 1 :])
                if vectors:
                    out.vectors(space)
            # What was erased while we wrote may already be in the file, or be blank there for no reason.
            if not any(_erased_since(engine, space, head) for space in spaces):
                return TransferReport(str(path), tuple(spaces), out.done, out.kept, file.finish())
    raise LedgerUnavailable(
        f"memories were erased each of the {_TRIES} times that {path} was written, so that it was given up. "
        "Export again when nothing is being erased."
    )


class _Export:
    """What is written into one file: lines up to `head`, whatever is added meanwhile."""

    def __init__(self, engine: Engine, file: JsonLinesWriter, head: int, progress: Progress | None) -> None:
        self._engine, self._ledger = engine, engine.ledger
        self._file, self._head, self._progress = file, head, progress
        self._all = self.done = self.kept = 0

    def header(self, root: str, spaces: Sequence[str], vectors: bool) -> None:
        """Say what follows."""
        self._all = sum(self._ledger.count(space, up_to=self._head) for space in spaces)
        embedder = self._engine.embedder
        model = {"name": embedder.name, "dimension": embedder.dimension, "fingerprint": embedder.fingerprint}
        header = {
            "remanence": "export",
            "version": EXPORT_VERSION,
            "release": __version__,
            "ledger": self._engine.ledger_id(),
            "space": root,
            "spaces": len(spaces),
            "lines": self._all,
            "embedder": model if vectors else None,
        }
        self._file.write(_dump(header))

    def space(self, name: str, relative: str) -> None:
        """Every line of one space."""
        self._file.write(_dump({"space": relative, "lines": self._ledger.count(name, up_to=self._head)}))
        positions = array("q")

        def where(position: int) -> int:
            return bisect_right(positions, position)

        for entry in self._ledger.read(name):
            if entry.position > self._head:
                return
            positions.append(entry.position)
            said = f'{{"at":{micros(entry.at)},"kind":{_dump(entry.kind)}'
            if entry.event is None:
                self._file.write(f'{said},"subject":{_dump(entry.subject)}}}')
            else:
                event = without_space(remap_positions(entry.event, where))
                self._file.write(f'{said},"event":{encode(event)}}}')
            self.done += 1
            if self._progress is not None and self.done % _BATCH == 0:
                self._progress(self.done, self._all)

    def vectors(self, space: str) -> None:
        """The embeddings of every text of a space, as far as they were made."""
        with self._engine.open_index(space) as index:
            hashes = index.embedded_text_hashes()
        for begin in range(0, len(hashes), _VECTORS):
            some = hashes[begin : begin + _VECTORS]
            kept = self._ledger.vectors(self._engine.embedder.fingerprint, some)
            if kept:
                packed = {h.hex(): _packed(kept[h]) for h in some if h in kept}
                self._file.write(_dump({"vectors": packed}))
            self.kept += len(kept)


def _erased_since(engine: Engine, space: str, head: int) -> bool:
    return any(entry.kind == "erased" for entry in engine.ledger.read(space, after=head))


def _packed(vector: Vector) -> str:
    return b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
