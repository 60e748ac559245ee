"""RemanenceRetriever in query engines, with postprocessors, and as a tool."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
from llama_index.core import QueryBundle
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.schema import Document, MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.tools import RetrieverTool

import remanence
from llama_index_remanence import RemanenceIndex, RemanenceRetriever
from llamaindex.scripted import Counting, Scripted, broken
from remanence.testing import FakeClock


@pytest.fixture
def library(space: remanence.Space) -> remanence.Space:
    """Three memories."""
    space.add("Alice drinks green tea.", source="email", tags=["drinks"], meta={"page": 3})
    space.add("Bob drinks coffee.", tags=["drinks"])
    space.add("The bridge was painted blue on 3 May 2026.")
    return space


def test_memories_are_nodes_with_scores_from_0_to_1(library: remanence.Space) -> None:
    """Best first, with the id of the memory, the same each time."""
    retriever = RemanenceRetriever(library, limit=2)
    got, again = retriever.retrieve("What does Alice drink?"), retriever.retrieve("What does Alice drink?")

    assert got[0].text == "Alice drinks green tea."
    assert len(got) == 2
    assert 1 >= got[0].score > got[1].score >= 0
    assert [node.node_id for node in got] == [node.node_id for node in again]
    assert library.get(got[0].node_id).text == got[0].text


def test_a_blank_question_lists_what_was_told_last(library: remanence.Space) -> None:
    """A chat engine may search for nothing."""
    newest = library.recent(limit=1)[0].memory.text
    assert [each.text for each in RemanenceRetriever(library, limit=1, during=None).retrieve(" ")] == [newest]


def test_what_is_known_of_a_memory_is_metadata_and_not_text(library: remanence.Space) -> None:
    """A model or an embedder that reads the node reads the memory's words."""
    (node,) = RemanenceRetriever(library, limit=1).retrieve("What does Alice drink?")

    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert node.node.get_content(metadata_mode=mode) == "Alice drinks green tea."
    assert node.metadata["source"] == "email"
    assert node.metadata["meta"] == {"page": 3}
    assert node.metadata["current"] is True
    assert node.metadata["memory_id"] == node.node_id
    assert "alice" in node.metadata["reason"].lower()
    assert node.metadata["missing"] == {}
    assert {e["signal"] for e in node.metadata["evidence"]} >= {"words", "vectors"}


def test_pieces_of_a_document_are_found_together(space: remanence.Space) -> None:
    """One may not say of what it speaks; its `source` does, and comes back with it."""
    pieces = {
        "The lighthouse of Foz was built in 1886.": "foz.pdf",
        "Visitors are let in on Sundays.": "foz.pdf",
        "Visitors to the museum are let in on Mondays.": "museum.pdf",
    }
    split = [
        TextNode(text=text, relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)})
        for text, document in pieces.items()
    ]
    space.add_many({"text": node.text, "source": node.ref_doc_id} for node in split)

    got = RemanenceRetriever(space, limit=2).retrieve("When does the lighthouse of Foz let visitors in?")
    assert [(node.text, node.metadata["source"]) for node in got] == list(pieces.items())[:2]


def test_the_arguments_are_those_of_recall(library: remanence.Space) -> None:
    """Tags, time, kinds, a least score."""

    def found(**options: object) -> list[str]:
        nodes = RemanenceRetriever(library, **options).retrieve("drinks")  # type: ignore[arg-type]
        return sorted(node.text for node in nodes)

    assert found(tags="drinks") == ["Alice drinks green tea.", "Bob drinks coffee."]
    assert found(during="May 2026", kinds="episode") == ["The bridge was painted blue on 3 May 2026."]
    assert found(min_score=1.0) == []


def test_a_given_embedding_is_used(library: remanence.Space, embedder: Counting) -> None:
    """The question is not embedded again; and its meaning is what was given."""
    vector = embedder.embed(["Bob drinks coffee."])[0]
    bundle = QueryBundle(query_str="?", embedding=[float(number) for number in np.asarray(vector)])

    got = RemanenceRetriever(library).retrieve(bundle)

    assert got[0].text == "Bob drinks coffee."
    assert embedder.asked == []


