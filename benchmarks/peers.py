"""What people would pick instead, each asked the same questions with the same vectors.

Every peer is used as its own documentation shows, with its own in-process store; one that is not
installed is named and passed over. Most of them search vectors only: no words, graph, time or past.

    pip install langgraph-checkpoint llama-index-core langchain-classic langchain-community rank_bm25 \
        mem0ai chromadb
"""

from __future__ import annotations

import logging
import os
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from rich.console import Console

    from world import World

BATCH = 1_000
LIMIT = 10

# They would call home otherwise.
os.environ |= {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "LANGSMITH_TRACING": "false"}
Embed = Callable[[str], list[float]]


class Peer:
    """One system: filled in batches, added to, asked."""

    name: ClassVar[str]
    note: ClassVar[str] = ""

    def __init__(self, embed: Embed, folder: Path) -> None:
        """Import what is needed; ImportError says that it is not installed."""
        raise NotImplementedError

    def fill(self, texts: Sequence[str]) -> None:
        raise NotImplementedError

    def filled(self) -> None:
        """What must be done once all is in."""

    def add(self, text: str) -> None:
        self.fill([text])

    def ask(self, question: str) -> Sequence[object]:
        """The nearest ten."""
        raise NotImplementedError


class LangGraph(Peer):
    name = "LangGraph InMemoryStore"
    note = "vectors only, volatile"

    def __init__(self, embed: Embed, folder: Path) -> None:
        from langgraph.store.base import PutOp
        from langgraph.store.memory import InMemoryStore

        self._op = PutOp
        self._store = InMemoryStore(
            index={"dims": len(embed("")), "embed": lambda texts: [*map(embed, texts)], "fields": ["text"]}
        )

    def fill(self, texts: Sequence[str]) -> None:
        self._store.batch([self._op(("memories",), str(uuid.uuid4()), {"text": text}) for text in texts])

    def ask(self, question: str) -> Sequence[object]:
        return self._store.search(("memories",), query=question, limit=LIMIT)


class LlamaIndex(Peer):
    name = "LlamaIndex SimpleVectorStore"
    note = "vectors only, volatile; as their VectorMemory (VectorMemoryBlock refuses this store)"

    def __init__(self, embed: Embed, folder: Path) -> None:
        from llama_index.core import VectorStoreIndex
        from llama_index.core.embeddings import MockEmbedding
        from llama_index.core.schema import QueryBundle, TextNode

        self._embed, self._node, self._bundle = embed, TextNode, QueryBundle
        self._index = VectorStoreIndex([], embed_model=MockEmbedding(embed_dim=len(embed(""))))

    def fill(self, texts: Sequence[str]) -> None:
        self._index.insert_nodes([self._node(text=text, embedding=self._embed(text)) for text in texts])

    def ask(self, question: str) -> Sequence[object]:
        # A retriever knows only the nodes of when it was made; their VectorMemory makes one a question, too.
        retriever = self._index.as_retriever(similarity_top_k=LIMIT)
        return retriever.retrieve(self._bundle(question, embedding=self._embed(question)))


class LangChain(Peer):
    name = "LangChain ensemble"
    note = "BM25 and vectors, volatile; to add one is to build BM25 anew"

    def __init__(self, embed: Embed, folder: Path) -> None:
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_community.retrievers import BM25Retriever
        from langchain_core.embeddings import Embeddings
        from langchain_core.vectorstores import InMemoryVectorStore

        class Given(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [*map(embed, texts)]

            def embed_query(self, text: str) -> list[float]:
                return embed(text)

        self._ensemble, self._bm25 = EnsembleRetriever, BM25Retriever
        self._store = InMemoryVectorStore(Given())
        self._texts: list[str] = []

    def fill(self, texts: Sequence[str]) -> None:
        self._store.add_texts(list(texts))
        self._texts += texts

    def filled(self) -> None:
        words = self._bm25.from_texts(self._texts, k=LIMIT)
        vectors = self._store.as_retriever(search_kwargs={"k": LIMIT})
        self._retriever = self._ensemble(retrievers=[words, vectors], weights=[0.5, 0.5])

    def add(self, text: str) -> None:
        self.fill([text])
        self.filled()

    def ask(self, question: str) -> Sequence[object]:
        return self._retriever.invoke(question)


class Mem0(Peer):
    name = "mem0"
    note = "infer=False, local Qdrant; filled through its store, bulk rate is of its add()"

    def __init__(self, embed: Embed, folder: Path) -> None:
        from mem0 import Memory
        from qdrant_client import QdrantClient

        os.environ.setdefault("OPENAI_API_KEY", "unused")
        self._embed = embed
        store = {"client": QdrantClient(":memory:"), "embedding_model_dims": len(embed(""))}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "mem0-history.db"),
            }
        )
        self._memory.embedding_model = self

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._embed(text)

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [*map(self._embed, texts)]

    def fill(self, texts: Sequence[str]) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        payloads = [
            {"data": text, "hash": uuid.uuid4().hex, "user_id": "u", "created_at": now, "text_lemmatized": text}
            for text in texts
        ]
        ids = [str(uuid.uuid4()) for _ in texts]
        self._memory.vector_store.insert([*map(self._embed, texts)], payloads=payloads, ids=ids)

    def add(self, text: str) -> None:
        self._memory.add(text, user_id="u", infer=False)

    def ask(self, question: str) -> Sequence[object]:
        return self._memory.search(question, filters={"user_id": "u"}, top_k=LIMIT)["results"]


