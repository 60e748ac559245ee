"""A second look at the first few hits."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import remanence
from remanence.models import catalogue, rerankers
from remanence.read.rerank import blended_order
from remanence.testing import FakeClock
from remanence.testing.fakes import HashingEmbedder

NAME = "ms-marco-MiniLM-L-12-v2"
HARBOUR = ("The harbour of Porto is old and very beautiful indeed.", "The harbour is old.")
QUESTION = "Is the harbour of Porto old and very beautiful?"
ASKED = "In which city does Alice live?"


class Shortest:
    """Scores short texts higher, and keeps what it was given to read."""

    fingerprint = "shortest"

    def __init__(self, weight: float = 1.0, *, calibrated: bool = False) -> None:
        self.read: list[str] = []
        self.weight, self.calibrated = weight, calibrated

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        self.read += texts
        return [-float(len(text)) for text in texts]


def first(reranker: Any, clock: FakeClock) -> remanence.Hit:
    """The first hit for the question."""
    with remanence.open(None, embedder=HashingEmbedder(), reranker=reranker, clock=clock) as space:
        space.add_many(HARBOUR)
        return space.recall(QUESTION)[0]


def test_a_function_has_the_last_word(clock: FakeClock) -> None:
    """And the explanation says what it said."""
    assert first(None, clock).memory.text == HARBOUR[0]
    hit = first(Shortest(), clock)

    assert hit.memory.text == HARBOUR[1]
    said = {evidence.signal: evidence for evidence in hit.evidence}["reranker"]
    assert (said.rank, said.raw) == (1, -19.0)


@pytest.mark.parametrize(("share", "text"), [(1.0, HARBOUR[1]), (0.7, HARBOUR[1]), (0.2, HARBOUR[0])])
def test_one_with_a_share_has_that_share_in_the_order(share: float, text: str, clock: FakeClock) -> None:
    """The rest is what the signals say."""
    assert first(Shortest(share), clock).memory.text == text


@pytest.mark.parametrize("best", [0.9, 0.1, 0.01])
def test_how_sure_the_signals_are_does_not_change_their_share(best: float) -> None:
    """A list of low scores is as much of an order as one of high scores."""
    order = blended_order(np.array([best, best / 2]), np.array([0.0, 1.0]), weight=0.3)

    assert order.tolist() == [0, 1]


@pytest.mark.parametrize(("calibrated", "order"), [(True, [0, 1]), (False, [1, 0])])
def test_a_calibrated_one_that_likes_nothing_changes_nothing(calibrated: bool, order: list[int]) -> None:
    """One whose scale is not known may mean much by little."""
    scores, given = np.array([1.0, 0.9]), np.array([0.01, 0.05])

    assert blended_order(scores, given, weight=0.5, calibrated=calibrated).tolist() == order


def test_one_that_is_not_as_calibrated_as_it_says_costs_only_the_order(clock: FakeClock) -> None:
    """The answer names the scores that gave it away."""
    reader = Shortest(0.5, calibrated=True)
    with remanence.open(None, embedder=HashingEmbedder(), reranker=reader, clock=clock) as space:
        space.add_many(HARBOUR)
        answer = space.recall(QUESTION)

    assert [hit.memory.text for hit in answer] == list(HARBOUR)
    assert "calibrated, yet gave -54.00 to -19.00" in answer.missing["reranker"]


@pytest.mark.parametrize(("limit", "served"), [(5, 5), (40, 40)])
def test_the_first_thirty_are_read_again_and_the_rest_stay(limit: int, served: int, clock: FakeClock) -> None:
    """However many are asked for; the scores go down the list as they did."""
    reader = Shortest()
    with remanence.open(None, embedder=HashingEmbedder(), reranker=reader, clock=clock) as space:
        space.add_many(f"The harbour is {'very ' * n}old." for n in range(40))
        answer = space.recall("the old harbour", limit=limit)

    assert len(reader.read) == 30
    assert len(answer) == served
    assert [len(hit.memory.text) for hit in answer[:30]] == sorted(len(hit.memory.text) for hit in answer[:30])
    assert ["reranker" in {e.signal for e in hit.evidence} for hit in answer] == [True] * min(served, 30) + (
        [False] * (served - 30)
    )
    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)


def test_nobody_waits_while_it_reads(clock: FakeClock) -> None:
    """It may take its time, and may itself ask or add from another thread."""

    def slow(question: str, texts: Sequence[str]) -> list[float]:
        found.append(other.submit(space.get, kept.id).result(timeout=10))
        found.append(other.submit(space.add, "A boat came in.").result(timeout=10))
        return [0.0] * len(texts)

    found: list[Any] = []
    with (
        remanence.open(None, embedder=HashingEmbedder(), reranker=slow, clock=clock) as space,
        ThreadPoolExecutor(1) as other,
    ):
        kept = space.add(HARBOUR[0])
        answer = space.recall(QUESTION)

    assert [hit.memory for hit in answer] == [kept]
    assert [memory.text for memory in found] == [HARBOUR[0], "A boat came in."]
    assert not answer.missing


def test_it_is_not_given_what_no_longer_holds(clock: FakeClock) -> None:
    """However few are asked for: it reads thirty, and might like it best."""
    reader = Shortest()
    with remanence.open(None, embedder=HashingEmbedder(), reranker=reader, clock=clock) as space:
        space.add("Alice lives in Porto.", now="2026-01-01")
        lisbon = space.add("Alice lives in Lisbon.", now="2026-03-01")
        answer = space.recall("Does Alice live in Lisbon?", limit=1)

    assert [hit.memory for hit in answer] == [lisbon]
    assert reader.read == [lisbon.text]


@pytest.mark.parametrize("share", ["half", 2.0, float("nan")])
def test_a_share_that_is_none_costs_only_the_order(share: Any, clock: FakeClock) -> None:
    """The answer comes as if there were no reranker, and says why."""
    with remanence.open(None, embedder=HashingEmbedder(), reranker=Shortest(share), clock=clock) as space:
        space.add_many(HARBOUR)
        answer = space.recall(QUESTION)

    assert [hit.memory.text for hit in answer] == list(HARBOUR)
    assert "weight" in answer.missing["reranker"] or "str" in answer.missing["reranker"]


def test_a_turn_is_read_with_its_speaker(clock: FakeClock) -> None:
    """Who said "I" is half of what was said."""
    reader = Shortest()
    with remanence.open(None, embedder=HashingEmbedder(), reranker=reader, clock=clock) as space:
        space.add_turns([{"speaker": "Bob", "content": "I like tea."}, {"role": "user", "content": "I prefer coffee."}])
        space.add("Tea is grown in the Azores.")
        space.recall("tea or coffee")

    assert sorted(reader.read) == ["Bob: I like tea.", "Tea is grown in the Azores.", "user: I prefer coffee."]


@pytest.mark.parametrize("given", [7, ["a"]])
def test_what_cannot_rerank_is_refused(given: Any) -> None:
    """With the value and what would do."""
    with pytest.raises(remanence.InvalidInput, match=rf"The reranker is {given!r}".replace("[", r"\[")):
        remanence.open(None, reranker=given)


def test_a_name_or_a_folder_that_is_not_there_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is downloaded behind anybody's back, and nothing is opened before."""
    monkeypatch.setenv("REMANENCE_MODELS", str(tmp_path))
    with pytest.raises(remanence.InvalidInput, match=f"`remanence models get {NAME}`"):
        remanence.open(tmp_path / "memory", reranker=NAME)
    with pytest.raises(remanence.InvalidInput, match=r"No reranker is called 'bge-small-en-v1\.5'"):
        remanence.open(tmp_path / "memory", reranker="bge-small-en-v1.5")
    with pytest.raises(remanence.InvalidInput, match=r"lacks model\.onnx and tokenizer\.json"):
        remanence.open(tmp_path / "memory", reranker=tmp_path)
    assert not (tmp_path / "memory").exists()


