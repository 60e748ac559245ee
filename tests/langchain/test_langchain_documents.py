"""Documents of LangChain in a space: the vector store, the indexing API, and the retriever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from inspect import signature
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import VectorStoreIntegrationTests

import remanence
from langchain_remanence import (
    RemanenceChatMessageHistory,
    RemanenceMemory,
    RemanenceMiddleware,
    RemanenceRetriever,
    RemanenceVectorStore,
    memory_tools,
)
from remanence import InvalidInput, Space
from remanence.testing import FakeClock

BRIDGES = Document("Porto has six bridges.", metadata={"source": "porto.pdf", "page": 1})
HILLS = Document("Lisbon has seven hills.", metadata={"source": "lisbon.pdf", "page": 2})
RIVER = Document("Porto lies on the Douro.", metadata={"source": "porto.pdf", "page": 3})


class TestVectorStore(VectorStoreIntegrationTests):
    """LangChain's own tests, with the embedder that they give."""

    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        with remanence.open(None, embedder=self.get_embeddings()) as space:
            yield RemanenceVectorStore(space)


class TestVectorStoreInAFolder(VectorStoreIntegrationTests):
    """The same with everything that a space comes with: a folder, its own embedder, and the reader."""

    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        with remanence.open(tmp_path / "memory", reader="small") as space:
            yield RemanenceVectorStore(space)


@pytest.fixture
def store(space: Space) -> RemanenceVectorStore:
    """Three documents from two sources."""
    made = RemanenceVectorStore(space)
    made.add_documents([BRIDGES, HILLS, RIVER], ids=["bridges", "hills", "river"])
    return made


def ids(documents: list[Document]) -> list[str | None]:
    return sorted(document.id or "" for document in documents)


async def test_documents_come_back_as_they_were(store: RemanenceVectorStore) -> None:
    """Nothing is added to their metadata; scores are from 0 to 1, best first."""
    [(best, score), *others] = store.similarity_search_with_score("bridges of Porto", k=3)

    assert best == Document(BRIDGES.page_content, id="bridges", metadata=BRIDGES.metadata)
    assert 1 >= score >= max(other for _, other in others) >= 0
    assert await store.asimilarity_search("bridges of Porto", k=1) == [best]
    assert store.similarity_search_with_relevance_scores("bridges of Porto", k=1, score_threshold=score) == [
        (best, score)
    ]
    assert store.as_retriever(search_kwargs={"k": 1, "filter": {"page": 3}}).invoke("bridges")[0].id == "river"


def test_metadata_filter_the_search(store: RemanenceVectorStore) -> None:
    """As LangChain spells it: `filter`."""
    assert ids(store.similarity_search("Porto", filter={"source": "porto.pdf"})) == ["bridges", "river"]
    assert ids(store.similarity_search("Porto", filter={"page": {"$in": [2, 3]}})) == ["hills", "river"]
    assert ids(store.similarity_search("Porto", source="lisbon.pdf")) == ["hills"]
    with pytest.raises(InvalidInput, match="is a function"):
        store.similarity_search("Porto", filter=lambda document: True)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"there is no operator '\$like'"):
        store.similarity_search("Porto", filter={"page": {"$like": 1}})


def test_vectors_alone_can_be_searched(store: RemanenceVectorStore) -> None:
    """With the vector of a question, and for documents that differ from each other."""
    vector = store.embeddings.embed_query("Lisbon has seven hills.")

    assert store.similarity_search_by_vector(vector, k=1)[0].id == "hills"
    assert store.similarity_search_by_vector(vector, k=1, filter={"page": 1})[0].id == "bridges"
    assert np.allclose(vector, store.embeddings.embed_documents(["Lisbon has seven hills."])[0])
    store.add_documents([Document("Porto has six bridges!", metadata={"page": 9})], ids=["copy"])
    diverse = store.max_marginal_relevance_search("How many bridges has Porto?", k=2, lambda_mult=0.1)
    assert len({document.page_content.rstrip("!.") for document in diverse}) == 2
    assert len(store.max_marginal_relevance_search_by_vector(vector, k=2)) == 2


