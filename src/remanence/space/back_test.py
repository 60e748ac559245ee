"""`space.evaluate`: recorded recalls asked again under other settings, of the space as it was known then.

What `touch` recorded as used after a recall is what that recall should have found. A memory that was not given then
cannot have been used, so a setting that finds others gets no credit for them: what is measured is who keeps what was
needed, how far up, and at what cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.numbers import Position
from remanence.recall.answer import Recall
from remanence.recall.evaluation import Evaluation, ExpectedAnswer, RecallFunction, check_settings, evaluate_settings
from remanence.recall.options import RecallOptions
from remanence.recall.receipts import RecallRequest, RecordedRecall, recorded_recalls
from remanence.space.other_settings import default_settings, engine_under, warmed_up
from remanence.space.recall_request import answer_request, checked_request
from remanence.text.text import pluralize, truncate

if TYPE_CHECKING:
    from remanence.ports import Progress

_OWN_OPTIONS = ("vector", "now")
"""Options of `recall` that belong to one question."""


@dataclass(frozen=True)
class BackTest(Evaluation):
    """Settings compared on the recalls that were recorded. It prints as a table; a notebook shows bars and the misses.

    Its measures are `found`, the share of the used memories among the hits; `first`, how often a used one came first;
    and MRR.

    Attributes:
        since: The earliest moment of a recall.
        skipped: How many recorded recalls were not asked again, by reason.
    """

    since: datetime
    skipped: Mapping[str, int] = field(default_factory=dict)

    def _title(self) -> str:
        return f"{super()._title()} recorded since {self.since:%Y-%m-%d}"

    def _notes(self) -> list[str]:
        left_out = [f"left out: {pluralize(count, 'recall')} {reason}" for reason, count in self.skipped.items()]
        return [*super()._notes(), *left_out]


def back_test(
    engine: Engine,
    space: str,
    head: int,
    since: datetime,
    settings: Mapping[str, Mapping[str, Any]] | Sequence[Mapping[str, Any]] | None,
    most: int,
    progress: Progress | None,
) -> BackTest:
    """Ask the newest recorded recalls up to a position again, under each setting.

    Raises:
        InvalidInput: A setting is not valid, or no recorded recall can be asked again.
    """
    options = [each.name for each in fields(RecallOptions) if each.name not in _OWN_OPTIONS]
    compared = (
        default_settings(engine) if settings is None else check_settings(settings, (*options, "embedder", "max_tokens"))
    )
    skipped: Counter[str] = Counter()
    asked: list[ExpectedAnswer] = []
    for recorded in recorded_recalls(engine.ledger, space, head, limit=most, before=None, memory=None):
        if recorded.at < since:
            break
        answer = _expected(engine, space, recorded)
        if isinstance(answer, str):
            skipped[answer] += 1
        else:
            asked.append(answer)
    if not asked:
        reasons = ", ".join(f"{count} {reason}" for reason, count in skipped.items()) or "none was recorded"
        raise InvalidInput(
            f"no recall since {since:%Y-%m-%d} can be asked again ({reasons}). Record recalls by audit.record(recall) "
            "or for_prompt(record=True), and what the answer used by touch(memory); or name a longer history."
        )
    copies = ExitStack()

    def recall_with(setting: Mapping[str, Any]) -> RecallFunction:
        changed, others = engine_under(engine, space, setting, copies)
        max_tokens = others.pop("max_tokens", None)

        def ask(question: str, own: Mapping[str, Any]) -> Recall:
            recall = _ask_again(changed, space, own["recorded"], others, is_copy=changed.ledger is not engine.ledger)
            return recall if max_tokens is None else recall.fit(max_tokens)

        return warmed_up(changed, ask, asked[0])

    depths = {"first": 1, "found": inputs.MAX_LIMIT}
    with copies:
        return BackTest(tuple(evaluate_settings(asked, compared, recall_with, depths, progress)), since, dict(skipped))


def _expected(engine: Engine, space: str, recorded: RecordedRecall) -> ExpectedAnswer | str:
    """What a recorded recall should have found; or why it cannot be asked again."""
    if recorded.receipt.own_vector:
        return "with a vector of the caller's"
    with engine.open_index(space) as index:
        used = index.visible_memories(recorded.used, Position(recorded.receipt.position))
    if not used:
        return "of which nothing was used"
    texts = tuple(truncate(memory.text, 80) for memory in used)
    matches = tuple(frozenset([memory.id]) for memory in used)
    return ExpectedAnswer(recorded.receipt.question, texts, matches, {"recorded": recorded})


def _ask_again(
    engine: Engine, space: str, recorded: RecordedRecall, setting: Mapping[str, Any], *, is_copy: bool
) -> Recall:
    """A recorded recall with the options of a setting in place of its own. Positions of a copy differ from those of the
    space, moments do not."""
    receipt = recorded.receipt
    request = RecallRequest.from_receipt(receipt, None)
    include: Collection[str] = [name for name in ("archive", "vault") if getattr(receipt, name)]
    if setting:
        options = RecallOptions(**setting)
        _, changed, included = checked_request(engine, space, receipt.question, options, receipt.now)
        request = replace(request, **{name: getattr(changed, name) for name in setting if name != "include"})
        include = included if "include" in setting else include
    position = engine.ledger.position_at(space, recorded.at) if is_copy else receipt.position
    return answer_request(engine, space, request, lambda of, index: Position(position), include)