def test_the_cross_encoder_knows_what_answers_a_question(clock: FakeClock) -> None:
    """By its name or its folder, on a text of any length, and replayed as it was."""
    pytest.importorskip("onnxruntime", reason="needs remanence[onnx]")
    place = catalogue.installed_folder(NAME)
    if place is None:
        pytest.skip(f"{NAME} is not in {catalogue.models_folder()}: run `remanence models get {NAME}`")
    texts = ["Alice moved to Porto in May.", "Alice is a plumber.", "word " * 50_000, "broken \ud83d"]
    by_name, by_folder = (rerankers.resolve_reranker(given) for given in (NAME, place))
    assert by_name is not None
    assert by_folder is not None
    scores = by_name(ASKED, texts)

    assert scores.index(max(scores)) == 0
    assert scores == [pytest.approx(1 / (1 + np.exp(-raw / 4))) for raw in by_folder(ASKED, texts)]
    with remanence.open(None, reranker=by_name, clock=clock) as space:
        space.add_many(texts[:2])
        answer = space.recall(ASKED)
        assert answer[0].memory.text == texts[0]
        assert space.audit.replay(answer.receipt) == answer


def test_an_object_that_lacks_an_attribute_of_the_port_is_refused() -> None:
    """The message names what is missing; a plain function needs none of them."""

    class Half:
        weight = 0.5

        def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
            return [0.0 for _ in texts]

    with pytest.raises(remanence.InvalidInput, match="'fingerprint'"):
        remanence.open(None, reranker=Half())
