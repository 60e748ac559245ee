"""Recall as a LangChain retriever, for RAG pipelines."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import BeforeValidator, ConfigDict, Field, SkipValidation, create_model

from langchain_remanence.documents import as_documents, recall_options, store_documents
from remanence import View
from remanence.adapters import RECALL_FILTERS, in_thread, recall_distinct, require_space, require_view

_OPTIONS = {*("k", "memory_tags", "as_of", "filter"), *RECALL_FILTERS}
"""What can be set for the retriever and for a call."""


if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever as _Base
else:  # what is not written out below is a field too
    _Base = create_model("_Base", __base__=BaseRetriever, **dict.fromkeys(RECALL_FILTERS, (Any, None)))


class RemanenceRetriever(_Base):
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
        dated: Whether the text of what was said or noted begins with its day and its speaker, which are in the metadata
            in any case, for chains that show a model the text alone.

    Every other filter of `recall` is taken too, such as `min_trust`.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     retriever = RemanenceRetriever(space, k=1)
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
    dated: bool = False

    def __init__(self, space: View, **settings: Any) -> None:
        super().__init__(**{"space": space, **settings})

    def add_documents(self, documents: Sequence[Document], ids: Sequence[str | None] | None = None) -> list[str]:
        """Add documents to the space, or new versions of them, and return their ids.

        Args:
            documents: The documents. Their metadata can be filtered by; `source` is the source of the memory. A
                document without an id gets one made of its text and metadata.
            ids: Ids in place of the documents' own.
        """
        return store_documents(require_space(self.space), documents, ids)

    aadd_documents = in_thread(add_documents)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        if unknown := sorted(options.keys() - _OPTIONS - {"tags"}):
            raise TypeError(f"unexpected keyword argument {unknown[0]!r}. A call takes {', '.join(sorted(_OPTIONS))}.")
        given = {name: value for name, value in options.items() if value is not None}
        given.setdefault("memory_tags", given.pop("tags", self.memory_tags))
        settings = {name: given.get(name, getattr(self, name)) for name in _OPTIONS}
        limit, tags, moment, filter = (settings.pop(name) for name in ("k", "memory_tags", "as_of", "filter"))
        view = self.space if moment is None else self.space.as_of(moment)
        asked = {name: value for name, value in settings.items() if value is not None}
        found = recall_distinct(view, query, limit=limit, tags=tags, **recall_options(filter, **asked))
        return as_documents(found, dated=self.dated)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        # LangChain's own variant drops the options of the call.
        return await asyncio.to_thread(
            self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **options
        )
