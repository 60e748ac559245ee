"""A space as a LlamaIndex vector store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import fsspec  # type: ignore[import-untyped]  # what LlamaIndex writes files with
import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.simple import DEFAULT_VECTOR_STORE, NAMESPACE_SEP
from llama_index.core.vector_stores.types import (
    DEFAULT_PERSIST_DIR,
    DEFAULT_PERSIST_FNAME,
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from llama_index_remanence.nodes import as_recall_filter, memories_of, store_nodes, stored_node
from llama_index_remanence.retriever import nodes as as_nodes
from llama_index_remanence.space_reference import SpaceAdapter
from remanence import InvalidInput, Memory, Recall, Space
from remanence.adapters import DOCUMENT_FIELD, check_ids, embed_query, embed_texts, in_thread, recall_distinct

_ID_PATH = f"{DOCUMENT_FIELD}.id"
_REF_DOC_PATH = f"{DOCUMENT_FIELD}.details.relationships.1.node_id"
_REF_DOC_NAMES = ("ref_doc_id", "doc_id", "document_id")
"""The names by which filters of LlamaIndex's own stores find the document of a node."""
_MMR_CANDIDATES = 4
"""Of how many times as many candidates MMR chooses."""
_MODES = VectorStoreQueryMode
_OPTIONS_OF_MODE: dict[VectorStoreQueryMode, dict[str, Any]] = {
    _MODES.HYBRID: {},
    _MODES.SEMANTIC_HYBRID: {},
    _MODES.SPARSE: {"signals": ("words",), "reader": "none"},
    _MODES.TEXT_SEARCH: {"signals": ("words",), "reader": "none"},
}
"""The modes that rank by the words of the question, and how each asks `recall`."""


