"""A space that counts what it is asked, and no way to the network or to global settings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.settings import Settings

import remanence
from conftest import as_asked
from llama_index_remanence import RemanenceRetriever
from llama_index_remanence.space_reference import close_opened
from llamaindex.scripted import Counting
from remanence.testing import FakeClock


@pytest.fixture(autouse=True)
def bundled_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """With this set, LlamaIndex would fetch its tokenizer; without it, it has one."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)


@pytest.fixture(autouse=True)
def untouched_settings() -> Iterator[None]:
    """The global settings are the user's: whoever asks them for a model would make one."""
    yield
    assert Settings._llm is None
    assert Settings._embed_model is None


@pytest.fixture(autouse=True)
def closed_behind() -> Iterator[None]:
    """What a test had opened by its location is closed before the folder goes."""
    yield
    close_opened()


@pytest.fixture
def embedder() -> Counting:
    """Counts the questions it embeds."""
    return Counting()


@pytest.fixture
def space(clock: FakeClock, embedder: Counting, request: pytest.FixtureRequest) -> Iterator[remanence.Space]:
    """An empty space that is gone with the test: in this process, or over a connection."""
    with remanence.open(None, embedder=embedder, clock=clock) as space, as_asked(space, request) as asked:
        yield asked


@pytest.fixture
def library(clock: FakeClock) -> Iterator[BaseRetriever]:
    """A retriever of documents that is not the memory."""
    with remanence.open(None, clock=clock) as documents:
        documents.add("Porto has six bridges.")
        yield RemanenceRetriever(documents)
