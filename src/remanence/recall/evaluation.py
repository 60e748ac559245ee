"""How often recall finds the expected memories, under several settings: `remanence.testing.evaluate` and
`space.evaluate`.

A caller of the first names the expected memories by id, by key, or by a part of their text. Each expected value counts
once, however many memories match it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.ports import Progress
from remanence.recall.answer import Recall, prompt_line
from remanence.schema import Memory
from remanence.schema.display import HtmlTable, Markup, data_frame, html_bar, html_table
from remanence.text.framing import estimate_tokens
from remanence.text.text import normalize_text, pluralize, truncate

if TYPE_CHECKING:
    import pandas


RecallFunction = Callable[[str, Mapping[str, Any]], Recall]
"""Asks a question with some options of `recall`."""
_QUESTION_FIELDS = ("question", "expected", "now", "during")
_DEPTHS = (1, 5, 10)
"""Hits among which the evidence is counted."""
_MAX_CHANCE = 0.05
"""The probability below which chance alone would do as well, in each of the comparisons, for a setting to be
recommended."""
_BOOTSTRAP_SAMPLES = 1_000
"""Samples of the questions by which intervals are estimated."""
_QUESTION_COLUMNS = ("question", "expected", "ranks", "found", "first", "ms", "tokens")


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """A question with its expected memories, and options for `recall`."""

    question: str
    expected: tuple[str, ...]
    """The values of the caller: ids, keys or parts of texts."""
    matches: tuple[frozenset[str], ...]
    """For each value the ids of the memories that match it."""
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of one setting for one question.

    `ranks` has for each expected value the rank of the first hit that matches (1 is first), or None. `first` is the
    text of the first hit. `tokens` estimates the length of all hits in a prompt.
    """

    question: str
    expected: tuple[str, ...]
    ranks: tuple[int | None, ...]
    first: str
    ms: float
    tokens: int

    @property
    def found(self) -> bool:
        """Whether a hit matches each expected value."""
        return None not in self.ranks


