"""How often recall finds what is expected: in a space of yours under several settings (`remanence.testing.evaluate`),
and on data sets in files (`remanence eval`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.models.readers import DEFAULT_READER
from remanence.recall.evaluation import Evaluation, QuestionResult, SettingResult
from remanence.schema import Memory
from remanence.space.evaluation import Asked, compare_settings, setting_result
from remanence.space.opening import open as open_space
from remanence.space.view import View
from remanence.testing.datasets import Conversation, CorpusItem, Dataset
from remanence.text.text import normalize_text, truncate

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.ports import Progress
    from remanence.recall.answer import Recall
    from remanence.space.space import Space

_QUESTION_FIELDS = ("question", "expected", "now", "during")
Expected: TypeAlias = "str | Memory | Sequence[str | Memory]"


def evaluate(
    view: View,
    questions: Mapping[str, Expected] | Iterable[tuple[str, Expected] | Mapping[str, Any]],
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    limit: int = 10,
    progress: bool | Progress = False,
) -> Evaluation:
    """How often `recall` finds what you expect, under several settings.

    Args:
        view: The space, or a view of its past. It does not change.
        questions: Pairs of a question and what is expected: a memory, an id, a key, or a part of its text; or a
            list of these. Or dicts with `question`, `expected`, and perhaps `now` and `during`.
        settings: The options of `recall` to compare, by a name of yours: `{"usual": {}, "words": {"signals":
            ["words"]}}`. Besides, `reader` and `embedder` take what `open` takes, and `max_tokens` is the budget of a
            prompt. For another embedder all texts are embedded, in a copy in memory. By default the usual options are
            compared with leaving out the reader, and each signal.
        limit: How many hits each question may have, unless a setting names another limit.
        progress: True shows a progress bar; a function is called with (done, total).

    Returns:
        For each setting R@k (the share of what is expected among the first k hits), MRR, the time and the tokens of a
        question, and the misses. It prints as a table; `to_df()` is a data frame, and `show()` draws it.

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
    asked = _questions(view, questions, limit)
    depths = {f"R@{depth}": depth for depth in sorted({1, 5, 10, limit}) if depth <= limit}
    with inputs.progress_bar(progress, "asking") as shown:
        return Evaluation(compare_settings(view._engine, view.name, asked, settings, depths, shown))


def _questions(view: View, questions: object, limit: int) -> list[Asked]:
    """The questions of a caller, checked.

    Raises:
        InvalidInput: A question is not valid, or no memory matches what it expects: no setting could find it.
    """
    items = questions.items() if isinstance(questions, Mapping) else questions
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InvalidInput(
            f"questions={inputs.shorten_repr(questions)} is not a list. Give [(question, expected), ...]."
        )
    texts: dict[str, str] = {}

    def matches(row: int, value: str) -> frozenset[str]:
        memory = view.get(value) or view.find(value)
        if memory is not None:
            return frozenset([memory.id])
        if not texts:
            texts.update((memory.id, normalize_text(memory.text)) for memory in view.memories())
        part = normalize_text(value)
        found = frozenset(id_ for id_, text in texts.items() if part and part in text)
        if not found:
            raise InvalidInput(
                f"question {row} expects {truncate(value, 80)!r}, and no memory has that id, key or text. "
                "Add the memory first, or correct what is expected."
            )
        return found

    asked: list[Asked] = []
    for row, item in enumerate(items):
        question, values, own = _question(item, row)

        def ask(engine: Engine, options: Mapping[str, Any], text: str = question, own: Any = own) -> Recall:
            return view._with_engine(engine).recall(text, **{"limit": limit, **options, **own})

        asked.append(Asked(question, values, tuple(matches(row, value) for value in values), ask))
    if not asked:
        raise InvalidInput("there are no questions to evaluate. Give [(question, expected), ...].")
    return asked


