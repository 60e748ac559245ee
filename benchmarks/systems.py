"""What recall is held against: words alone, vectors alone, and what people would pick instead.

Each is given the same lines in the same order and the same embedder, and is used as its own documentation
shows, with its own defaults and in-process store. Nothing but the text is handed to a baseline; a peer that
has a place for the speaker and the time gets them there. No LLM anywhere. A peer that is not installed is
named and left out:

    pip install rank-bm25 langchain-classic langchain-community llama-index-core \
        llama-index-retrievers-bm25 mem0ai mempalace memvara \
        langgraph-checkpoint chromadb
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_evaluation import RANKING_DEPTH, SystemFactory
from remanence.schema import UTC
from remanence.testing.datasets import Conversation, CorpusItem, EvalQuestion
from remanence.text.text import tokens

# They would call home otherwise.
os.environ |= {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "LANGSMITH_TRACING": "false"}
Split = Callable[[str], list[str]]


class OnceEmbedder:
    """An embedder that embeds each text once for all systems; so ingest and query times are without embedding."""

    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._texts: dict[str, Any] = {}
        self._questions: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        self._texts.update(zip(new, self._embedder.embed(new), strict=True))
        return np.array([self._texts[text] for text in texts])

    def embed_query(self, text: str) -> Any:
        if text not in self._questions:
            self._questions[text] = self._embedder.embed_query(text)
        return self._questions[text]


class Baseline:
    """A system that has nothing to let go of."""

    def close(self) -> None:
        """Nothing to close."""


class BM25(Baseline):
    """rank-bm25 over the texts."""

    def __init__(self, world: Conversation, split: Split) -> None:
        from rank_bm25 import BM25Okapi

        self._ids = [line.id for line in world.items]
        self._split = split
        self._index = BM25Okapi([split(line.text) or [""] for line in world.items])

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        return _best(self._ids, self._index.get_scores(self._split(asked.question)))


class Vectors(Baseline):
    """The nearest texts, exactly."""

    def __init__(self, world: Conversation, embedder: Any) -> None:
        self._ids = [line.id for line in world.items]
        self._embedder = embedder
        self._matrix = embedder.embed([line.text for line in world.items])

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        return _best(self._ids, self._matrix @ self._embedder.embed_query(asked.question))


def langchain_embeddings(embedder: Any) -> Any:
    """An embedder of ours as one of LangChain."""
    from langchain_core.embeddings import Embeddings

    class Given(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in embedder.embed(texts)]

        def embed_query(self, text: str) -> list[float]:
            return [float(number) for number in embedder.embed_query(text)]

    return Given()


class LangChain(Baseline):
    """EnsembleRetriever over BM25Retriever and an in-memory vector store, half and half."""

    def __init__(self, world: Conversation, embedder: Any) -> None:
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_community.retrievers import BM25Retriever
        from langchain_core.documents import Document
        from langchain_core.vectorstores import InMemoryVectorStore

        # Its results are told apart by their text unless an id is named.
        documents = [Document(line.text, metadata={"line": line.id}) for line in world.items]
        store = InMemoryVectorStore(langchain_embeddings(embedder))
        store.add_documents(documents)
        words = BM25Retriever.from_documents(documents, k=RANKING_DEPTH)
        vectors = store.as_retriever(search_kwargs={"k": RANKING_DEPTH})
        self._retriever = EnsembleRetriever(retrievers=[words, vectors], weights=[0.5, 0.5], id_key="line")

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        return [found.metadata["line"] for found in self._retriever.invoke(asked.question)][:RANKING_DEPTH]


def llama_embedding(embedder: Any) -> Any:
    """An embedder of ours as one of LlamaIndex."""
    from llama_index.core.embeddings import BaseEmbedding

    class Given(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in embedder.embed(texts)]

        def _get_query_embedding(self, query: str) -> list[float]:
            return [float(number) for number in embedder.embed_query(query)]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    return Given(embed_batch_size=2_048)


class LlamaIndex(Baseline):
    """QueryFusionRetriever over BM25Retriever and a vector index; one query, so no LLM."""

    def __init__(self, world: Conversation, embedder: Any) -> None:
        from llama_index.core import VectorStoreIndex
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever
        from llama_index.core.schema import TextNode
        from llama_index.retrievers.bm25 import BM25Retriever

        nodes = [TextNode(text=line.text, id_=line.id) for line in world.items]
        index = VectorStoreIndex(nodes, embed_model=llama_embedding(embedder))
        most = min(RANKING_DEPTH, len(nodes))
        self._retriever = QueryFusionRetriever(
            [
                index.as_retriever(similarity_top_k=most),
                BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=most),
            ],
            llm=MockLLM(),
            mode="reciprocal_rerank",
            num_queries=1,
            similarity_top_k=most,
            use_async=False,
        )

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        return [found.node.node_id for found in self._retriever.retrieve(asked.question)]


class Filed:
    """A peer that keeps its files in a folder of its own for as long as it is asked."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)

    def close(self) -> None:
        """Throw the folder away."""
        self._folder.cleanup()


