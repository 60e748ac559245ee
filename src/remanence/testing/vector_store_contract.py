"""What a vector store promises, as tests. Subclass, say how to open one, and pytest does the rest."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from remanence.errors import InvalidInput
from remanence.ports import ReportingVectorStore, SharedVectorStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Vector, VectorStore

BIG = 2**51
"""The number of a point that single precision and 32 bits cannot hold."""


class VectorStoreContract:
    """The contract of `ports.VectorStore`: one store holds the vectors of one space.

    Give `make`; and `reopen` if the points outlive a close.

        class TestMyStore(VectorStoreContract):
            def make(self, dimension):
                return MyStore(dimension)
    """

    tolerance = 2e-3
    """How far a score may be from numpy's for unit vectors: half-precision floats are fine."""

    def make(self, dimension: int) -> VectorStore:
        """A new empty store. Called at most once in a test."""
        raise NotImplementedError

    def reopen(self, store: VectorStore) -> VectorStore | None:
        """The store opened again after it was closed; None if nothing outlives a close."""
        return None

    @pytest.fixture
    def store(self) -> Iterator[VectorStore]:
        """An empty store of 8 dimensions."""
        store = self.make(8)
        yield store
        store.close()

    def test_what_is_kept_is_found(self, store: VectorStore) -> None:
        """A vector is nearest to itself, with the score numpy gives."""
        vectors = self.fill(store, 20)
        for n in range(20):
            ids, scores = store.search(vectors[n], 1)
            assert ids == [n]
            assert scores == pytest.approx([1.0], abs=self.tolerance)

    @pytest.mark.parametrize("dimension", [8, 256, 384])
    def test_answers_are_exact(self, dimension: int) -> None:
        """The best fifty are numpy's best fifty, in falling order."""
        store = self.make(dimension)
        vectors = self.fill(store, 1_000, dimension)
        for query in unit_vectors(5, dimension, seed=1):
            self.agrees(store.search(query, 50), np.arange(1_000), vectors @ query, 50)
        store.close()

    def test_only_these_points_are_ranked(self) -> None:
        """Five thousand allowed points out of seven: the best of those, and no other."""
        store = self.make(32)
        vectors, query = self.fill(store, 7_000, 32), unit_vectors(1, 32, seed=1)[0]
        only = np.random.default_rng(2).choice(7_000, 5_000, replace=False)
        self.agrees(store.search(query, 50, only.tolist()), only, vectors[only] @ query, 50)
        store.close()

    def test_only_may_name_few_none_unknown_or_twice(self, store: VectorStore) -> None:
        """Unknown points in `only` are passed over, repeated ones count once, none gives none."""
        vectors = self.fill(store, 100)
        ids, _ = store.search(vectors[3], 10, [3, 4, 4, 9_999])
        assert ids == [3, 4]
        assert store.search(vectors[3], 10, []) == ([], [])
        assert store.search(vectors[3], 10, [9_999]) == ([], [])

    def test_the_last_vector_under_a_number_stands(self, store: VectorStore) -> None:
        """Keeping a number again replaces its vector, in one call or in two."""
        east, west = axis_vector(0), -axis_vector(0)
        store.upsert([1], east[None])
        store.upsert([1], west[None])
        assert store.ids() == [1]
        assert store.search(west, 5)[1] == pytest.approx([1.0], abs=self.tolerance)
        store.upsert([1, 1], np.stack([west, east]))
        assert store.ids() == [1]
        assert store.search(east, 5)[1] == pytest.approx([1.0], abs=self.tolerance)

    def test_what_is_deleted_is_gone(self, store: VectorStore) -> None:
        """Deleted points are found no more, the others are; unknown numbers do no harm."""
        vectors = self.fill(store, 50)
        store.delete([0, 25, 49, 1_000])
        store.delete([])
        left = [n for n in range(50) if n not in (0, 25, 49)]
        assert sorted(store.ids()) == left
        for n in left:
            assert store.search(vectors[n], 1)[0] == [n]
        self.agrees(store.search(vectors[25], 100), np.array(left), vectors[left] @ vectors[25], 100)
        store.upsert([25], vectors[25:26])
        assert store.search(vectors[25], 1)[0] == [25]

    def test_a_cleared_store_is_empty_and_usable(self, store: VectorStore) -> None:
        """Nothing is found after `clear`, and new points are."""
        vectors = self.fill(store, 10)
        store.clear()
        assert store.ids() == []
        assert store.search(vectors[0], 5) == ([], [])
        store.upsert([3], vectors[3:4])
        assert store.search(vectors[3], 5)[0] == [3]

    def test_an_empty_store_answers_with_nothing(self, store: VectorStore) -> None:
        """No points is no error."""
        assert store.ids() == []
        assert store.search(axis_vector(0), 5) == ([], [])
        assert store.search(axis_vector(0), 5, [1, 2]) == ([], [])
        store.delete([1])
        store.upsert([], np.empty((0, 8), np.float32))
        store.clear()
        store.flush()

    def test_the_limit_may_be_anything(self, store: VectorStore) -> None:
        """None for 0; all of them for more than there are."""
        vectors = self.fill(store, 10)
        assert store.search(vectors[0], 0) == ([], [])
        assert len(store.search(vectors[0], 10)[0]) == 10
        assert len(store.search(vectors[0], 1_000)[0]) == 10

    def test_equal_points_come_by_number(self, store: VectorStore) -> None:
        """Of equal vectors the smaller numbers come first, also where the limit cuts among them."""
        numbers = np.random.default_rng(0).permutation(300).tolist()
        store.upsert(numbers, np.repeat(unit_vectors(1, 8), 300, axis=0))
        store.upsert([1_000], axis_vector(0)[None])
        assert store.search(unit_vectors(1, 8)[0], 10)[0] == list(range(10))
        assert store.search(unit_vectors(1, 8)[0], 10, range(50, 1_001))[0] == list(range(50, 60))

    def test_big_numbers_keep_every_digit(self, store: VectorStore) -> None:
        """Numbers as large as a row and its passage make them."""
        numbers = [0, 1, BIG - 1, BIG, 2**53 + 1]
        vectors = unit_vectors(5, 8)
        store.upsert(numbers, vectors)
        assert sorted(store.ids()) == numbers
        assert store.search(vectors[3], 1, [BIG - 1, BIG])[0] == [BIG]
        assert store.search(vectors[4], 1)[0] == [2**53 + 1]
        store.delete([BIG])
        assert BIG not in store.ids()

    def test_a_vector_of_another_dimension_is_refused(self, store: VectorStore) -> None:
        """Too short, too long, or too few: nothing is kept."""
        for ids, vectors in (([1], unit_vectors(1, 7)), ([1], unit_vectors(1, 1)), ([1, 2], unit_vectors(1, 8))):
            with pytest.raises(InvalidInput):
                store.upsert(ids, vectors)
        with pytest.raises(InvalidInput):
            store.search(unit_vectors(1, 9)[0], 1)
        assert store.ids() == []

    def test_eight_threads_lose_nothing(self, store: VectorStore) -> None:
        """Threads that write, search and delete at once: all that was kept is there after."""
        vectors = unit_vectors(1_600, 8)

        def work(thread: int) -> None:
            for start in range(thread * 200, thread * 200 + 200, 50):
                mine = list(range(start, start + 50))
                store.upsert(mine, vectors[start : start + 50])
                # Nearest among its own, though the others write meanwhile.
                assert store.search(vectors[start], 1, mine)[0] == [start]
                store.delete([start + 49])
                store.flush()

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8)))
        assert sorted(store.ids()) == [n for n in range(1_600) if n % 50 != 49]

    def test_closing_twice_is_fine(self, store: VectorStore) -> None:
        """The second close does nothing."""
        store.upsert([1], axis_vector(0)[None])
        store.close()
        store.close()

    def test_points_outlive_a_close(self, store: VectorStore) -> None:
        """What was kept before a close is found after, and can be replaced and deleted."""
        vectors = self.fill(store, 1_500)
        for _ in range(3):
            store.upsert([5], vectors[6:7])
        store.delete([7])
        store.close()
        again = self.reopen(store)
        if again is None:
            pytest.skip("this store keeps nothing")
        assert sorted(again.ids()) == [n for n in range(1_500) if n != 7]
        assert again.search(vectors[6], 2)[0] == [5, 6]
        again.upsert([5], vectors[5:6])
        again.delete([6])
        assert again.search(vectors[5], 1)[0] == [5]
        assert 6 not in again.ids()
        again.close()

    def test_what_it_reports_about_itself(self, store: VectorStore) -> None:
        """Its memory and its problem, if it has the methods of `ports.ReportingVectorStore`."""
        if not isinstance(store, ReportingVectorStore):
            pytest.skip("this store reports nothing")
        self.fill(store, 20)
        assert store.memory_bytes() >= 0
        assert store.problem() is None

    def fill(self, store: VectorStore, count: int, dimension: int = 8) -> Vector:
        """Store `count` random vectors under the numbers from 0 on, and return them."""
        vectors = unit_vectors(count, dimension)
        store.upsert(list(range(count)), vectors)
        return vectors

    def agrees(self, answer: tuple[list[int], list[float]], ids: NDArray[Any], scores: Vector, limit: int) -> None:
        """The answer is the true one, but for points nearer to each other than the tolerance."""
        true = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        best = sorted(true.values(), reverse=True)[:limit]
        assert len(set(answer[0])) == len(answer[0]) == len(best)
        assert answer[1] == sorted(answer[1], reverse=True)
        assert answer[1] == pytest.approx([true[n] for n in answer[0]], abs=self.tolerance)
        assert answer[1] == pytest.approx(best, abs=self.tolerance)


