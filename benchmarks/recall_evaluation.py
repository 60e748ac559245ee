"""Systems compared on data sets: how often each finds the texts that answer a question.

`remanence.testing.datasets` says what a data set is. Each system is given a conversation and asked its questions; the
ranking it returns is compared with the evidence. Figures are means over questions with a 95% bootstrap interval. The
same data give the same figures, except for the times.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from remanence.index.engine.inputs import progress_bar
from remanence.models.readers import DEFAULT_READER
from remanence.recall.evaluation import mean_scores, recall_at, reciprocal_rank
from remanence.space.opening import open as open_space
from remanence.testing.datasets import Conversation, CorpusItem, Dataset, EvalQuestion

if TYPE_CHECKING:
    from remanence.ports import Progress
    from remanence.space.space import Space

RANKING_DEPTH = 50
"""Hits that each system returns: ten are scored, the others help to find ten sessions."""
_CATEGORY_MEASURES = ("R@1", "R@5", "R@10", "all@5", "MRR", "session R@5")


class System(Protocol):
    """A system under test, which was given the items of a conversation."""

    def ask(self, question: EvalQuestion, now: str | None, /) -> Sequence[str]:
        """The ids of the items that answer, best first, at most `RANKING_DEPTH`."""

    def close(self) -> None:
        """Free all resources."""


SystemFactory = Callable[[Conversation], System]


class RemanenceSystem:
    """A space in memory with the items of one conversation: as turns if they have speakers, else as texts.

    Args:
        conversation: The items to add.
        embedder: As for `remanence.open`.
        reader: As for `remanence.open`.
        **recall_options: What `recall` is given besides the question, such as signals and weights.
    """

    def __init__(
        self, conversation: Conversation, *, embedder: Any = None, reader: Any = DEFAULT_READER, **recall_options: Any
    ) -> None:
        self._recall_options = recall_options
        self.space: Space = open_space(None, embedder=embedder, reader=reader, worker=False)
        if any(item.speaker for item in conversation.items):
            self.space.add_turns(map(_turn_fields, conversation.items))
        else:
            self.space.add_many(map(_memory_fields, conversation.items))

    def ask(self, question: EvalQuestion, now: str | None, **recall_options: Any) -> list[str]:
        """The keys of the memories that `recall` returns."""
        options = self._recall_options | recall_options
        return [
            hit.memory.key or ""
            for hit in self.space.recall(question.question, limit=RANKING_DEPTH, now=now, **options)
        ]

    def close(self) -> None:
        """Close the space."""
        self.space.close()


def _turn_fields(item: CorpusItem) -> dict[str, Any]:
    return {
        "speaker": item.speaker or "unknown",
        "content": item.text,
        "time": item.time,
        "conversation": item.session or "default",
        "key": item.id,
    }


def _memory_fields(item: CorpusItem) -> dict[str, Any]:
    source = item.session or None
    return {"text": item.text, "source": source, "now": item.time, "key": item.id, "triples": item.triples}


@dataclass(slots=True)
class Trial:
    """The scores of one system for each question, and the time it took."""

    questions: list[EvalQuestion] = field(default_factory=list)
    scores: list[dict[str, float]] = field(default_factory=list)
    ingest_seconds: float = 0.0
    query_seconds: float = 0.0

    def summary(self) -> dict[str, Any]:
        """Means and intervals for all questions and for each category, and the times."""
        pairs = list(zip(self.questions, self.scores, strict=True))
        groups = {"all": [score for question, score in pairs if not question.counted_separately]}
        for category in sorted({question.category for question in self.questions} - {"", "all"}):
            groups[category] = [score for question, score in pairs if question.category == category]
        return {
            "scores": {name: mean_scores(scores) for name, scores in groups.items() if scores},
            "ingest_seconds": self.ingest_seconds,
            "query_ms": 1000 * self.query_seconds / len(pairs),
        }


def evaluate(
    dataset: Dataset, systems: Mapping[str, SystemFactory], *, progress: bool | Progress = False
) -> dict[str, Any]:
    """Ask every system every question of a dataset."""
    trials = {name: Trial() for name in systems}
    question_count = sum(len(conversation.questions) for conversation in dataset.conversations)
    with_sessions = any(_has_sessions(conversation) for conversation in dataset.conversations)
    done = 0
    with progress_bar(progress, dataset.name) as report_progress:
        for conversation in dataset.conversations:
            session_of = {item.id: item.session for item in conversation.items}
            last_time = max((item.time for item in conversation.items if item.time is not None), default=None)
            for name, make_system in systems.items():
                trial = trials[name]
                began = time.perf_counter()
                system = make_system(conversation)
                trial.ingest_seconds += time.perf_counter() - began
                for question in conversation.questions:
                    began = time.perf_counter()
                    ranking = system.ask(question, question.time or last_time)
                    trial.query_seconds += time.perf_counter() - began
                    ranking = list(dict.fromkeys(ranking))  # a repeated hit does not count twice
                    score = score_ranking(ranking, question.evidence)
                    if with_sessions:
                        sessions = list(dict.fromkeys(session_of[item] for item in ranking))
                        session_score = score_ranking(sessions, question.evidence_sessions)
                        score |= {f"session {measure}": value for measure, value in session_score.items()}
                    trial.questions.append(question)
                    trial.scores.append(score)
                    done += 1
                    if report_progress is not None:
                        report_progress(done, question_count * len(systems))
                system.close()
    summaries = {name: trial.summary() for name, trial in trials.items()}
    return {"set": dataset.name, "questions": question_count, "systems": summaries}


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
        **{f"R@{depth}": recall_at(depth, ranks) for depth in (1, 5, 10)},
        **{f"all@{depth}": float(recall_at(depth, ranks) == 1) for depth in (5, 10)},
        "MRR": reciprocal_rank(ranks),
        "NDCG@10": gain / ideal,
    }


def _has_sessions(conversation: Conversation) -> bool:
    """Whether it has several sessions, and a session several items."""
    return 1 < len({item.session for item in conversation.items}) < len(conversation.items)


def report_as_markdown(report: Mapping[str, Any], *, categories: bool = True) -> str:
    """A report as Markdown: means in percent, and half the width of the 95% interval.

    One table for all questions with a row for each system, and one for the categories.
    """
    systems = report["systems"]
    groups = next(iter(systems.values()))["scores"]
    measures = [name for name in next(iter(groups.values())) if name != "n"]
    lines = [f"### {report['set']} ({report['questions']} questions)"]
    if "all" in groups:
        rows = [
            [name, *_cells(one["scores"]["all"], measures), f"{one['ingest_seconds']:.1f}", f"{one['query_ms']:.1f}"]
            for name, one in systems.items()
        ]
        lines += ["", *_table(["system", *measures, "ingest s", "query ms"], rows)]
    names = [name for name in groups if name != "all"]
    if categories and names:
        some = [name for name in measures if name in _CATEGORY_MEASURES]
        rows = [
            [category, str(one["scores"][category]["n"]), name, *_cells(one["scores"][category], some)]
            for category in names
            for name, one in systems.items()
        ]
        lines += ["", *_table(["category", "n", "system", *some], rows)]
    return "\n".join(lines) + "\n"


def _cells(score: Mapping[str, Any], measures: Sequence[str]) -> list[str]:
    return [f"{100 * mean:.1f} ±{50 * (high - low):.1f}" for mean, low, high in map(score.__getitem__, measures)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
