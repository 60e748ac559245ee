"""Recall as a LlamaIndex retriever, for query engines, postprocessors and retriever tools."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from remanence import Hit, Recall, View


class RemanenceRetriever(BaseRetriever):
    """Memories as nodes, best first, scored from 0 to 1.

    Give it a space, or a view of one: `RemanenceRetriever(space.as_of("last May"))` answers with what was
    known then. The other arguments are those of `recall`.

    >>> import remanence
    >>> with remanence.open(None) as space:
    ...     _ = space.add("Alice drinks green tea.")
    ...     RemanenceRetriever(space, limit=3).retrieve("What does Alice drink?")[0].text
    'Alice drinks green tea.'
    """

    def __init__(
        self,
        space: View,
        *,
        limit: int = 10,
        during: Any = None,
        history: bool | Literal["auto"] = "auto",
        kinds: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        min_score: float | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._space = space
        self._options: dict[str, Any] = {
            "limit": limit,
            "during": during,
            "history": history,
            "kinds": kinds,
            "tags": tags,
            "min_score": min_score,
        }

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        given = self._options | {"vector": query_bundle.embedding}
        return nodes(self._space.recall(query_bundle.query_str, **given))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def nodes(answer: Recall) -> list[NodeWithScore]:
    """The hits of an answer as nodes. What is known of a memory is metadata, and no part of the text that a
    model or an embedder reads."""
    out = []
    for hit, plain in zip(answer, answer.to_dicts(), strict=True):
        memory = plain["memory"]
        metadata = {name: value for name, value in memory.items() if name not in ("id", "text")}
        metadata |= {
            "memory_id": hit.memory.id,
            "current": hit.current,
            "superseded_by": plain["superseded_by"],
            "because": hit.because,
            "evidence": plain["evidence"],
            "missing": dict(answer.missing),
        }
        node = TextNode(
            id_=_node_id(hit),
            text=hit.memory.text,
            metadata=metadata,
            excluded_llm_metadata_keys=list(metadata),
            excluded_embed_metadata_keys=list(metadata),
        )
        out.append(NodeWithScore(node=node, score=hit.score))
    return out


def _node_id(hit: Hit) -> str:
    """The id of the memory; an older version of it, which may stand beside the newest, has one of its own."""
    memory = hit.memory
    return memory.id if hit.superseded_by is None else f"{memory.id}@{memory.revised_at.isoformat()}"
