"""A space as a LangChain vector store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

import remanence
from langchain_remanence.documents import as_document, recall_options, store_documents
from remanence import InvalidInput, Recall, Space, View
from remanence.adapters import (
    embed_query,
    embed_texts,
    find_documents,
    recall_distinct,
    require_space,
    require_view,
    stored_document,
)


class RemanenceVectorStore(VectorStore):
    """The documents of a space. They are ranked as `recall` ranks, not by their vectors alone.

    It searches the whole space: memories that were stored in another way are found too, as documents with the id of the
    memory. For a store of its own use a child: `RemanenceVectorStore(space.child("documents"))`.

    A document that is added again under its id gets a new version. One that is deleted is forgotten: views of the past
    still have it, and `space.erase` removes its text.

    Args:
        space: The space; a view of the past can be searched, but not written to.

    Example:
        >>> import remanence
        >>> from langchain_core.documents import Document
        >>> with remanence.open(None) as space:
        ...     store = RemanenceVectorStore(space)
        ...     _ = store.add_documents([Document("Porto has six bridges.", metadata={"page": 3})])
        ...     store.similarity_search("bridges", filter={"page": {"$gte": 3}})[0].metadata
        {'page': 3}
    """

    def __init__(self, space: View) -> None:
        self.space = require_view(space)

    @property
    def embeddings(self) -> Embeddings:
        """The embedder of the space."""
        return _SpaceEmbeddings(self.space)

    def add_documents(
        self, documents: list[Document], *, ids: Sequence[str | None] | None = None, **kwargs: Any
    ) -> list[str]:
        """Add documents, or new versions of them, and return their ids.

        Args:
            documents: The documents. One without an id gets one made of its text and metadata.
            ids: Ids in place of the documents' own.
            **kwargs: Ignored; LangChain's `index` gives `batch_size`.
        """
        return store_documents(require_space(self.space), documents, ids)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts as documents and return their ids."""
        given = list(texts)
        if metadatas is not None and len(metadatas) != len(given):
            raise InvalidInput(f"there are {len(metadatas)} metadatas for {len(given)} texts. Give one for each.")
        pairs = zip(given, metadatas or repeat({}), strict=False)
        return self.add_documents([Document(text, metadata=metadata or {}) for text, metadata in pairs], ids=ids)

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Forget documents. Ids that do not exist are skipped.

        Args:
            ids: The ids; None for all documents. Memories that were not added as documents are then left alone.
            **kwargs: Ignored.
        """
        space = require_space(self.space)
        if ids is None:
            found = [memory for memory in space.memories() if stored_document(memory) is not None]
        else:
            found = find_documents(space, ids)
        space.forget_many(found)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids, in this order; those that do not exist are left out."""
        return [as_document(memory) for memory in find_documents(self.space, ids)]

    def similarity_search(
        self, query: str, k: int = 4, filter: dict[str, Any] | None = None, **options: Any
    ) -> list[Document]:
        """Return the documents that answer best.

        Args:
            query: The question.
            k: How many documents to return at most.
            filter: Only documents with these metadata, as `meta` of `recall`: `{"page": {"$gte": 3}}`.
            **options: Other options of `recall`: `source`, `tags`, `during`, `min_score`...
        """
        return [as_document(hit.memory) for hit in self._recall(query, k, filter, options)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: dict[str, Any] | None = None, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the documents that answer best, each with its score from 0 to 1 (higher is better)."""
        return [(as_document(hit.memory), hit.score) for hit in self._recall(query, k, filter, options)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: dict[str, Any] | None = None, **options: Any
    ) -> list[Document]:
        """Return the documents that are nearest to a vector. Nothing but vectors is compared."""
        found = self._recall("", k, filter, {"vector": embedding, "signals": ["vectors"], **options})
        return [as_document(hit.memory) for hit in found]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: dict[str, Any] | None = None,
        **options: Any,
    ) -> list[Document]:
        """Return documents that answer and differ from each other, chosen among the `fetch_k` best."""
        found = self.similarity_search(query, fetch_k, filter, **options)
        return self._diverse(embed_query(self.space, query), found, k, lambda_mult)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: dict[str, Any] | None = None,
        **options: Any,
    ) -> list[Document]:
        """Return documents that are near a vector and differ from each other."""
        found = self.similarity_search_by_vector(embedding, fetch_k, filter, **options)
        return self._diverse(embedding, found, k, lambda_mult)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        space: Space | None = None,
        **kwargs: Any,
    ) -> RemanenceVectorStore:
        """Make a vector store of texts.

        Args:
            texts: The texts.
            embedding: The embedder of a new space; None for the one that comes with the package.
            metadatas: The metadata of each text.
            ids: The id of each text.
            space: The space to add them to. It has an embedder already, so `embedding` has to be None.
            **kwargs: Arguments of `remanence.open` for a new space, such as `location`; by default it is gone with the
                process.

        Raises:
            InvalidInput: Both a space and an embedding are given.
        """
        if space is None:
            space = remanence.open(kwargs.pop("location", None), embedder=embedding, **kwargs)
        elif embedding is not None:
            raise InvalidInput(
                "a space and an embedding are given, and the space has an embedder of its own. Give embedding=None, or "
                "open the space with it: remanence.open(location, embedder=embedding)."
            )
        store = cls(space)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _recall(self, query: str, k: int, filter: dict[str, Any] | None, options: dict[str, Any]) -> Recall:
        # A vector store returns the k nearest, however far away they are.
        return recall_distinct(
            self.space, query, limit=k, **recall_options(filter, **{"history": False, "min_score": 0.0, **options})
        )

    def _diverse(self, embedding: list[float], found: list[Document], k: int, lambda_mult: float) -> list[Document]:
        vectors = embed_texts(self.space, [document.page_content for document in found])
        chosen = maximal_marginal_relevance(np.array(embedding), vectors, lambda_mult=lambda_mult, k=k)
        return [found[place] for place in chosen]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: score  # it is from 0 to 1 already


class _SpaceEmbeddings(Embeddings):
    """The embedder of a space as LangChain's."""

    def __init__(self, space: View) -> None:
        self._space = space

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed_texts(self._space, texts)

    def embed_query(self, text: str) -> list[float]:
        return embed_query(self._space, text)