def test_stored_texts_are_not_embedded_again(space: Space, embedded: list[str]) -> None:
    """Not to choose documents that differ, of long ones neither; and what was embedded is stored with that vector."""
    store = RemanenceVectorStore(space)
    long_text = "Porto has six bridges over the Douro. " * 60
    vectors = store.embeddings.embed_documents([HILLS.page_content])
    store.add_documents([BRIDGES, HILLS, RIVER, Document(long_text)])
    assert sorted(set(embedded)) == sorted(embedded)
    embedded.clear()

    found = store.max_marginal_relevance_search("bridges", k=3, fetch_k=4)
    assert len(found) == 3
    assert embedded == ["bridges"]
    assert np.allclose(store.embeddings.embed_documents([HILLS.page_content]), vectors, atol=1e-6)
    assert embedded == ["bridges"]


def test_a_document_without_text_is_refused(store: RemanenceVectorStore) -> None:
    """By its number, and nothing of the batch is stored."""
    for blank in ("", " \n"):
        with pytest.raises(InvalidInput, match="document 2 has no text"):
            store.add_documents([Document("New."), Document(blank)])
    assert store.space.count() == 3


@pytest.mark.not_remote
def test_adding_documents_shows_how_far_it_is(store: RemanenceVectorStore) -> None:
    """As `progress` of `add_many`."""
    seen: list[tuple[int, int]] = []
    store.add_documents([Document("One."), Document("Two.")], progress=lambda done, total: seen.append((done, total)))

    assert seen == [(2, 2)]


def test_the_space_is_the_first_argument(space: Space) -> None:
    """Of the retriever and of the classic memory, as of all others; their signatures name the options."""
    assert RemanenceRetriever(space, k=3).space is space
    assert RemanenceMemory(space, session_id="monday").space is space
    for made in (RemanenceRetriever, RemanenceMemory):
        names = list(signature(made).parameters)
        assert names[0] == "space"
        assert {"kinds", "min_score"} <= set(names)


TOYS: dict[str, dict[str, list[str]]] = {
    "animals": {"a cat": ["cat", "kitten"], "a dog": ["dog", "puppy", "Which animal barks?"]},
    "things": {"an apple": ["fruit", "apple"], "a car": ["vehicle", "driving a car"], "a house": ["building"]},
    "colours": {
        "The sky is blue.": ["colour of the sky", "sky"],
        "The grass is green.": ["grass", "lawn"],
        "The sun is yellow.": ["What colour is the sun?"],
    },
    "facts": {
        "Python is a programming language.": ["programming", "writing software"],
        "Paris is the capital of France.": ["capital of France"],
        "Pasta is made of flour.": ["What is pasta made of?", "Italian food"],
    },
    "diary": {
        "I love pizza.": ["pizza", "food"],
        "I went to the doctor.": ["medical appointment"],
        "My car is broken.": ["car repair", "vehicle"],
    },
}


@pytest.mark.parametrize("toy", TOYS)
def test_it_ranks_by_similarity(toy: str) -> None:
    """With the embedder and the reader that a space comes with; scores are similarities of vectors."""
    questions = TOYS[toy]
    store = RemanenceVectorStore.from_texts(list(questions))
    for text in questions:
        for question in questions[text]:
            found = store.similarity_search_with_score(question, k=len(questions))
            scores = [score for _, score in found]
            assert found[0][0].page_content == text
            assert sorted(scores, reverse=True) == scores
            assert 0 <= scores[-1] <= scores[0] <= 1
    vectors = store.embeddings.embed_documents([document.page_content for document, _ in found])
    similarities = np.array(vectors) @ np.array(store.embeddings.embed_query(question))
    assert np.allclose(scores, np.clip(similarities, 0, 1), atol=1e-3)


def test_time_and_trust_do_not_count_for_similarity(space: Space, clock: FakeClock) -> None:
    """A filter does not change the order either, and options that say how to rank are refused."""
    space.add("The bridge of Porto is closed to cars.", importance=0.0, valid_until=clock.now())
    clock.advance(days=900)
    space.add("The bridge of Porto carries trams.", importance=1.0, meta={"page": 1})
    space.add("Porto is old.", importance=1.0, meta={"page": 1})
    store = RemanenceVectorStore(space)

    expected = ["The bridge of Porto is closed to cars.", "The bridge of Porto carries trams.", "Porto is old."]
    assert [found.page_content for found in store.similarity_search(expected[0])] == expected
    vector = store.embeddings.embed_query(expected[1])
    assert [f.page_content for f in store.similarity_search_by_vector(vector, filter={"page": 1})] == expected[1:]
    with pytest.raises(InvalidInput, match=r'context= says how to rank.*store.search\(query, "recall"\)'):
        store.similarity_search("bridge", context=["Porto"])


