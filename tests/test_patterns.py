"""The patterns of `sentence_patterns.txt` match the examples above their alternatives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from remanence.text.lexicon import word_lists

_FILE = Path(word_lists.__file__).with_name("sentence_patterns.txt")


def examples() -> Iterator[tuple[str, str, str]]:
    """Each pattern with one of its alternatives, and an example of that."""
    name, comment = "", ""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if section := re.fullmatch(r"\[(\w+)\]", line):
            name, comment = section[1], ""
        elif line.startswith("# "):
            comment = line[2:]
        elif not line:
            name = ""
        elif name and comment:
            resolved = re.sub(r"\{([a-z_]+)\}", lambda found: word_lists.load_pattern(found[1]), line.removeprefix("|"))
            for example in comment.split("; "):
                yield name, resolved, example
            comment = ""


@pytest.mark.parametrize(("name", "alternative", "example"), [pytest.param(*each, id=each[2]) for each in examples()])
def test_each_alternative_matches_its_examples(name: str, alternative: str, example: str) -> None:
    flags = re.IGNORECASE if name == "negated" else 0
    # What stands before a name ends with it: the example is the text up to there.
    assert re.search(alternative, example + " " if "before" in name else example, flags)


def test_there_are_examples() -> None:
    assert len(list(examples())) > 20


def test_every_pattern_can_be_compiled() -> None:
    for name in word_lists.data_sections("sentence_patterns.txt"):
        re.compile(word_lists.load_pattern(name))