class SharedVectorStoreContract(VectorStoreContract):
    """The contract of `ports.SharedVectorStore`: other processes write to the same points."""

    def make(self, dimension: int) -> SharedVectorStore:
        """A new empty store. Called at most once in a test."""
        raise NotImplementedError

    def test_points_are_stored_with_where_they_come_from(self) -> None:
        """The position of their version, and the hash of their text."""
        store = self.make(8)
        assert isinstance(store, SharedVectorStore)
        store.write([1, 2, 3], unit_vectors(3, 8), [10, 20, 30], [b"one", b"two", b"three"])
        for ids in (None, [3, 1, 99]):
            points = store.get_points(ids)
            found = zip(points.ids.tolist(), points.positions.tolist(), points.hashes, strict=True)
            assert sorted(found) == [(1, 10, b"one"), *([(2, 20, b"two")] if ids is None else []), (3, 30, b"three")]
        assert store.search(unit_vectors(3, 8)[1], 1)[0] == [2]
        store.close()

    def test_points_up_to_a_position_are_counted_and_deleted(self) -> None:
        """What comes from a later position is another process's."""
        store = self.make(8)
        store.write([1, 2, 3], unit_vectors(3, 8), [10, 20, 30], [b"one", b"two", b"three"])
        assert [store.count(position) for position in (0, 9, 10, 29, 30)] == [0, 0, 1, 2, 3]
        store.delete([1, 2, 3], up_to=20)
        assert store.ids() == [3]
        store.delete([3])
        assert store.count(30) == 0
        store.close()


def unit_vectors(count: int, dimension: int, seed: int = 0) -> Vector:
    """Random vectors of length one, the same for the same seed."""
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    rows: Vector = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return rows


def axis_vector(n: int, dimension: int = 8) -> Vector:
    """The unit vector along one axis."""
    vector: Vector = np.eye(dimension, dtype=np.float32)[n]
    return vector
