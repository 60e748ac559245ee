"""RemanenceVectorStore where LlamaIndex expects a vector store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llama_index.core import Document, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import VectorMemoryBlock
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

import remanence
from llama_index_remanence import RemanenceIndex, RemanenceRetriever, RemanenceVectorStore
from llamaindex.scripted import Scripted
from remanence import InvalidInput, NotFound, Space
from remanence.testing import FakeClock, HashingEmbedder

BRIDGES, HILLS, SALT = "Porto has six bridges.", "Lisbon has seven hills.", "Aveiro makes salt."
MODES = [mode for mode in VectorStoreQueryMode if mode.value not in ("svm", "logistic_regression", "linear_regression")]


def node(text: str, id_: str, document: str | None = None, **metadata: Any) -> TextNode:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)} if document else {}
    return TextNode(text=text, id_=id_, metadata=metadata, relationships=source)


@pytest.fixture
def store(space: Space) -> RemanenceVectorStore:
    """Three nodes of two documents."""
    store = RemanenceVectorStore(space)
    store.add(
        [
            node(BRIDGES, "bridges", "north", page=1, names=["Ana"]),
            node(SALT, "salt", "north", page=2),
            node(HILLS, "hills", "south", page=3, names=["Ana", "Bob"]),
        ]
    )
    return store


def ask(store: RemanenceVectorStore, text: str = "bridges of Porto", top: int = 3, **query: Any) -> list[str]:
    result = store.query(VectorStoreQuery(query_str=text, similarity_top_k=top, **query))
    assert result.ids == [found.node_id for found in result.nodes or []]
    return list(result.ids or [])


def where(key: str, value: Any, operator: FilterOperator = FilterOperator.EQ) -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=operator)


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_finds_what_is_asked_for(store: RemanenceVectorStore, mode: VectorStoreQueryMode) -> None:
    """With scores from 0 to 1, best first; the node comes back as it was added."""
    result = store.query(VectorStoreQuery(query_str="bridges of Porto", similarity_top_k=2, mode=mode))

    assert result.nodes[0] == node(BRIDGES, "bridges", "north", page=1, names=["Ana"])
    assert result.similarities is not None
    assert len(result.nodes) <= 2
    assert all(0 <= score <= 1 for score in result.similarities)


def test_a_vector_is_searched_for_if_there_is_no_text(store: RemanenceVectorStore) -> None:
    """Of the embedder of the space; without either there is nothing to search for."""
    vector = store.embed_model.get_query_embedding("bridges of Porto")

    assert store.query(VectorStoreQuery(query_embedding=vector)).ids == ["bridges"]
    with pytest.raises(InvalidInput, match="neither query_str nor query_embedding"):
        store.query(VectorStoreQuery())
    with pytest.raises(InvalidInput, match="needs query_str"):
        store.query(VectorStoreQuery(query_embedding=vector, mode=VectorStoreQueryMode.HYBRID))
    with pytest.raises(InvalidInput, match="mode 'svm' is not supported"):
        store.query(VectorStoreQuery(query_str="bridges", mode=VectorStoreQueryMode.SVM))


def test_a_text_without_a_known_word_lists_what_passes_the_filter(store: RemanenceVectorStore) -> None:
    """It has no direction."""
    filters = MetadataFilters(filters=[where("page", 2, FilterOperator.GTE)])

    assert set(ask(store, "...", filters=filters)) == {"hills", "salt"}
    assert set(ask(store, "...", filters=filters, mode=VectorStoreQueryMode.MMR)) == {"hills", "salt"}


def test_mmr_chooses_nodes_that_differ(space: Space) -> None:
    """With a threshold of 1 it does not; the number of candidates can be set."""
    store = RemanenceVectorStore(space)
    store.add([node("Porto has six bridges.", "a"), node("Porto has six bridges!", "b"), node("Porto is old.", "c")])
    query = VectorStoreQuery(query_str="Porto has bridges", similarity_top_k=2, mode=VectorStoreQueryMode.MMR)

    def chosen(**options: Any) -> set[str]:
        return set(store.query(query, **options).ids or [])

    assert chosen(mmr_threshold=1.0) == {"a", "b"}
    assert "c" in chosen(mmr_threshold=0.1)
    assert chosen(mmr_threshold=0.1, mmr_prefetch_k=2) == {"a", "b"}
    query.mmr_threshold = 1.0
    assert chosen() == {"a", "b"}


def test_alpha_weighs_words_and_vectors(toy_store: RemanenceVectorStore) -> None:
    """0 for the words alone, 1 for the vectors alone."""
    hybrid = {"mode": VectorStoreQueryMode.HYBRID, "top": 2}

    assert ask(toy_store, "north", alpha=0.0, **hybrid)[0] == "word"
    assert ask(toy_store, "north", alpha=1.0, **hybrid)[0] == "vector"
    assert len(ask(toy_store, "north", mode=VectorStoreQueryMode.HYBRID, hybrid_top_k=1)) == 1


@pytest.fixture
def toy_store(clock: FakeClock) -> Any:
    """Of two nodes, one has the word of the question and the other is where its vector points."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[0.0, 1.0] if "word" in text else [1.0, 0.0] for text in texts]

    with remanence.open(None, embedder=embed, clock=clock) as space:
        store = RemanenceVectorStore(space)
        store.add([node("north is a word", "word"), node("up on the map", "vector")])
        yield store


