"""LangChain's models as parts of a space."""

from __future__ import annotations

import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_models import Actor

import remanence
from langchain_remanence import embedder, extractor
from remanence import InvalidInput
from remanence.errors import ProjectionStale
from remanence.ports import Extraction, Mention, Utterance

NOW = datetime(2026, 5, 4, tzinfo=timezone.utc)


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
    with pytest.raises(InvalidInput, match="not an Embeddings of LangChain"):
        embedder(given)  # type: ignore[arg-type]


def test_a_chat_model_finds_facts() -> None:
    """It is asked about what is remembered, and what it finds can be recalled."""
    model = Actor(lines=['{"facts": [{"text": "Ana lives in Lisbon.", "quotation": "Ana moved to Lisbon"}]}'])
    with remanence.open(None, extractor=extractor(model)) as space:
        space.remember("Ana moved to Lisbon.")
        found = [hit.memory.text for hit in space.recall("Where does Ana live?")]

    assert "Ana moved to Lisbon." in str(model.prompts)
    assert "Ana lives in Lisbon." in found


def test_an_extractor_takes_the_options_of_ours() -> None:
    """How much of a conversation is read at once, and what reads the texts that are added."""
    story = [Utterance(f"On day {day} Ana walked to bridge {day}.") for day in range(9)]
    whole, parts = Actor(lines=['{"facts": []}']), Actor(lines=['{"facts": []}'])
    extractor(whole).facts(story, now=NOW)
    extractor(parts, chunk_size=200).facts(story, now=NOW)
    assert len(whole.prompts) == 1 < len(parts.prompts)

    class Rules:
        name = "ours"

        def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
            return Extraction((Mention(text),))

    own = extractor(Actor(lines=[ConnectionError("no route")]), rules=Rules())
    assert own.extract("Ana walks.", now=NOW).mentions == (Mention("Ana walks."),)
    found = own.facts([Utterance("On day 1 Ana walked.")], now=NOW)
    assert found.facts == ()
    assert "no route" in str(found.problem)


def test_an_extractor_waits_for_its_model_as_long_as_it_is_told() -> None:
    """`timeout` is in seconds; what comes later is not read."""
    waiting = threading.Event()

    class Slow(Actor):
        def _generate(self, *args: Any, **options: Any) -> Any:
            waiting.wait(timeout=30)
            return super()._generate(*args, **options)

    found = extractor(Slow(lines=["{}"]), timeout=0.05).facts([Utterance("Ana lives in Porto.")], now=NOW)
    waiting.set()

    assert (found.facts, found.model) == ((), None)
    assert "no answer in 0.05 seconds" in str(found.problem)


@pytest.mark.parametrize("options", [{"chunk_size": 3}, {"timeout": 0}, {"timeout": "long"}])
def test_an_option_that_cannot_be_meant_is_refused(options: dict[str, Any]) -> None:
    """When the extractor is made, with the core's own words; and so is one that is not there."""
    with pytest.raises(InvalidInput, match=f"{next(iter(options))}="):
        extractor(Actor(lines=[]), **options)
    with pytest.raises(TypeError, match="'patience'"):
        extractor(Actor(lines=[]), patience=3)


@pytest.mark.parametrize("given", [None, "gpt", Hosted(size=8)])
def test_what_cannot_chat_is_refused(given: object) -> None:
    """At once, and by name."""
    with pytest.raises(InvalidInput, match="not a chat model of LangChain"):
        extractor(given)  # type: ignore[arg-type]