class Mem0(Filed):
    """`add(infer=False)`: no LLM, each line kept as it is; local Qdrant.

    Its keyword half needs spaCy and a model that fastembed downloads; without them it searches vectors only.
    """

    def __init__(self, world: Conversation, embedder: Any) -> None:
        from mem0 import Memory
        from qdrant_client import QdrantClient

        super().__init__()
        os.environ.setdefault("OPENAI_API_KEY", "unused")
        self._embedder = embedder
        config = {"client": QdrantClient(":memory:"), "embedding_model_dims": embedder.dimension}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": config},
                "history_db_path": str(self.folder / "history.db"),
            }
        )
        self._memory.embedding_model = self
        for line in world.items:
            self.tell(line)

    def tell(self, line: CorpusItem) -> None:
        """Store one more line."""
        said = {"role": "user", "content": line.text, "name": line.speaker}
        self._memory.add([said], user_id="u", infer=False, metadata={"line": line.id})

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """What mem0 asks of its embedder."""
        asked = memory_action == "search"
        vector = self._embedder.embed_query(text) if asked else self._embedder.embed([text])[0]
        return [float(number) for number in vector]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text, memory_action) for text in texts]

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        found = self._memory.search(asked.question, filters={"user_id": "u"}, top_k=RANKING_DEPTH, threshold=0.0)
        return [memory["metadata"]["line"] for memory in found["results"]]


class MemPalace(Filed):
    """A drawer for each line in one room; `search_memories` with its defaults."""

    def __init__(self, world: Conversation, embedder: Any) -> None:
        import mempalace.embedding
        from chromadb import EmbeddingFunction
        from mempalace.palace import get_collection
        from mempalace.searcher import search_memories

        class Given(EmbeddingFunction):  # type: ignore[misc, type-arg]
            def __init__(self) -> None:
                pass

            def __call__(self, input: list[str]) -> list[Any]:
                return list(embedder.embed(list(input)))

            def embed_query(self, input: list[str]) -> list[Any]:
                return [embedder.embed_query(text) for text in input]

            @staticmethod
            def name() -> str:
                return "given"

        super().__init__()
        mempalace.embedding.get_embedding_function = lambda *args, **options: Given()
        self._search, self._palace = search_memories, str(self.folder)
        drawers = get_collection(self._palace)
        for begin in range(0, len(world.items), 1_000):
            lines = world.items[begin : begin + 1_000]
            drawers.upsert(
                ids=[line.id for line in lines],
                documents=[line.text for line in lines],
                metadatas=[
                    {"wing": "all", "room": line.session or "all", "source_file": line.id, "chunk_index": 0}
                    for line in lines
                ],
            )

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        found = self._search(asked.question, self._palace, n_results=RANKING_DEPTH)
        return [hit["source_path"] for hit in found["results"]]


class Memvara(Filed):
    """Turns kept as episodes (`add`), searched with `include_episodes`, and not only the first three."""

    def __init__(self, world: Conversation, embedder: Any) -> None:
        from memvara import Memvara, SQLiteStore

        class Given:
            name, dim = "given", embedder.dimension

            def encode(self, texts: Sequence[str]) -> Any:
                return np.asarray(embedder.embed(list(texts)), np.float32)

            def encode_queries(self, texts: Sequence[str]) -> Any:
                return np.asarray([embedder.embed_query(text) for text in texts], np.float32)

        super().__init__()
        if sqlite3.sqlite_version_info < (3, 42):
            # It would ask FTS5 for secure deletion, which this SQLite has not, and which finds nothing.
            SQLiteStore._migrate_to_v7 = lambda self: None
        self._memory = Memvara(
            str(self.folder / "memory.db"), user="u", embedder=Given(), read_max_episodes=RANKING_DEPTH
        )
        self._memory.add([self._turn(line) for line in world.items])

    def tell(self, line: CorpusItem) -> None:
        """Store one more line."""
        self._memory.add([self._turn(line)])

    @staticmethod
    def _turn(line: CorpusItem) -> dict[str, Any]:
        return {
            "content": line.text,
            "role": line.speaker if line.speaker in ("user", "assistant") else "user",
            "ts": None if line.time is None else datetime.fromisoformat(line.time).replace(tzinfo=UTC),
            "line": line.id,
        }

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        found = self._memory.search(asked.question, k=RANKING_DEPTH, include_episodes=True)
        # Facts that its rules made of a turn are no lines of the corpus; the turns themselves are.
        return [hit.episode.meta["line"] for hit in found if hasattr(hit, "episode")]


