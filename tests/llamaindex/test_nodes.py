"""Documents and nodes of LlamaIndex in a space: `RemanenceIndex`, and `RemanenceRetriever` over nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import ChatMessage
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from rank_bm25 import BM25Plus

import llama_index_remanence
from langchain_remanence import RemanenceVectorStore
from llama_index_remanence import RemanenceIndex, RemanenceMemory, RemanenceRetriever
from llamaindex.scripted import Scripted
from remanence import InvalidInput, Space
from remanence.testing import FakeClock

SPLITTER = SentenceSplitter(chunk_size=35, chunk_overlap=0)


def porto(
    text: str = "Porto has six bridges. The first was built in 1806. The river below them is the Douro.",
) -> Document:
    return Document(
        text=text,
        doc_id="porto",
        metadata={"page": 1, "authors": ["Ana", "Bob"], "a": {"b": 2}},
        excluded_llm_metadata_keys=["authors"],
    )


def lisbon() -> Document:
    return Document(
        text="Lisbon has seven hills. A tram climbs the steepest one.", doc_id="lisbon", metadata={"page": 2}
    )


def split(*documents: Document) -> list[BaseNode]:
    return SPLITTER.get_nodes_from_documents(list(documents))


@pytest.fixture
def index(space: Space) -> RemanenceIndex:
    """Two documents in pieces."""
    return RemanenceIndex.from_documents([porto(), lisbon()], space=space, transformations=[SPLITTER])


def texts(found: list[NodeWithScore]) -> set[str]:
    return {node.text for node in found}


class BM25(BaseRetriever):
    """A retriever of LlamaIndex that ranks nodes by their words."""

    def __init__(self, nodes: list[BaseNode]) -> None:
        super().__init__()
        self._nodes = nodes
        self._bm25 = BM25Plus([node.get_content(MetadataMode.NONE).lower().split() for node in nodes])

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        scores = self._bm25.get_scores(query_bundle.query_str.lower().split())
        found = [NodeWithScore(node=node, score=float(score)) for node, score in zip(self._nodes, scores, strict=True)]
        return sorted(found, key=lambda each: -(each.score or 0.0))[:5]


def test_nodes_come_back_as_the_user_s_own(reopen: Callable[[], Space]) -> None:
    """Class, ids, relationships, metadata in their order, templates and hash; also after a restart."""
    nodes: list[BaseNode] = [*split(porto(), lisbon()), porto()]
    nodes += [ImageNode(text="A map.", image_url="http://x/y.png"), IndexNode(text="See there.", index_id="i1")]
    nodes.append(TextNode(text="Only a node.", id_="alone", text_template="{content}!", start_char_idx=3))
    RemanenceRetriever(reopen()).add_nodes(nodes)

    found = {each.node_id: each.node for each in RemanenceRetriever(reopen(), limit=50).retrieve("Porto and Lisbon")}
    assert len(found) == len(nodes)
    for node in nodes:
        assert found[node.node_id] == node
        assert type(found[node.node_id]) is type(node)
        assert found[node.node_id].hash == node.hash
        assert found[node.node_id].ref_doc_id == node.ref_doc_id
        assert list(found[node.node_id].metadata) == list(node.metadata)
    first, second = nodes[:2]
    assert found[first.node_id].next_node.node_id == second.node_id


@pytest.mark.parametrize("use_async", [False, True])
@pytest.mark.parametrize("mode", list(FUSION_MODES))
def test_it_fuses_with_bm25(space: Space, mode: FUSION_MODES, use_async: bool) -> None:
    """A node that both find is one node."""
    nodes = split(porto(), lisbon())
    retriever = RemanenceRetriever(space, limit=5)
    retriever.add_nodes(nodes)
    fusion = QueryFusionRetriever(
        [retriever, BM25(nodes)], llm=Scripted(""), num_queries=1, similarity_top_k=9, mode=mode, use_async=use_async
    )

    found = fusion.retrieve("How many bridges has Porto?")
    assert len({each.node_id for each in found}) == len(found) == len(nodes)
    assert found[0].text.startswith("Porto has six bridges.")


def test_a_document_is_split_and_found(index: RemanenceIndex, space: Space) -> None:
    """Its pieces name it, and carry what the splitter says about their order."""
    [found] = index.as_retriever(similarity_top_k=1).retrieve("How many bridges has Porto?")

    assert found.node.ref_doc_id == "porto"
    assert found.metadata == {"page": 1, "authors": ["Ana", "Bob"], "a": {"b": 2}}
    assert set(index.ref_doc_info) == {"porto", "lisbon"}
    assert sum(len(info.node_ids) for info in index.ref_doc_info.values()) == space.count()
    retriever = RemanenceRetriever.from_documents([lisbon()], transformations=[SPLITTER], limit=1)
    assert retriever.retrieve("hills")[0].node.ref_doc_id == "lisbon"


def test_without_transformations_those_of_the_settings_split(space: Space) -> None:
    """And no model of LlamaIndex is made for it."""
    index = RemanenceIndex.from_documents([porto()], space=space)

    assert index.as_retriever().retrieve("bridges")[0].text == porto().text


@pytest.mark.parametrize("verb", ["insert", "update_ref_doc", "from_documents"])
def test_a_document_is_replaced(index: RemanenceIndex, space: Space, clock: FakeClock, verb: str) -> None:
    """Of the old text nothing is left but in the past; other documents stay."""
    before = clock.now()
    clock.advance(days=1)
    changed = porto("Porto has seven bridges now. Nobody counts them.")
    if verb == "from_documents":
        RemanenceIndex.from_documents([changed], space=space, transformations=[SPLITTER])
    else:
        getattr(index, verb)(changed)

    found = texts(index.as_retriever(limit=50).retrieve("Porto bridges"))
    assert any("hills" in each for each in found)
    assert {each for each in found if each not in lisbon().text} == {
        node.get_content(MetadataMode.NONE) for node in split(changed)
    }
    assert any("six bridges" in each for each in texts(RemanenceRetriever(space.as_of(before)).retrieve("bridges")))


def test_only_changed_documents_are_refreshed(index: RemanenceIndex, space: Space) -> None:
    """The answer says which."""
    changed = porto("Porto has seven bridges.")
    extra = Document(text="Faro is warm.", doc_id="faro")

    assert index.refresh_ref_docs([changed, lisbon(), extra]) == [True, False, True]
    assert index.refresh_ref_docs([changed, lisbon(), extra]) == [False, False, False]
    assert set(index.ref_doc_info) == {"porto", "lisbon", "faro"}


def test_a_document_is_deleted_by_its_id(index: RemanenceIndex, space: Space) -> None:
    """With all of its nodes, and nothing else; a memory with the same source is not a node of it."""
    space.add("Porto is fine.", source="porto")
    count = len(index.ref_doc_info["porto"].node_ids)

    assert index.delete_ref_doc("porto") == count
    assert index.delete_ref_doc("porto") == 0
    assert set(index.ref_doc_info) == {"lisbon"}
    assert "Porto is fine." in texts(index.as_retriever().retrieve("Porto"))
    assert index.delete_nodes(index.ref_doc_info["lisbon"].node_ids) > 0
    assert index.ref_doc_info == {}


@pytest.mark.parametrize("id_of", [lambda number, node: f"n{number}", lambda number, node: sha256(b"x").hexdigest()])
def test_the_same_chunk_in_two_documents_belongs_to_both(space: Space, id_of: Callable[[int, Any], str]) -> None:
    """Whether its id is its own in each document, or made of its text."""
    retriever = RemanenceRetriever(space)
    for number, document in enumerate(("a.pdf", "b.pdf")):
        source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)}
        retriever.add_nodes([TextNode(text="All rights reserved.", id_=id_of(number, None), relationships=source)])

    for document in ("a.pdf", "b.pdf"):
        [found] = RemanenceRetriever(space, source=document).retrieve("rights")
        assert found.node.ref_doc_id == document
    assert retriever.delete_ref_doc("a.pdf") == 1
    [left] = retriever.retrieve("rights")
    assert left.node.ref_doc_id == "b.pdf"


@pytest.mark.parametrize(
    ("filters", "pages"),
    [
        ({"page": 1}, {1}),
        ({"page": {"$gt": 1}}, {2, 3}),
        ([("page", 2, FilterOperator.EQ)], {2}),
        ([("page", 2, FilterOperator.NE)], {1, 3}),
        ([("page", 1, FilterOperator.GT), ("page", 3, FilterOperator.LT)], {2}),
        ([("page", 2, FilterOperator.GTE)], {2, 3}),
        ([("page", 2, FilterOperator.LTE)], {1, 2}),
        ([("page", [1, 3], FilterOperator.IN)], {1, 3}),
        ([("page", [1, 3], FilterOperator.NIN)], {2}),
        ([("names", "Ana", FilterOperator.CONTAINS)], {1, 2}),
        ([("names", ["Ana", "Cy"], FilterOperator.ANY)], {1, 2}),
        ([("names", ["Ana", "Bob"], FilterOperator.ALL)], {1}),
        ([("names", None, FilterOperator.IS_EMPTY)], {3}),
        ([("title", "ort", FilterOperator.TEXT_MATCH)], {1}),
    ],
)
def test_metadata_filters_are_those_of_llamaindex(space: Space, filters: Any, pages: set[int]) -> None:
    """Or a dict, as `recall` takes it."""
    rows: list[dict[str, Any]] = [
        {"page": 1, "names": ["Ana", "Bob"], "title": "Porto"},
        {"page": 2, "names": ["Ana"], "title": "Faro"},
        {"page": 3, "title": "Tomar"},
    ]
    RemanenceRetriever(space).add_nodes([TextNode(text=f"A page, {row['title']}.", metadata=row) for row in rows])
    if isinstance(filters, list):
        filters = MetadataFilters(filters=[MetadataFilter(key=k, value=v, operator=o) for k, v, o in filters])

    found = RemanenceRetriever(space, filters=filters).retrieve("page")
    assert {node.metadata["page"] for node in found} == pages


def test_filters_are_combined(space: Space) -> None:
    """By "or" and "not", one inside the other; one that cannot be translated is refused at once."""
    RemanenceRetriever(space).add_nodes([TextNode(text=f"Page {n}.", metadata={"page": n}) for n in range(4)])

    def found(condition: FilterCondition, *parts: Any) -> set[int]:
        filters = MetadataFilters(filters=list(parts), condition=condition)
        return {node.metadata["page"] for node in RemanenceRetriever(space, filters=filters).retrieve("page")}

    first, second = (MetadataFilter(key="page", value=number) for number in (0, 1))
    either = MetadataFilters(filters=[first, second], condition=FilterCondition.OR)
    assert found(FilterCondition.OR, first, second) == {0, 1}
    assert found(FilterCondition.NOT, first, second) == {2, 3}
    assert found(FilterCondition.AND, either, MetadataFilter(key="page", value=0, operator=FilterOperator.GT)) == {1}
    assert found(FilterCondition.AND) == {0, 1, 2, 3}
    with pytest.raises(InvalidInput, match="'text_match_insensitive' is not supported"):
        found(FilterCondition.AND, MetadataFilter(key="a", value="b", operator=FilterOperator.TEXT_MATCH_INSENSITIVE))
    with pytest.raises(InvalidInput, match="filters='page' is of type str"):
        RemanenceRetriever(space, filters="page")  # type: ignore[arg-type]


def test_memories_and_nodes_are_found_together(space: Space) -> None:
    """A node is the user's own, a memory has its fields in the metadata, and speakers can be asked for."""
    space.add_turns([{"speaker": "Ana", "content": "I crossed the bridges of Porto.", "conversation": "c1"}])
    retriever = RemanenceRetriever(space)
    retriever.add_nodes(split(porto()))

    found = {node.text: node for node in retriever.retrieve("bridges of Porto")}
    assert found["I crossed the bridges of Porto."].metadata["speaker"] == "Ana"
    assert texts(RemanenceRetriever(space, speaker="Ana").retrieve("bridges")) == {"I crossed the bridges of Porto."}
    assert texts(RemanenceRetriever(space, conversation="c1").retrieve("bridges")) == {
        "I crossed the bridges of Porto."
    }


