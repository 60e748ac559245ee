"""A space under other settings than its own: another reader, another embedder. The space itself does not change."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from remanence.index.engine.engine import Engine, LedgerPlace, close_on_error
from remanence.ledger import open_ledger
from remanence.ledger.locks import ThreadLocks
from remanence.models.embedders import resolve_embedder
from remanence.models.readers import SmallReader, resolve_reader
from remanence.models.time_limit import DEFAULT_TIMEOUT
from remanence.recall.evaluation import ExpectedAnswer, RecallFunction
from remanence.transfer.export_file import export
from remanence.transfer.import_file import Importer


def engine_under(
    engine: Engine, space: str, setting: Mapping[str, Any], copies: ExitStack
) -> tuple[Engine, dict[str, Any]]:
    """The engine of a space with the reader and the embedder of a setting, and the options that are left.

    Copies in memory are closed with `copies`.
    """
    others = dict(setting)
    if "embedder" in others:
        engine = copies.enter_context(closing(_copy_with_embedder(engine, space, others.pop("embedder"))))
    if "reader" in others:
        engine = copy(engine)
        engine.reader = resolve_reader(others.pop("reader"))
    return engine, others


def default_settings(engine: Engine) -> dict[str, Mapping[str, Any]]:
    """The usual options, and the same without the reader and without each signal."""
    signals = engine.signal_names
    without = {f"without {name}": {"signals": [signal for signal in signals if signal != name]} for name in signals}
    no_reader = {} if engine.reader is None else {"without the reader": {"reader": None}}
    return {"usual": {}, **no_reader, **without}


def warmed_up(engine: Engine, ask: RecallFunction, first: ExpectedAnswer) -> RecallFunction:
    """The function after its first question, which may have to load a model. What the reader has read is forgotten:
    readings cached for an earlier setting would take no time."""
    ask(first.question, first.options)
    if isinstance(engine.reader, SmallReader):
        engine.reader.clear()
    return ask


def _copy_with_embedder(original: Engine, space: str, embedder: Any) -> Engine:
    """A copy of a space, in memory, with its name, ids, times and settings and another embedder. Close it."""
    copied = Engine(
        open_ledger(None),
        resolve_embedder(embedder, DEFAULT_TIMEOUT),
        original.extractor,
        original.reader,
        clock=original.now,
        place=LedgerPlace(None, None, ThreadLocks()),
        signals=original.extra_signals,
        trust=original.trust,
        day_first=original.day_first,
    )
    with close_on_error(copied), TemporaryDirectory() as folder:
        file = Path(folder) / "space.jsonl"
        export(original, space, [space], file)
        Importer(file).write_to(copied, lambda _: space)
    return copied