class Chroma(Peer):
    name = "Chroma"
    note = "vectors only (HNSW, approximate)"

    def __init__(self, embed: Embed, folder: Path) -> None:
        import chromadb

        self._embed = embed
        client = chromadb.PersistentClient(str(folder / "chroma"))
        self._collection = client.create_collection("memories", embedding_function=None)

    def fill(self, texts: Sequence[str]) -> None:
        ids = [str(uuid.uuid4()) for _ in texts]
        self._collection.add(ids=ids, documents=list(texts), embeddings=[*map(self._embed, texts)])

    def ask(self, question: str) -> Sequence[object]:
        return self._collection.query(query_embeddings=[self._embed(question)], n_results=LIMIT)["ids"][0]


PEERS: tuple[type[Peer], ...] = (LangGraph, LlamaIndex, LangChain, Mem0, Chroma)


def measure(world: World, folder: Path, console: Console, *, most_seconds: float) -> dict[str, Any]:
    """The figures of every peer, or one line that says why there are none."""
    table = world.embedder()
    known = {text: table.embed_query(text).tolist() for text in [*world.texts, *world.questions, *world.extra, ""]}
    out: dict[str, Any] = {}
    with _quiet():
        for kind in PEERS:
            try:
                out[kind.name] = _measure(kind, known.__getitem__, world, folder, most_seconds)
            except ImportError as error:
                out[kind.name] = f"not installed ({error.name or error})"
            console.print(f"[dim]{kind.name} measured[/]")
    return out


def _measure(kind: type[Peer], embed: Embed, world: World, folder: Path, most_seconds: float) -> dict[str, Any] | str:
    peer = kind(embed, folder)
    texts = world.texts
    started = time.perf_counter()
    for begin in range(0, len(texts), BATCH):
        peer.fill(texts[begin : begin + BATCH])
        spent = time.perf_counter() - started
        if spent > most_seconds:
            done = min(begin + BATCH, len(texts))
            return f"given up: {done:,} of {len(texts):,} took {spent:.0f} s"
    peer.filled()
    filled = time.perf_counter() - started
    assert len(peer.ask(world.questions[0])) >= LIMIT, f"{kind.name} finds nothing: it is not used right"
    asked = list(_timed(peer.ask, world.questions, most_seconds / 8))
    added = list(_timed(peer.add, world.extra, most_seconds / 8))
    return {
        "query p50 ms": float(np.median(asked)) * 1000,
        "query p99 ms": float(np.percentile(asked, 99)) * 1000,
        "add p50 ms": float(np.median(added)) * 1000,
        "bulk add /s": 1 / float(np.mean(added)) if isinstance(peer, Mem0) else len(texts) / filled,
        "note": kind.note,
    }


def _timed(work: Callable[[str], object], given: Sequence[str], seconds: float) -> Iterator[float]:
    """How long each call took, as many as fit into `seconds`, three at least."""
    end = time.perf_counter() + seconds
    for number, text in enumerate(given):
        started = time.perf_counter()
        work(text)
        yield time.perf_counter() - started
        if number >= 2 and time.perf_counter() > end:
            return


class _quiet(warnings.catch_warnings):
    """No warnings or log lines of theirs in our table."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
        logging.disable(logging.ERROR)

    def __exit__(self, *error: object) -> None:
        logging.disable(logging.NOTSET)
        super().__exit__(*error)