class LangGraphStore(Baseline):
    """`InMemoryStore` with an index: vectors, exactly."""

    def __init__(self, world: Conversation, embedder: Any) -> None:
        from langgraph.store.memory import InMemoryStore

        self._store = InMemoryStore(
            index={"dims": embedder.dimension, "embed": langchain_embeddings(embedder), "fields": ["text"]}
        )
        for line in world.items:
            self.tell(line)

    def tell(self, line: CorpusItem) -> None:
        """Store one more line."""
        self._store.put(("memories",), line.id, {"text": line.text})

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        return [found.key for found in self._store.search(("memories",), query=asked.question, limit=RANKING_DEPTH)]


class LlamaIndexMemory(Baseline):
    """`VectorMemory`, each line a message of its own."""

    def __init__(self, world: Conversation, embedder: Any) -> None:
        from llama_index.core.memory import VectorMemory

        self._memory = VectorMemory.from_defaults(
            embed_model=llama_embedding(embedder), retriever_kwargs={"similarity_top_k": RANKING_DEPTH}
        )
        for line in world.items:
            self.tell(line)

    def tell(self, line: CorpusItem) -> None:
        """Store one more line."""
        from llama_index.core.llms import ChatMessage

        self._memory.put(ChatMessage(role="user", content=line.text, additional_kwargs={"line": line.id}))

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        return [message.additional_kwargs["line"] for message in self._memory.get(asked.question)]


class Chroma(Filed):
    """A collection in a folder: vectors by HNSW."""

    def __init__(self, world: Conversation, embedder: Any) -> None:
        import chromadb

        super().__init__()
        self._embedder = embedder
        client = chromadb.PersistentClient(str(self.folder))
        self._collection = client.create_collection("memories", embedding_function=None)
        for line in world.items:
            self.tell(line)

    def tell(self, line: CorpusItem) -> None:
        """Store one more line."""
        vectors = self._embedder.embed([line.text])
        self._collection.add(ids=[line.id], documents=[line.text], embeddings=vectors)

    def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
        vectors = [self._embedder.embed_query(asked.question)]
        return self._collection.query(query_embeddings=vectors, n_results=RANKING_DEPTH)["ids"][0]


PEERS: dict[str, Callable[[Conversation, Any], Any]] = {
    "LangChain EnsembleRetriever": LangChain,
    "LlamaIndex QueryFusionRetriever": LlamaIndex,
    "mem0, infer=False": Mem0,
    "MemPalace": MemPalace,
    "memvara": Memvara,
}
MEMORIES: dict[str, Callable[[Conversation, Any], Any]] = {
    "mem0, infer=False": Mem0,
    "memvara": Memvara,
    "LangGraph InMemoryStore": LangGraphStore,
    "LlamaIndex VectorMemory": LlamaIndexMemory,
    "Chroma": Chroma,
}
"""Those that can be told one more line (`tell`)."""


def baselines(embedder: Any) -> dict[str, SystemFactory]:
    """Each of the two halves alone."""
    return {
        "BM25, split()": lambda world: BM25(world, lambda text: text.lower().split()),
        "BM25, our words": lambda world: BM25(world, tokens),
        "vectors": lambda world: Vectors(world, embedder),
    }


def peers(
    embedder: Any, known: Mapping[str, Callable[[Conversation, Any], Any]] = PEERS
) -> tuple[dict[str, SystemFactory], dict[str, str]]:
    """What is installed and works here, and why each of the others is left out."""
    found: dict[str, SystemFactory] = {}
    left_out: dict[str, str] = {}
    said = (("a", "The bridge is closed."), ("b", "Alice lives in Porto."), ("c", "The bridge is closed."))
    little = Conversation([CorpusItem(i, text, speaker="user", time="2026-05-01T09:00:00") for i, text in said], ())
    for name, peer in known.items():
        try:
            tried = peer(little, embedder)
            if "a" not in tried.ask(EvalQuestion("Is the bridge closed?", ("a",)), None):
                raise LookupError("it does not find the first of three lines, so it is not used right here")
            tried.close()
            found[name] = partial(peer, embedder=embedder)
        except ImportError as error:
            left_out[name] = f"not installed ({error.name or error})"
        except Exception as error:  # noqa: BLE001  -- somebody else's code: whatever it is, it is said
            left_out[name] = f"{type(error).__name__}: {error}"
    return found, left_out


def _best(ids: Sequence[str], scores: NDArray[np.floating[Any]]) -> list[str]:
    return [ids[place] for place in np.argsort(-scores, kind="stable")[:RANKING_DEPTH]]
