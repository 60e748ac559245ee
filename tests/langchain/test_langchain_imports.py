"""The package costs nothing to import, and says what to install."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

import langchain_remanence
from new_interpreter import run_program

LOOK = """
import sys
import langchain_remanence
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""

WITHOUT = """
import json, os, sys

missing = []

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import remanence, langchain_remanence
for packages, *names in json.loads(sys.argv[1]):
    child = os.fork()  # each finds what was imported until here, and nothing that another imports
    if child == 0:
        missing += packages.split()
        for name in names:
            try:
                getattr(langchain_remanence, name)
            except remanence.errors.MissingExtra as error:
                print(json.dumps([packages, name, str(error)]), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
FROM_PYTHON_3_11 = {"RemanenceBackend": "deepagents"}
NEEDS = [
    ("deepagents", "RemanenceBackend", "deepagents"),
    ("langchain", "ClaudeMemoryMiddleware", "agent"),
    ("langchain", "RemanenceMiddleware", "agent"),
    ("langchain_classic", "RemanenceMemory", "classic"),
    ("langchain_core", "RemanenceRetriever", "langchain"),
    ("langchain_core", "RemanenceChatMessageHistory", "langchain"),
    ("langchain_core", "memory_tools", "langchain"),
    ("langchain_core", "CheckpointView", "langchain"),
    ("langchain_core", "CheckpointUnknown", "langchain"),
    ("langchain_core", "extractor", "langchain"),
    ("langchain_core", "embedder", "langchain"),
    ("langgraph", "RemanenceStore", "langchain"),
]


def test_importing_loads_no_framework() -> None:
    """Nor an engine."""
    loaded = set(run_program(LOOK).split())

    assert "langchain_remanence" in loaded
    assert not loaded & {"langchain", "langchain_core", "langchain_classic", "langgraph", "pydantic", "numpy"}


def without(*cases: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """What each name says if these packages are missing; in one process, which forks for each case."""
    said = [json.loads(line) for line in run_program(WITHOUT, json.dumps(cases)).splitlines()]
    return {(packages, name): error for packages, name, error in said}


def test_a_missing_package_is_answered_with_the_line_to_type() -> None:
    """Which package, and the exact command."""
    said = without(*((package, name) for package, name, _ in NEEDS))

    assert len(said) == len(NEEDS)
    for package, name, extra in NEEDS:
        assert said[package, name].startswith(f"{name} needs the package '{package}")
        assert f'Run: pip install "remanence-memory[{extra}]"' in said[package, name]


def test_what_needs_only_the_core_of_langchain_needs_no_more() -> None:
    """Neither the agents nor the old chains."""
    names = ["RemanenceRetriever", "RemanenceChatMessageHistory", "memory_tools", "extractor", "embedder"]
    assert without(("langchain langchain_classic langgraph", *names)) == {}


STAR = """
import importlib.util, sys

find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in sys.argv[1].split() else find_spec(name, *more)
sys.modules |= dict.fromkeys(sys.argv[1].split())  # importing them raises
from langchain_remanence import *
print(*sorted(name for name in globals() if name.startswith("Remanence")))
"""


def test_a_star_import_needs_no_extra() -> None:
    """It gives the names whose extra is installed."""
    found = run_program(STAR, "deepagents langchain langchain_classic").split()

    assert found == ["RemanenceChatMessageHistory", "RemanenceRetriever", "RemanenceStore", "RemanenceVectorStore"]
    assert run_program(STAR, "deepagents langchain langchain_classic langchain_core").split() == []


def test_every_public_name_is_there() -> None:
    """`__all__` promises nothing that cannot be had, and `dir()` shows it."""
    for name in langchain_remanence.__all__:
        if (package := FROM_PYTHON_3_11.get(name)) is None or find_spec(package) is not None:
            assert getattr(langchain_remanence, name).__doc__
    assert dir(langchain_remanence) == sorted(langchain_remanence.__all__)
    with pytest.raises(AttributeError, match="'langchain_remanence' has no attribute 'Memry'"):
        _ = langchain_remanence.Memry  # type: ignore[attr-defined]
