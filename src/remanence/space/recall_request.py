"""The options of a recall, checked, as the request that the index answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import get_args

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.engine.row_filter import Include, RecallOptions, RowFilter, option_values, row_filter
from remanence.recall.question import CONTEXT_TURNS
from remanence.recall.reading import check_deadline, check_reader_name
from remanence.recall.receipts import RecallRequest
from remanence.schema import Window
from remanence.text.temporal import parse_moment, parse_window

_REVIEW_DEPTH = 50
"""How many hits are searched for memories with a high review priority."""


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
    trust = None if options.min_trust is None else engine.trust.level(options.min_trust, "min_trust")
    request = RecallRequest(
        text=inputs.check_query(query),
        now=at,
        position=0,
        limit=max(limit, _REVIEW_DEPTH) if "review" in include else limit,
        during=_window(engine, space, options, at),
        history=None if options.history == "auto" else bool(options.history),
        min_score=inputs.check_fraction(options.min_score, "min_score"),
        signals=signals,
        weights=weights,
        vector=inputs.check_vector(options.vector),
        context=inputs.check_turns(options.context, "context")[-CONTEXT_TURNS:],
        reader=check_reader_name(options.reader),
        deadline=check_deadline(options.deadline),
        **option_values(row_filter(options, at, trust), RowFilter),
    )
    return limit, request, include


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