async def test_recall_is_a_type_of_search(space: Space) -> None:
    """By all signals: the passage that does not name the lighthouse stands in the same document."""
    store = RemanenceVectorStore(space)
    lighthouse = {"source": "foz.pdf"}
    store.add_texts(
        ["The lighthouse of Foz was built in 1886.", "Visitors are let in on Sundays.", "Visitors are let in daily."],
        [lighthouse, lighthouse, {"source": "museum.pdf"}],
    )
    question = "When are visitors let into the lighthouse of Foz?"
    retriever = store.as_retriever(search_type="recall", search_kwargs={"k": 2})

    found = store.search(question, "recall", k=2)
    expected = [hit.memory.text for hit in space.recall(question, limit=2, history=False, min_score=0.0)]
    assert [document.page_content for document in found] == expected
    assert retriever.invoke(question) == await retriever.ainvoke(question) == found
    assert store.search(question, "similarity") == store.as_retriever().invoke(question)
    assert len(store.search(question, "mmr", k=2)) == len(await store.asearch(question, "recall", k=2)) == 2
    with pytest.raises(ValueError, match="search_type of nearest not allowed"):
        store.as_retriever(search_type="nearest")


def test_an_id_is_made_of_text_and_metadata(space: Space) -> None:
    """Adding a document again changes nothing; the same text from another source is another document."""
    store = RemanenceVectorStore(space)
    copy = Document(BRIDGES.page_content, metadata={"source": "guide.pdf"})
    [first] = store.add_documents([BRIDGES])

    assert store.add_documents([BRIDGES]) == [first]
    assert store.add_documents([copy]) != [first]
    assert store.add_texts(["Porto has six bridges."], [BRIDGES.metadata]) == [first]
    assert space.count() == 2
    store.delete([first])
    assert [found.metadata for found in store.similarity_search("bridges")] == [{"source": "guide.pdf"}]


def test_a_document_is_not_left_out_because_a_later_one_says_otherwise(space: Space) -> None:
    """What is written does not change: the later statement is first, and the other is still a document."""
    store = RemanenceVectorStore(space)
    store.add_texts(["Alice lives in Porto.", "Alice lives in Lisbon."], ids=["old", "new"])
    space.remember("Alice moved from Porto to Lisbon.")

    found = store.similarity_search("Where does Alice live?", k=10, filter={"_document": {"$exists": True}})
    assert ids(found) == ["new", "old"]


def test_deleted_documents_are_forgotten(store: RemanenceVectorStore, space: Space, clock: FakeClock) -> None:
    """The past still has them. Without ids all documents go, and other memories stay."""
    space.add("Bob likes Porto.")
    before = clock.now()
    clock.advance(days=1)

    assert store.delete(["bridges", "nothing"]) is True
    assert store.get_by_ids(["bridges", "hills"]) == [Document(HILLS.page_content, id="hills", metadata=HILLS.metadata)]
    assert RemanenceVectorStore(space.as_of(before)).get_by_ids(["bridges"])[0].page_content == BRIDGES.page_content
    assert store.delete() is True
    assert [document.page_content for document in store.similarity_search("Porto")] == ["Bob likes Porto."]
    store.add_documents([BRIDGES], ids=["bridges"])
    assert store.get_by_ids(["bridges"])


def test_deleting_by_a_filter_forgets_what_matches(store: RemanenceVectorStore, space: Space) -> None:
    """And no other document, and no memory that was not added as one."""
    space.add("Bob likes Porto.", meta={"source": "guide.pdf"})
    store.add_texts(["The old bridge.", "The new bridge."], [{"chapter": 1}, {"chapter": 2}], ids=["old", "new"])

    assert store.delete(filter={"chapter": 1}) is True
    assert ids(store.get_by_ids(["old", "new", "bridges", "hills"])) == ["bridges", "hills", "new"]
    assert store.delete(["new", "hills"], filter={"chapter": {"$gte": 2}}) is True
    assert ids(store.get_by_ids(["new", "bridges", "hills"])) == ["bridges", "hills"]
    assert space.recall("Bob")[0].memory.text == "Bob likes Porto."


