"""What the documentation says is tried out: every README example runs, every command is in it."""

from __future__ import annotations

import argparse
import doctest
import re
from itertools import groupby
from pathlib import Path

import pytest

from remanence.api import space
from remanence.cli.parser import make_parser
from remanence.core import inputs
from remanence.models.catalogue import MODELS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


class AboutRight(doctest.OutputChecker):
    """Scores may move from release to release, and the reasons for a hit with them, as the weightiest comes
    first. Everything else is held to the letter."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """As doctest does it, with every `0.67` taken for any other and reasons in any order."""
        return super().check_output(_settled(want), _settled(got), optionflags)


def test_the_readme_s_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, in order, as one session in an empty folder, with the reader that everybody gets."""
    monkeypatch.delenv("REMANENCE_READER")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    session = doctest.DocTestParser().get_doctest("".join(blocks), {}, "README.md", "README.md", 0)
    said: list[str] = []

    doctest.DocTestRunner(AboutRight()).run(session, out=said.append)
    assert not said, "".join(said)


def test_every_command_is_in_the_readme() -> None:
    """An undocumented command fails the build."""
    rows = set(re.findall(r"^\| `remanence ((?:models|entities|graph|tokens) [a-z]+|[a-z-]+)", README, re.MULTILINE))
    assert rows == set(_commands(make_parser()))


def test_the_readme_s_limits_are_the_real_ones() -> None:
    """Numbers are copied by hand, so they are compared."""
    section = README[README.index("## Limits") : README.index("## How fast")]
    for limit in (
        *(inputs.MAX_TEXT_LENGTH, inputs.MAX_TAGS, inputs.MAX_NAME_LENGTH, inputs.MAX_META_LENGTH, inputs.MAX_LIMIT),
        space._MAX_PART_LENGTH,
    ):
        assert f"{limit:,}" in section


def test_the_readme_names_every_model_and_folder() -> None:
    """What is in the code is on the map."""
    for model in MODELS:
        assert f"`{model}`" in README
    for folder in (ROOT / "src" / "remanence").iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            assert f"\n  {folder.name}/ " in README


def test_the_documents_are_clean() -> None:
    """No machine's own paths, and no conflict or to-do left behind."""
    for name in ("README.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text("utf-8")
        assert not re.search(r"/root/|/home/|/work/|TODO|<<<<|>>>>>", text)


def _commands(parser: argparse.ArgumentParser) -> list[str]:
    """Every command that does something, `models get` and the like by both words."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return [
                " ".join([name, *below]) if below else name
                for name, child in action.choices.items()
                for below in ([[word] for word in _commands(child)] or [[]])
            ]
    return []


def _settled(text: str) -> str:
    lines = re.sub(r"\d\.\d\d", "0.00", text).splitlines(keepends=True)
    blocks = groupby(lines, key=lambda line: line.startswith("      +"))
    return "".join("".join(sorted(block) if reasons else block) for reasons, block in blocks)