def test_two_versions_of_a_node_are_two_nodes(space: Space, clock: FakeClock) -> None:
    """The newest has the id."""
    retriever = RemanenceRetriever(space, history=True)
    for count in ("six", "seven"):
        retriever.add_nodes([TextNode(text=f"Porto has {count} bridges.", id_="n1")])
        clock.advance(days=1)

    found = {node.text: node.node_id for node in retriever.retrieve("bridges")}
    assert found["Porto has seven bridges."] == "n1"
    assert found["Porto has six bridges."].startswith("n1@")


def test_documents_of_one_framework_are_nodes_of_the_other(space: Space) -> None:
    """Id, text and metadata are the same in both."""
    RemanenceVectorStore(space).add_documents([LangChainDocument("Porto has six bridges.", id="d1", metadata={"n": 1})])
    RemanenceRetriever(space).add_nodes([TextNode(text="Lisbon has seven hills.", id_="n1", metadata={"n": 2})])

    [node] = RemanenceRetriever(space, filters={"n": 1}).retrieve("bridges")
    assert (node.node_id, node.text, node.metadata) == ("d1", "Porto has six bridges.", {"n": 1})
    [document] = RemanenceVectorStore(space).similarity_search("hills", k=1)
    assert (document.id, document.page_content, document.metadata) == ("n1", "Lisbon has seven hills.", {"n": 2})
    assert [each.id for each in RemanenceVectorStore(space).get_by_ids(["n1", "d1"])] == ["n1", "d1"]


