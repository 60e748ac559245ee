"""A recall of a space: its options, checked, as the request that the index answers; and its answer, with the notes of
the vault and with the use of each memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeVar, get_args

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.numbers import Position
from remanence.recall.answer import Recall
from remanence.recall.filters import RowFilter, option_values, row_filter
from remanence.recall.options import Include, RecallOptions
from remanence.recall.question import CONTEXT_TURNS
from remanence.recall.reading import check_deadline, check_reader_name
from remanence.recall.recall import list_by_similarity, recall
from remanence.recall.receipts import RecallRequest
from remanence.schema import Window
from remanence.text.temporal import parse_moment, parse_window
from remanence.transfer.overview import MemorySequence
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import usage_of

log = logging.getLogger(__name__)

AnyMemories = TypeVar("AnyMemories", bound=MemorySequence)


def checked_request(
    engine: Engine, space: str, query: str, options: RecallOptions, now: datetime
) -> tuple[int, RecallRequest, Collection[str]]:
    """How many hits the caller wants, the request, and what else is to be searched."""
    at = now if options.now is None else parse_moment(options.now, now, argument="now")
    if options.history not in (True, False, "auto"):
        raise InvalidInput(f"history={options.history!r} is neither True, False nor 'auto'.")
    signals, weights = _checked_signals(engine.signal_names, options.signals, options.weights)
    include = inputs.check_names_among(options.include, get_args(Include), "include") or ()
    limit = inputs.check_limit(options.limit)
    request = RecallRequest(
        text=inputs.check_query(query),
        now=at,
        position=Position(0),
        limit=max(limit, 50) if "review" in include else limit,
        during=_window(engine, space, options, at),
        history=None if options.history == "auto" else bool(options.history),
        min_score=inputs.check_fraction(options.min_score, "min_score"),
        signals=signals,
        weights=weights,
        vector=inputs.check_vector(options.vector),
        context=inputs.check_turns(options.context, "context")[-CONTEXT_TURNS:],
        reader=check_reader_name(options.reader),
        deadline=check_deadline(options.deadline),
        **option_values(row_filter(options, at, engine.trust), RowFilter),
    )
    return limit, request, include


def answer_request(
    engine: Engine,
    space: str,
    request: RecallRequest,
    position: Callable[[str, Index], Position],
    include: Collection[str],
) -> Recall:
    """The answer to a request, up to a position of each space; `include` may name "archive" and "vault"."""
    answer = None
    if not request.text.strip():
        if request.vector is not None:
            answer = list_by_similarity
        else:
            from remanence.upkeep.recency_listing import list_by_recency

            answer = list_by_recency
    archive = "archive" in include
    result = recall(engine, space, request, partial(position, space), include_archive=archive, answer=answer)
    if "vault" not in include:
        return result
    from remanence.upkeep import runs
    from remanence.upkeep.vault_notes import vault_import

    if not runs.has_vault_notes(engine, space):
        return result
    vault = runs.vault_space(space)
    notes = recall(engine, vault, request, partial(position, vault), answer=answer)
    merged = vault_import.merge_recalls(result, notes, request.limit, UpkeepSettings.from_env().vault_weight)
    # Positions count the entries of all spaces, so the later one fits both.
    last = max(result.position, notes.position)
    receipt = None if result.receipt is None else replace(result.receipt, position=last, vault=True)
    return replace(merged, position=last, receipt=receipt)


def with_usage(
    engine: Engine, space: str, memories: AnyMemories, position: Callable[[Index], Position], now: datetime
) -> AnyMemories:
    """The same memories with how they were used, unless they are of the past."""
    try:
        settings = UpkeepSettings.from_env()
    except InvalidInput as error:  # an invalid setting of upkeep must not prevent the answer
        log.warning("usage is not shown: %s", error)
        return memories
    with engine.open_index(space) as index:
        if position(index) < index.catalog.position:
            return memories
        items = [
            item if item.memory is None else replace(item, usage=usage_of(index, item.memory, now, settings))
            for item in memories.items
        ]
    return replace(memories, items=tuple(items))


def _checked_signals(
    known: Sequence[str], signals: object, weights: Mapping[str, float] | None
) -> tuple[tuple[str, ...] | None, dict[str, float] | None]:
    """The names of the signals that rank, None for all, and the weights that the caller gave."""
    names, checked = inputs.check_names_among(signals, known, "signals"), inputs.check_weights(weights, known)
    names = None if names is None or set(names) == set(known) else names
    if checked is not None and not any(checked.get(name) for name in names or known):
        raise InvalidInput(f"weights={weights!r} give none of the signals {', '.join(names or known)} any weight.")
    return names, checked


def _window(engine: Engine, space: str, options: RecallOptions, now: datetime) -> Window | None:
    during = options.during
    if during is None:
        return None
    parts = during if isinstance(during, tuple) else (during,)
    with engine.use_date_order_of(space, [part for part in parts if isinstance(part, str)]):
        return parse_window(during, now)