def _question(item: object, row: int) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """The question, what is expected, and its own options of `recall`."""
    fields: Mapping[str, Any] = {}
    if isinstance(item, Mapping):
        fields = item
    elif isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2:
        fields = {"question": item[0], "expected": item[1]}
    if not {"question", "expected"} <= set(fields) <= set(_QUESTION_FIELDS):
        raise InvalidInput(
            f"question {row} is {inputs.shorten_repr(item)}. Give (question, expected), or a dict with the fields "
            f"{', '.join(_QUESTION_FIELDS)}."
        )
    expected = fields["expected"]
    several = [expected] if isinstance(expected, str | Memory) or not isinstance(expected, Iterable) else [*expected]
    values = tuple(inputs.check_memory_id(value) for value in several)
    if not values:
        raise InvalidInput(f"question {row} expects nothing. Give a memory, an id, a key, or a part of a text.")
    own = {name: fields[name] for name in ("now", "during") if fields.get(name) is not None}
    return inputs.check_query(fields["question"]), tuple(dict.fromkeys(values)), own


def evaluate_dataset(
    dataset: Dataset,
    options: Mapping[str, Any],
    *,
    embedder: Any = None,
    reader: Any = DEFAULT_READER,
    progress: bool | Progress = False,
) -> dict[str, SettingResult]:
    """How often `recall` finds the evidence of a data set, for all questions ("all") and for those of each category.

    Args:
        dataset: The data set. Each conversation is a space of its own, in memory.
        options: The options of `recall`.
        embedder: As for `remanence.open`.
        reader: As for `remanence.open`.
        progress: True shows a progress bar; a function is called with (done, total).

    Example:
        >>> from remanence.testing.datasets import EvalQuestion
        >>> items = [CorpusItem("a", "Alice lives in Porto."), CorpusItem("b", "The bridge is closed.")]
        >>> small = Dataset.from_corpus("small", items, [EvalQuestion("Where does Alice live?", ("a",))])
        >>> evaluate_dataset(small, {})["all"].scores["R@1"][0]
        1.0
    """
    depths = {f"R@{depth}": depth for depth in (1, 5, 10)}
    asked: list[Asked] = []
    with open_space(None, embedder=embedder, reader=reader, worker=False) as root:
        for number, conversation in enumerate(dataset.conversations):
            asked += _asked(root.child(f"conversation-{number}"), conversation)
        with inputs.progress_bar(progress, dataset.name) as shown:
            [result] = compare_settings(root._engine, root.name, asked, {"recall": options}, depths, shown)
    groups: dict[str, list[QuestionResult]] = {"all": []}
    questions = [question for conversation in dataset.conversations for question in conversation.questions]
    for question, answered in zip(questions, result.questions, strict=True):
        if not question.counted_separately:
            groups["all"].append(answered)
        if question.category not in ("", "all"):
            groups.setdefault(question.category, []).append(answered)
    return {name: setting_result(name, options, group, depths) for name, group in groups.items() if group}


def _asked(space: Space, conversation: Conversation) -> list[Asked]:
    """The questions of a conversation, whose items are added to a space: as turns if they have speakers, else as
    texts."""
    items = conversation.items
    if any(item.speaker for item in items):
        memories = space.add_turns(map(_turn_fields, items))
    else:
        memories = space.add_many(map(_memory_fields, items))
    id_of = {item.id: memory.id for item, memory in zip(items, memories, strict=True)}
    last_time = max((item.time for item in items if item.time is not None), default=None)
    found: list[Asked] = []
    for question in conversation.questions:
        now = question.time or last_time

        def ask(engine: Engine, options: Mapping[str, Any], text: str = question.question, now: Any = now) -> Recall:
            return space._with_engine(engine).recall(text, now=now, **options)

        matches = tuple(frozenset([id_of[evidence]]) for evidence in question.evidence)
        found.append(Asked(question.question, question.evidence, matches, ask))
    return found


def _turn_fields(item: CorpusItem) -> dict[str, Any]:
    session = item.session or "default"
    return {"speaker": item.speaker or "unknown", "content": item.text, "time": item.time, "conversation": session}


def _memory_fields(item: CorpusItem) -> dict[str, Any]:
    return {"text": item.text, "source": item.session or None, "now": item.time}
