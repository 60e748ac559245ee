"""How often recall finds the expected memories, under several settings: measures of a ranking, and a table of them.

`space/evaluation.py` asks the questions. Each expected value counts once, however many memories match it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import InvalidInput
from remanence.schema.display import HtmlTable, Markup, data_frame, html_bar, html_table
from remanence.text.text import pluralize

if TYPE_CHECKING:
    import pandas


_MAX_CHANCE = 0.05


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

    @property
    def misses(self) -> tuple[QuestionResult, ...]:
        """The questions with an expected value that no hit matches."""
        return tuple(question for question in self.questions if not question.found)

    def better_and_worse(self, other: SettingResult) -> tuple[int, int]:
        """For how many questions the first expected hit is nearer to the top than in another result, and further
        down."""
        pairs = [
            (reciprocal_rank(own.ranks), reciprocal_rank(others.ranks))
            for own, others in zip(self.questions, other.questions, strict=True)
        ]
        return sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Several settings compared on the same questions. It prints as a table, and a notebook shows one.

    `evaluation["name"]` is one setting. "Better" and "worse" count the questions for which the first expected hit is
    nearer to the top, or further down, than with the first setting.

    Attributes:
        results: The settings, in the order in which they were given.
        since: The earliest moment of a recorded recall; None for questions of the caller's.
        skipped: How many recorded recalls were not asked again, by reason.
    """

    results: tuple[SettingResult, ...]
    since: datetime | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[SettingResult]:
        return iter(self.results)

    def __getitem__(self, key: int | str) -> SettingResult:
        if isinstance(key, int):
            return self.results[key]
        for result in self.results:
            if result.name == key:
                return result
        raise InvalidInput(f"no setting is called {key!r}. There are {', '.join(r.name for r in self.results)}.")

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
        rows = [self._columns(), *self._printed_rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([self._title(), *(f"  {line}".rstrip() for line in [*lines, *self._notes()])])

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._columns(), self._printed_rows(), self._notes())

    def _title(self) -> str:
        title = f"{pluralize(len(self), 'setting')} on {pluralize(len(self.results[0].questions), 'question')}"
        return title if self.since is None else f"{title} recorded since {self.since:%Y-%m-%d}"

    def _notes(self) -> list[str]:
        best, first = self.best, self.results[0].name
        mean, low, high = best.scores["MRR"]
        notes = [f"best: {best.name}, MRR {100 * mean:.1f} (95% interval {100 * low:.1f} to {100 * high:.1f})"]
        if len(self) > 1 and (found := self.recommended):
            notes.append(f"use {found.name}: chance alone is as far from {first} in {self._chance(found):.1%} of cases")
        elif len(self) > 1:
            notes.append(f"no setting is better than {first} by more than chance")
        left_out = [f"left out: {pluralize(count, 'recall')} {reason}" for reason, count in self.skipped.items()]
        return [*notes, *left_out]

    def _columns(self) -> list[str]:
        return ["setting", *self.results[0].scores, "ms", "tokens", "misses", "better", "worse"]

    def _rows(self) -> Iterator[list[Any]]:
        for result in self.results:
            means = [mean for mean, _, _ in result.scores.values()]
            costs = (result.mean_ms, result.mean_tokens, len(result.misses))
            yield [result.name, *means, *costs, *result.better_and_worse(self.results[0])]

    def _printed_rows(self) -> Iterator[list[str]]:
        """The rows as text, means in percent."""
        measures = len(self.results[0].scores)
        for name, *numbers in self._rows():
            shown = [100 * mean for mean in numbers[:measures]] + numbers[measures:]
            yield [name, *(f"{number:.1f}" if isinstance(number, float) else str(number) for number in shown)]


def _bar_with_interval(mean: float, low: float, high: float) -> Markup:
    return html_bar(mean, f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})")


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


def mean_scores(scores: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """The number of questions, and for each measure the mean and its 95% bootstrap interval.

    >>> mean_scores([{"R@1": 1.0}, {"R@1": 1.0}])
    {'n': 2, 'R@1': [1.0, 1.0, 1.0]}
    """
    samples = np.random.default_rng(7).integers(0, len(scores), (1_000, len(scores)))
    means: dict[str, Any] = {"n": len(scores)}
    for name in scores[0]:
        values = np.array([score[name] for score in scores])
        low, high = np.percentile(values[samples].mean(axis=1), [2.5, 97.5])
        means[name] = [float(values.mean()), float(low), float(high)]
    return means
