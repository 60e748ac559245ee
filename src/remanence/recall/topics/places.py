"""To which topic of a table a memory belongs: to the one with the question that it is nearest to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from remanence.models.embedders import sentence_embedder
from remanence.recall.told import rounded

if TYPE_CHECKING:
    from remanence.recall.told import Key, Told
    from remanence.recall.topics import Topic

_MAX_CACHED = 20_000
"""How many memories are kept with their topics."""


class TopicPlaces:
    """The topic of each memory in one table; each is looked up once."""

    def __init__(self, topics: Sequence[Topic]) -> None:
        embed = sentence_embedder().embed_query
        self._questions = rounded(np.array([embed(question) for topic in topics for question in topic.questions]))
        self._topic_of = [number for number, topic in enumerate(topics) for _ in topic.questions]
        self._known: dict[Key, tuple[int, float]] = {}

    def of(self, told: Sequence[Told]) -> list[tuple[int, float]]:
        """For each memory the number of its topic, and how near it is to that."""
        if len(self._known) > _MAX_CACHED:
            self._known.clear()
        if new := [each for each in told if each.key not in self._known]:
            nearness = np.stack([each.rounded for each in new]) @ self._questions.T
            for each, question, near in zip(new, nearness.argmax(axis=1).tolist(), nearness.max(axis=1), strict=True):
                self._known[each.key] = self._topic_of[question], float(near)
        return [self._known[each.key] for each in told]
