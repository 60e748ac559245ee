"""Recall as a LangChain retriever, for RAG pipelines."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import BeforeValidator, ConfigDict, Field, SkipValidation

from langchain_remanence.documents import as_documents, recall_options, store_documents
from remanence import View
from remanence.adapters import recall_distinct, require_space, require_view


class RemanenceRetriever(BaseRetriever):
    """The memories of a space, or of a view of it, that answer a question.

    Every filter can be set here and overridden in a call: `retriever.invoke("...", k=3, during="May 2026")`.

    Args:
        space: The space, or a view of it.
        k: How many documents to return at most. The name is LangChain's.
        kinds: Return only memories of these kinds.
        memory_tags: Return only memories with all of these tags. In a call `tags` means the same; in the
            constructor `tags` is LangChain's own field, for tracing.
        source: Return only what comes from this source, or one of several.
        speaker: Return only what this person said, or one of several.
        conversation: Return only turns of this conversation, or of one of several, and facts found in them.
        filter: Return only documents and memories with these metadata, as `meta` of `recall`:
            `{"lang": "pt", "page": {"$gte": 3}}`.
        during: Return only what was true in this time.
        as_of: Answer with what was known at this moment.
        min_score: Return only hits with at least this score.
        history: Whether to return superseded and expired versions too; "auto" decides by the question.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     retriever = RemanenceRetriever(space=space, k=1)
        ...     _ = retriever.add_documents([Document("Alice lives in Porto.", metadata={"page": 3})])
        ...     found = retriever.invoke("Where does Alice live?", filter={"page": 3})
        ...     found[0].page_content, found[0].metadata["page"]
        ('Alice lives in Porto.', 3)
    """

    model_config = ConfigDict(extra="forbid")  # a misspelt filter would have no effect

    space: Annotated[View, SkipValidation, BeforeValidator(require_view)]
    k: int = Field(default=10, ge=1)
    kinds: str | Sequence[str] | None = None
    memory_tags: str | Sequence[str] | None = None
    source: str | Sequence[str] | None = None
    speaker: str | Sequence[str] | None = None
    conversation: str | Sequence[str] | None = None
    filter: dict[str, Any] | None = None
    during: Any = None
    as_of: Any = None
    min_score: float | None = None
    history: bool | Literal["auto"] = "auto"

    def add_documents(self, documents: Sequence[Document], ids: Sequence[str | None] | None = None) -> list[str]:
        """Add documents to the space, or new versions of them, and return their ids.

        Args:
            documents: The documents. Their metadata can be filtered by; `source` is the source of the memory. A
                document without an id gets one made of its text and metadata.
            ids: Ids in place of the documents' own.
        """
        return store_documents(require_space(self.space), documents, ids)

    async def aadd_documents(self, documents: Sequence[Document], ids: Sequence[str | None] | None = None) -> list[str]:
        """`add_documents` in a worker thread, for use with asyncio."""
        return await asyncio.to_thread(self.add_documents, documents, ids)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        memory_tags: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        as_of: Any = None,
        kinds: str | Sequence[str] | None = None,
        during: Any = None,
        min_score: float | None = None,
        history: bool | Literal["auto"] | None = None,
        source: str | Sequence[str] | None = None,
        speaker: str | Sequence[str] | None = None,
        conversation: str | Sequence[str] | None = None,
        filter: dict[str, Any] | None = None,
    ) -> list[Document]:
        def setting(in_call: Any, in_constructor: Any) -> Any:
            return in_constructor if in_call is None else in_call

        moment = setting(as_of, self.as_of)
        view = self.space if moment is None else self.space.as_of(moment)
        recall = recall_distinct(
            view,
            query,
            limit=setting(k, self.k),
            kinds=setting(kinds, self.kinds),
            tags=setting(memory_tags, setting(tags, self.memory_tags)),
            during=setting(during, self.during),
            min_score=setting(min_score, self.min_score),
            history=setting(history, self.history),
            **recall_options(
                setting(filter, self.filter),
                source=setting(source, self.source),
                speaker=setting(speaker, self.speaker),
                conversation=setting(conversation, self.conversation),
            ),
        )
        return as_documents(recall)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        # LangChain's own variant drops the options of the call.
        return await asyncio.to_thread(
            self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **options
        )
