"""A space as a LangChain retriever."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_models import Parrot
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from langchain_remanence import CheckpointView, RemanenceRetriever
from remanence import InvalidInput, Memory, Space
from remanence.adapters import recall_distinct
from remanence.testing import FakeClock


@pytest.fixture
def trip(space: Space, clock: FakeClock) -> Memory:
    """Alice's journey, her homes, and something about Bob."""
    space.add("Alice lives in Porto.", key="home")
    clock.advance(days=10)
    space.add("Alice lives in Lisbon.", key="home")
    space.add("Bob likes Alice.", kind="viewpoint")
    return space.add(
        "Alice flew to Kyoto on 3 April 2026.", tags=["travel"], source="email", importance=0.6, meta={"a": 1}
    )


def texts(found: list[Document]) -> set[str]:
    return {document.page_content for document in found}


def test_a_document_says_what_is_known_about_its_memory(space: Space, trip: Memory) -> None:
    """Id, score, times, tags, source and evidence are there, and all of it can be written as JSON."""
    document = RemanenceRetriever(space=space, k=1).invoke("When did Alice fly to Kyoto?")[0]

    about = document.metadata
    assert (document.id, about["memory_id"], document.page_content) == (trip.id, trip.id, trip.text)
    assert json.loads(json.dumps(about)) == about
    assert 0 < about["score"] <= 1
    assert about["valid_from"] == "2026-04-03T00:00:00+00:00"
    assert about["recorded_at"] == trip.recorded_at.isoformat()
    assert (about["kind"], about["tags"], about["source"], about["meta"]) == ("episode", ["travel"], "email", {"a": 1})
    assert {said["signal"] for said in about["evidence"]} >= {"words", "graph"}
    assert about["current"] is True


def test_a_turn_keeps_its_speaker(space: Space) -> None:
    """Who said it, and in which conversation."""
    space.add_turns([{"speaker": "Ana", "content": "I booked Casa Lisboa.", "conversation": "c1"}])

    about = RemanenceRetriever(space=space).invoke("Casa Lisboa")[0].metadata
    assert (about["speaker"], about["conversation"]) == ("Ana", "c1")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"memory_tags": ["travel"]}, {"Alice flew to Kyoto on 3 April 2026."}),
        ({"kinds": ["viewpoint"]}, {"Bob likes Alice."}),
        ({"during": ("2026-04-02", "2026-04-05"), "kinds": "episode"}, {"Alice flew to Kyoto on 3 April 2026."}),
        ({"during": "March 2026", "kinds": "episode"}, set()),
        ({"as_of": "2026-05-05"}, {"Alice lives in Porto."}),
        ({"history": False, "kinds": ["semantic"]}, {"Alice lives in Lisbon."}),
        ({"history": True, "kinds": ["semantic"]}, {"Alice lives in Lisbon.", "Alice lives in Porto."}),
        ({"min_score": 1.0}, set()),
    ],
)
async def test_every_filter_works_in_the_constructor_and_in_a_call(
    space: Space, trip: Memory, asked: dict[str, Any], expected: set[str]
) -> None:
    """The same, from both places, and from an event loop."""
    set_up, plain = RemanenceRetriever(space=space, **asked), RemanenceRetriever(space=space)

    assert texts(set_up.invoke("Alice")) == expected
    assert texts(plain.invoke("Alice", **asked)) == expected
    assert texts(await plain.ainvoke("Alice", **asked)) == expected


async def test_a_call_may_say_tags(space: Space, trip: Memory) -> None:
    """As `recall` does. Only in the constructor, where LangChain has tags of its own for tracing, is it
    `memory_tags`, which counts most."""
    retriever = RemanenceRetriever(space=space, memory_tags=["home"], tags=["traced"])

    assert retriever.invoke("Alice") == []
    assert texts(retriever.invoke("Alice", tags=["travel"])) == {trip.text}
    assert texts(await retriever.ainvoke("Alice", tags="travel")) == {trip.text}
    assert texts(retriever.invoke("Alice", memory_tags=["travel"], tags=["home"])) == {trip.text}


