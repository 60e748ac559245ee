"""LangChain's models as parts of a space."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_models import Actor

import remanence
from remanence import InvalidInput, ProjectionStale
from remanence_langchain import embedder, extractor


class Hosted(DeterministicFakeEmbedding):
    """Says which model it is, as the ones of vendors do."""

    model: str = "text-embedding-9"


def test_embeddings_embed_a_space() -> None:
    """All four signals answer."""
    with remanence.open(None, embedder=embedder(Hosted(size=8))) as space:
        space.add("Ana lives in Porto.")
        found = space.recall("Ana lives in Porto.")

    assert found.missing == {}
    assert {evidence.signal for evidence in found[0].evidence} >= {"vectors", "words"}


def test_another_model_behind_the_same_class_is_refused(home: Path) -> None:
    """A space knows its embedder by name, so a cache around two models needs two names."""
    one, other = DeterministicFakeEmbedding(size=8), DeterministicFakeEmbedding(size=8)
    with remanence.open(home, embedder=embedder(one, name="model-a")) as space:
        space.add("Ana lives in Porto.")
    with remanence.open(home, embedder=embedder(other, name="model-a")) as space:
        assert space.recall("Porto")

    with (
        pytest.raises(ProjectionStale, match="model-a"),
        remanence.open(home, embedder=embedder(other, name="model-b")) as space,
    ):
        space.recall("Porto")


def test_a_model_that_says_its_name_is_called_by_it() -> None:
    """Else by its class; and the name given counts most."""
    plain: Embeddings = DeterministicFakeEmbedding(size=8)

    assert embedder(Hosted(size=8)).name == "text-embedding-9"
    assert embedder(plain).name == "DeterministicFakeEmbedding"
    assert embedder(Hosted(size=8), name="mine").name == "mine"


@pytest.mark.parametrize("given", [None, "gpt", Actor(lines=[]), lambda texts: texts])
def test_what_cannot_embed_is_refused(given: object) -> None:
    """At once, and by name."""
    with pytest.raises(InvalidInput, match="no Embeddings of LangChain"):
        embedder(given)  # type: ignore[arg-type]


def test_a_chat_model_finds_facts() -> None:
    """It is asked about what is remembered, and what it finds can be recalled."""
    model = Actor(lines=['{"facts": [{"text": "Ana lives in Lisbon.", "kind": "semantic"}]}'])
    with remanence.open(None, extractor=extractor(model)) as space:
        space.remember("Ana moved to Lisbon.")
        found = [hit.memory.text for hit in space.recall("Where does Ana live?")]

    assert "Ana moved to Lisbon." in str(model.prompts)
    assert "Ana lives in Lisbon." in found


@pytest.mark.parametrize("given", [None, "gpt", Hosted(size=8)])
def test_what_cannot_chat_is_refused(given: object) -> None:
    """At once, and by name."""
    with pytest.raises(InvalidInput, match="no chat model of LangChain"):
        extractor(given)  # type: ignore[arg-type]
