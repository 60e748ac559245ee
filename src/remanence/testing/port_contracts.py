"""Contracts of the smaller ports: clock, embedder, extractor, locks, reader, signal, vector stores.

Subclass one in your tests and implement `make`; pytest does the rest.

    class TestMyEmbedder(EmbedderContract):
        def make(self):
            return MyEmbedder()
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import pytest

from remanence.events import Remembered
from remanence.ports import (
    Clock,
    Embedder,
    Extractor,
    FactExtractor,
    FastEmbedder,
    ListReading,
    Locks,
    MergingExtractor,
    ModelExtractor,
    Reader,
    ReaderLine,
    Signal,
    Stage,
    SummarizingExtractor,
    VectorStores,
)
from remanence.schema import Extraction, ExtractionResult, Query, Ranking, Utterance, Window

if TYPE_CHECKING:
    from remanence.ports import Vector

NOW = datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
TEXTS = ("Alice lives in Porto.", "Bob drinks green tea.", "The bridge is closed since Monday.")
Part = TypeVar("Part")
ODD_TEXTS = ("", " ", "?", "🏔" * 50, "a" * 20_000, "Zoë traf 山田さん.\n\n\tOK", "SELECT 1; --")


class Contract(Generic[Part]):
    """What every contract here has: a method that you implement."""

    def make(self) -> Part:
        """The part to check, new and empty."""
        raise NotImplementedError


class ClockContract(Contract[Clock]):
    """The contract of `ports.Clock`."""

    def test_it_returns_moments_with_a_timezone(self) -> None:
        """A naive datetime names no moment."""
        assert self.make()().tzinfo is not None

    def test_it_does_not_run_backwards(self) -> None:
        """Entries are recorded in order."""
        clock = self.make()
        moments = [clock() for _ in range(100)]
        assert moments == sorted(moments)


class EmbedderContract(Contract[Embedder]):
    """The contract of `ports.Embedder`, and of `ports.FastEmbedder` for one with `is_fast`."""

    def test_it_declares_the_attributes_of_the_port(self) -> None:
        """Name, fingerprint, dimension, similarity floor, and perhaps whether it is fast."""
        embedder = self.make()
        assert isinstance(embedder, Embedder)
        assert embedder.name
        assert embedder.fingerprint
        assert -1 <= embedder.similarity_floor < 1
        assert not isinstance(embedder, FastEmbedder) or isinstance(embedder.is_fast, bool)

    def test_each_text_has_one_vector_of_unit_length(self) -> None:
        """Always of the declared dimension; zeros are allowed for a text without a known word."""
        embedder = self.make()
        rows = embedder.embed([*TEXTS, *ODD_TEXTS])
        assert rows.shape == (len(TEXTS) + len(ODD_TEXTS), embedder.dimension)
        assert np.isfinite(rows).all()
        lengths = np.linalg.norm(rows, axis=1)
        assert ((np.abs(lengths - 1) < 1e-3) | (lengths == 0)).all()

    def test_a_text_has_the_same_vector_in_every_call(self) -> None:
        """Alone, among others, and from another instance with the same fingerprint."""
        embedder, other = self.make(), self.make()
        together = embedder.embed(TEXTS)
        np.testing.assert_allclose(embedder.embed([TEXTS[1]])[0], together[1], atol=1e-3)
        if other.fingerprint == embedder.fingerprint:
            np.testing.assert_allclose(other.embed(TEXTS), together, atol=1e-3)

    def test_questions_have_vectors_of_the_same_dimension(self) -> None:
        """They are compared with those of texts."""
        embedder = self.make()
        rows = embedder.embed(TEXTS)
        assert np.asarray(embedder.embed_query(TEXTS[0])).reshape(-1).shape == (rows.shape[1],)

    def test_a_text_is_nearest_to_itself(self) -> None:
        """As a question, too."""
        embedder = self.make()
        similarities = embedder.embed(TEXTS) @ np.asarray(embedder.embed_query(TEXTS[1])).reshape(-1)
        assert int(np.argmax(similarities)) == 1


class ExtractorContract(Contract[Extractor]):
    """The contract of `ports.Extractor`."""

    def test_it_declares_the_attributes_of_the_port(self) -> None:
        """A name, and `extract`."""
        extractor = self.make()
        assert isinstance(extractor, Extractor)
        assert extractor.name

    @pytest.mark.parametrize("text", [*TEXTS, *ODD_TEXTS])
    def test_every_text_gives_an_extraction(self, text: str) -> None:
        """It never raises, and names in it are text."""
        found = self.make().extract(text, now=NOW, speaker="Alice")
        assert isinstance(found, Extraction)
        assert all(mention.name.strip() for mention in found.mentions)
        assert all(triple.subject and triple.predicate and triple.object for triple in found.triples)

    def test_the_same_text_gives_the_same_extraction(self) -> None:
        """So that adding it again is no change."""
        extractor = self.make()
        first, second = (extractor.extract(TEXTS[0], now=NOW) for _ in range(2))
        assert first == second


class FactExtractorContract(ExtractorContract):
    """The contract of `ports.FactExtractor`."""

    def make(self) -> FactExtractor:
        """The extractor to check."""
        raise NotImplementedError

    def test_it_has_the_method_of_the_port(self) -> None:
        """`facts`; without it, a conversation is kept as it was said."""
        assert isinstance(self.make(), FactExtractor)

    def test_facts_refer_to_the_turns_they_come_from(self) -> None:
        """By their place in the list that was given."""
        turns = [Utterance(text, "Alice", NOW) for text in TEXTS]
        result = self.make().facts(turns, now=NOW)
        assert isinstance(result, ExtractionResult)
        assert all(fact.text.strip() for fact in result.facts)
        assert all(0 <= place < len(turns) for fact in result.facts for place in fact.source_turns)

    def test_no_turns_give_no_facts(self) -> None:
        """And no error."""
        assert self.make().facts([], now=NOW).facts == ()


class ModelExtractorContract(ExtractorContract):
    """The contract of `ports.ModelExtractor`."""

    def make(self) -> ModelExtractor:
        """The extractor to check."""
        raise NotImplementedError

    def test_it_names_its_model_and_its_prompt(self) -> None:
        """As text that can be stored, or None."""
        extractor = self.make()
        assert isinstance(extractor, ModelExtractor)
        assert all(value is None or value.strip() for value in (extractor.model, extractor.prompt))

    def test_a_result_names_the_same_model(self) -> None:
        """If the extractor finds facts, and a model has answered."""
        extractor = self.make()
        if isinstance(extractor, FactExtractor):
            result = extractor.facts([Utterance(TEXTS[0], "Alice", NOW)], now=NOW)
            assert result.model in (None, extractor.model)
            assert result.prompt in (None, extractor.prompt)


class SummarizingExtractorContract(Contract[SummarizingExtractor]):
    """The contract of `ports.SummarizingExtractor`."""

    def test_sentences_refer_to_the_lines_they_come_from(self) -> None:
        """By their place in the list that was given; None leaves the profile its quotations."""
        summarizer = self.make()
        assert isinstance(summarizer, SummarizingExtractor)
        for sentence in summarizer.summarize(TEXTS, max_tokens=100) or ():
            assert sentence.text.strip()
            assert all(0 <= place < len(TEXTS) for place in sentence.lines)

    def test_no_lines_give_no_sentences(self) -> None:
        """And no error."""
        assert not self.make().summarize([], max_tokens=100)


class MergingExtractorContract(Contract[MergingExtractor]):
    """The contract of `ports.MergingExtractor`."""

    def test_texts_are_merged_into_one(self) -> None:
        """None leaves them to the rules."""
        merger = self.make()
        assert isinstance(merger, MergingExtractor)
        merged = merger.merge(["Alice lives in Porto.", "Alice lives in Porto, by the river."])
        assert merged is None or merged.strip()


class LocksContract(Contract[Locks]):
    """The contract of `ports.Locks`, which a `ports.LockingLedger` gives. `make` is called again for what another
    process would have: if `is_shared`, these are locks of the same ledger."""

    def test_a_lock_is_acquired_once(self) -> None:
        """Until the end of the block, also if that raises; other names are free."""
        locks = self.make()
        with locks.acquire("a") as first, locks.acquire("a") as second, locks.acquire("b") as other:
            assert (first, second, other) == (True, False, True)
            assert locks.is_locked("a")
        assert not locks.is_locked("a")
        with pytest.raises(ZeroDivisionError), locks.acquire("a"):
            raise ZeroDivisionError
        with locks.acquire("a") as again:
            assert again
        locks.close()

    def test_a_deleted_lock_can_be_acquired(self) -> None:
        """Deleting one that never was is no error."""
        locks = self.make()
        assert not locks.is_locked("a")
        locks.delete("a")
        with locks.acquire("a") as acquired:
            assert acquired
        locks.delete("a")
        with locks.acquire("a") as acquired:
            assert acquired
        locks.close()

    def test_threads_exclude_each_other(self) -> None:
        """Of eight threads one has the lock."""
        locks, together = self.make(), threading.Barrier(8)

        def try_lock(_: int) -> bool:
            with locks.acquire("a") as acquired:
                together.wait(timeout=60)
                return acquired

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(try_lock, range(8))) == 1
        locks.close()

    def test_processes_exclude_each_other_and_see_positions(self) -> None:
        """If they share the ledger: a process sees the positions of others and not its own, until they close."""
        locks, other = self.make(), self.make()
        locks.publish_position(3)
        locks.publish_position(7)
        assert locks.other_processes() == []
        if locks.is_shared:
            with locks.acquire("a"), other.acquire("a") as second:
                assert not second
                assert other.is_locked("a")
            assert [position for _, position in other.other_processes()] == [7]
        locks.close()
        deadline = time.monotonic() + 30
        while other.other_processes() and time.monotonic() < deadline:  # a server learns of a closed connection later
            time.sleep(0.01)
        assert other.other_processes() == []
        other.close()

    def test_closing_twice_is_fine(self) -> None:
        """A space may be closed by its owner and by a context manager."""
        locks = self.make()
        locks.close()
        locks.close()


class ReaderContract(Contract[Reader]):
    """The contract of `ports.Reader`."""

    def lines(self) -> list[ReaderLine]:
        """What is read: turns with days and speakers, and odd texts without."""
        told = [ReaderLine(text, NOW - timedelta(days=30 - n), speaker="Alice", rank=n) for n, text in enumerate(TEXTS)]
        answer = ReaderLine("Yes.", NOW, speaker="Alice", before="Bob: Do you live in Porto?", rank=len(told))
        return [*told, answer, *(ReaderLine(text) for text in ODD_TEXTS)]

    def read(self, lines: Sequence[ReaderLine], moment: datetime | None = None) -> ListReading:
        """These lines, read for one question."""
        return self.make().read("Where does Alice live?", lines, asked_at=NOW, moment=moment)

    def test_it_has_a_fingerprint(self) -> None:
        """A receipt says with which reader its list was made."""
        reader = self.make()
        assert isinstance(reader, Reader)
        assert reader.fingerprint

    def test_each_line_has_its_probabilities(self) -> None:
        """Whatever the text, for now and for a past time."""
        for moment in (None, NOW - timedelta(days=29)):
            reading = self.read(self.lines(), moment)
            assert isinstance(reading, ListReading)
            values = np.array([reading.answers, reading.holds, reading.replaced, reading.choice], np.float64)
            assert values.shape == (4, len(self.lines()))
            assert ((values >= 0) & (values <= 1)).all()

    def test_at_most_one_line_is_the_best_answer(self) -> None:
        """The choice and "none of them" add up to 1."""
        reading = self.read(self.lines())
        assert sum(reading.choice) + reading.nothing == pytest.approx(1.0, abs=1e-3)

    def test_the_same_lines_have_the_same_probabilities(self) -> None:
        """So that a recall can be replayed. In another order they have the same ones in that order."""
        lines = self.lines()[: len(TEXTS)]
        first, again, turned = self.read(lines), self.read(lines), self.read(lines[::-1])
        assert first == again
        assert turned.answers[::-1] == pytest.approx(first.answers, abs=1e-4)
        assert turned.choice[::-1] == pytest.approx(first.choice, abs=1e-4)

    def test_no_lines_have_no_answer(self) -> None:
        """And no error."""
        reading = self.read([])
        assert reading.answers == reading.holds == reading.replaced == reading.choice == ()
        assert reading.nothing == pytest.approx(1.0)


class SignalContract(Contract[Signal]):
    """The contract of `ports.Signal`. Override `versions` and `query` to give your signal something to find."""

    def versions(self) -> list[Remembered | None]:
        """What is indexed; None is a version whose text was erased."""
        texts = [f"Note {n}: {TEXTS[n % len(TEXTS)]}" for n in range(30)]
        days = [Window.from_moment(NOW - timedelta(days=n)) for n in range(30)]
        return [None if n == 7 else Remembered(f"m{n}", texts[n], f"i{n}", valid=days[n]) for n in range(30)]

    def query(self, allowed: Sequence[int] | None = None) -> Query:
        """A question for which the signal finds something, among these rows or all of them."""
        visible = np.array([version is not None for version in self.versions()], np.bool_)
        mask = visible if allowed is None else visible & np.isin(np.arange(len(visible)), allowed)
        return Query(
            text="Where does Alice live?",
            visible=visible,
            allowed=mask,
            times=(Window(NOW - timedelta(days=20), NOW - timedelta(days=5)),),
            entity_names=("Alice",),
            vector=self.vector(),
        )

    def vector(self) -> Vector | None:
        """The question's embedding, for signals that need one."""
        return None

    def test_it_declares_the_attributes_of_the_port(self) -> None:
        """Name, weight, stage, and whether it needs an embedding."""
        signal = self.make()
        assert isinstance(signal, Signal)
        assert signal.name
        assert signal.weight > 0
        assert isinstance(signal.stage, Stage)
        assert isinstance(signal.needs_embedding, bool)

    def test_an_empty_index_abstains_or_finds_nothing(self) -> None:
        """And says why."""
        none = np.zeros(0, np.bool_)
        ranking = self.make().rank(Query("Where does Alice live?", none, none, vector=self.vector()), 10)
        assert not len(ranking.rows)
        assert ranking.abstention_reason

    def test_rows_come_best_first_with_a_reason_each(self) -> None:
        """As many scores as rows, falling."""
        ranking = self._ranked(self._filled())
        assert len(ranking.rows) == len(ranking.scores) == len(set(ranking.rows)) > 0
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
        if ranking.explain_rows is not None:
            assert all(ranking.explain_rows(ranking.rows))

    def test_only_allowed_rows_are_returned(self) -> None:
        """Erased rows and those of other views are not."""
        signal, allowed = self._filled(), [0, 3, 6, 7, 12]
        assert set(signal.rank(self.query(allowed), 100).rows) <= {0, 3, 6, 12}
        assert 7 not in signal.rank(self.query(), 100).rows

    def test_applying_twice_changes_nothing(self) -> None:
        """A process that was killed applies the same entries again."""
        signal = self._filled()
        before = self._ranked(signal)
        signal.apply(0, self.versions())
        assert self._same(self._ranked(signal), before)

    def test_batches_give_the_same_index_as_one_call(self) -> None:
        """Entries arrive one at a time, or two thousand at once."""
        signal, versions = self.make(), self.versions()
        for first in range(0, len(versions), 4):
            signal.apply(first, versions[first : first + 4])
        assert self._same(self._ranked(signal), self._ranked(self._filled()))

    def test_a_saved_index_is_loaded(self) -> None:
        """From plain arrays, with no pickle; and it can grow from there."""
        signal, loaded = self._filled(), self.make()
        arrays = {name: np.asarray(array) for name, array in signal.save().items()}
        assert all(array.dtype != object for array in arrays.values())
        loaded.load(arrays)
        loaded.apply(0, self.versions())
        assert self._same(self._ranked(loaded), self._ranked(signal))

    def test_copies_are_independent(self) -> None:
        """Each space gets a copy of the signal that was given to `open`."""
        signal = self.make()
        copy.deepcopy(signal).apply(0, self.versions())
        assert not len(self._ranked(signal).rows)

    def _filled(self) -> Signal:
        signal = self.make()
        signal.apply(0, self.versions())
        return signal

    def _ranked(self, signal: Signal) -> Ranking:
        return signal.rank(self.query(), 10)

    @staticmethod
    def _same(one: Ranking, other: Ranking) -> bool:
        return list(one.rows) == list(other.rows) and list(one.scores) == pytest.approx(list(other.scores))


class VectorStoresContract(Contract[VectorStores]):
    """The contract of `ports.VectorStores`. For the stores that it opens there is `VectorStoreContract`."""

    def test_spaces_do_not_share_points(self) -> None:
        """Whatever they are called."""
        stores = self.make()
        assert isinstance(stores, VectorStores)
        one, two = stores.open("alice", 4), stores.open("users/bob", 4)
        one.upsert([1, 2], np.eye(4, dtype=np.float32)[:2])
        assert sorted(one.ids()) == [1, 2]
        assert two.ids() == []
        for store in (one, two):
            store.close()
        stores.close()

    def test_closing_twice_is_fine(self) -> None:
        """A space may be closed by its owner and by a context manager."""
        stores = self.make()
        stores.close()
        stores.close()
