"""Asking systems the questions of a set."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from remanence.api.opening import open as open_space
from remanence.core.progress import progress_bar
from remanence.testing.evaluation.datasets import Conversation, CorpusItem, Dataset, EvalQuestion
from remanence.testing.evaluation.measures import mean_scores, score_ranking

if TYPE_CHECKING:
    from remanence.api.space import Space
    from remanence.ports import Progress

RANKING_DEPTH = 50
"""How many hits each system is asked for: ten are judged, the rest is for finding ten sessions."""


class System(Protocol):
    """Anything that was given lines and can be asked."""

    def ask(self, asked: EvalQuestion, now: str | None) -> Sequence[str]:
        """The ids of the lines that answer, best first, at most `DEPTH`."""

    def close(self) -> None:
        """Let go of everything."""


SystemFactory = Callable[[Conversation], System]


class RemanenceSystem:
    """A space of its own in which the lines were put as a user would: turns, texts, facts in order."""

    def __init__(self, world: Conversation, *, embedder: Any = None, reranker: Any = None, **asking: Any) -> None:
        """Open and fill it; `asking` is what recall is given besides the question: signals, weights."""
        self._asking = asking
        self.space: Space = open_space(None, embedder=embedder, reranker=reranker, worker=False)
        if any(line.speaker for line in world.items):
            self.space.add_turns(map(_turn, world.items))
        else:
            self.space.add_many(map(_text, world.items))

    def ask(self, asked: EvalQuestion, now: str | None, **asking: Any) -> list[str]:
        """What recall gives."""
        answer = self.space.recall(asked.question, limit=RANKING_DEPTH, now=now, **self._asking, **asking)
        return [hit.memory.key or "" for hit in answer]

    def close(self) -> None:
        """Close the space."""
        self.space.close()


def _turn(line: CorpusItem) -> dict[str, Any]:
    return {
        "speaker": line.speaker or "unknown",
        "content": line.text,
        "time": line.time,
        "conversation": line.session or "default",
        "key": line.id,
    }


def _text(line: CorpusItem) -> dict[str, Any]:
    return {
        "text": line.text,
        "source": line.session or None,
        "now": line.time,
        "key": line.id,
        "triples": line.triples,
    }


@dataclass(slots=True)
class Trial:
    """How one system did: the measures of each question, and the time it took."""

    asked: list[EvalQuestion] = field(default_factory=list)
    scores: list[dict[str, float]] = field(default_factory=list)
    ingest_seconds: float = 0.0
    query_seconds: float = 0.0

    def summary(self) -> dict[str, Any]:
        """Means and intervals for all and for each category, and the seconds."""
        rows = list(zip(self.asked, self.scores, strict=True))
        groups = {"all": [score for asked, score in rows if not asked.counted_separately]}
        for category in sorted({asked.category for asked in self.asked} - {"", "all"}):
            groups[category] = [score for asked, score in rows if asked.category == category]
        return {
            "scores": {name: mean_scores(scores) for name, scores in groups.items() if scores},
            "ingest_seconds": self.ingest_seconds,
            "query_ms": 1000 * self.query_seconds / len(rows),
        }


def evaluate(
    dataset: Dataset, systems: Mapping[str, SystemFactory], *, progress: bool | Progress = False
) -> dict[str, Any]:
    """Ask every system every question of a set.

    >>> said = [CorpusItem("a", "Alice lives in Porto."), CorpusItem("b", "The bridge is closed.")]
    >>> little = Dataset.from_corpus("little", said, [EvalQuestion("Where does Alice live?", ("a",))])
    >>> evaluate(little, {"remanence": RemanenceSystem})["systems"]["remanence"]["scores"]["all"]["R@1"][0]
    1.0
    """
    trials = {name: Trial() for name in systems}
    total, done = dataset.question_count * len(systems), 0
    with progress_bar(progress, dataset.name) as shown:
        for world in dataset.conversations:
            session_of = {line.id: line.session for line in world.items}
            for name, build in systems.items():
                trial, end = trials[name], world.last_time
                began = time.perf_counter()
                system = build(world)
                trial.ingest_seconds += time.perf_counter() - began
                for asked in world.questions:
                    began = time.perf_counter()
                    found = system.ask(asked, asked.time or end)
                    trial.query_seconds += time.perf_counter() - began
                    found = list(dict.fromkeys(found))  # one that repeats itself finds no more for it
                    score = score_ranking(found, asked.evidence)
                    if dataset.has_sessions:
                        sessions = list(dict.fromkeys(session_of[line] for line in found))
                        wanted = score_ranking(sessions, asked.evidence_sessions)
                        score |= {f"session {measure}": value for measure, value in wanted.items()}
                    trial.asked.append(asked)
                    trial.scores.append(score)
                    done += 1
                    if shown is not None:
                        shown(done, total)
                system.close()
    return {
        "set": dataset.name,
        "questions": dataset.question_count,
        "systems": {name: trial.summary() for name, trial in trials.items()},
    }
