"""Texts in other languages: which one it is, and that a memory is found by its words whatever their form."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remanence
from case_tables import cases
from new_interpreter import run_program
from remanence.testing import HashingEmbedder
from remanence.text.lexicon.languages import language_of, tokens_by_language
from remanence.text.text import function_words, split_words, tokens

CASES_FILE = Path(__file__).parents[1] / "benchmarks" / "cases" / "languages.jsonl"
CASES = [json.loads(line) for line in CASES_FILE.read_text("utf-8").splitlines()]
SPACED = "de nl da no sv fi et hu es pt ca fr it ro tr pl cs lt id".split()


def found_first(memories: list[str], question: str) -> str | None:
    """The memory that comes first by words alone."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add_many([{"text": text} for text in memories])
        hits = space.recall(question, signals=["words"], limit=1)
        return hits[0].memory.text if hits else None


@cases("languages")
def test_a_memory_is_found_by_its_words_in_another_form(memory: str, question: str) -> None:
    """Among others in that language and in English."""
    others = [case["memory"] for case in CASES if case["lang"] in ("en", language_of(memory))]
    others = [other for other in others if not set(tokens_by_language(other)[0]) & set(tokens_by_language(memory)[0])]
    assert found_first([*others, memory], question) == memory


@pytest.mark.slow
def test_nine_in_ten_of_the_cases_are_found() -> None:
    """In each language in a space of its own, beside English; English itself always."""
    spaces: dict[str, list[dict[str, str]]] = defaultdict(list)
    for case in CASES:
        spaces[case["lang"]].append(case)
    assert len(spaces) >= 25
    found = {
        language: sum(
            found_first([each["memory"] for each in (*cases, *spaces["en"])], case["question"]) == case["memory"]
            for case in cases
        )
        for language, cases in spaces.items()
    }
    assert found["en"] == len(spaces["en"])
    assert sum(found.values()) >= 0.9 * len(CASES)


def test_short_texts_tell_their_language() -> None:
    """Nine in ten of them, Danish for Norwegian counted as wrong; an English one always."""
    texts = [(case["lang"], case[part]) for case in CASES for part in ("memory", "question")]
    assert sum(language_of(text) == language for language, text in texts) >= 0.9 * len(texts)
    assert {language_of(text) for language, text in texts if language == "en"} == {"en"}


@cases("languages")
def test_in_doubt_a_text_is_english(text: str) -> None:
    """So that names, loans and slips change nothing for texts in English."""
    assert language_of(text) == "en"
    assert tokens_by_language(text)[0] == tokens(text)


def test_a_name_is_found_across_languages() -> None:
    """Although each language has its own stem of it, and an accent may be left out."""
    memories = ["María vive en Madrid con sus perros.", "The bridge is closed.", "Der Hund von Andreas heißt Bello."]
    assert found_first(memories, "Where does Maria live?") == memories[0]
    assert found_first(memories, "Whose dog is Andreas looking for?") == memories[2]


def test_reasons_show_the_words_of_the_memory() -> None:
    """Not their stems, and with their accents."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add("In der Straße stehen alte Häuser und ein Turm.")
        [hit] = space.recall("Welches Haus ist das?", signals=["words"])
    assert [each.reason for each in hit.evidence] == ["holds 'Häuser'"]


def test_related_words_are_english() -> None:
    """The German for poison is not a present."""
    memories = ["She got a present from Tom.", "Der Turm ist hoch."]
    assert found_first(memories, "Wo ist das Gift?") is None


@pytest.mark.parametrize("language", SPACED)
def test_function_words_are_stop_words(language: str) -> None:
    """Whatever the language, a text of nothing else has no words."""
    assert tokens(" ".join(sorted(function_words()[language])), language) == []


@given(text=st.text(max_size=80))
def test_any_text_has_a_language_and_words(text: str) -> None:
    """Nothing is refused, and what is asked twice is answered alike."""
    words, language = tokens_by_language(text)
    assert language == language_of(text)
    assert all(words)
    assert tokens_by_language(text) == (words, language)
    assert not words or split_words(text)


@cases("languages")
def test_words_of_other_scripts(text: str, expected: list[str]) -> None:
    """Pairs where no spaces are written; signs for vowels and accents belong to their letters."""
    assert tokens_by_language(text)[0] == expected or tokens(text, "tr") == expected


def test_help_is_quick_and_loads_no_tables() -> None:
    """What tells languages is read with the first text, not before."""
    printed = run_program(
        "import sys, remanence.cli, remanence.text.lexicon.languages as languages;"
        "print(languages._known_words.cache_info().currsize, 'numpy' in sys.modules, 'dateparser' in sys.modules)"
    )
    assert printed == "0 False False\n"
