"""Recall as a LlamaIndex retriever, for query engines, postprocessors and retriever tools."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import BaseNode, Document, NodeWithScore, QueryBundle, TextNode, TransformComponent
from llama_index.core.vector_stores.types import MetadataFilters

from llama_index_remanence.nodes import (
    as_recall_filter,
    memories_of,
    node_id,
    space_or_new,
    store_documents,
    store_nodes,
    stored_node,
)
from remanence import Hit, Recall, Space, View
from remanence.adapters import check_filters, dated_text, in_thread, recall_distinct, require_space, require_view


class RemanenceRetriever(BaseRetriever):
    """Returns memories as nodes, best first, with scores from 0 to 1.

    Args:
        space: The space, or a view of it: `RemanenceRetriever(space.as_of("last May"))` answers with what was
            known then.
        limit: How many nodes to return at most.
        similarity_top_k: The same, as LlamaIndex's retrievers call it.
        during: Return only what was true in this time.
        history: Whether to return superseded and expired versions too; "auto" decides by the question.
        kinds: Return only memories of these kinds.
        tags: Return only memories with all of these tags.
        source: Return only nodes of this document (its id), or what comes from this source; or of one of several.
        speaker: Return only what this person said, or one of several.
        conversation: Return only turns of this conversation, or of one of several, and facts found in them.
        filters: Return only nodes and memories with these metadata: LlamaIndex's `MetadataFilters`, or a dict as
            `meta` of `recall`.
        min_score: Return only hits with at least this score.
        dated: Whether the text of what was said or noted begins with its day and its speaker, which are in the metadata
            in any case.
        callback_manager: LlamaIndex's callback manager.
        verbose: LlamaIndex's flag.
        **others: Other options of `recall`, such as `min_trust`, `reader` and `deadline`.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     retriever = RemanenceRetriever(space, limit=3)
        ...     _ = retriever.add_nodes([TextNode(text="Alice drinks green tea.", id_="tea")])
        ...     found = retriever.retrieve("What does Alice drink?")[0]
        ...     found.text, found.node_id
        ('Alice drinks green tea.', 'tea')
    """

    def __init__(
        self,
        space: View,
        *,
        limit: int = 10,
        similarity_top_k: int | None = None,
        during: Any = None,
        history: bool | Literal["auto"] = "auto",
        kinds: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        source: str | Sequence[str] | None = None,
        speaker: str | Sequence[str] | None = None,
        conversation: str | Sequence[str] | None = None,
        filters: MetadataFilters | dict[str, Any] | None = None,
        min_score: float | None = None,
        dated: bool = False,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **others: Any,
    ) -> None:
        check_filters(others)
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._space, self._dated = require_view(space), dated
        self._options: dict[str, Any] = {
            "limit": limit if similarity_top_k is None else similarity_top_k,
            "during": during,
            "history": history,
            "kinds": kinds,
            "tags": tags,
            "source": source,
            "speaker": speaker,
            "conversation": conversation,
            "meta": as_recall_filter(filters),
            "min_score": min_score,
            **others,
        }

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        *,
        space: Space | None = None,
        transformations: Sequence[TransformComponent] | None = None,
        show_progress: bool = False,
        **options: Any,
    ) -> RemanenceRetriever:
        """Split documents into nodes, store them, and make a retriever.

        A document whose id is known is replaced.

        Args:
            documents: The documents.
            space: Where to store them; None for a new space that is deleted with the process, which is logged.
            transformations: How documents are split; None for those of LlamaIndex's `Settings`.
            show_progress: Whether progress bars are shown.
            **options: Arguments of the constructor.
        """
        retriever = cls(space_or_new(space), **options)
        store_documents(require_space(retriever._space), documents, transformations, show_progress=show_progress)
        return retriever

    def add_nodes(self, nodes: Sequence[BaseNode]) -> list[str]:
        """Store nodes, or new versions of those whose ids are known, and return their ids."""
        return store_nodes(require_space(self._space), nodes)

    def delete_ref_doc(self, ref_doc_id: str) -> int:
        """Forget the nodes of a document, and return how many there were. Nodes of other documents stay."""
        space = require_space(self._space)
        return space.forget_many(memories_of(space, ref_doc_id), why="its document was deleted")

    aadd_nodes = in_thread(add_nodes)
    adelete_ref_doc = in_thread(delete_ref_doc)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options = self._options | {"vector": query_bundle.embedding}
        return nodes(recall_distinct(self._space, query_bundle.query_str, **options), dated=self._dated)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def nodes(recall: Recall, *, dated: bool = False) -> list[NodeWithScore]:
    """Return the hits of a recall as nodes.

    A node that was added comes back as it was given. For other memories the fields of the memory are in the metadata,
    which is excluded from the text for models and embedders.
    """
    result = []
    for hit, fields in zip(recall, recall.to_dicts(), strict=True):
        if (own := stored_node(hit.memory)) is not None:
            own.id_ = _node_id(hit, recall)
            result.append(NodeWithScore(node=own, score=hit.score))
            continue
        metadata = {name: value for name, value in fields["memory"].items() if name not in ("id", "text")}
        metadata |= {
            "memory_id": hit.memory.id,
            "current": hit.current,
            "superseded_by": fields["superseded_by"],
            "reason": hit.reason,
            "evidence": fields["evidence"],
            "missing": dict(recall.missing),
        }
        node = TextNode(
            id_=_node_id(hit, recall),
            text=dated_text(hit.memory) if dated else hit.memory.text,
            metadata=metadata,
            excluded_llm_metadata_keys=list(metadata),
            excluded_embed_metadata_keys=list(metadata),
        )
        result.append(NodeWithScore(node=node, score=hit.score))
    return result


def _node_id(hit: Hit, recall: Recall) -> str:
    """The id of the node or memory; an old version has an id of its own, as the newest may be returned too."""
    memory = hit.memory
    others = [other.memory for other in recall]
    if hit.superseded_by is not None:
        others.append(hit.superseded_by)
    is_old_version = any(other.id == memory.id and other.revised_at > memory.revised_at for other in others)
    return f"{node_id(memory)}@{memory.revised_at.isoformat()}" if is_old_version else node_id(memory)