def test_filters_may_be_nested(store: RemanenceVectorStore) -> None:
    """And go together with the ids of nodes and documents."""
    either = MetadataFilters(filters=[where("page", 1), where("page", 3)], condition=FilterCondition.OR)
    both = MetadataFilters(filters=[either, where("names", "Bob", FilterOperator.CONTAINS)])

    assert ask(store, filters=both) == ["hills"]
    assert set(ask(store, filters=either)) == {"bridges", "hills"}
    assert ask(store, filters=either, doc_ids=["north"]) == ["bridges"]
    assert ask(store, filters=either, node_ids=["hills", "salt"]) == ["hills"]
    for name in ("doc_id", "ref_doc_id", "document_id"):
        assert ask(store, filters=MetadataFilters(filters=[where(name, "south")])) == ["hills"]


LISTS = st.lists(st.sampled_from("abc"), max_size=2)
ROWS = st.lists(
    st.fixed_dictionaries({}, optional={"n": st.integers(0, 3), "s": st.sampled_from(["a", "b", "ab"]), "l": LISTS}),
    min_size=1,
    max_size=5,
)
FILTERS = st.lists(
    st.one_of(
        st.builds(where, st.just("n"), st.integers(0, 3), st.sampled_from(list(FilterOperator)[:6])),
        st.builds(where, st.just("s"), st.sampled_from("ab"), st.sampled_from([FilterOperator.TEXT_MATCH])),
        st.builds(where, st.just("n"), st.lists(st.integers(0, 3)), st.sampled_from(list(FilterOperator)[6:8])),
        st.builds(where, st.just("l"), st.sampled_from("abc"), st.just(FilterOperator.CONTAINS)),
        st.builds(where, st.just("l"), st.lists(st.sampled_from("abc"), min_size=1), st.sampled_from(["any", "all"])),
        st.builds(where, st.sampled_from("nsl"), st.none(), st.just(FilterOperator.IS_EMPTY)),
    ),
    min_size=1,
    max_size=3,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, filters=FILTERS, condition=st.sampled_from(FilterCondition))
def test_filters_match_as_in_simple_vector_store(rows: Any, filters: Any, condition: FilterCondition) -> None:
    """Every operator that it has, with fields that are missing."""
    given_filters = MetadataFilters(filters=filters, condition=condition)
    theirs = SimpleVectorStore()
    nodes = [node(f"Row {number}.", f"{number}", **row) for number, row in enumerate(rows)]
    for each in nodes:
        each.embedding = [1.0]
    theirs.add(nodes)
    expected = theirs.query(VectorStoreQuery(query_embedding=[1.0], similarity_top_k=9, filters=given_filters)).ids

    with remanence.open(None, embedder=HashingEmbedder()) as space:
        store = RemanenceVectorStore(space)
        store.add(nodes)
        assert {found.node_id for found in store.get_nodes(filters=given_filters)} == set(expected or [])
        assert set(ask(store, "row", top=9, filters=given_filters)) == set(expected or [])