def test_tags_in_the_constructor_are_langchain_s(space: Space, trip: Memory) -> None:
    """They name the run for those who watch it, and filter nothing."""

    class Watching(BaseCallbackHandler):
        seen: ClassVar[list[Any]] = []

        def on_retriever_start(self, *args: Any, tags: list[str] | None = None, **options: Any) -> None:
            self.seen.append(tags)

    found = RemanenceRetriever(space=space, tags=["traced"]).invoke("Alice", {"callbacks": [Watching()]})

    assert Watching.seen == [["traced"]]
    assert len(found) == 3


def test_a_filter_that_is_not_there_is_refused(space: Space) -> None:
    """By name, in the constructor and in a call: one that is misspelt would filter nothing."""
    with pytest.raises(ValidationError, match=r"RemanenceRetriever\nkind\n  Extra inputs are not permitted"):
        RemanenceRetriever(space=space, kind=["viewpoint"])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'kind'"):
        RemanenceRetriever(space=space).invoke("Alice", kind=["viewpoint"])


def test_a_call_has_the_last_word(space: Space, trip: Memory) -> None:
    """What a call asks for takes the place of what the constructor set."""
    retriever = RemanenceRetriever(space=space, k=1, kinds=["viewpoint"])

    assert texts(retriever.invoke("Alice", kinds=["episode"], k=5)) == {trip.text}


def test_a_view_of_the_past_can_be_retrieved_from(space: Space, trip: Memory) -> None:
    """A retriever reads, so a view will do."""
    monday = RemanenceRetriever(space=space.as_of("2026-05-05"))

    assert texts(monday.invoke("Where does Alice live?")) == {"Alice lives in Porto."}


def test_a_filter_that_cannot_be_meant_is_refused(space: Space) -> None:
    """With the core's own words."""
    with pytest.raises(InvalidInput, match=r"kinds=.* contains 'dream'"):
        RemanenceRetriever(space=space, kinds=["dream"]).invoke("Alice")


async def test_many_ask_at_once_and_the_loop_stays_free(space: Space, trip: Memory) -> None:
    """Recall runs beside the loop, not on it."""
    retriever = RemanenceRetriever(space=space, k=1)

    answers = await asyncio.gather(*(retriever.ainvoke("When did Alice fly to Kyoto?") for _ in range(20)))
    assert {answer[0].id for answer in answers} == {trip.id}


def test_a_rag_pipeline_reads_from_memory(space: Space, trip: Memory) -> None:
    """Retriever, prompt, model, parser, as in LangChain's own documentation."""
    prompt = ChatPromptTemplate.from_template("Answer from this: {context}\nQuestion: {question}")
    context = RemanenceRetriever(space=space, k=1) | (lambda found: found[0].page_content)
    chain = {"context": context, "question": RunnablePassthrough()} | prompt | Parrot() | StrOutputParser()

    assert "Answer from this: Alice flew to Kyoto" in chain.invoke("When did Alice fly to Kyoto?")


def test_it_becomes_a_tool(space: Space, trip: Memory, tmp_path: Path) -> None:
    """By LangChain's own helper."""
    tool = create_retriever_tool(RemanenceRetriever(space=space, k=1), "memory", "What is known.")

    assert tool.invoke({"query": "When did Alice fly to Kyoto?"}) == trip.text


def test_a_blank_question_lists_what_was_told_last(space: Space) -> None:
    """A chain may search for nothing; `recall` itself refuses that. In a view of checkpoints, too."""
    space.add("Ana drinks tea.", now="2026-05-01")
    space.add("Bob rows.", now="2026-05-02")

    assert texts(RemanenceRetriever(space=space).invoke(" ")) == {"Bob rows.", "Ana drinks tea."}
    assert texts(RemanenceRetriever(space=space, min_trust="user").invoke("", k=1, min_score=0.1)) == {"Bob rows."}
    view = CheckpointView(space, InMemorySaver())
    assert [hit.memory.text for hit in recall_distinct(view, "", limit=1)] == ["Bob rows."]
