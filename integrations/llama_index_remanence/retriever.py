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
    """Returns memories as nodes, best first, with scores from 0 to 1.

    Args:
        space: The space, or a view of it: `RemanenceRetriever(space.as_of("last May"))` answers with what was
            known then.
        limit: How many nodes to return at most.
        during: Return only what was true in this time.
        history: Whether to return superseded and expired versions too; "auto" decides by the question.
        kinds: Return only memories of these kinds.
        tags: Return only memories with all of these tags.
        min_score: Return only hits with at least this score.
        callback_manager: LlamaIndex's callback manager.
        verbose: LlamaIndex's flag.

    Example:
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
        options = self._options | {"vector": query_bundle.embedding}
        return nodes(self._space.recall(query_bundle.query_str, **options))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def nodes(recall: Recall) -> list[NodeWithScore]:
    """Return the hits of a recall as nodes.

    The fields of a memory are in the metadata, which is excluded from the text for models and embedders.
    """
    result = []
    for hit, fields in zip(recall, recall.to_dicts(), strict=True):
        metadata = {name: value for name, value in fields["memory"].items() if name not in ("id", "text")}
        metadata |= {
            "memory_id": hit.memory.id,
            "current": hit.current,
            "superseded_by": fields["superseded_by"],
            "because": hit.because,
            "evidence": fields["evidence"],
            "missing": dict(recall.missing),
        }
        node = TextNode(
            id_=_node_id(hit),
            text=hit.memory.text,
            metadata=metadata,
            excluded_llm_metadata_keys=list(metadata),
            excluded_embed_metadata_keys=list(metadata),
        )
        result.append(NodeWithScore(node=node, score=hit.score))
    return result


def _node_id(hit: Hit) -> str:
    """The id of the memory; a superseded version has an id of its own, as the newest may be returned too."""
    memory = hit.memory
    return memory.id if hit.superseded_by is None else f"{memory.id}@{memory.revised_at.isoformat()}"