@dataclass(frozen=True, slots=True)
class SettingResult:
    """The results of one setting. `scores` has for each measure the mean and its 95% interval."""

    name: str
    options: Mapping[str, Any]
    questions: tuple[QuestionResult, ...]
    scores: Mapping[str, tuple[float, float, float]]

    @property
    def mean_ms(self) -> float:
        """Milliseconds for a question, on average."""
        return sum(question.ms for question in self.questions) / len(self.questions)

    @property
    def mean_tokens(self) -> float:
        """Tokens of the hits of a question, on average."""
        return sum(question.tokens for question in self.questions) / len(self.questions)

    def better_and_worse(self, other: SettingResult) -> tuple[int, int]:
        """For how many questions the first expected hit is nearer to the top than in another result, and further
        down."""
        pairs = [
            (reciprocal_rank(own.ranks), reciprocal_rank(others.ranks))
            for own, others in zip(self.questions, other.questions, strict=True)
        ]
        return sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)

    @property
    def misses(self) -> tuple[QuestionResult, ...]:
        """The questions with an expected value that no hit matches."""
        return tuple(question for question in self.questions if not question.found)

    def to_df(self) -> pandas.DataFrame:
        """The questions as a data frame, a row for each. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        records = [{name: getattr(question, name) for name in _QUESTION_COLUMNS} for question in self.questions]
        return data_frame(records, _QUESTION_COLUMNS)


@dataclass(frozen=True)
class Evaluation(Sequence[SettingResult]):
    """Several settings compared on the same questions. It prints as a table; a notebook shows bars and the misses.

    `evaluation["name"]` is one setting. "Better" and "worse" count the questions for which the first expected hit is
    nearer to the top, or further down, than with the first setting.
    """

    results: tuple[SettingResult, ...]

    def __len__(self) -> int:
        return len(self.results)

    @overload
    def __getitem__(self, index: int | str) -> SettingResult: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SettingResult]: ...
    def __getitem__(self, index: int | str | slice) -> SettingResult | Sequence[SettingResult]:
        if not isinstance(index, str):
            return self.results[index]
        for result in self.results:
            if result.name == index:
                return result
        raise InvalidInput(f"no setting is called {index!r}. There are {', '.join(r.name for r in self.results)}.")

    def __iter__(self) -> Iterator[SettingResult]:
        return iter(self.results)

    @property
    def best(self) -> SettingResult:
        """The setting with the highest MRR; ties are broken by recall, then by order."""
        *_, deepest, _mrr = self.results[0].scores
        return max(self.results, key=lambda result: (result.scores["MRR"][0], result.scores[deepest][0]))

    @property
    def recommended(self) -> SettingResult | None:
        """The best setting, if it is better than the first one by more than chance (a sign test of the questions that
        differ, at 5% over all comparisons); else None. Six questions have to differ at least."""
        best = self.best
        if best is self.results[0]:
            return None
        return best if self._chance(best) * (len(self) - 1) < _MAX_CHANCE else None

    def _chance(self, result: SettingResult) -> float:
        return chance_of_signs(*result.better_and_worse(self.results[0]))

    def to_df(self) -> pandas.DataFrame:
        """The settings as a data frame, a row for each. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        columns = self._columns()
        return data_frame([dict(zip(columns, row, strict=True)) for row in self._rows()], columns)

    def show(self) -> HtmlTable:
        """A table for a notebook: a row for each setting, a bar for each measure, and its 95% interval."""
        rows = [[result.name, *(_bar_with_interval(*score) for score in result.scores.values())] for result in self]
        return HtmlTable(self._title(), html_table(self._title(), ("setting", *self.results[0].scores), rows))

    def __str__(self) -> str:
        numbers = self._rows(_percent)
        rows = [[f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in row] for row in numbers]
        head = self._columns()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
        return "\n".join([self._title(), *(f"  {line}".rstrip() for line in lines), *(f"  {n}" for n in self._notes())])

    def _repr_html_(self) -> str:
        rows = self._rows(lambda mean: html_bar(mean, _percent(mean)))
        table = html_table(self._title(), self._columns(), rows, self._notes())
        return table + "".join(map(_misses_html, self.results))

    def _title(self) -> str:
        return f"{pluralize(len(self), 'setting')} on {pluralize(len(self.results[0].questions), 'question')}"

    def _notes(self) -> list[str]:
        best, first = self.best, self.results[0].name
        mean, low, high = best.scores["MRR"]
        notes = [f"best: {best.name}, MRR {100 * mean:.1f} (95% interval {100 * low:.1f} to {100 * high:.1f})"]
        if len(self) > 1 and (found := self.recommended):
            notes.append(f"use {found.name}: chance alone is as far from {first} in {self._chance(found):.1%} of cases")
        elif len(self) > 1:
            notes.append(f"no setting is better than {first} by more than chance")
        return notes

    def _columns(self) -> list[str]:
        return ["setting", *self.results[0].scores, "ms", "tokens", "misses", "better", "worse"]

    def _rows(self, show_mean: Callable[[float], Any] = float) -> Iterator[list[Any]]:
        first = self.results[0]
        for result in self.results:
            means = [show_mean(mean) for mean, _, _ in result.scores.values()]
            costs = (result.mean_ms, result.mean_tokens, len(result.misses))
            yield [result.name, *means, *costs, *result.better_and_worse(first)]


def evaluate_settings(
    questions: Sequence[ExpectedAnswer],
    settings: Mapping[str, Mapping[str, Any]],
    recall_with: Callable[[Mapping[str, Any]], RecallFunction],
    depths: Mapping[str, int],
    progress: Progress | None = None,
) -> list[SettingResult]:
    """Ask every question under every setting. `recall_with` gives the function that recalls under one setting, `depths`
    how many hits each measure looks at, the deepest last."""
    results: list[SettingResult] = []
    for name, options in settings.items():
        ask_one = recall_with(options)
        answered: list[QuestionResult] = []
        for question in questions:
            start = time.perf_counter()
            recall = ask_one(question.question, question.options)
            seconds = time.perf_counter() - start
            answered.append(_result(question, recall, 1000 * seconds))
            if progress is not None:
                progress(len(results) * len(questions) + len(answered), len(settings) * len(questions))
        scores = [
            {name: recall_at(depth, result.ranks) for name, depth in depths.items()}
            | {"MRR": reciprocal_rank(result.ranks)}
            for result in answered
        ]
        means = mean_scores(scores)
        means_by_metric = {metric: tuple(means[metric]) for metric in scores[0]}
        results.append(SettingResult(name, dict(options), tuple(answered), means_by_metric))
    return results


