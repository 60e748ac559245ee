"""Every part can be replaced from outside, and every port has a contract that the built-in parts pass."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import remanence
from remanence import ports, testing
from remanence.index.times import Times
from remanence.index.vectors.stores import LocalStores
from remanence.index.vectors.stores.exact import ExactStore
from remanence.index.vectors.vectors import Vectors
from remanence.index.words import Words
from remanence.ledger.in_memory import InMemoryLedger
from remanence.ledger.locks import FolderLocks, ThreadLocks
from remanence.models.extractors import RuleExtractor
from remanence.models.llm_extractor import LLMExtractor
from remanence.models.readers import FunctionReader, SmallReader
from remanence.models.time_limit import LimitedExtractor
from remanence.ports import Extraction
from remanence.testing import (
    ClockContract,
    EmbedderContract,
    ExtractorContract,
    FactExtractorContract,
    FakeClock,
    HashingEmbedder,
    LocksContract,
    MergingExtractorContract,
    ModelExtractorContract,
    ReaderContract,
    SignalContract,
    SummarizingExtractorContract,
    VectorStoreContract,
    VectorStoresContract,
)

sys.path.insert(0, str(Path(__file__).parent / "plugin_package"))

from remanence_plugin import DictStore, DictStores, TagSignal


class TestTagSignal(SignalContract):
    def make(self) -> TagSignal:
        return TagSignal()

    def versions(self) -> list[Any]:
        from dataclasses import replace

        plain = super().versions()
        return [None if v is None else replace(v, tags=("alice", f"n{row}")) for row, v in enumerate(plain)]


class TestWordsSignal(SignalContract):
    def make(self) -> Words:
        return Words()


class TestTimesSignal(SignalContract):
    def make(self) -> Times:
        return Times()


class TestVectorsSignal(SignalContract):
    embedder = HashingEmbedder(32)

    def make(self) -> Vectors:
        from remanence.text.text import text_hash

        texts = [version.text for version in self.versions() if version is not None]
        made = {text_hash(text): row for text, row in zip(texts, self.embedder.embed(texts), strict=True)}
        return Vectors(ExactStore(32), lambda hashes: {key: made[key] for key in hashes if key in made})

    def vector(self) -> Any:
        return self.embedder.embed_query("Where does Alice live?")

    def test_a_saved_index_is_loaded(self) -> None:
        """The points lie in the store, which is saved on its own: only the rows are compared."""
        signal, loaded = self._filled(), self.make()
        loaded.load(signal.save())
        loaded.sync.reconcile()
        assert self._same(self._ranked(loaded), self._ranked(signal))

    test_copies_are_independent = None  # it is made anew for each space, and never copied


class TestDictStore(VectorStoreContract):
    tolerance = 1e-5

    def make(self, dimension: int) -> DictStore:
        return DictStore(dimension)


class TestDictStores(VectorStoresContract):
    def make(self) -> DictStores:
        return DictStores()


class TestLocalStores(VectorStoresContract):
    def make(self) -> LocalStores:
        return LocalStores()


class TestHashingEmbedder(EmbedderContract):
    def make(self) -> HashingEmbedder:
        return HashingEmbedder()


class TestRules(ExtractorContract):
    def make(self) -> RuleExtractor:
        return RuleExtractor()


class TestLanguageModel(FactExtractorContract, ModelExtractorContract):
    def make(self) -> LLMExtractor:
        return LLMExtractor(lambda prompt: '{"facts": [{"text": "Alice lives in Porto.", "turns": [0]}]}')


class TestTimeLimit(FactExtractorContract, ModelExtractorContract):
    """An extractor of the caller's with a time limit has the optional methods and attributes of the other one."""

    def make(self) -> Any:
        return LimitedExtractor(TestLanguageModel().make(), 60.0)


class TestSummaries(SummarizingExtractorContract):
    def make(self) -> LLMExtractor:
        return LLMExtractor(lambda prompt: '{"sentences": [{"text": "Alice lives in Porto.", "lines": [0]}]}')


class TestMergedTexts(MergingExtractorContract):
    def make(self) -> LLMExtractor:
        return LLMExtractor(lambda prompt: '{"texts": [{"text": "Alice lives in Porto, by the river."}]}')


class TestThreadLocks(LocksContract):
    def make(self) -> ThreadLocks:
        return ThreadLocks()


