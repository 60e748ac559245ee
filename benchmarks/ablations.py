"""Recall with one part taken out or done another way: what does each part earn?

All variants ask the same space. A part is taken out from outside: a signal by leaving it out of the
question; a seed of the graph, or the boosts, by setting what they are worth to nothing for as long as the
question runs; another fusion by calling another function in its place. So the engine has no switches for
experiments, and a constant that was renamed stops the benchmark instead of measuring nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from pagerank import pagerank
from recall_evaluation import RemanenceSystem, SystemFactory
from remanence.index import SIGNALS, words
from remanence.index.graph import entity_graph, graph_walk
from remanence.recall import fusion, recall
from remanence.recall.context import FusedRanking
from remanence.schema import Ranking
from remanence.testing.datasets import Conversation, EvalQuestion

Patches = Mapping[ModuleType, Mapping[str, Any]]
_K = 60
_fuse = fusion.fuse  # this one, also while another is in its place


def reciprocal_ranks(rankings: Sequence[Ranking], weights: Mapping[str, float]) -> FusedRanking:
    """Each signal counts by the rank it gives, 1 / (60 + rank), and not by how sure it is."""
    ranked = [
        replace(r, scores=[1 / (_K + rank) for rank in range(1, len(r.rows) + 1)], floor=0.0, ceiling=None)
        for r in rankings
    ]
    return _fuse(ranked, weights)


def min_max_sum(rankings: Sequence[Ranking], weights: Mapping[str, float]) -> FusedRanking:
    """Each signal from its own last hit, 0, to its own first, 1."""
    ranked = [replace(r, floor=min(r.scores, default=0.0), ceiling=None) for r in rankings]
    return _fuse(ranked, weights)


_normalize = fusion.normalize_scores


def _linear(ranking: Ranking) -> NDArray[np.float64]:
    return _normalize(replace(ranking, exponent=1.0))


@dataclass(frozen=True)
class Variant:
    """One way to ask."""

    name: str
    signals: Sequence[str] | None = None
    weights: Mapping[str, float] | None = None
    patches: Patches = field(default_factory=dict)


def _without(*signals: str) -> list[str]:
    return [signal for signal in SIGNALS if signal not in signals]


def _zero(module: ModuleType, *constants: str) -> Patches:
    return {module: dict.fromkeys(constants, 0.0)}


def _together(*patches: Patches) -> Patches:
    out: dict[ModuleType, dict[str, Any]] = {}
    for each in patches:
        for module, constants in each.items():
            out.setdefault(module, {}).update(constants)
    return out


def _fused_by(function: Callable[..., FusedRanking]) -> Patches:
    return {module: {"fuse": function} for module in (recall, fusion)}


_EQUAL = dict.fromkeys(SIGNALS, 1.0)
_BY_NAME = _together(
    _zero(entity_graph, "SPEAKER_WEIGHT", "WRITER_WEIGHT", "SUBJECT_WEIGHT"), _zero(graph_walk, "RELATION_WEIGHT")
)
_BY_SIMILARITY = _zero(entity_graph, "SIMILAR_SUBJECT_WEIGHT")
_BY_MEMORY: Patches = {graph_walk: {"START_ROWS": 0}}
_BY_TURN = ("NEXT_TURN_WEIGHT", "PREVIOUS_TURN_WEIGHT", "SAME_SESSION_WEIGHT")

SEEDS = (
    Variant("all of it"),
    Variant("no graph", signals=_without("graph")),
    Variant("no seed", patches=_together(_BY_NAME, _BY_SIMILARITY, _BY_MEMORY)),
    Variant("no seed: names in the question", patches=_BY_NAME),
    Variant("no names in part or in small letters", patches=_zero(entity_graph, "PARTIAL_SHARE")),
    Variant("no relations", patches=_zero(graph_walk, "RELATION_WEIGHT")),
    Variant("no seed: names near the question", patches=_BY_SIMILARITY),
    Variant("no seed: names in near memories", patches=_BY_MEMORY),
    *(Variant(f"at most {n} relation{'s' * (n > 1)}", patches={graph_walk: {"MAX_RELATIONS": n}}) for n in (1, 2)),
    *(Variant(f"at most {hops} hop{'s' * (hops > 1)}", patches={graph_walk: {"MAX_HOPS": hops}}) for hops in (1, 3)),
    Variant("no short memories that only mention a name", patches=_zero(graph_walk, "MENTIONED_SHARE")),
    Variant("no turns beside, no sitting", patches=_zero(entity_graph, *_BY_TURN)),
    Variant("no documents", patches=_zero(entity_graph, "SAME_DOCUMENT_WEIGHT")),
)
WALKS = (
    Variant("the walk"),
    *(
        Variant(
            f"PageRank, damping {damping:g}, weight {weight:g}",
            patches={entity_graph: {"spread": pagerank(damping, weight)}},
        )
        for damping, weight in ((0.5, 3), (0.85, 1), (0.85, 3), (0.85, 10))
    ),
    Variant("no hops", patches={entity_graph: {"spread": lambda *_: []}}),
)
VARIANTS = (
    *SEEDS,
    Variant("no vectors", signals=_without("vectors")),
    Variant("no words", signals=_without("words")),
    Variant("no times", signals=_without("times")),
    Variant("no words used alike", patches={words: {"related_words": lambda _: ()}}),
    Variant(
        "what is from the time asked for not looked at", patches={fusion: {"_rows_from_asked_time": lambda *_: None}}
    ),
    Variant("what was said after the question counts in full", patches={fusion: {"_FUTURE_TURN_FACTOR": 1.0}}),
    Variant("questions embedded as they stand", patches={fusion: {"in_first_person": lambda text, _: text}}),
    Variant("words and vectors only", signals=["words", "vectors"]),
    Variant("similarity not squared", patches={fusion: {"normalize_scores": _linear}}),
    Variant("equal weights", weights=_EQUAL),
    Variant("fused by reciprocal ranks", patches=_fused_by(reciprocal_ranks)),
    Variant("… with equal weights", weights=_EQUAL, patches=_fused_by(reciprocal_ranks)),
    Variant("fused by min-max sum", patches=_fused_by(min_max_sum)),
    Variant("no boosts", patches=_zero(fusion, "_RECENCY", "_IMPORTANCE")),
)


class Varied:
    """A space that is asked one way, and that others ask too."""

    def __init__(self, remembering: RemanenceSystem, variant: Variant) -> None:
        self._remembering, self._variant = remembering, variant

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        with ExitStack() as stack:
            for module, constants in self._variant.patches.items():
                stack.enter_context(patch.multiple(module, **constants))
            return self._remembering.ask(asked, now, signals=self._variant.signals, weights=self._variant.weights)

    def close(self) -> None:
        """The space is closed when the next world is built."""


def ablations(embedder: Any, variants: Sequence[Variant], reader: Any = None) -> dict[str, SystemFactory]:
    """Every variant of recall; they share a space, which the first one fills."""
    shared: list[tuple[Conversation, RemanenceSystem]] = []

    def build(world: Conversation, variant: Variant) -> Varied:
        if not shared or shared[0][0] is not world:
            while shared:
                shared.pop()[1].close()
            shared.append((world, RemanenceSystem(world, embedder=embedder, reader=reader)))
        return Varied(shared[0][1], variant)

    def builder(variant: Variant) -> Callable[[Conversation], Varied]:
        return lambda world: build(world, variant)

    return {variant.name: builder(variant) for variant in variants}