def test_nothing_is_deleted_by_accident(store: RemanenceVectorStore, space: Space) -> None:
    """Not by a variable that was never set, an empty filter, one text in place of a list, or an unknown keyword."""
    store.add([TextNode(text="Porto.", id_="p"), TextNode(text="Lisbon.", id_="l")])
    count, index = space.count(), RemanenceIndex(space)
    nothing: Any = None
    for delete in (store.delete, index.delete_ref_doc, RemanenceRetriever(space).delete_ref_doc):
        with pytest.raises(InvalidInput, match="ref_doc_id=None is of type NoneType, not the id of a document"):
            delete(nothing)
    with pytest.raises(InvalidInput, match=r"is empty. To forget all nodes, call clear\(\)"):
        store.delete_nodes(filters=MetadataFilters(filters=[]))
    for delete_nodes in (store.delete_nodes, index.delete_nodes):
        with pytest.raises(InvalidInput, match=r"'pl' is a text, not a list of ids. Give \['pl'\]."):
            delete_nodes("pl")  # type: ignore[operator]
    unknown: dict[str, Any] = {"where": 1}
    calls: list[Callable[[], object]] = [
        lambda: store.delete("north", **unknown),
        lambda: store.delete_nodes(["p"], **unknown),
        lambda: store.add([TextNode(text="x")], **unknown),
        lambda: store.query(VectorStoreQuery(query_str="x"), **unknown),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="unexpected keyword argument 'where'"):
            call()
    assert space.count() == count


def test_nodes_are_got_and_deleted(store: RemanenceVectorStore, space: Space, clock: FakeClock) -> None:
    """By id, by filter, by document, or all; memories that are no nodes stay, and so does the past."""
    space.add("Porto is fine.", source="north")
    before = clock.now()
    clock.advance(days=1)
    late = MetadataFilters(filters=[where("page", 2, FilterOperator.GTE)])

    assert [each.node_id for each in store.get_nodes(["salt", "none"])] == ["salt"]
    assert {each.node_id for each in store.get_nodes()} == {"bridges", "salt", "hills"}
    store.delete_nodes(["bridges", "salt"], late)
    assert {each.node_id for each in store.get_nodes()} == {"bridges", "hills"}
    store.delete("north")
    assert [each.node_id for each in store.get_nodes(filters=late)] == ["hills"]
    with pytest.raises(InvalidInput, match="call clear"):
        store.delete_nodes()
    store.clear()
    assert store.get_nodes() == []
    assert [memory.text for memory in space.memories()] == ["Porto is fine."]
    assert space.as_of(before).count() == 4


def test_a_node_that_is_added_again_is_replaced(store: RemanenceVectorStore, space: Space) -> None:
    """Under its id; of the same chunk in two documents each has its own, and a query returns it once."""
    store.add([node("Aveiro makes salt and eggs.", "salt", "north", page=9)])
    assert [(each.text, each.metadata) for each in store.get_nodes(["salt"])] == [  # type: ignore[attr-defined]
        ("Aveiro makes salt and eggs.", {"page": 9})
    ]
    store.add([node(HILLS, "hills", "copy")])
    assert ask(store, "hills", top=9).count("hills") == 1
    store.delete("south")
    assert [each.ref_doc_id for each in store.get_nodes(["hills"])] == ["copy"]


async def test_the_async_variants_do_the_same_off_the_loop(space: Space) -> None:
    """And many at once."""
    store = RemanenceVectorStore(space)
    await asyncio.gather(*(store.async_add([node(f"Page {n}.", f"{n}", "book", page=n)]) for n in range(5)))

    assert len(await store.aget_nodes()) == 5
    assert (await store.aquery(VectorStoreQuery(query_str="Page 3"))).ids == ["3"]
    await store.adelete_nodes(["3"])
    assert len(await store.aget_nodes()) == 4
    await store.adelete("book")
    await store.async_add([node("Alone.", "alone")])
    assert [each.node_id for each in await store.aget_nodes()] == ["alone"]
    await store.aclear()
    assert await store.aget_nodes() == []


