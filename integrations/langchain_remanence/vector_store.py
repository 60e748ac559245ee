"""A space as a LangChain vector store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import repeat
from typing import Any, ClassVar

import numpy as np
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from langchain_core.vectorstores.utils import maximal_marginal_relevance

import remanence
from langchain_remanence.documents import as_document, recall_options, store_documents
from remanence import InvalidInput, Recall, Space, View
from remanence.adapters import (
    embed_query,
    embed_texts,
    find_documents,
    in_thread,
    recall_distinct,
    require_space,
    require_view,
    stored_document,
)

_RANKING_OPTIONS = ("signals", "weights", "context", "vector")
"""Options of `recall` that say how to rank. A search by similarity has no use for them."""
_NOT_GIVEN: Any = object()
"""What `delete` has in place of an argument that was left out. None may come from a variable that was never set."""


class RemanenceVectorStore(VectorStore):
    """The documents of a space, ranked by similarity: of the vectors, by the embedder of the space.

    `search_type="recall"` of `search` and `as_retriever` ranks as `recall` does, by all signals, by time and with the
    reader.

    It searches the whole space: memories that were stored in another way are found too, as documents with the id of the
    memory. For a store of its own use a child: `RemanenceVectorStore(space.child("documents"))`.

    A document that is added again under its id gets a new version. One that is deleted is forgotten: views of the past
    still have it, and `space.erase` removes its text.

    Args:
        space: The space; a view of the past can be searched, but not written to. None opens a new one.
        embedding: The embedder of a new space; None for the one that comes with the package.
        **options: Arguments of `remanence.open` for a new space, such as `location`; by default it is gone with the
            process. `store.space.close()` closes it.

    Raises:
        InvalidInput: `space` is no space, or a space and an embedding are given.

    Example:
        >>> import remanence
        >>> from langchain_core.documents import Document
        >>> with remanence.open(None) as space:
        ...     store = RemanenceVectorStore(space)
        ...     _ = store.add_documents([Document("Porto has six bridges.", metadata={"page": 3})])
        ...     store.similarity_search("bridges", filter={"page": {"$gte": 3}})[0].metadata
        {'page': 3}
    """

    def __init__(self, space: View | None = None, *, embedding: Embeddings | None = None, **options: Any) -> None:
        if space is None:
            space = remanence.open(options.pop("location", None), embedder=embedding, **options)
        elif embedding is not None:
            raise InvalidInput(
                "a space and an embedding are given, and the space has an embedder of its own. Give embedding=None, "
                "or open the space with it: remanence.open(location, embedder=embedding)."
            )
        elif options:
            raise InvalidInput(
                f"{', '.join(options)} given with a space that is open already. Give such options to remanence.open, "
                "or give no space."
            )
        self.space = require_view(space)

    @property
    def embeddings(self) -> Embeddings:
        """The embedder of the space."""
        return _SpaceEmbeddings(self.space)

    # LangChain's methods take any keyword. Ours take those that they know: a misspelt one would have no effect.

    def add_documents(  # type: ignore[override]
        self,
        documents: list[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> list[str]:
        """Add documents, or new versions of them, and return their ids.

        Args:
            documents: The documents. One without an id gets one made of its text and metadata.
            ids: Ids in place of the documents' own.
            batch_size: Not used: all documents are one batch. LangChain's `index` gives it.
            progress: True shows a progress bar; a function is called with (done, total).

        Raises:
            InvalidInput: A document has no text. Nothing is stored.
        """
        return store_documents(require_space(self.space), documents, ids, progress=progress)

    def add_texts(  # type: ignore[override]
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
    ) -> list[str]:
        """Add texts as documents and return their ids."""
        given = list(texts)
        if metadatas is not None and len(metadatas) != len(given):
            raise InvalidInput(f"there are {len(metadatas)} metadatas for {len(given)} texts. Give one for each.")
        pairs = zip(given, metadatas or repeat({}), strict=False)
        return self.add_documents([Document(text, metadata=metadata or {}) for text, metadata in pairs], ids=ids)

    def delete(  # type: ignore[override]
        self, ids: Sequence[str] | None = _NOT_GIVEN, *, filter: dict[str, Any] | None = _NOT_GIVEN
    ) -> bool:
        """Forget documents. Ids that do not exist are skipped.

        `delete()` without any argument forgets all documents. Memories that were not added as documents are then left
        alone, as they are by a filter.

        Args:
            ids: The ids.
            filter: Only documents with these metadata, as for a search.

        Raises:
            InvalidInput: What is given chooses nothing: `ids=None`, or an empty filter.
        """
        space = require_space(self.space)
        chosen_ids = None if ids is _NOT_GIVEN else ids
        metadata = None if filter is _NOT_GIVEN else filter
        given = {name: value for name, value in {"ids": ids, "filter": filter}.items() if value is not _NOT_GIVEN}
        if given and chosen_ids is None and not metadata:
            raise InvalidInput(
                f"delete was given {given}, which chooses no documents. Give ids, or a filter such as {{'page': 3}}. "
                "delete() without arguments forgets all documents."
            )
        if chosen_ids is None:
            found = [memory for memory in space.memories(meta=metadata) if stored_document(memory) is not None]
        else:
            found = find_documents(space, chosen_ids)
        if chosen_ids is not None and metadata:
            matching = {memory.id for memory in space.memories(meta=metadata)}
            found = [memory for memory in found if memory.id in matching]
        space.forget_many(found)
        return True

    adelete = in_thread(delete)  # type: ignore[arg-type]

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids, in this order; those that do not exist are left out."""
        return [as_document(memory) for memory in find_documents(self.space, ids)]

    def similarity_search(
        self, query: str, k: int = 4, filter: dict[str, Any] | None = None, **options: Any
    ) -> list[Document]:
        """Return the most similar documents.

        Args:
            query: The text to compare with.
            k: How many documents to return at most.
            filter: Only documents with these metadata, as `meta` of `recall`: `{"page": {"$gte": 3}}`.
            **options: Other filters of `recall`: `source`, `tags`, `during`, `min_score`...

        Raises:
            InvalidInput: An option says how to rank, such as `weights`.
        """
        return [document for document, _ in self.similarity_search_with_score(query, k, filter, **options)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: dict[str, Any] | None = None, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the most similar documents, each with its similarity from 0 to 1 (higher is nearer)."""
        found = self._nearest(embed_query(self.space, query), k, filter, options)
        return [(as_document(hit.memory), hit.score) for hit in found]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: dict[str, Any] | None = None, **options: Any
    ) -> list[Document]:
        """Return the documents that are nearest to a vector."""
        return [as_document(hit.memory) for hit in self._nearest(embedding, k, filter, options)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: dict[str, Any] | None = None,
        **options: Any,
    ) -> list[Document]:
        """Return documents that are similar and differ from each other, chosen among the `fetch_k` most similar."""
        vector = embed_query(self.space, query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter, **options)

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
        found = self._nearest(embedding, fetch_k, filter, options)
        vectors = embed_texts(self.space, [hit.memory.text for hit in found])
        chosen = maximal_marginal_relevance(np.array(embedding), vectors, lambda_mult=lambda_mult, k=k)
        return [as_document(found[place].memory) for place in chosen]

    def search(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """Return documents by a type of search.

        Args:
            query: The question.
            search_type: LangChain's "similarity", "similarity_score_threshold" or "mmr"; or "recall", which returns
                what answers best by all signals, by time and with the reader.
            **kwargs: `k`, `filter`, and the options of the search; for "recall" those of `recall`.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     store = RemanenceVectorStore.from_texts(["Ana moved to Rome in May.", "Rome is old."], space=space)
            ...     store.search("When did Ana move?", "recall", k=1)[0].page_content
            'Ana moved to Rome in May.'
        """
        return (
            self._recall(query, **kwargs) if search_type == "recall" else super().search(query, search_type, **kwargs)
        )

    async def asearch(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        """As `search`, without blocking the event loop."""
        return await asyncio.to_thread(self.search, query, search_type, **kwargs)

    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """Return LangChain's retriever for this store.

        Args:
            **kwargs: `search_type`, as for `search`, `search_kwargs`, and the other fields of a `VectorStoreRetriever`.
        """
        tags = kwargs.pop("tags", None) or self._get_retriever_tags()
        if unknown := sorted(kwargs.keys() - _Retriever.model_fields.keys()):
            raise TypeError(
                f"as_retriever() got an unexpected keyword argument {unknown[0]!r}. Options of the search go into "
                f"search_kwargs: store.as_retriever(search_kwargs={{{unknown[0]!r}: ...}})."
            )
        return _Retriever(vectorstore=self, tags=tags, **kwargs)

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
        store = cls(space, embedding=embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls, texts: list[str], embedding: Embeddings | None = None, *args: Any, **kwargs: Any
    ) -> RemanenceVectorStore:
        """As `from_texts`, without blocking the event loop."""
        return await asyncio.to_thread(cls.from_texts, texts, embedding, *args, **kwargs)

    @classmethod
    def from_documents(
        cls,
        documents: list[Document],
        embedding: Embeddings | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        space: Space | None = None,
        **kwargs: Any,
    ) -> RemanenceVectorStore:
        """Make a vector store of documents.

        Args:
            documents: The documents.
            embedding: The embedder of a new space, as for `from_texts`.
            ids: Ids in place of the documents' own.
            space: The space to add them to.
            **kwargs: Arguments of `remanence.open` for a new space.

        Raises:
            InvalidInput: Both a space and an embedding are given.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     store = RemanenceVectorStore.from_documents([Document("Porto has six bridges.")], space=space)
            ...     space.count()
            1
        """
        store = cls(space, embedding=embedding, **kwargs)
        store.add_documents(documents, ids=ids)
        return store

    @classmethod
    async def afrom_documents(
        cls, documents: list[Document], embedding: Embeddings | None = None, **kwargs: Any
    ) -> RemanenceVectorStore:
        """As `from_documents`, without blocking the event loop."""
        return await asyncio.to_thread(cls.from_documents, documents, embedding, **kwargs)

    def _nearest(self, vector: list[float], k: int, filter: dict[str, Any] | None, options: dict[str, Any]) -> Recall:
        if given := [name for name in _RANKING_OPTIONS if name in options]:
            raise InvalidInput(
                f"{given[0]}= says how to rank, and this search ranks by similarity. Leave it out, or rank as `recall` "
                'does: store.search(query, "recall"), store.as_retriever(search_type="recall").'
            )
        # A text without a word that the embedder knows has no direction: what passes the filter is listed.
        chosen = {"vector": vector} if np.any(vector) else {}
        return self._distinct("", k, filter, {**options, **chosen})

    def _recall(self, query: str, k: int = 4, filter: dict[str, Any] | None = None, **options: Any) -> list[Document]:
        return [as_document(hit.memory) for hit in self._distinct(query, k, filter, options)]

    def _distinct(self, query: str, k: int, filter: dict[str, Any] | None, options: dict[str, Any]) -> Recall:
        # A vector store returns the k nearest, however far away they are.
        return recall_distinct(
            self.space, query, limit=k, **recall_options(filter, **{"history": False, "min_score": 0.0, **options})
        )

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: score  # it is from 0 to 1 already


class _Retriever(VectorStoreRetriever):
    """LangChain's retriever, with `search_type="recall"` besides its own."""

    allowed_search_types: ClassVar[Collection[str]] = (*VectorStoreRetriever.allowed_search_types, "recall")

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return self.vectorstore.search(query, self.search_type, **self.search_kwargs | kwargs)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        return await self.vectorstore.asearch(query, self.search_type, **self.search_kwargs | kwargs)


class _SpaceEmbeddings(Embeddings):
    """The embedder of a space as LangChain's."""

    def __init__(self, space: View) -> None:
        self._space = space

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed_texts(self._space, texts)

    def embed_query(self, text: str) -> list[float]:
        return embed_query(self._space, text)