class TestFolderLocks(LocksContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make(self) -> FolderLocks:
        return FolderLocks(self.folder)


class TestSilentExtractor(ExtractorContract):
    def make(self) -> Silent:
        return Silent()


class TestFunctionReader(ReaderContract):
    def make(self) -> FunctionReader:
        return FunctionReader(lambda question, texts: [1 / (1 + len(text)) for text in texts])


class TestSmallReader(ReaderContract):
    def make(self) -> SmallReader:
        return SmallReader()


class TestFakeClock(ClockContract):
    def make(self) -> FakeClock:
        return FakeClock()


class Silent:
    """An extractor that finds nothing."""

    name = "silent"

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        return Extraction()


_CHECKED_WITH = {
    "FastEmbedder": "Embedder",
    "LockingLedger": "Locks",
    "ReportingVectorStore": "VectorStore",
    "RewritableLedger": "Ledger",
    "Transaction": "Ledger",
}
"""Ports that the contract of another port checks."""


@pytest.mark.parametrize(
    "port", [name for name in ports.__all__ if getattr(getattr(ports, name), "_is_protocol", False)]
)
def test_every_port_has_a_contract(port: str) -> None:
    """In `remanence.testing`: of its own, or that of the port it belongs to."""
    assert f"{_CHECKED_WITH.get(port, port)}Contract" in testing.__all__


def test_a_fifth_signal_takes_part_in_recall() -> None:
    """It is fused, explained, weighted and can be asked alone, like the four that are built in."""
    with remanence.open(None, embedder=HashingEmbedder(), signals=[TagSignal()]) as space:
        plum = space.add("Plums ripen late.", tags=["harbour"])
        space.add("The harbour of Porto is old.")
        alone = space.recall("harbour", signals=["tags"])
        silent = space.recall("harbour", weights={"tags": 0.0, "words": 1.0})

        assert [hit.memory for hit in alone] == [plum]
        assert "tags #1: tagged harbour" in alone[0].reason
        assert "tags" in {evidence.signal for hit in space.recall("harbour") for evidence in hit.evidence}
        assert silent[0].memory != plum


def test_a_fifth_signal_is_saved_and_rebuilt(tmp_path: Path) -> None:
    """From the index file and from the ledger; without it the space opens as well."""
    for _ in range(2):
        with remanence.open(tmp_path, embedder=HashingEmbedder(), signals=[TagSignal()]) as space:
            space.add("Plums ripen late.", tags=["harbour"])
            assert len(space.recall("harbour", signals=["tags"])) == 1
            space.rebuild()
            assert len(space.recall("harbour", signals=["tags"])) == 1
            assert space.admin.check() == {}
    with remanence.open(tmp_path, embedder=HashingEmbedder()) as space:
        assert space.count() == 1
        with pytest.raises(remanence.InvalidInput, match="Choose from vectors, words, graph, times"):
            space.recall("harbour", signals=["tags"])


def test_each_space_has_its_own_copy_of_a_signal() -> None:
    """The object that was passed in indexes nothing itself."""
    given = TagSignal()
    with remanence.open(None, embedder=HashingEmbedder(), signals=[given]) as space:
        space.add("Plums.", tags=["harbour"])
        assert len(space.child("bob").recall("harbour", signals=["tags"])) == 0
    assert not given.save()["tags"].tolist()


def test_a_signal_that_fails_is_named_and_the_others_answer() -> None:
    """Whatever it raises, in ranking or in indexing."""

    class Broken(TagSignal):
        name = "broken"

        def rank(self, query: Any, limit: int) -> Any:
            raise ZeroDivisionError("no luck")

    with remanence.open(None, embedder=HashingEmbedder(), signals=[Broken()]) as space:
        space.add("The harbour is old.")
        found = space.recall("harbour")
        assert len(found) == 1
        assert found.missing == {"broken": "ZeroDivisionError: no luck"}


@pytest.mark.parametrize(
    ("signals", "part"),
    [([TagSignal], "pass an instance"), ([object()], "'name'"), ([TagSignal(), TagSignal()], "'tags'")],
)
def test_what_is_no_signal_is_refused(signals: Any, part: str) -> None:
    """Before a folder is made."""
    with pytest.raises(remanence.InvalidInput, match=part):
        remanence.open(None, signals=signals)


def test_another_vector_store_is_used() -> None:
    """All vectors lie in it, and recall finds by them."""
    stores = DictStores()
    with remanence.open(None, embedder=HashingEmbedder(), vectors=stores) as space:
        space.add_many(["Alice lives in Porto.", "Bob drinks tea."])
        assert space.recall("Alice lives in Porto?", signals=["vectors"])[0].memory.text == "Alice lives in Porto."
    assert {name: len(store.ids()) for name, store in stores.opened.items()} == {"default": 2}


def test_what_is_no_vector_store_is_refused() -> None:
    """The message says what is missing, also of a store that is opened later."""

    class NoStores(DictStores):
        def open(self, space: str, dimension: int) -> Any:
            return space

    with pytest.raises(remanence.InvalidInput, match=r"remanence\.ports\.VectorStores"):
        remanence.open(None, vectors=object())  # type: ignore[arg-type]
    with (
        remanence.open(None, embedder=HashingEmbedder(), vectors=NoStores()) as space,
        pytest.raises(remanence.InvalidInput, match=r"'default', which does not .* remanence\.ports\.VectorStore"),
    ):
        space.add("Alice lives in Porto.")


def test_a_vector_store_may_report_a_problem() -> None:
    """`missing` names it, and the store answers."""

    class Slow(DictStore):
        def memory_bytes(self) -> int:
            return 10**6

        def problem(self) -> str | None:
            return "the disk is slow"

    class SlowStores(DictStores):
        def open(self, space: str, dimension: int) -> DictStore:
            return self.opened.setdefault(space, Slow(dimension))

    with remanence.open(None, embedder=HashingEmbedder(), vectors=SlowStores()) as space:
        space.add("Alice lives in Porto.")
        found = space.recall("Alice lives in Porto?", signals=["vectors"])
        assert (len(found), found.missing) == (1, {"vectors": "the disk is slow"})


@pytest.mark.parametrize("sentences", [ZeroDivisionError, [SimpleNamespace(text="Alice.", lines=[5])], "Alice"])
def test_a_summary_that_fails_leaves_the_quotations(sentences: Any) -> None:
    """Whatever the extractor raises or returns."""

    class Summarizing(Silent):
        def summarize(self, lines: Any, *, max_tokens: int) -> Any:
            if sentences is ZeroDivisionError:
                raise sentences
            return sentences

    with remanence.open(None, embedder=HashingEmbedder(), extractor=Summarizing()) as space:
        space.add("Alice lives in Porto.", importance=0.9)
        assert space.profile().by == "quotations"
        assert "Alice lives in Porto." in str(space.profile())


def test_another_ledger_is_used() -> None:
    """Everything that is written lies in it, and a second space opened on it reads that."""
    ledger = InMemoryLedger()
    space = remanence.open(None, embedder=HashingEmbedder(), ledger=ledger)
    space.add("Alice lives in Porto.")
    assert ledger.head() == 1
    again = remanence.open(None, embedder=HashingEmbedder(), ledger=ledger)
    assert [memory.text for memory in again.memories()] == ["Alice lives in Porto."]
    space.close()


def test_an_extractor_and_a_clock_of_ones_own_are_used() -> None:
    """No name is found, and the moment is the clock's."""
    moment = datetime(2020, 1, 1, tzinfo=timezone.utc)
    with remanence.open(None, embedder=HashingEmbedder(), extractor=Silent(), clock=lambda: moment) as space:
        memory = space.add("Alice lives in Porto.")
        assert (memory.mentions, memory.recorded_at) == ((), moment)


@pytest.mark.parametrize(
    "returned", [None, remanence.ports.Ranking("tags", [99], [1.0]), remanence.ports.Ranking("other")]
)
def test_a_signal_that_returns_something_else_is_named(returned: Any) -> None:
    """No ranking, rows that do not exist, or the ranking of another signal: the others answer."""

    class Wrong(TagSignal):
        def rank(self, query: Any, limit: int) -> Any:
            return returned

    with remanence.open(None, embedder=HashingEmbedder(), signals=[Wrong()]) as space:
        space.add("The harbour is old.")
        found = space.recall("harbour")
        assert len(found) == 1
        assert set(found.missing) == {"tags"}


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"ledger": 5}, "ledger=5"),
        ({"ledger": InMemoryLedger}, "pass an instance"),
        ({"vectors": DictStores}, "pass an instance"),
        ({"vectors": "http://a"}, "Give remanence.Qdrant"),
        ({"vectors": DictStores(), "qdrant": "http://localhost"}, "Give one of them"),
        ({"vectors": remanence.Qdrant("http://a"), "qdrant": "http://b"}, "Give one of them"),
        ({"signals": TagSignal()}, "Give a list"),
        ({"signals": [TagSignal(weight=0)]}, "weight=0"),
        ({"extractor": SimpleNamespace(extract=print)}, "has no 'name'"),
    ],
)
def test_parts_that_cannot_be_used_are_refused(options: dict[str, Any], part: str) -> None:
    """Each message names the argument and what to give."""
    with pytest.raises(remanence.InvalidInput, match=part):
        remanence.open(None, **options)
