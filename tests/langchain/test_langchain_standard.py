"""LangChain's own standard tests, as they come."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import (
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    ToolsIntegrationTests,
)
from langchain_tests.unit_tests import EmbeddingsUnitTests, ToolsUnitTests

from langchain_remanence import RemanenceRetriever, RemanenceVectorStore, memory_tools
from remanence import Memory, Space


class OnASpace:
    """A space that knows four things about Alice."""

    name: str
    space: Space
    known: list[Memory]

    @pytest.fixture(autouse=True)
    def about_alice(self, space: Space) -> None:
        texts = ["Alice lives in Porto.", "Alice drinks tea.", "Alice plays chess.", "Alice has a cat."]
        self.space, self.known = space, space.add_many([{"text": text} for text in texts])

    @property
    def tool_constructor(self) -> BaseTool:
        return next(tool for tool in memory_tools(self.space) if tool.name == self.name)


class TestRetriever(OnASpace, RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[RemanenceRetriever]:
        return RemanenceRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"space": self.space}

    @property
    def retriever_query_example(self) -> str:
        return "What do we know about Alice?"


class OnEmbeddings(OnASpace):
    """The `embeddings` of a vector store."""

    @property
    def embeddings_class(self) -> type[Embeddings]:
        return type(RemanenceVectorStore(self.space).embeddings)

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"space": self.space}


class TestEmbeddingsAsAUnit(OnEmbeddings, EmbeddingsUnitTests): ...


class TestEmbeddings(OnEmbeddings, EmbeddingsIntegrationTests): ...


class OnRemember(OnASpace):
    name = "remember"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"text": "Alice moved to Lisbon."}


class OnRecall(OnASpace):
    name = "recall"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"question": "Where does Alice live?", "during": "May 2026"}


class OnForget(OnASpace):
    name = "forget"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"memory_id": self.known[0].id}


class TestRememberAsAUnit(OnRemember, ToolsUnitTests): ...


class TestRemember(OnRemember, ToolsIntegrationTests): ...


class TestRecallAsAUnit(OnRecall, ToolsUnitTests): ...


class TestRecall(OnRecall, ToolsIntegrationTests): ...


class TestForgetAsAUnit(OnForget, ToolsUnitTests): ...


class TestForget(OnForget, ToolsIntegrationTests): ...