def documents(*texts: str) -> list[Document]:
    return [Document(text=text, doc_id=f"d{number}", metadata={"n": number}) for number, text in enumerate(texts)]


def retrieved(index: VectorStoreIndex, question: str, **options: Any) -> list[str]:
    return [found.text for found in index.as_retriever(**options).retrieve(question)]


@pytest.mark.parametrize("mode", MODES)
def test_an_index_is_made_on_it(space: Space, mode: VectorStoreQueryMode) -> None:
    """By a storage context; documents are inserted, updated, deleted and found."""
    store = RemanenceVectorStore(space)
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex.from_documents(
        documents(BRIDGES, HILLS), storage_context=context, embed_model=store.embed_model
    )
    assert retrieved(index, "bridges of Porto", vector_store_query_mode=mode, similarity_top_k=1) == [BRIDGES]

    index.insert(Document(text=SALT, doc_id="d2"))
    index.update_ref_doc(Document(text="Porto has seven bridges.", doc_id="d0"))
    index.delete_ref_doc("d1")
    assert {each.get_content() for each in store.get_nodes()} == {SALT, "Porto has seven bridges."}
    assert retrieved(index, "salt", vector_store_query_mode=mode, similarity_top_k=1) == [SALT]


def test_an_index_embeds_each_text_once(space: Space, embedded: list[str]) -> None:
    """LlamaIndex embeds nodes before it adds them, with their metadata; MMR chooses among vectors that are stored."""
    store = RemanenceVectorStore(space)
    long_text = "\n\n".join(f"Chapter {number}. " + "Porto has bridges. " * 30 for number in range(6))
    given = [node(BRIDGES, "bridges", "north", page=1), node(long_text, "long", "south", page=2)]
    VectorStoreIndex(
        [*given, TextNode(text=HILLS)],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=store.embed_model,
    )
    assert sorted(embedded) == sorted(set(embedded))
    embedded.clear()

    ask(store, "bridges", mode=VectorStoreQueryMode.MMR)
    assert embedded == ["bridges"]


async def test_an_index_answers_asks_and_chats(space: Space) -> None:
    """A query engine and a chat engine on an index of `from_vector_store`, with filters, also async."""
    store = RemanenceVectorStore(space)
    index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
    index.insert_nodes([node(BRIDGES, "bridges", page=1), node(HILLS, "hills", page=2)])
    llm = Scripted("Six.", "Seven.", "Six bridges.")
    only = MetadataFilters(filters=[where("page", 2)])

    answer = index.as_query_engine(llm=llm, similarity_top_k=1).query("How many bridges has Porto?")
    assert (str(answer), answer.source_nodes[0].text) == ("Six.", BRIDGES)
    answer = await index.as_query_engine(llm=llm, filters=only).aquery("How many bridges has Porto?")
    assert [found.text for found in answer.source_nodes] == [HILLS]
    reply = index.as_chat_engine(llm=llm, chat_mode="context").chat("How many bridges has Porto?")
    assert str(reply) == "Six bridges."
    assert BRIDGES in llm.prompt()


@pytest.mark.parametrize("strategy", [DocstoreStrategy.UPSERTS, DocstoreStrategy.UPSERTS_AND_DELETE])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_pipeline_upserts_documents(space: Space, strategy: DocstoreStrategy, is_async: bool) -> None:
    """What has not changed is not written again; what has is replaced; what is gone is deleted if that is asked for."""
    store = RemanenceVectorStore(space)
    pipeline = IngestionPipeline(
        transformations=[SentenceSplitter(chunk_size=35, chunk_overlap=0), store.embed_model],
        docstore=SimpleDocumentStore(),
        vector_store=store,
        docstore_strategy=strategy,
    )

    def run(given_documents: list[Document]) -> Sequence[BaseNode]:
        if is_async:
            return asyncio.run(pipeline.arun(documents=given_documents))
        return pipeline.run(documents=given_documents)

    assert len(run(documents(BRIDGES, HILLS, SALT))) == 3
    written = len(list(space.audit.changes()))
    assert run(documents(BRIDGES, HILLS, SALT)) == []
    assert len(list(space.audit.changes())) == written
    run(documents("Porto has seven bridges.", HILLS))
    kept = {SALT} if strategy is DocstoreStrategy.UPSERTS else set()
    assert {each.get_content() for each in store.get_nodes()} == {"Porto has seven bridges.", HILLS, *kept}


