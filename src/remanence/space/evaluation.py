"""Questions asked of a space under several settings: recorded recalls (`space.evaluate`), each of the space as it was
known then, and those that `testing/comparison.py` makes of a caller's questions and of data sets.

What `touch` recorded as used after a recall is what that recall should have found. A memory that was not given then
cannot have been used, so a setting that finds others gets no credit for them: what is measured is who keeps what was
needed, how far up, and at what cost.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from copy import copy
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine, LedgerPlace, close_on_error
from remanence.index.numbers import Position
from remanence.ledger import open_ledger
from remanence.ledger.locks import ThreadLocks
from remanence.models.embedders import resolve_embedder
from remanence.models.readers import SmallReader, resolve_reader
from remanence.models.time_limit import DEFAULT_TIMEOUT
from remanence.recall.answer import Recall, prompt_line
from remanence.recall.evaluation import QuestionResult, SettingResult, mean_scores, recall_at, reciprocal_rank
from remanence.recall.options import RecallOptions
from remanence.recall.receipts import RecallRequest, RecordedRecall, recorded_recalls
from remanence.space.recall_request import answer_request, checked_request
from remanence.text.framing import estimate_tokens
from remanence.text.text import truncate
from remanence.transfer.export_file import export
from remanence.transfer.import_file import Importer

if TYPE_CHECKING:
    from remanence.ports import Progress

_OPTIONS = (
    *(each.name for each in fields(RecallOptions) if each.name not in ("vector", "now")),
    *("embedder", "max_tokens"),
)
"""What a setting may name. A vector and a moment belong to one question."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what it should find."""

    question: str
    expected: tuple[str, ...]
    """What is expected, as the caller named it, or as texts."""
    matches: tuple[frozenset[str], ...]
    """For each of these the ids of the memories that match it."""
    ask: Callable[[Engine, Mapping[str, Any]], Recall]
    """Asks it of an engine, with some options of `recall`."""

    def result(self, recall: Recall, ms: float) -> QuestionResult:
        """How a recall answers it."""
        ids = [hit.memory.id for hit in recall]
        ranks = tuple(next((rank for rank, id_ in enumerate(ids, 1) if id_ in found), None) for found in self.matches)
        first = recall[0].memory.text if recall else ""
        tokens = sum(estimate_tokens(prompt_line(hit) + "\n") for hit in recall)
        return QuestionResult(self.question, self.expected, ranks, first, ms, tokens)


def compare_settings(
    engine: Engine,
    space: str,
    asked: Sequence[Asked],
    settings: Mapping[str, Mapping[str, Any]] | None,
    depths: Mapping[str, int],
    progress: Progress | None,
) -> tuple[SettingResult, ...]:
    """Ask every question under every setting; without settings, as usual, and without the reader and each signal.

    Args:
        engine: The engine of the space.
        settings: Options of `recall` by name, besides `reader`, `embedder` and `max_tokens`.
        depths: How many hits each measure looks at, the deepest last.
        progress: Is called with (done, total).

    Raises:
        InvalidInput: A setting is not valid.
    """
    compared = _without_each_part(engine) if settings is None else _checked_settings(settings)
    results: list[SettingResult] = []
    for name, options in compared.items():
        with ExitStack() as copies:
            changed, others = _engine_under(engine, space, options, copies)
            max_tokens = others.pop("max_tokens", None)
            asked[0].ask(changed, others)  # which may have to load a model
            if isinstance(changed.reader, SmallReader):
                changed.reader.clear()  # what it read for an earlier setting would take no time
            answered: list[QuestionResult] = []
            for question in asked:
                start = time.perf_counter()
                recall = question.ask(changed, others)
                ms = 1000 * (time.perf_counter() - start)
                answered.append(question.result(recall if max_tokens is None else recall.fit(max_tokens), ms))
                if progress is not None:
                    progress(len(results) * len(asked) + len(answered), len(compared) * len(asked))
        results.append(setting_result(name, options, answered, depths))
    return tuple(results)


def setting_result(
    name: str, options: Mapping[str, Any], answered: Sequence[QuestionResult], depths: Mapping[str, int]
) -> SettingResult:
    """The means of a setting over some questions."""
    scores = [
        {measure: recall_at(depth, each.ranks) for measure, depth in depths.items()}
        | {"MRR": reciprocal_rank(each.ranks)}
        for each in answered
    ]
    means = mean_scores(scores)
    return SettingResult(
        name, dict(options), tuple(answered), {measure: tuple(means[measure]) for measure in scores[0]}
    )


