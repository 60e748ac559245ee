"""Recall as a LangChain retriever, for RAG pipelines."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, SkipValidation

from remanence import Recall, View


class RemanenceRetriever(BaseRetriever):
    """The memories of a space, or of a view of it, that answer a question.

    Every filter can be set here and overridden in a call: `retriever.invoke("...", k=3, during="May 2026")`.

    Args:
        space: The space, or a view of it.
        k: How many documents to return at most. The name is LangChain's.
        kinds: Return only memories of these kinds.
        memory_tags: Return only memories with all of these tags. In a call `tags` means the same; in the
            constructor `tags` is LangChain's own field, for tracing.
        during: Return only what was true in this time.
        as_of: Answer with what was known at this moment.
        min_score: Return only hits with at least this score.
        history: Whether to return superseded and expired versions too; "auto" decides by the question.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice lives in Porto.", source="email")
        ...     found = RemanenceRetriever(space=space, k=1).invoke("Where does Alice live?")
        ...     found[0].page_content, found[0].metadata["source"]
        ('Alice lives in Porto.', 'email')
    """

    model_config = ConfigDict(extra="forbid")  # a misspelt filter would have no effect

    space: SkipValidation[View]
    k: int = 10
    kinds: str | Sequence[str] | None = None
    memory_tags: str | Sequence[str] | None = None
    during: Any = None
    as_of: Any = None
    min_score: float | None = None
    history: bool | Literal["auto"] = "auto"

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
    ) -> list[Document]:
        def setting(in_call: Any, in_constructor: Any) -> Any:
            return in_constructor if in_call is None else in_call

        moment = setting(as_of, self.as_of)
        view = self.space if moment is None else self.space.as_of(moment)
        recall = view.recall(
            query,
            limit=setting(k, self.k),
            kinds=setting(kinds, self.kinds),
            tags=setting(memory_tags, setting(tags, self.memory_tags)),
            during=setting(during, self.during),
            min_score=setting(min_score, self.min_score),
            history=setting(history, self.history),
        )
        return as_documents(recall)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        # LangChain's own variant drops the options of the call.
        return await asyncio.to_thread(
            self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **options
        )


def as_documents(recall: Recall) -> list[Document]:
    """Return the hits of a recall as documents.

    The id of a document is that of the memory. All other fields are in the metadata, which can be written as
    JSON; times are ISO text in UTC.
    """
    return [_document(**hit) for hit in recall.to_dicts()]


def _document(memory: dict[str, Any], **hit_fields: Any) -> Document:
    fields = {name: value for name, value in memory.items() if name not in ("id", "text")}
    return Document(memory["text"], id=memory["id"], metadata={"memory_id": memory["id"], **fields, **hit_fields})