def test_a_view_of_the_past_can_be_asked(space: remanence.Space, clock: FakeClock) -> None:
    """With what was known then."""
    space.add("Alice lives in Porto.", key="home")
    then = clock.now()
    clock.advance(days=30)
    space.add("Alice lives in Lisbon.", key="home")

    def lives(view: remanence.View) -> str:
        return RemanenceRetriever(view).retrieve("Where does Alice live?")[0].text

    assert lives(space) == "Alice lives in Lisbon."
    assert lives(space.as_of(then)) == "Alice lives in Porto."


def test_two_versions_of_a_memory_are_two_nodes(space: remanence.Space, clock: FakeClock) -> None:
    """What is downstream drops nodes of one id."""
    space.add("Alice lives in Porto.", key="home")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.", key="home")

    got = RemanenceRetriever(space, history=True).retrieve("Where does Alice live?")

    old = next(node for node in got if "Porto" in node.text)
    assert len({node.node_id for node in got}) == len(got) == 2
    assert old.metadata["superseded_by"] == "Alice lives in Lisbon."
    assert old.metadata["current"] is False


async def test_it_retrieves_off_the_loop(library: remanence.Space, embedder: Counting) -> None:
    """While it does, the loop goes on with other things."""
    retriever = RemanenceRetriever(library)

    answers = await asyncio.gather(*(retriever.aretrieve(f"What does Alice drink, {n}?") for n in range(5)))

    assert all(nodes[0].text == "Alice drinks green tea." for nodes in answers)
    assert embedder.threads
    assert threading.main_thread() not in embedder.threads


def test_a_signal_that_is_down_is_named() -> None:
    """An answer made with less says so."""
    with remanence.open(None, embedder=broken) as space:
        space.add("Alice drinks green tea.")
        (node,) = RemanenceRetriever(space).retrieve("What does Alice drink?")

    assert list(node.metadata["missing"]) == ["vectors"]


def test_whoever_watches_is_told(library: remanence.Space) -> None:
    """Tracing hangs on the callback manager."""
    watching = LlamaDebugHandler(print_trace_on_end=False)
    RemanenceRetriever(library, callback_manager=CallbackManager([watching])).retrieve("Alice?")

    (asked, _) = watching.get_event_pairs(CBEventType.RETRIEVE)[0]
    assert asked.payload == {"query_str": "Alice?"}


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_it_answers_in_a_query_engine_behind_a_cutoff(library: remanence.Space, asynchronous: bool) -> None:
    """Scores on another scale would not survive the postprocessor."""
    llm = Scripted("Green tea.")
    engine = RetrieverQueryEngine(
        retriever=RemanenceRetriever(library),
        response_synthesizer=get_response_synthesizer(llm=llm, response_mode=ResponseMode.COMPACT),
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.4)],
    )

    asked = "What does Alice drink?"
    answer = await engine.aquery(asked) if asynchronous else engine.query(asked)

    assert str(answer) == "Green tea."
    assert [node.text for node in answer.source_nodes] == ["Alice drinks green tea."]
    assert "Alice drinks green tea." in llm.prompt()
    assert "evidence" not in llm.prompt()


async def test_it_is_a_tool(library: remanence.Space) -> None:
    """For an agent to look things up with."""
    tool = RetrieverTool.from_defaults(RemanenceRetriever(library, limit=1), name="notes", description="Notes.")

    assert "Alice drinks green tea." in tool.call("What does Alice drink?").content
    assert "Alice drinks green tea." in (await tool.acall("What does Alice drink?")).content


def test_the_reader_the_deadline_and_the_number_of_nodes_can_be_set(space: remanence.Space) -> None:
    """Also by LlamaIndex's name for the number, and by the index."""
    space.add_many(["Ana drinks tea.", "Ana drinks milk.", "Ana drinks water."])
    options: dict[str, Any] = {"similarity_top_k": 2, "reader": "none", "deadline": 5}

    assert len(RemanenceRetriever(space, **options).retrieve("What does Ana drink?")) == 2
    assert len(RemanenceIndex(space).as_retriever(**options).retrieve("What does Ana drink?")) == 2


def test_documents_without_a_space_are_said_to_be_in_memory(caplog: pytest.LogCaptureFixture) -> None:
    """By the index and the retriever; a space that is given says nothing."""
    for made in (RemanenceIndex, RemanenceRetriever):
        made.from_documents([Document(text="Porto has six bridges.")])
        [line] = caplog.messages
        assert "in memory, and gone with this process" in line
        caplog.clear()
    with remanence.open(None) as space:
        RemanenceIndex.from_documents([Document(text="Porto has six bridges.")], space=space)
    assert caplog.messages == []
