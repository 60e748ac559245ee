"""The documents of a space, with the methods of a LlamaIndex index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.chat_engine.types import BaseChatEngine, ChatMode
from llama_index.core.llms.utils import resolve_llm
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import BaseNode, Document, TransformComponent
from llama_index.core.settings import Settings
from llama_index.core.storage.docstore.types import RefDocInfo

from llama_index_remanence.nodes import (
    delete_nodes,
    memories_of,
    node_id,
    space_or_new,
    store_documents,
    store_nodes,
    stored_node,
)
from llama_index_remanence.retriever import RemanenceRetriever
from remanence import InvalidInput, Space
from remanence.adapters import RECALL_FILTERS, in_thread, require_space


class RemanenceIndex:
    """Documents in a space: insert, replace, delete and query them as with `VectorStoreIndex`.

    Nodes come back as they were given. The space embeds them, so no embedding model of LlamaIndex is needed. What is
    deleted or replaced is forgotten: views of the past still have it, and `space.erase` removes its text.

    Args:
        space: The space.
        transformations: How documents are split into nodes; None for those of LlamaIndex's `Settings`.
        show_progress: Whether progress bars are shown.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     document = Document(text="Porto has six bridges.", doc_id="porto")
        ...     index = RemanenceIndex.from_documents([document], space=space)
        ...     found = index.as_retriever().retrieve("bridges")
        ...     found[0].text, found[0].node.ref_doc_id
        ('Porto has six bridges.', 'porto')
    """

    def __init__(
        self, space: Space, *, transformations: Sequence[TransformComponent] | None = None, show_progress: bool = False
    ) -> None:
        self.space = require_space(space)
        self._transformations = transformations
        self._show_progress = show_progress

    @classmethod
    def from_documents(
        cls,
        documents: Sequence[Document],
        *,
        space: Space | None = None,
        transformations: Sequence[TransformComponent] | None = None,
        show_progress: bool = False,
    ) -> RemanenceIndex:
        """Make an index of documents. Those whose ids the space knows are replaced.

        Args:
            documents: The documents.
            space: Where to store them; None for a new space that is deleted with the process, which is logged.
            transformations: As for the constructor.
            show_progress: As for the constructor.
        """
        index = cls(space_or_new(space), transformations=transformations, show_progress=show_progress)
        index._store(documents)
        return index

    def insert(self, document: Document) -> None:
        """Split a document into nodes and store them. One with the same id is replaced."""
        self._store([document])

    def insert_nodes(self, nodes: Sequence[BaseNode]) -> None:
        """Store nodes, or new versions of those whose ids are known."""
        store_nodes(self.space, nodes, show_progress=self._show_progress)

    def update_ref_doc(self, document: Document) -> None:
        """Replace a document: nodes that it had before, and has no more, are forgotten."""
        self._store([document])

    def refresh_ref_docs(self, documents: Sequence[Document]) -> list[bool]:
        """Store those of these documents that are new or have changed.

        Returns:
            For each document whether it was stored.
        """
        changed = [not self._is_stored(document) for document in documents]
        self._store([document for document, stale in zip(documents, changed, strict=True) if stale])
        return changed

    def delete_ref_doc(self, ref_doc_id: str, delete_from_docstore: bool = True) -> int:
        """Forget the nodes of a document. The same chunk of another document stays.

        Args:
            ref_doc_id: The id of the document.
            delete_from_docstore: Ignored: there is one store.

        Returns:
            How many nodes there were.
        """
        return self.space.forget_many(memories_of(self.space, ref_doc_id), why="its document was deleted")

    def delete_nodes(self, node_ids: Sequence[str], delete_from_docstore: bool = True) -> int:
        """Forget these nodes, in every document that has them, and return how many there were."""
        return delete_nodes(self.space, node_ids)

    @property
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        """The documents, by their ids: the ids of their nodes, and the metadata of the first one."""
        found: dict[str, RefDocInfo] = {}
        for memory in self.space.memories():
            node = stored_node(memory)
            if node is not None and node.ref_doc_id is not None:
                info = found.setdefault(node.ref_doc_id, RefDocInfo(metadata=node.metadata))
                info.node_ids.append(node_id(memory))
        return found

    def as_retriever(self, **options: Any) -> RemanenceRetriever:
        """A retriever of this space, with the options of `RemanenceRetriever`."""
        return RemanenceRetriever(self.space, **options)

    def as_query_engine(self, llm: Any = None, **options: Any) -> BaseQueryEngine:
        """A query engine on this space.

        Args:
            llm: The language model; None for that of LlamaIndex's `Settings`.
            **options: Arguments of `as_retriever`, or of `RetrieverQueryEngine.from_args`.
        """
        ours = {name: options.pop(name) for name in _RETRIEVER_OPTIONS if name in options}
        return RetrieverQueryEngine.from_args(self.as_retriever(**ours), llm=llm, **options)

    def as_chat_engine(
        self, chat_mode: ChatMode | str = ChatMode.BEST, llm: Any = None, **options: Any
    ) -> BaseChatEngine:
        """A chat engine on this space.

        Args:
            chat_mode: "context" puts what is found into the prompt; "condense_plus_context" and "best" also rewrite the
                question with the chat before it; "condense_question" asks a query engine; "simple" finds nothing.
            llm: The language model; None for that of LlamaIndex's `Settings`.
            **options: Arguments of `as_retriever`, or of the `from_defaults` of the chat engine, such as `memory`.

        Raises:
            ValueError: There is no such mode.
        """
        mode = ChatMode(chat_mode)
        engine = _CHAT_ENGINES.get(mode)
        if mode is not ChatMode.CONDENSE_QUESTION and engine is None:
            raise InvalidInput(
                f"LlamaIndex has removed chat_mode={mode.value!r}. Give a FunctionAgent or a ReActAgent a "
                "QueryEngineTool."
            )
        model = Settings.llm if llm is None else resolve_llm(llm)
        ours = {name: options.pop(name) for name in _RETRIEVER_OPTIONS if name in options}
        if engine is None:
            return CondenseQuestionChatEngine.from_defaults(
                query_engine=self.as_query_engine(llm=model, **ours), llm=model, **options
            )
        found = {} if mode is ChatMode.SIMPLE else {"retriever": self.as_retriever(**ours)}
        made: BaseChatEngine = engine.from_defaults(llm=model, **found, **options)
        return made

    ainsert = in_thread(insert)
    ainsert_nodes = in_thread(insert_nodes)
    aupdate_ref_doc = in_thread(update_ref_doc)
    arefresh_ref_docs = in_thread(refresh_ref_docs)
    adelete_ref_doc = in_thread(delete_ref_doc)
    adelete_nodes = in_thread(delete_nodes)

    def _store(self, documents: Sequence[Document]) -> None:
        store_documents(self.space, documents, self._transformations, show_progress=self._show_progress)

    def _is_stored(self, document: Document) -> bool:
        """Whether the nodes of this very version of a document are there."""
        stored = [stored_node(memory) for memory in memories_of(self.space, document.node_id)]
        sources = [node.source_node or node for node in stored if node is not None]
        return bool(sources) and all(source.hash == document.hash for source in sources)


_CHAT_ENGINES: dict[ChatMode, Any] = {
    ChatMode.BEST: CondensePlusContextChatEngine,
    ChatMode.CONDENSE_PLUS_CONTEXT: CondensePlusContextChatEngine,
    ChatMode.CONTEXT: ContextChatEngine,
    ChatMode.SIMPLE: SimpleChatEngine,
}
_RETRIEVER_OPTIONS = ("similarity_top_k", "limit", "tags", "filters", *RECALL_FILTERS)