@pytest.mark.parametrize("given", [{"ids": None}, {"filter": {}}, {"filter": None}, {"ids": None, "filter": None}])
async def test_everything_is_deleted_only_without_arguments(store: RemanenceVectorStore, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="which chooses no documents"):
        store.delete(**given)
    with pytest.raises(InvalidInput, match="which chooses no documents"):
        await store.adelete(**given)
    assert len(store.get_by_ids(["bridges", "hills"])) == 2
    assert await store.adelete() is True
    assert store.get_by_ids(["bridges", "hills"]) == []


def test_ids_given_as_one_text_are_refused(store: RemanenceVectorStore) -> None:
    """Each of its characters would be an id."""
    store.add_texts(["Porto."], ids=["b"])
    for method in (store.delete, store.get_by_ids):
        with pytest.raises(InvalidInput, match=r"'bridges' is a text, not a list of ids. Give \['bridges'\]."):
            method("bridges")  # type: ignore[operator]
    assert store.get_by_ids(["b"])


def test_a_keyword_that_is_not_known_is_an_error(store: RemanenceVectorStore) -> None:
    """It would have no effect: everything deleted in place of what matches, or another number of documents."""
    count = store.space.count()
    calls: list[Callable[..., object]] = [
        lambda **given: store.delete(**given),
        lambda **given: store.delete(["bridges"], **given),
        lambda **given: store.add_texts(["x"], **given),
        lambda **given: store.add_documents([RIVER], **given),
        lambda **given: store.similarity_search("x", **given),
        lambda **given: store.as_retriever(**given),
    ]
    for call in calls:
        with pytest.raises(
            (TypeError, InvalidInput), match=r"where.*not permitted|unexpected keyword argument 'where'"
        ):
            call(where={"source": "a"})
    with pytest.raises(TypeError, match=r"search_kwargs=\{'k': \.\.\.\}"):
        store.as_retriever(k=1)
    assert store.space.count() == count


def test_other_memories_of_the_space_are_found_too(space: Space) -> None:
    """Under the id of the memory, with its `meta`."""
    memory = space.add("Bob likes Porto.", meta={"page": 7})
    store = RemanenceVectorStore(space)

    [found] = store.similarity_search("Bob", k=1)
    assert (found.id, found.metadata) == (memory.id, {"page": 7})
    assert store.get_by_ids([memory.id]) == [found]
    store.delete([memory.id])
    assert space.count() == 0


def test_metadata_become_json(space: Space) -> None:
    """Times, ids, paths and numpy's numbers; what cannot be written is refused with the document's id."""
    given = {"at": datetime(2026, 5, 4, tzinfo=timezone.utc), "uid": UUID(int=7), "path": Path("a/b"), "n": np.int64(3)}
    store = RemanenceVectorStore(space)
    store.add_documents([Document("Porto has six bridges.", metadata=given)], ids=["a"])

    [found] = store.get_by_ids(["a"])
    assert found.metadata == {"at": "2026-05-04T00:00:00Z", "uid": str(UUID(int=7)), "path": "a/b", "n": 3}
    with pytest.raises(InvalidInput, match=r"the metadata of document 'b' cannot be written as JSON.*type object"):
        store.add_documents([Document("x", metadata={"thing": object()})], ids=["b"])
    with pytest.raises(InvalidInput, match="have a field '_document', which is reserved"):
        store.add_documents([Document("x", metadata={"_document": 1})], ids=["b"])
    with pytest.raises(InvalidInput, match="1 ids for 2 documents"):
        store.add_documents([BRIDGES, HILLS], ids=["b"])
    with pytest.raises(InvalidInput, match="1 metadatas for 2 texts"):
        store.add_texts(["a", "b"], [{}])
    assert space.count() == 1


def test_a_document_without_storable_text_is_kept(space: Space) -> None:
    """A loader gives what it finds: characters that cannot be stored are replaced."""
    store = RemanenceVectorStore(space)
    store.add_documents([Document("Porto\x00"), BRIDGES], ids=["odd", "bridges"])

    assert store.get_by_ids(["odd"])[0].page_content == "Porto\ufffd"
    assert len(store.get_by_ids(["odd", "bridges"])) == 2


def test_long_ids_and_sources(space: Space) -> None:
    """Those of the web may be longer than a name may be."""
    store, url = RemanenceVectorStore(space), "https://example.com/" + "a" * 2_000
    store.add_documents([Document("Porto.", metadata={"source": url})], ids=[url])

    assert store.get_by_ids([url])[0].id == url
    assert store.similarity_search("Porto", filter={"source": url})