class RemanenceVectorStore(SpaceAdapter, BasePydanticVectorStore):
    """The nodes of a space, for a `StorageContext`, an `IngestionPipeline` or a `VectorStoreIndex`.

    The space embeds texts and questions itself: vectors that nodes bring are not used, and of a query the vector only
    if it has no text. LlamaIndex wants an embedding model all the same: give it `store.embed_model`.

    A node that is added again under its id gets a new version. One that is deleted is forgotten: views of the past
    still have it, and `space.erase` removes its text. A search finds the other memories of the space too, so give the
    store a child to have one of its own: `RemanenceVectorStore(space.child("library"))`.

    The mode of a query says how nodes are ranked. DEFAULT: by similarity of the vectors. MMR: the same, and different
    from each other. HYBRID and SEMANTIC_HYBRID: as `recall` does, by all signals, by time and with the reader; with an
    `alpha`, by words (0) and vectors (1) alone. TEXT_SEARCH and SPARSE: by words.

    Args:
        space: The space.
        location: Where to open the space, in place of `space`; it is opened again after a restart.
        path: The names of the child to use.

    Raises:
        InvalidInput: Neither a space nor a location was given.

    Example:
        >>> import remanence
        >>> from llama_index.core import VectorStoreIndex
        >>> from llama_index.core.schema import TextNode
        >>> with remanence.open(None) as space:
        ...     store = RemanenceVectorStore(space)
        ...     index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
        ...     index.insert_nodes([TextNode(text="Porto has six bridges.", id_="porto")])
        ...     index.as_retriever().retrieve("bridges")[0].node_id
        'porto'
    """

    stores_text: bool = True
    is_embedding_query: bool = False

    __init__ = SpaceAdapter.__init__  # for type checkers

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises it."""
        return "RemanenceVectorStore"

    @property
    def client(self) -> Space:
        """The space."""
        return self.space

    @property
    def embed_model(self) -> BaseEmbedding:
        """The embedder of the space, as an embedding model of LlamaIndex."""
        return _SpaceEmbedding(self.space)

    # LlamaIndex's methods take any keyword. Ours take those that they know: a misspelt one would have no effect.

    def add(self, nodes: Sequence[BaseNode]) -> list[str]:  # type: ignore[override]
        """Store nodes, or new versions of those whose ids are known, and return their ids."""
        return store_nodes(self.space, nodes)

    def delete(self, ref_doc_id: str) -> None:  # type: ignore[override]
        """Forget the nodes of a document."""
        self.space.forget_many(memories_of(self.space, ref_doc_id), why="its document was deleted")

    def delete_nodes(  # type: ignore[override]
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> None:
        """Forget the nodes that have one of these ids and match the filters.

        Raises:
            InvalidInput: Neither is given, or the filters match all nodes; `clear` forgets all nodes.
        """
        if _filter(node_ids, filters) is None:
            given = "neither node_ids nor filters were given" if filters is None else f"filters={filters!r} is empty"
            raise InvalidInput(f"{given}. To forget all nodes, call clear().")
        self.space.forget_many(self._memories(node_ids, filters))

    def clear(self) -> None:
        """Forget all nodes. Memories that were not added as nodes are left alone."""
        self.space.forget_many(self._memories(None, None), why="the vector store was cleared")

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return the nodes that have one of these ids and match the filters, as they were added."""
        found = [stored_node(memory) for memory in self._memories(node_ids, filters)]
        return list({node.node_id: node for node in found if node is not None}.values())

    def query(  # type: ignore[override]
        self,
        query: VectorStoreQuery,
        *,
        mmr_threshold: float | None = None,
        mmr_prefetch_factor: float | None = None,
        mmr_prefetch_k: int | None = None,
    ) -> VectorStoreQueryResult:
        """Return the nodes that answer a query, best first, with scores from 0 to 1.

        Args:
            query: The query; its mode says how nodes are ranked.
            mmr_threshold: For MMR, from 0 (different from each other) to 1 (similar to the query).
            mmr_prefetch_factor: Of how many times as many candidates MMR chooses.
            mmr_prefetch_k: Of how many candidates MMR chooses.

        Raises:
            InvalidInput: The mode is not supported, or the query has neither a text nor a vector.
        """
        if query.mode in (_MODES.DEFAULT, _MODES.MMR):
            vector = self._vector(query)
            candidates = mmr_prefetch_k or (mmr_prefetch_factor or _MMR_CANDIDATES) * query.similarity_top_k
            recall = (
                self._nearest(query, vector, query.similarity_top_k)
                if query.mode is _MODES.DEFAULT
                else self._diverse(query, vector, int(candidates), mmr_threshold)
            )
        else:
            recall = self._recall(query)
        found = {result.node_id: result for result in reversed(as_nodes(recall))}
        results = list(reversed(found.values()))
        return VectorStoreQueryResult(
            nodes=[result.node for result in results],
            similarities=[result.score or 0.0 for result in results],
            ids=[result.node_id for result in results],
        )

    @classmethod
    def from_persist_dir(
        cls,
        persist_dir: str = DEFAULT_PERSIST_DIR,
        namespace: str = DEFAULT_VECTOR_STORE,
        fs: fsspec.AbstractFileSystem | None = None,
    ) -> RemanenceVectorStore:
        """Return the store that a `StorageContext` wrote to this folder."""
        file = PurePosixPath(persist_dir) / f"{namespace}{NAMESPACE_SEP}{DEFAULT_PERSIST_FNAME}"
        return cls.from_persist_path(str(file), fs)

    # mypy compares `self` with that of the base class, which a method that overrides another may narrow.
    async_add = in_thread(add)  # type: ignore[arg-type]
    adelete = in_thread(delete)  # type: ignore[arg-type]
    adelete_nodes = in_thread(delete_nodes)  # type: ignore[arg-type]
    aclear = in_thread(clear)  # type: ignore[arg-type]
    aget_nodes = in_thread(get_nodes)  # type: ignore[arg-type]
    aquery = in_thread(query)  # type: ignore[arg-type]

    def _memories(self, node_ids: Sequence[str] | None, filters: MetadataFilters | None) -> list[Memory]:
        """The memories of nodes."""
        return [memory for memory in self.space.memories(meta=_filter(node_ids, filters)) if stored_node(memory)]

    def _vector(self, query: VectorStoreQuery) -> list[float]:
        if query.query_str:
            return embed_query(self.space, query.query_str)
        if query.query_embedding is None:
            raise InvalidInput("the query has neither query_str nor query_embedding. Give the text to search for.")
        return query.query_embedding

    def _nearest(self, query: VectorStoreQuery, vector: list[float], limit: int) -> Recall:
        # A text without a word that the embedder knows has no direction: what passes the filter is listed.
        return self._distinct(query, "", limit, {"vector": vector} if np.any(vector) else {})

    def _diverse(self, query: VectorStoreQuery, vector: list[float], count: int, threshold: float | None) -> Recall:
        found = self._nearest(query, vector, max(count, query.similarity_top_k))
        _, places = get_top_k_mmr_embeddings(
            vector,
            embed_texts(self.space, [hit.memory.text for hit in found]),
            similarity_fn=_cosine,
            similarity_top_k=query.similarity_top_k,
            mmr_threshold=threshold if query.mmr_threshold is None else query.mmr_threshold,
        )
        return replace(found, hits=tuple(found[place] for place in places))

    def _recall(self, query: VectorStoreQuery) -> Recall:
        options = _OPTIONS_OF_MODE.get(query.mode)
        if options is None:
            known = ", ".join(mode.value for mode in (_MODES.DEFAULT, _MODES.MMR, *_OPTIONS_OF_MODE))
            raise InvalidInput(f"the mode {query.mode.value!r} is not supported. The modes are {known}.")
        if not query.query_str:
            raise InvalidInput(f"a query of mode {query.mode.value!r} needs query_str, the text to search for.")
        limit = query.similarity_top_k
        if query.mode in (_MODES.HYBRID, _MODES.SEMANTIC_HYBRID):
            limit = query.hybrid_top_k or limit
            if query.alpha is not None:
                weights = {"words": 1 - query.alpha, "vectors": query.alpha}
                options = {"signals": tuple(weights), "weights": weights, "reader": "none"}
        elif query.mode is _MODES.SPARSE:
            limit = query.sparse_top_k or limit
        return self._distinct(query, query.query_str, limit, options)

    def _distinct(self, query: VectorStoreQuery, text: str, limit: int, options: dict[str, Any]) -> Recall:
        # A vector store returns the nearest, however far away they are.
        return recall_distinct(
            self.space,
            text,
            limit=limit,
            source=query.doc_ids or None,
            meta=_filter(query.node_ids or None, query.filters),  # VectorStoreIndex gives [] for all
            history=False,
            min_score=0.0,
            **options,
        )


