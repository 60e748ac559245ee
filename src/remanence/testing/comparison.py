"""`remanence.testing.evaluate`: how often recall finds what you expect in a space of yours, under several settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeAlias

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.inputs import progress_bar
from remanence.recall.answer import Recall
from remanence.recall.evaluation import Evaluation, RecallFunction, check_settings, evaluate_settings, expected_answers
from remanence.recall.options import RecallOptions
from remanence.schema import Memory
from remanence.space.other_settings import default_settings, engine_under, warmed_up
from remanence.space.view import View

if TYPE_CHECKING:
    from remanence.ports import Progress

Expected: TypeAlias = "str | Memory | Sequence[str | Memory]"


def evaluate(
    view: View,
    questions: Mapping[str, Expected] | Iterable[tuple[str, Expected] | Mapping[str, Any]],
    settings: Mapping[str, Mapping[str, Any]] | Sequence[Mapping[str, Any]] | None = None,
    *,
    limit: int = 10,
    progress: bool | Progress = False,
) -> Evaluation:
    """How often `recall` finds what you expect, under several settings.

    Args:
        view: The space, or a view of its past. It does not change.
        questions: Pairs of a question and what is expected: a memory, an id, a key, or a part of its text; or a
            list of these. Or dicts with `question`, `expected`, and perhaps `now` and `during`.
        settings: The options of `recall` to compare, by a name of yours, or a list without names: `{"usual": {},
            "words": {"signals": ["words"]}}`. The options `reader` and `embedder` take what `open` takes; for another
            embedder all texts are embedded, in a copy in memory. By default the usual options are compared with
            leaving out the reader, and each signal.
        limit: How many hits each question may have.
        progress: True shows a progress bar; a function is called with (done, total).

    Returns:
        For each setting R@k (the share of what is expected among the first k hits), MRR, the time and the tokens of a
        question, and the misses. It prints as a table; a notebook shows bars; `to_df()` is a data frame.

    Raises:
        InvalidInput: A question or a setting is not valid, or no memory matches what a question expects.

    Example:
        >>> import remanence
        >>> from remanence.testing import evaluate
        >>> with remanence.open(None, reader=None) as space:
        ...     _ = space.add_many(["Alice drinks green tea.", "Bob lives in Porto."])
        ...     compared = evaluate(space, {"Who lives in Porto?": "Bob lives in Porto."}, {"usual": {}})
        ...     compared["usual"].scores["R@1"][0], compared.best.name
        (1.0, 'usual')
    """
    if not isinstance(view, View):
        raise InvalidInput(f"evaluate works on an open folder, not on {view!r}: remanence.open('./memory').")
    inputs.check_limit(limit)
    # `limit` is the same for all: figures at different depths cannot be compared.
    options_of_recall = [field.name for field in fields(RecallOptions) if field.name != "limit"]
    options = (*options_of_recall, "embedder")
    compared = default_settings(view._engine) if settings is None else check_settings(settings, options)

    def find(value: str) -> Memory | None:
        return view.get(value) or view.find(value)

    asked = expected_answers(questions, find, view.memories)
    copies = ExitStack()

    def recall_with(options: Mapping[str, Any]) -> RecallFunction:
        engine, others = engine_under(view._engine, view.name, options, copies)
        changed = view._with_engine(engine)

        def ask(question: str, own: Mapping[str, Any]) -> Recall:
            return changed.recall(question, limit=limit, **{**others, **own})

        return warmed_up(engine, ask, asked[0])

    depths = {f"R@{depth}": depth for depth in sorted({1, 5, 10, limit}) if depth <= limit}
    with copies, progress_bar(progress, "asking") as report_progress:
        return Evaluation(tuple(evaluate_settings(asked, compared, recall_with, depths, report_progress)))