def test_it_is_persisted_and_loaded(tmp_path: Path) -> None:
    """By a storage context; the nodes are in the space, and the file says where that is."""
    space = remanence.open(tmp_path / "memory")
    store = RemanenceVectorStore(space.child("library"))
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex.from_documents(documents(BRIDGES), storage_context=context, embed_model=store.embed_model)
    folder = str(tmp_path / "storage")
    index.set_index_id("library")
    index.storage_context.persist(folder)

    space.close()
    loaded = RemanenceVectorStore.from_persist_dir(folder)
    assert loaded.space is not store.space
    again = load_index_from_storage(
        StorageContext.from_defaults(persist_dir=folder, vector_store=loaded),
        index_id="library",
        embed_model=loaded.embed_model,
    )
    assert [found.text for found in again.as_retriever().retrieve("bridges")] == [BRIDGES]
    # Not an empty SimpleVectorStore; and LlamaIndex raises our text.
    with pytest.raises(ValueError, match=r"vector_store=RemanenceVectorStore\.from_persist_dir"):
        StorageContext.from_defaults(persist_dir=folder)


def test_it_is_persisted_to_other_file_systems(reopen: Callable[[], Space], tmp_path: Path) -> None:
    """Those of fsspec; and a file of another store is refused."""
    files = fsspec.filesystem("memory")
    RemanenceVectorStore(reopen()).persist("/a/b/store.json", fs=files)

    assert RemanenceVectorStore.from_persist_path("/a/b/store.json", fs=files).space.name == "default"
    SimpleVectorStore().persist(str(tmp_path / "simple.json"))
    with pytest.raises(InvalidInput, match="was not written by a RemanenceVectorStore"):
        RemanenceVectorStore.from_persist_path(str(tmp_path / "simple.json"))


def test_a_space_in_memory_is_not_persisted() -> None:
    """There would be nothing to load; as a dict it can be read as long as the space is open."""
    with remanence.open(None) as space:
        store = RemanenceVectorStore(space)
        with pytest.raises(InvalidInput, match="is in memory"):
            store.persist("storage/default__vector_store.json")
        written = store.to_dict()
        assert RemanenceVectorStore.from_dict(written).space is space
    with pytest.raises(NotFound, match="is not open in this process"):
        RemanenceVectorStore.from_dict(written | {"reference": {"name": "default"}}).get_nodes()


async def test_llamaindex_s_vector_memory_block_works_on_it(space: Space) -> None:
    """It gives a text and a vector, and filters by session."""
    store = RemanenceVectorStore(space)
    for session, text in (("one", "I am allergic to nuts."), ("two", "I am allergic to cats.")):
        block = VectorMemoryBlock(vector_store=store, embed_model=store.embed_model)
        await block.aput([ChatMessage(text, additional_kwargs={"session_id": session})], from_short_term_memory=True)

    for session, told in (("one", "nuts"), ("two", "cats")):
        block = VectorMemoryBlock(vector_store=store, embed_model=store.embed_model)
        assert told in await block.aget([ChatMessage("What am I allergic to?")], session_id=session)


async def test_its_embedding_model_is_the_embedder_of_the_space(store: RemanenceVectorStore) -> None:
    """For questions and texts, one or many, also async."""
    model = store.embed_model

    assert model.get_text_embedding_batch([BRIDGES, HILLS]) == await model.aget_text_embedding_batch([BRIDGES, HILLS])
    assert model.get_text_embedding(BRIDGES) == await model.aget_text_embedding(BRIDGES)
    assert np.allclose(model.get_query_embedding(BRIDGES), await model.aget_query_embedding(BRIDGES))
    assert store.client is store.space
    assert model.class_name() == "RemanenceSpaceEmbedding"
