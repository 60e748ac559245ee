"""Words that are used alike."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from remanence.models.embedders import StaticEmbedder
from remanence.text.lexicon.word_lists import THESAURUS_FILE, related_words
from remanence.text.text import TOKENIZER_VERSION, tokens

BUILD_SCRIPT = Path(__file__).parents[1] / "benchmarks" / "build_thesaurus.py"


def entries(lines: list[str]) -> dict[tuple[str, str], int]:
    """How near each word of each line is to the first of it."""
    found = {}
    for line in lines:
        word, *told = line.split()
        found |= {(word, other): int(near) for other, near in zip(told[::2], told[1::2], strict=True)}
    return found


@pytest.mark.slow
def test_the_file_is_what_the_table_gives() -> None:
    """To the hundredth: another processor rounds otherwise, and may put another word last."""
    head, *shipped = THESAURUS_FILE.read_text(encoding="ascii").splitlines()
    made_head, *made = runpy.run_path(str(BUILD_SCRIPT))["thesaurus_lines"]()
    ours, theirs = entries(shipped), entries(made)

    assert head == made_head == f"# {StaticEmbedder().fingerprint} {TOKENIZER_VERSION}"
    assert len(ours.keys() ^ theirs.keys()) < 0.01 * len(ours)
    for pair in ours.keys() & theirs.keys():
        assert abs(ours[pair] - theirs[pair]) <= 1, pair


@pytest.mark.parametrize(("word", "other"), [("trip", "journey"), ("film", "movie"), ("doctor", "medical")])
def test_words_used_alike_are_found_from_both_sides(word: str, other: str) -> None:
    """In the form that texts are indexed in, nearest first."""
    [one], [two] = tokens(word), tokens(other)

    assert two in dict(related_words(one))
    nearness = [near for _, near in related_words(one)]
    assert nearness == sorted(nearness, reverse=True)
    assert all(0.4 <= near <= 1 for near in nearness)


@pytest.mark.parametrize("word", ["anna", "paris", "monday", "the", "qx", "東京", "", "trips"])
def test_a_name_a_stop_word_and_what_is_not_in_the_table_have_none(word: str) -> None:
    """Nor has a form that `tokens` never gives."""
    assert related_words(word) == ()


def test_no_word_is_akin_to_a_form_of_itself() -> None:
    """What begins alike is one word, or half of one."""
    pairs = entries(THESAURUS_FILE.read_text(encoding="ascii").splitlines()[1:])

    assert not [(a, b) for a, b in pairs if a.startswith(b) or b.startswith(a)]
    assert np.mean([(b, a) in pairs for a, b in pairs]) > 0.6


@pytest.mark.parametrize(("word", "other"), [("januari", "februari"), ("septemb", "novemb"), ("march", "april")])
def test_months_are_not_each_other(word: str, other: str) -> None:
    """They are used alike and never mean the same."""
    assert other not in dict(related_words(word))
