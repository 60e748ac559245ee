"""The growing index scores as rank-bm25 does, whatever the documents and however they came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Plus

from examples import examples
from remanence.index.arrays import grouped
from remanence.index.words import GrowingBM25

WORD = st.sampled_from("ant bee cat dog eel".split())
DOCUMENT = st.lists(WORD, max_size=8)
CORPUS = st.lists(DOCUMENT, min_size=1, max_size=12).filter(any)  # the parent divides by the mean length
QUESTION = st.lists(st.one_of(WORD, st.just("yak")), max_size=5)
PARAMETERS = st.fixed_dictionaries(
    {"k1": st.sampled_from([0.9, 1.5]), "b": st.sampled_from([0.0, 0.5, 0.75]), "delta": st.sampled_from([0, 0.5, 1])}
)


@settings(max_examples=examples(40), deadline=None)
@given(corpus=CORPUS, question=QUESTION, parameters=PARAMETERS, cut=st.integers(0, 12), size=st.integers(1, 5))
def test_it_scores_as_its_parent(
    corpus: list[list[str]], question: list[str], parameters: dict[str, Any], cut: int, size: int
) -> None:
    """To the last bit: built at once, or added to, or saved and loaded in between."""
    theirs = BM25Plus(corpus, **parameters)
    grown = GrowingBM25(corpus[:cut], **parameters)
    for begin in range(cut, len(corpus), size):
        grown.extend(corpus[begin : begin + size])
        loaded = GrowingBM25(**parameters)
        loaded.load(grown.save())
        grown = loaded if begin % 2 else grown

    for ours in (grown, GrowingBM25(corpus, **parameters)):
        assert ours.get_scores(question).tolist() == theirs.get_scores(question).tolist()
        names = [f"document {number}" for number in range(len(corpus))]
        assert ours.get_top_n(question, names, n=3) == theirs.get_top_n(question, names, n=3)
        assert (ours.corpus_size, ours.avgdl, ours.doc_len.tolist()) == (
            theirs.corpus_size,
            theirs.avgdl,
            theirs.doc_len,
        )


@settings(max_examples=examples(40), deadline=None)
@given(corpus=CORPUS, question=QUESTION, parameters=PARAMETERS, data=st.data())
def test_what_is_masked_might_as_well_not_be_there(
    corpus: list[list[str]], question: list[str], parameters: dict[str, Any], data: st.DataObject
) -> None:
    """Filtered out or removed: the others score as a corpus of their own, and it scores zero."""
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus))))
    shown = [words for words, is_shown in zip(corpus, mask, strict=True) if is_shown]
    scores = GrowingBM25(corpus, **parameters).get_scores(question, mask)

    if any(shown):
        assert scores[mask].tolist() == BM25Plus(shown, **parameters).get_scores(question).tolist()
    assert not scores[~mask].any()


def test_it_is_one_of_rank_bm25s_own() -> None:
    """What takes one of those takes this: with texts and a tokenizer as well, and while it is empty."""
    index = GrowingBM25()
    assert isinstance(index, BM25Plus)
    assert index.get_scores(["ant"]).tolist() == []

    index = GrowingBM25(["An ant", "a bee"], tokenizer=str.split)
    index.extend(["one more ant"])
    assert index.get_top_n(["more"], ["first", "second", "third"], n=1) == ["third"]


def test_one_more_document_costs_its_words_and_not_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its words wait in a list that is merged with those of the corpus now and then, although each is asked about."""
    dice = np.random.default_rng(1)
    corpus = [[f"w{number}" for number in row] for row in dice.zipf(1.3, (3_000, 12)) % 2_000]
    merged: list[int] = []

    def counted(base: Any, groups: Any, members: Any) -> Any:
        merged.append(len(groups))
        return merge(base, groups, members)

    merge = grouped._merged
    monkeypatch.setattr(grouped, "_merged", counted)
    index = GrowingBM25(corpus[:2_000])
    for words in corpus[2_000:]:
        index.extend([words])
        index.get_scores(words[:1])

    assert sum(merged) <= 3_000 * 12
    assert len(merged) <= 1 + 1_000 * 12 // grouped._MAX_TAIL
    assert index.corpus_size == 3_000