def test_it_is_made_from_texts(space: Space) -> None:
    """In a new space with the embedder that is given, or in one that is open."""
    fake = DeterministicFakeEmbedding(size=8)
    own = RemanenceVectorStore.from_texts(["Porto has six bridges."], fake, [{"page": 1}], ids=["a"])
    assert own.similarity_search("bridges") == [Document("Porto has six bridges.", id="a", metadata={"page": 1})]
    assert own.embeddings.embed_query("x") == pytest.approx(
        np.array(fake.embed_query("x")) / np.linalg.norm(fake.embed_query("x"))
    )

    RemanenceVectorStore.from_documents([BRIDGES], None, space=space)
    assert space.count() == 1
    with pytest.raises(InvalidInput, match=r"remanence.open\(location, embedder=embedding\)"):
        RemanenceVectorStore.from_texts(["x"], fake, space=space)


def test_it_is_made_with_an_embedding(tmp_path: Path) -> None:
    """As LangChain's own stores are: it opens a space, in memory or where it is told to."""
    fake = DeterministicFakeEmbedding(size=8)
    assert len(RemanenceVectorStore(embedding=fake).embeddings.embed_query("x")) == 8

    store = RemanenceVectorStore(embedding=fake, location=tmp_path / "memory")
    store.add_texts(["Porto has six bridges."], ids=["a"])
    store.space.close()  # type: ignore[attr-defined]
    again = RemanenceVectorStore(embedding=fake, location=tmp_path / "memory")
    assert again.get_by_ids(["a"])[0].page_content == "Porto has six bridges."
    assert RemanenceVectorStore().space.count() == 0


async def test_it_is_made_from_documents(space: Space) -> None:
    """In a space without naming an embedder, which it has; or in a new one with the embedder that is given."""
    RemanenceVectorStore.from_documents([BRIDGES, HILLS], space=space)
    store = await RemanenceVectorStore.afrom_documents([RIVER], space=space, ids=["river"])
    assert store.space.count() == 3
    assert store.get_by_ids(["river"])[0].page_content == RIVER.page_content

    fake = DeterministicFakeEmbedding(size=8)
    own = RemanenceVectorStore.from_documents([Document("Porto.", id="a")], embedding=fake)
    assert (own.get_by_ids(["a"])[0].page_content, len(own.embeddings.embed_query("x"))) == ("Porto.", 8)
    assert (await RemanenceVectorStore.afrom_texts(["Porto."], fake, [{"page": 1}])).space.count() == 1
    with pytest.raises(InvalidInput, match=r"remanence.open\(location, embedder=embedding\)"):
        RemanenceVectorStore.from_documents([BRIDGES], embedding=fake, space=space)
    with pytest.raises(InvalidInput, match="location given with a space that is open already"):
        RemanenceVectorStore.from_documents([BRIDGES], space=space, location="./memory")


def test_a_view_of_the_past_is_read_only(store: RemanenceVectorStore, space: Space, clock: FakeClock) -> None:
    """It can be searched."""
    past = RemanenceVectorStore(space.as_of(clock.now()))

    assert past.similarity_search("bridges", k=1)[0].id == "bridges"
    with pytest.raises(InvalidInput, match="is a view of the past"):
        past.add_documents([HILLS])


def test_what_is_no_space_is_refused_at_once() -> None:
    """With the way to open one."""
    with pytest.raises(InvalidInput, match=r"space='./memory' is of type str, not a space. Open it: remanence.open"):
        RemanenceVectorStore("./memory")  # type: ignore[arg-type]
    makes: list[Callable[[Any], object]] = [
        lambda given: RemanenceRetriever(space=given),
        lambda given: RemanenceMemory(space=given),
        RemanenceChatMessageHistory,
        RemanenceMiddleware,
        memory_tools,
    ]
    for make in makes:
        for given in ("./memory", Path("./memory")):
            with pytest.raises(ValueError, match=r"Open it: remanence.open\('(./)?memory'\)"):
                make(given)
        with pytest.raises(ValueError, match=r"Open it: remanence.open\('./memory'\)"):
            make(7)