async def test_it_answers_in_a_query_engine_and_off_the_loop(index: RemanenceIndex) -> None:
    """Every verb has an async variant."""
    llm = Scripted("Six.")
    engine = index.as_query_engine(llm=llm, similarity_top_k=1, response_mode="compact")

    answer = await engine.aquery("How many bridges has Porto?")
    assert str(answer) == "Six."
    assert answer.source_nodes[0].node.ref_doc_id == "porto"
    await asyncio.gather(index.ainsert(Document(text="Faro is warm.", doc_id="faro")), index.adelete_ref_doc("lisbon"))
    assert set(index.ref_doc_info) == {"porto", "faro"}
    await index.aupdate_ref_doc(Document(text="Faro is hot.", doc_id="faro"))
    assert await index.arefresh_ref_docs([Document(text="Faro is hot.", doc_id="faro")]) == [False]
    await index.ainsert_nodes([TextNode(text="Alone.", id_="n1")])
    assert await index.adelete_nodes(["n1"]) == 1
    retriever = index.as_retriever()
    assert await retriever.aadd_nodes([TextNode(text="Alone.", id_="n1")]) == ["n1"]
    assert await retriever.adelete_ref_doc("porto") > 0


@pytest.mark.parametrize("mode", ["best", "context", "condense_plus_context", "condense_question", "simple"])
def test_it_chats_in_each_mode(index: RemanenceIndex, space: Space, mode: str) -> None:
    """With a memory of ours, with what is found in the prompt, and with the options of the retriever."""
    llm = Scripted("Six.") if mode != "condense_question" else Scripted("How many bridges?", "Six.")
    memory = RemanenceMemory(space.child("chats"), session_id="monday", keep=None)
    memory.put_messages([ChatMessage("Good morning."), ChatMessage(role="assistant", content="Hello.")])
    condensed = {"skip_condense": True} if mode in ("best", "condense_plus_context") else {}
    engine = index.as_chat_engine(mode, llm=llm, memory=memory, similarity_top_k=1, **condensed)

    assert str(engine.chat("How many bridges has Porto?")) == "Six."
    assert ("Porto has six bridges." in llm.prompt()) == (mode != "simple")
    assert "Lisbon" not in llm.prompt()
    assert [message.content for message in memory.get_all()][-1] == "Six."


def test_a_chat_mode_that_is_gone_is_refused(index: RemanenceIndex) -> None:
    """With what to use."""
    with pytest.raises(InvalidInput, match="has removed chat_mode='react'"):
        index.as_chat_engine("react", llm=Scripted())


def test_wrong_types_are_refused_at_once(space: Space, clock: FakeClock) -> None:
    """With the next step."""
    for name in llama_index_remanence.__all__:
        if name.startswith("Remanence"):
            with pytest.raises(InvalidInput, match=r"Open it: remanence.open\('./memory'\)"):
                getattr(llama_index_remanence, name)("./memory")
    with pytest.raises(InvalidInput, match="is a view of the past"):
        RemanenceIndex(space.as_of(clock.now()))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="'Porto' is of type str, not a node"):
        RemanenceRetriever(space).add_nodes(["Porto"])  # type: ignore[list-item]
