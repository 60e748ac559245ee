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
    `memory_tags` asks for memories with all of these tags (in a call also `tags`, which in the constructor is
    LangChain's own, for tracing), `during` for what was true in that time, `as_of` for what was known at
    that moment, `history` for replaced and expired versions too, `min_score` for hits from that score on.

    >>> import remanence
    >>> with remanence.open(None) as space:
    ...     _ = space.add("Alice lives in Porto.", source="email")
    ...     found = RemanenceRetriever(space=space, k=1).invoke("Where does Alice live?")
    ...     found[0].page_content, found[0].metadata["source"]
    ('Alice lives in Porto.', 'email')
    """

    model_config = ConfigDict(extra="forbid")  # a filter that is misspelt would filter nothing

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
        kinds: str | Sequence[str] | None = None,
        memory_tags: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        during: Any = None,
        as_of: Any = None,
        min_score: float | None = None,
        history: bool | Literal["auto"] | None = None,
    ) -> list[Document]:
        asked = tags if memory_tags is None else memory_tags
        moment = self.as_of if as_of is None else as_of
        view = self.space if moment is None else self.space.as_of(moment)
        return as_documents(
            view.recall(
                query,
                limit=self.k if k is None else k,
                kinds=self.kinds if kinds is None else kinds,
                tags=self.memory_tags if asked is None else asked,
                during=self.during if during is None else during,
                min_score=self.min_score if min_score is None else min_score,
                history=self.history if history is None else history,
            )
        )

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **asked: Any
    ) -> list[Document]:
        # LangChain's own would lose what the call asks for.
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **asked)


def as_documents(recall: Recall) -> list[Document]:
    """The hits as documents: the id is the memory's, everything else that is known stands in the metadata.

    All of the metadata can be written as JSON; times are ISO text, in UTC.
    """
    return [_document(**hit) for hit in recall.to_dicts()]


def _document(memory: dict[str, Any], **about: Any) -> Document:
    known = {name: value for name, value in memory.items() if name not in ("id", "text")}
    return Document(memory["text"], id=memory["id"], metadata={"memory_id": memory["id"], **known, **about})
