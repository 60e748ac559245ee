"""What each constant of the signals is worth: recall with half and with double of it.

    python benchmarks/constants.py                       three sets, 320 questions, without a reader; some minutes
    python benchmarks/constants.py HOP_WEIGHT _REACH     these constants only
    python benchmarks/constants.py --embedder small      with the default embedder
    python benchmarks/constants.py --sets musique timeqa --factors 0 1.5     other sets and factors

All variants ask the same spaces, with the constant replaced for as long as they are asked. A constant of which neither
half nor double changes a hit among the first ten limits the work at sizes that these sets do not have, or is for a
set that is not among them: the docstring beside it says which.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np

from recall_evaluation import RemanenceSystem, score_ranking
from remanence.testing.datasets import EvalQuestion, find_datasets, read_dataset
from unseen import open_world, read_worlds

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = {
    "locomo": ("locomo", 120),
    "realtalk": ("realtalk", 100),
    "2wiki_triples": ("2wiki_1000", 100),
    "musique": ("musique_300", 100),
    "timeqa": ("timeqa_human", 100),
    "beam": ("beam_100k", 100),
    "worlds": ("develop", 360),
}
"""The sets, the files they are made of, and how many questions of each are asked. The worlds are those of `unseen.py`,
of which the parts to develop on are asked, all of them."""
CONSTANTS = {
    "index.graph.entity_graph": "SPEAKER_WEIGHT SUBJECT_WEIGHT SIMILAR_SUBJECT_WEIGHT WRITER_WEIGHT NEXT_TURN_WEIGHT "
    "PREVIOUS_TURN_WEIGHT SAME_SESSION_WEIGHT SAME_DOCUMENT_WEIGHT QUESTION_PENALTY PARTIAL_SHARE _FAN_OUT "
    "_MIN_SPECIFICITY _MIN_SIMILARITY _MAX_SIMILAR_NAMES",
    "index.graph.graph_walk": "MAX_HOPS MAX_RELATIONS HOP_DECAY HOP_WEIGHT RELATION_WEIGHT START_ROWS _HOP_NAMES "
    "_EXAMINED_NAMES MENTIONED_SHARE _SHORT_MEMORY _MAX_HOP_ROWS",
    "index.times": "_FEW _WEIGHTS _REACH _UNSUPPORTED_SHARE MOSTLY_WITHIN",
    "index.words": "NEXT_TURN_SHARE RELATED_WORD_SHARE OTHER_LANGUAGE_SHARE",
    "recall.fusion": "_FOLLOWED_CLAIMS MIN_CANDIDATES _SCORED_ROWS _RECENCY _IMPORTANCE _MIN_TRUST_FACTOR",
    "recall.validity.current": "_FUTURE_TURN_FACTOR",
    "recall.validity.other_times": "_ENDED_FACTOR _EXAMINED_ROWS _MIN_COVERAGE",
}


class WorldSystem:
    """A world, asked like the conversations of the other sets."""

    def __init__(self, world: dict[str, Any], embedder: str) -> None:
        self._space = open_world(world, embedder=None if embedder == "small" else embedder, reader=None)

    def ask(self, question: EvalQuestion, now: str | None) -> list[str]:
        return [hit.memory.key or "" for hit in self._space.recall(question.question, limit=10, now=now)]


System: TypeAlias = RemanenceSystem | WorldSystem
Answers = dict[str, list[tuple[float, float, tuple[str, ...]]]]
"""By set, for each question: the evidence among the first five and ten hits, and these."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="constants; all of them if left out")
    parser.add_argument("--embedder", default="fast", help="as for remanence.open ('fast')")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS)[:3], help="(the first three)")
    parser.add_argument("--factors", nargs="+", type=float, default=[0.5, 2.0], help="(half and double)")
    options = parser.parse_args()

    asked = list(_opened(options.sets, options.data, options.embedder))
    base = _ask(asked)
    print(
        f"| constant | times | R@5 / R@10 on {', '.join(options.sets)} | questions with other hits |\n|---|---|---|---|"
    )
    print(f"| as it is | | {_shown(base)} | |")
    for module, name in _constants(options.names):
        value = getattr(module, name)
        for factor in options.factors:
            with patch.object(module, name, _scaled(value, factor)):
                found = _ask(asked)
            moved = sum(new[2] != old[2] for of in base for new, old in zip(found[of], base[of], strict=True))
            print(f"| `{name}` | {factor:g} | {_shown(found)} | {moved} |", flush=True)


def _opened(sets: list[str], data: Path, embedder: str) -> Iterator[tuple[str, System, Any, str | None]]:
    there = {name: files for name, *files in find_datasets([data])}
    for name in sets:
        files, limit = SETS[name]
        if name == "worlds":
            for world in read_worlds(files):
                questions = [
                    EvalQuestion(asked["q"], tuple(asked["right"]), time=asked["asked_at"])
                    for asked in world["questions"]
                    if asked["kind"] != "none"
                ]
                yield name, WorldSystem(world, embedder), questions, None
            continue
        for conversation in read_dataset(name, *there[files], limit=limit).conversations:
            last = max((item.time for item in conversation.items if item.time), default=None)
            if conversation.questions:
                system = RemanenceSystem(conversation, embedder=None if embedder == "small" else embedder, reader=None)
                yield name, system, conversation.questions, last


def _ask(asked: list[tuple[str, System, Any, str | None]]) -> Answers:
    answers: Answers = {name: [] for name, *_ in asked}
    for name, system, questions, last in asked:
        for question in questions:
            ranking = list(dict.fromkeys(system.ask(question, question.time or last)))
            score = score_ranking(ranking, question.evidence)
            answers[name].append((score["R@5"], score["R@10"], tuple(ranking[:10])))
    return answers


def _constants(names: list[str]) -> Iterator[tuple[ModuleType, str]]:
    """The constants; one that was renamed stops the benchmark."""
    for path, listed in CONSTANTS.items():
        module = import_module(f"remanence.{path}")
        yield from ((module, name) for name in listed.split() if not names or name in names)


def _scaled(value: Any, factor: float) -> Any:
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def _shown(answers: Answers) -> str:
    """The evidence among the first five and ten, in percent, of each set."""
    means = (np.mean([answer[:2] for answer in found], axis=0) * 100 for found in answers.values())
    return ", ".join(f"{five:.1f} / {ten:.1f}" for five, ten in means)


if __name__ == "__main__":
    main()