class _SpaceEmbedding(BaseEmbedding):
    """The embedder of a space as LlamaIndex's."""

    _space: Space = PrivateAttr()

    def __init__(self, space: Space) -> None:
        super().__init__(model_name="remanence")
        self._space = space

    @classmethod
    def class_name(cls) -> str:
        return "RemanenceSpaceEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return embed_query(self._space, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        # Metadata and text apart: the store asks for the vector of the same text next, which is then known.
        parts = [_metadata_and_text(text) for text in texts]
        vectors = iter(embed_texts(self._space, [part for text_parts in parts for part in text_parts]))
        return [_mean([next(vectors) for _ in text_parts], text_parts) for text_parts in parts]

    _aget_query_embedding = in_thread(_get_query_embedding)
    _aget_text_embedding = in_thread(_get_text_embedding)
    _aget_text_embeddings = in_thread(_get_text_embeddings)


def _metadata_and_text(embedded: str) -> list[str]:
    """The metadata and the text of a node, where LlamaIndex has put them together; else the text alone."""
    metadata, _, text = embedded.partition("\n\n")
    has_both = bool(text) and all(": " in line for line in metadata.splitlines())
    return [metadata, text] if has_both else [embedded]


def _mean(vectors: Sequence[list[float]], texts: Sequence[str]) -> list[float]:
    """The vector of some texts together, by their lengths."""
    mean: list[float] = np.average(vectors, axis=0, weights=[len(text) or 1 for text in texts]).tolist()
    return mean


def _filter(node_ids: Sequence[str] | None, filters: MetadataFilters | None) -> dict[str, Any] | None:
    """A filter of `recall` for the ids of nodes and filters of LlamaIndex."""
    check_ids(node_ids)
    renamed = _with_document_path(filters) if isinstance(filters, MetadataFilters) else filters
    parts = [] if node_ids is None else [{_ID_PATH: {"$in": list(node_ids)}}]
    parts += [part for part in [as_recall_filter(renamed)] if part]
    return {"$and": parts} if parts else None


def _with_document_path(filters: MetadataFilters) -> MetadataFilters:
    """The filters with the place where the document of a node is stored in place of its names."""
    parts: list[MetadataFilter | MetadataFilters] = []
    for part in filters.filters:
        if isinstance(part, MetadataFilters):
            parts.append(_with_document_path(part))
        else:
            parts.append(part.model_copy(update={"key": _REF_DOC_PATH}) if part.key in _REF_DOC_NAMES else part)
    return filters.model_copy(update={"filters": parts})


def _cosine(first: Sequence[float], second: Sequence[float]) -> float:
    length = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.dot(first, second)) / length if length else 0.0
