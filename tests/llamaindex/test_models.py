"""Models of LlamaIndex as the extractor and the embedder of a space."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.llm import LLM
from llama_index.core.llms.mock import MockLLM

import remanence
from llama_index_remanence import embedder, extractor
from llamaindex.scripted import Scripted
from remanence.testing import HashingEmbedder

LISBON = {"text": "Alice moved to Lisbon.", "kind": "episode", "quotation": "Alice moved to Lisbon in May"}


class Hashing(BaseEmbedding):
    """An embedding of LlamaIndex in which near is near."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(number) for number in HashingEmbedder().embed_query(text)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def test_an_embedding_of_llamaindex_embeds_a_space(home: Path) -> None:
    """And the space knows it again by its name."""
    with remanence.open(home, embedder=embedder(Hashing(model_name="mine"))) as space:
        space.add("Alice drinks green tea.")
        hit = space.recall("What does Alice drink?")[0]
        assert "vectors" in {evidence.signal for evidence in hit.evidence}

    with pytest.raises(remanence.errors.ProjectionStale, match="'mine'"):
        remanence.open(home, embedder=embedder(Hashing(model_name="another"))).recall("Alice")
    with remanence.open(home, embedder=embedder(Hashing(), name="mine")) as again:
        assert again.count() == 1


def test_a_model_of_llamaindex_finds_the_facts() -> None:
    """It is asked by `remember`, and the facts are its own."""
    fact = {
        "text": "Alice moved to Lisbon in May 2026.",
        "kind": "episode",
        "quotation": "Alice moved to Lisbon in May",
    }
    answer = json.dumps({"facts": [fact]})
    llm = Scripted(*[answer] * 4)

    with remanence.open(None, embedder=HashingEmbedder(), extractor=extractor(llm)) as space:
        space.remember("So, well, Alice moved to Lisbon in May 2026, you know.")
        assert "Alice moved to Lisbon in May 2026." in [memory.text for memory in space.memories()]
    assert llm.prompts


class Predicting(MockLLM):
    """Calls no functions, and has a `structured_predict` of its own, as models with a grammar do."""

    _calls: list[str] = PrivateAttr(default_factory=list)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self._calls.append("complete")
        return CompletionResponse(text=json.dumps({"facts": [LISBON]}))

    def structured_predict(self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any) -> Any:
        self._calls.append("structured_predict")
        return output_cls(facts=[LISBON])


class Failing(Predicting):
    def structured_predict(self, output_cls: Any, prompt: Any, llm_kwargs: Any = None, **prompt_args: Any) -> Any:
        self._calls.append("structured_predict")
        raise ValueError("no valid output")


class Completing(Predicting):
    """Has only the one that every LLM inherits."""

    structured_predict = LLM.structured_predict


@pytest.mark.parametrize(
    ("llm", "calls"),
    [
        (Predicting(), ["structured_predict"]),
        (Failing(), ["structured_predict", "complete"]),
        (Completing(), ["complete"]),
    ],
)
def test_structured_predict_is_used_where_a_model_has_it(llm: Predicting, calls: list[str]) -> None:
    """Otherwise, and where it fails, JSON in text."""
    with remanence.open(None, embedder=HashingEmbedder(), extractor=extractor(llm)) as space:
        space.remember("So, Alice moved to Lisbon in May.")
        assert LISBON["text"] in [memory.text for memory in space.memories()]
    assert llm._calls == calls


def test_questions_are_embedded_as_questions() -> None:
    """Some models embed them otherwise than what they are compared with."""

    class Asking(Hashing):
        def _get_query_embedding(self, query: str) -> list[float]:
            return [-number for number in self._get_text_embedding(query)]

    asked = embedder(Asking()).embed_query("Where?")

    assert asked == [-number for number in embedder(Asking()).embed(["Where?"])[0]]


def test_the_options_of_an_extractor_are_given_on() -> None:
    """Here one that it refuses."""
    with pytest.raises(remanence.InvalidInput, match="chunk_size=10"):
        extractor(Scripted(), chunk_size=10)


@pytest.mark.parametrize("make", [extractor, embedder])
def test_anything_else_is_refused(make: object) -> None:
    """With what was given."""
    with pytest.raises(remanence.InvalidInput, match="'gpt'"):
        make("gpt")  # type: ignore[operator]