def recorded_questions(
    engine: Engine, space: str, head: int, since: datetime, most: int
) -> tuple[list[Asked], dict[str, int]]:
    """The newest recorded recalls up to a position of the ledger, and how many cannot be asked again, by reason.

    Raises:
        InvalidInput: None can be asked again.
    """
    skipped: Counter[str] = Counter()
    asked: list[Asked] = []
    for recorded in recorded_recalls(engine.ledger, space, head, limit=most, before=None, memory=None):
        if recorded.at < since:
            break
        question = _recorded_question(engine, space, recorded)
        if isinstance(question, str):
            skipped[question] += 1
        else:
            asked.append(question)
    if not asked:
        reasons = ", ".join(f"{count} {reason}" for reason, count in skipped.items()) or "none was recorded"
        raise InvalidInput(
            f"no recall since {since:%Y-%m-%d} can be asked again ({reasons}). Record recalls by audit.record(recall) "
            "or for_prompt(record=True), and what the answer used by touch(memory); or name a longer history."
        )
    return asked, dict(skipped)


def _recorded_question(engine: Engine, space: str, recorded: RecordedRecall) -> Asked | str:
    """What a recorded recall should have found; or why it cannot be asked again."""
    receipt = recorded.receipt
    if receipt.own_vector:
        return "with a vector of the caller's"
    with engine.open_index(space) as index:
        used = index.visible_memories(recorded.used, Position(receipt.position))
    if not used:
        return "of which nothing was used"

    def ask(changed: Engine, options: Mapping[str, Any]) -> Recall:
        """With the options of a setting in place of its own. Positions of a copy differ from those of the space,
        moments do not."""
        request = RecallRequest.from_receipt(receipt, None)
        _, asked, include = checked_request(changed, space, receipt.question, RecallOptions(**options), receipt.now)
        request = replace(request, **{name: getattr(asked, name) for name in options if name != "include"})
        if "include" not in options:
            include = [name for name in ("archive", "vault") if getattr(receipt, name)]
        is_copy = changed.ledger is not engine.ledger
        position = changed.ledger.position_at(space, recorded.at) if is_copy else receipt.position
        return answer_request(changed, space, request, lambda of, index: Position(position), include)

    texts = tuple(truncate(memory.text, 80) for memory in used)
    return Asked(receipt.question, texts, tuple(frozenset([memory.id]) for memory in used), ask)


def _checked_settings(settings: object) -> dict[str, Mapping[str, Any]]:
    """The settings of a caller. The values of options are checked when they are used."""
    if not isinstance(settings, Mapping) or not settings:
        raise InvalidInput(
            f"settings={inputs.shorten_repr(settings)} is not a dict such as {{'words': {{'signals': ['words']}}}}."
        )
    for name, values in settings.items():
        if not isinstance(name, str) or not isinstance(values, Mapping):
            raise InvalidInput(
                f"settings has {name!r}: {inputs.shorten_repr(values)}. Give a name and a dict of options."
            )
        if unknown := [option for option in values if option not in _OPTIONS]:
            raise InvalidInput(
                f"setting {name!r} has the option {unknown[0]!r}. The options are {', '.join(_OPTIONS)}."
            )
    return dict(settings)


def _without_each_part(engine: Engine) -> dict[str, Mapping[str, Any]]:
    """The usual options, and the same without the reader and without each signal."""
    signals = engine.signal_names
    without = {f"without {name}": {"signals": [signal for signal in signals if signal != name]} for name in signals}
    no_reader = {} if engine.reader is None else {"without the reader": {"reader": None}}
    return {"usual": {}, **no_reader, **without}


def _engine_under(
    engine: Engine, space: str, setting: Mapping[str, Any], copies: ExitStack
) -> tuple[Engine, dict[str, Any]]:
    """The engine of a space with the reader and the embedder of a setting, and the options that are left. The space
    itself does not change."""
    others = dict(setting)
    if "embedder" in others:
        engine = copies.enter_context(closing(_copy_with_embedder(engine, space, others.pop("embedder"))))
    if "reader" in others:
        engine = copy(engine)
        engine.reader = resolve_reader(others.pop("reader"))
    return engine, others


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