def check_settings(settings: object, options: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The settings of a caller: options of `recall` by name, or a list of them, named after their options. The
    values are checked when they are used."""
    if isinstance(settings, list | tuple) and all(isinstance(values, Mapping) for values in settings):
        settings = {
            ", ".join(f"{name}={value!r}" for name, value in each.items()) or "usual": each for each in settings
        }
    if not isinstance(settings, Mapping) or not settings:
        raise InvalidInput(
            f"settings={inputs.shorten_repr(settings)} is not a dict such as {{'words': {{'signals': ['words']}}}}."
        )
    for name, values in settings.items():
        if not isinstance(name, str) or not isinstance(values, Mapping):
            raise InvalidInput(
                f"settings has {name!r}: {inputs.shorten_repr(values)}. Give a name and a dict of options."
            )
        for option in values:
            if option == "limit" and option not in options:
                raise InvalidInput(
                    f"setting {name!r} has the option 'limit', which is the same for all settings: "
                    f"evaluate(..., limit={values[option]!r})."
                )
            if option not in options:
                raise InvalidInput(f"setting {name!r} has the option {option!r}. The options are {', '.join(options)}.")
    return dict(settings)


def expected_answers(
    questions: object, find: Callable[[str], Memory | None], memories: Callable[[], Iterable[Memory]]
) -> list[ExpectedAnswer]:
    """The questions of a caller, checked. `find` looks a memory up by its id or key, `memories` lists all.

    Raises:
        InvalidInput: A question is not valid, or no memory matches what it expects: no setting could find it.
    """
    items = questions.items() if isinstance(questions, Mapping) else questions
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InvalidInput(
            f"questions={inputs.shorten_repr(questions)} is not a list. Give [(question, expected), ...]."
        )
    texts: dict[str, str] = {}

    def matches(value: str) -> frozenset[str]:
        memory = find(value)
        if memory is not None:
            return frozenset([memory.id])
        if not texts:
            texts.update((memory.id, normalize_text(memory.text)) for memory in memories())
        part = normalize_text(value)
        return frozenset(id_ for id_, text in texts.items() if part and part in text)

    answers: list[ExpectedAnswer] = []
    for row, item in enumerate(items):
        question, values, options = _question(item, row)
        matching_ids = tuple(map(matches, values))
        for value, ids in zip(values, matching_ids, strict=True):
            if not ids:
                raise InvalidInput(
                    f"question {row} expects {truncate(value, 80)!r}, and no memory has that id, key or text. "
                    "Add the memory first, or correct what is expected."
                )
        answers.append(ExpectedAnswer(question, values, matching_ids, options))
    if not answers:
        raise InvalidInput("there are no questions to evaluate. Give [(question, expected), ...].")
    return answers


def _question(item: object, row: int) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    fields: Mapping[str, Any] = {}
    if isinstance(item, Mapping):
        fields = item
    elif isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2:
        fields = {"question": item[0], "expected": item[1]}
    unknown = [name for name in fields if name not in _QUESTION_FIELDS]
    if unknown or not {"question", "expected"} <= set(fields):
        raise InvalidInput(
            f"question {row} is {inputs.shorten_repr(item)}. Give (question, expected), or a dict with the fields "
            f"{', '.join(_QUESTION_FIELDS)}."
        )
    expected = fields["expected"]
    several = [expected] if isinstance(expected, str | Memory) or not isinstance(expected, Iterable) else [*expected]
    values = tuple(inputs.check_memory_id(value) for value in several)
    if not values:
        raise InvalidInput(f"question {row} expects nothing. Give a memory, an id, a key, or a part of a text.")
    options = {name: fields[name] for name in ("now", "during") if fields.get(name) is not None}
    return inputs.check_query(fields["question"]), tuple(dict.fromkeys(values)), options


def _result(question: ExpectedAnswer, recall: Recall, ms: float) -> QuestionResult:
    ids = [hit.memory.id for hit in recall]
    ranks = tuple(
        next((rank for rank, id_ in enumerate(ids, 1) if id_ in matches), None) for matches in question.matches
    )
    first = recall[0].memory.text if recall else ""
    tokens = sum(estimate_tokens(prompt_line(hit) + "\n") for hit in recall)
    return QuestionResult(question.question, question.expected, ranks, first, ms, tokens)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _bar_with_interval(mean: float, low: float, high: float) -> Markup:
    return html_bar(mean, f"{_percent(mean)} ({_percent(low)} to {_percent(high)})")


def _misses_html(result: SettingResult) -> str:
    if not result.misses:
        return ""
    rows = [
        (
            miss.question,
            ", ".join(value for value, rank in zip(miss.expected, miss.ranks, strict=True) if rank is None),
            truncate(miss.first, 200) or Markup("<i>nothing</i>"),
        )
        for miss in result.misses
    ]
    table = html_table("", ("question", "not found", "first hit"), rows)
    summary = escape(f"{result.name}: {pluralize(len(rows), 'miss', 'misses')}")
    return f"<details><summary>{summary}</summary>{table}</details>"


def recall_at(depth: int, ranks: Sequence[int | None]) -> float:
    """The share of the relevant items that are among the first `depth`. `ranks` has the rank of each item (1 is
    first), or None.

    >>> recall_at(5, [1, 7, None, 5])
    0.5
    """
    return sum(rank is not None and rank <= depth for rank in ranks) / len(ranks)


def reciprocal_rank(ranks: Sequence[int | None]) -> float:
    """One divided by the rank of the first relevant item; 0 if there is none.

    >>> reciprocal_rank([None, 4, 2])
    0.5
    """
    return max((1 / rank for rank in ranks if rank is not None), default=0.0)


def chance_of_signs(better: int, worse: int) -> float:
    """How likely a coin thrown once for each question that differs falls at least this far from even.

    >>> chance_of_signs(6, 0), chance_of_signs(3, 3)
    (0.03125, 1.0)
    """
    differing = better + worse
    tail = sum(math.comb(differing, k) for k in range(min(better, worse) + 1))
    return min(1.0, math.ldexp(tail, 1 - differing))


def score_ranking(ranking: Sequence[str], evidence: Sequence[str]) -> dict[str, float]:
    """Recall at 1, 5 and 10, whether all evidence is in the first 5 and 10, MRR and NDCG@10 of one ranking.

    >>> score_ranking(["b", "a"], ["a"])["MRR"], score_ranking(["b", "a"], ["a", "c"])["R@5"]
    (0.5, 0.5)
    """
    rank_of = {item: rank for rank, item in enumerate(ranking, 1)}
    ranks = [rank_of.get(item) for item in set(evidence)]
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None and rank <= 10)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(ranks))))
    return {
        **{f"R@{depth}": recall_at(depth, ranks) for depth in _DEPTHS},
        **{f"all@{depth}": float(recall_at(depth, ranks) == 1) for depth in (5, 10)},
        "MRR": reciprocal_rank(ranks),
        "NDCG@10": gain / ideal,
    }


def mean_scores(scores: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """The number of questions, and for each measure the mean and its 95% bootstrap interval.

    >>> mean_scores([{"R@1": 1.0}, {"R@1": 1.0}])
    {'n': 2, 'R@1': [1.0, 1.0, 1.0]}
    """
    samples = np.random.default_rng(7).integers(0, len(scores), (_BOOTSTRAP_SAMPLES, len(scores)))
    means: dict[str, Any] = {"n": len(scores)}
    for name in scores[0]:
        values = np.array([score[name] for score in scores])
        low, high = np.percentile(values[samples].mean(axis=1), [2.5, 97.5])
        means[name] = [float(values.mean()), float(low), float(high)]
    return means
