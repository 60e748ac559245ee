"""Asks systems the questions of a dataset and scores their rankings."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from remanence.api.opening import open as open_space
from remanence.core.inputs import progress_bar
from remanence.testing.evaluation.datasets import Conversation, CorpusItem, Dataset, EvalQuestion
from remanence.testing.evaluation.measures import mean_scores, score_ranking

if TYPE_CHECKING:
    from remanence.api.space import Space
    from remanence.ports import Progress

RANKING_DEPTH = 50
"""How many hits each system returns: ten are scored, the others help to find ten sessions."""


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
        reranker: As for `remanence.open`.
        **recall_options: What `recall` is given besides the question, such as signals and weights.
    """

    def __init__(
        self, conversation: Conversation, *, embedder: Any = None, reranker: Any = None, **recall_options: Any
    ) -> None:
        self._recall_options = recall_options
        self.space: Space = open_space(None, embedder=embedder, reranker=reranker, worker=False)
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
    """Ask every system every question of a dataset.

    Example:
        >>> items = [CorpusItem("a", "Alice lives in Porto."), CorpusItem("b", "The bridge is closed.")]
        >>> small = Dataset.from_corpus("small", items, [EvalQuestion("Where does Alice live?", ("a",))])
        >>> evaluate(small, {"remanence": RemanenceSystem})["systems"]["remanence"]["scores"]["all"]["R@1"][0]
        1.0
    """
    trials = {name: Trial() for name in systems}
    total, done = dataset.question_count * len(systems), 0
    with progress_bar(progress, dataset.name) as report_progress:
        for conversation in dataset.conversations:
            session_of = {item.id: item.session for item in conversation.items}
            last_time = conversation.last_time
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
                    if dataset.has_sessions:
                        sessions = list(dict.fromkeys(session_of[item] for item in ranking))
                        session_score = score_ranking(sessions, question.evidence_sessions)
                        score |= {f"session {measure}": value for measure, value in session_score.items()}
                    trial.questions.append(question)
                    trial.scores.append(score)
                    done += 1
                    if report_progress is not None:
                        report_progress(done, total)
                system.close()
    return {
        "set": dataset.name,
        "questions": dataset.question_count,
        "systems": {name: trial.summary() for name, trial in trials.items()},
    }
