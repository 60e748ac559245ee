"""Short codes of many vectors: which are nearest, under every filter, and what is left of one that was erased."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import remanence
from remanence.core import projection
from remanence.core.projection import Projection
from remanence.signals import vector_codes, vectors
from remanence.signals.sign_bits import count_bits, sign_bits
from remanence.signals.vector_codes import VectorCodes
from remanence.testing import HashingEmbedder

SIZE, DIMENSION = 100_000, 64


@pytest.fixture(scope="module")
def many() -> np.ndarray:
    """Unit vectors around 500 centres, more than one block of them."""
    dice = np.random.default_rng(7)
    rows = dice.standard_normal((500, DIMENSION), np.float32)[dice.integers(0, 500, SIZE)]
    rows += dice.standard_normal((SIZE, DIMENSION), np.float32)
    unit: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


@pytest.fixture(scope="module")
def codes(many: np.ndarray) -> VectorCodes:
    return encoded(many)


def encoded(rows: np.ndarray) -> VectorCodes:
    codes = VectorCodes(rows.shape[1])
    for begin in range(0, len(rows), 9_000):
        points = list(range(begin, min(begin + 9_000, len(rows))))
        codes.add(points)
        codes.put(points, rows[begin : begin + 9_000])
    return codes


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.01])
def test_the_fifty_nearest_are_found_whatever_share_is_allowed(
    many: np.ndarray, codes: VectorCodes, share: float
) -> None:
    """At least 97 of a hundred, and nothing that is not allowed."""
    allowed = None if share == 1.0 else np.random.default_rng(1).random(SIZE) < share
    found = 0
    for question in many[:: SIZE // 20]:
        slots = codes.nearest(question, allowed, 50, SIZE)
        assert slots is not None
        assert allowed is None or allowed[slots].all()
        exact = many @ question if allowed is None else np.where(allowed, many @ question, -2)
        found += len(np.intersect1d(slots, np.argsort(-exact)[:50]))
    assert found >= 0.97 * 50 * 20


def test_the_nearest_is_first(many: np.ndarray, codes: VectorCodes) -> None:
    for slot in (0, 65_535, 65_536, SIZE - 1):
        assert codes.nearest(many[slot], None, 10, SIZE)[0] == slot  # type: ignore[index]


def test_a_question_without_near_vectors_is_left_to_a_scan(codes: VectorCodes) -> None:
    """Nothing is near it, so a large share would have to be scored."""
    question = np.random.default_rng(3).standard_normal(DIMENSION).astype(np.float32)
    assert codes.nearest(question, None, 50, SIZE // 100) is None


def test_few_allowed_vectors_are_all_returned(codes: VectorCodes) -> None:
    allowed = np.zeros(SIZE, np.bool_)
    allowed[[5, 70_000]] = True
    question = np.ones(DIMENSION, np.float32)
    assert sorted(codes.nearest(question, allowed, 50, SIZE).tolist()) == [5, 70_000]  # type: ignore[union-attr]


def test_saved_codes_find_the_same(many: np.ndarray, codes: VectorCodes) -> None:
    loaded = VectorCodes.load({name: array.copy() for name, array in codes.save().items()})
    assert np.array_equal(loaded.nearest(many[9], None, 50, SIZE), codes.nearest(many[9], None, 50, SIZE))  # type: ignore[arg-type]
    loaded.add([SIZE])
    loaded.put([SIZE], many[9:10])
    assert {9, SIZE} <= set(loaded.nearest(many[9], None, 50, SIZE).tolist())  # type: ignore[union-attr]


def test_nothing_is_left_of_an_erased_vector(many: np.ndarray) -> None:
    codes = encoded(many[:1_000])
    codes.erase(np.array([7, 5_000]))  # the second was never added
    blank = encoded(np.concatenate((many[:7], np.zeros((1, DIMENSION), np.float32), many[8:1_000]))).save()
    assert all(np.array_equal(array, blank[name]) for name, array in codes.save().items() if "scales" not in name)
    assert not codes.save()["scales.0"][7]


@pytest.mark.parametrize("count", [0, 1, 2, 5, 250])
def test_the_bits_of_a_vector_are_the_same_whichever_come_with_it(many: np.ndarray, count: int) -> None:
    alone = [sign_bits(row[None], 254) for row in many[:count]]
    assert np.array_equal(sign_bits(many[:count], 254), np.concatenate([np.empty((0, 4), np.uint64), *alone]))


def test_bits_are_counted_alike_with_every_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy 1 has no function for it."""
    words = np.random.default_rng(2).integers(0, 2**63, 1_000).astype(np.uint64)
    by_numpy, by_table = np.empty(1_000, np.uint8), np.empty(1_000, np.uint8)
    count_bits(words, by_numpy)
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    count_bits(words, by_table)
    assert by_numpy.tolist() == by_table.tolist() == [word.bit_count() for word in words.tolist()]