class TestIndexing:
    """LangChain's `index` with a record manager."""

    @pytest.fixture
    def records(self) -> InMemoryRecordManager:
        records = InMemoryRecordManager("remanence")
        records.create_schema()
        return records

    def run(self, documents: list[Document], records: InMemoryRecordManager, space: Space, **options: Any) -> list[int]:
        options = {"cleanup": "incremental", "key_encoder": "blake2b", **options}
        done = index(documents, records, RemanenceVectorStore(space), source_id_key="source", **options)
        return [done[f"num_{what}"] for what in ("added", "updated", "skipped", "deleted")]  # type: ignore[literal-required]

    def test_incremental(self, space: Space, records: InMemoryRecordManager) -> None:
        """Unchanged documents are skipped, and what a source has no more is deleted."""
        assert self.run([BRIDGES, HILLS, RIVER], records, space) == [3, 0, 0, 0]
        assert self.run([BRIDGES, HILLS, RIVER], records, space) == [0, 0, 3, 0]
        changed = Document("Porto has seven bridges.", metadata=BRIDGES.metadata)
        assert self.run([changed, RIVER], records, space) == [1, 0, 1, 1]
        texts = sorted(found.page_content for found in RemanenceVectorStore(space).similarity_search("Porto", k=9))
        assert texts == ["Lisbon has seven hills.", "Porto has seven bridges.", "Porto lies on the Douro."]
        assert self.run([BRIDGES], records, space) == [1, 0, 0, 2]  # it comes back

    def test_full(self, space: Space, records: InMemoryRecordManager) -> None:
        """Whatever is not given any more is deleted; other memories stay."""
        space.add("Bob likes Porto.")
        self.run([BRIDGES, HILLS, RIVER], records, space)

        assert self.run([HILLS], records, space, cleanup="full") == [0, 0, 1, 2]
        assert self.run([], records, space, cleanup="full") == [0, 0, 0, 1]
        assert [memory.text for memory in space.memories()] == ["Bob likes Porto."]

    def test_forced(self, space: Space, records: InMemoryRecordManager) -> None:
        """The same document again is the same memory."""
        self.run([BRIDGES], records, space)
        assert self.run([BRIDGES], records, space, force_update=True) == [0, 1, 0, 0]
        assert space.count() == 1

    async def test_async(self, space: Space, records: InMemoryRecordManager) -> None:
        """`aindex` works as well."""
        store = RemanenceVectorStore(space)
        for expected in ((2, 0), (0, 2)):
            done = await aindex(
                [BRIDGES, HILLS], records, store, cleanup="full", source_id_key="source", key_encoder="blake2b"
            )
            assert (done["num_added"], done["num_skipped"]) == expected


class TestRetriever:
    """Documents and their metadata in `RemanenceRetriever`."""

    def test_metadata_are_at_the_top_level(self, space: Space) -> None:
        """Next to what is known of the memory; a field of the user's takes precedence."""
        retriever = RemanenceRetriever(space=space, k=1)
        given = {"source": "porto.pdf", "page": 3, "score": "A", "author": {"name": "Ana"}}
        [made] = retriever.add_documents([Document("Porto has six bridges.", metadata=given)])

        [found] = retriever.invoke("How many bridges has Porto?")
        assert {name: found.metadata[name] for name in given} == given
        assert found.metadata["meta"] == given
        assert (found.id, found.metadata["kind"]) == (made, "semantic")
        assert space.get(found.metadata["memory_id"]).text == "Porto has six bridges."  # type: ignore[union-attr]

    def test_memories_have_their_meta_at_the_top_level_too(self, space: Space) -> None:
        """However they came into the space."""
        space.add("Porto has six bridges.", meta={"page": 3})

        assert RemanenceRetriever(space=space).invoke("bridges")[0].metadata["page"] == 3

    async def test_it_filters(self, space: Space) -> None:
        """In the constructor and in a call."""
        plain = RemanenceRetriever(space=space)
        await plain.aadd_documents([BRIDGES, HILLS, RIVER])
        space.add_turns([{"speaker": "Ana", "content": "Porto is fine.", "conversation": "c1"}])

        for options, expected in (
            ({"filter": {"page": {"$gte": 2}}}, {HILLS.page_content, RIVER.page_content}),
            ({"source": "lisbon.pdf"}, {HILLS.page_content}),
            ({"speaker": "Ana"}, {"Porto is fine."}),
            ({"conversation": "c1"}, {"Porto is fine."}),
        ):
            made = RemanenceRetriever(space=space, **options)  # type: ignore[arg-type]
            assert {found.page_content for found in made.invoke("Porto")} == expected
            assert {found.page_content for found in plain.invoke("Porto", **options)} == expected  # type: ignore[arg-type]
            assert {found.page_content for found in await plain.ainvoke("Porto", **options)} == expected  # type: ignore[arg-type]