class TestSpace:
    """A space that is searched by codes, because it is taken for a large one."""

    @pytest.fixture
    def space(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[remanence.Space]:
        monkeypatch.setattr(vector_codes, "_CODES_FROM", 100)
        monkeypatch.setattr(vectors, "_CODES_USED_FROM", 150)
        monkeypatch.setattr(vectors, "_MAX_FILTERED_ROWS", 20)
        monkeypatch.setattr(vectors, "_SCANNED_FOR_ONE_SCORED", 1)
        with remanence.open(tmp_path / "space", embedder=HashingEmbedder(), reader=None) as space:
            yield space

    def test_it_answers_as_a_scan_does(self, space: remanence.Space, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also a long text of several passages, what is forgotten, one kind, and after it was opened again."""
        space.add_many([{"text": f"Box {n} has {n % 7} red pens.", "kind": KINDS[n % 2]} for n in range(300)])
        long = space.add(" ".join(f"Chapter {n} is about ships in storm {n}." for n in range(400)))
        space.forget(space.recall("Box 17")[0].memory.id)
        questions = ["Which box has 3 red pens?", "storm 77", "red"]

        def answers() -> list[list[tuple[str, float]]]:
            options: list[dict[str, str]] = [{}, {"kinds": "semantic"}]
            recalls = [space.recall(q, signals=["vectors"], limit=20, **each) for q in questions for each in options]
            return [[(hit.memory.id, round(hit.score, 6)) for hit in recall] for recall in recalls]

        by_codes = answers()
        assert long.id in [memory for memory, _ in by_codes[2]]
        monkeypatch.setattr(vectors, "_CODES_USED_FROM", 10**9)
        assert answers() == by_codes

    def test_an_erased_memory_is_not_found(self, space: remanence.Space) -> None:
        added = space.add_many([{"text": f"Box {n} has {n} red pens."} for n in range(200)])
        space.erase(added[7].id)
        assert added[7].id not in [hit.memory.id for hit in space.recall("Box 7 has 7 red pens", limit=50)]
        assert not space.admin.check()

    def test_a_space_that_was_opened_again_has_its_codes(self, tmp_path: Path, space: remanence.Space) -> None:
        space.add_many([{"text": f"Box {n} has {n} red pens."} for n in range(200)])
        first = [hit.memory.id for hit in space.recall("Box 7 has 7 red pens", signals=["vectors"])]
        space.close()
        with remanence.open(tmp_path / "space", embedder=HashingEmbedder(), reader=None) as again:
            again.add("Box 201 has 201 red pens.")
            assert [hit.memory.id for hit in again.recall("Box 7 has 7 red pens", signals=["vectors"])] == first
            assert not again.admin.check()

    def test_texts_without_vectors_are_looked_up_a_few_times_and_have_codes_when_they_have_vectors(
        self, space: remanence.Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An export by another embedder has no vector that can be used, so all texts are embedded after the import."""
        texts = [{"text": f"Box {n} has {n} red pens."} for n in range(400)]
        with remanence.open(None, embedder=HashingEmbedder(dimension=32), reader=None) as other:
            other.add_many(texts)
            other.admin.export(tmp_path / "boxes.jsonl")
        asked: list[int] = []
        load = Projection.load_vectors

        def count(index: Projection, hashes: Sequence[bytes]) -> object:
            asked.append(len(hashes))
            return load(index, hashes)

        monkeypatch.setattr(Projection, "load_vectors", count)
        monkeypatch.setattr(projection, "_BATCH", 20)
        remanence.import_(tmp_path / "boxes.jsonl", into=space)
        assert sum(asked) < 5 * len(texts)
        with space._engine.open_index(space.name) as index:
            codes = index.vectors._codes.codes
            assert codes is not None
            assert len(codes) == len(texts)
        by_codes = space.recall("Box 7 has 7 red pens", signals=["vectors"])
        monkeypatch.setattr(vectors, "_CODES_USED_FROM", 10**9)
        scanned = space.recall("Box 7 has 7 red pens", signals=["vectors"])
        assert [hit.memory.id for hit in by_codes] == [hit.memory.id for hit in scanned]
        assert by_codes[0].memory.text == texts[7]["text"]
        assert not by_codes.missing


KINDS = ("semantic", "viewpoint")
