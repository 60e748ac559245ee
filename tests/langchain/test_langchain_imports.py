"""The package costs nothing to import, and says what to install."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

import langchain_remanence

LOOK = """
import sys
import langchain_remanence
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import remanence, langchain_remanence
for name in sys.argv[2:]:
    try:
        getattr(langchain_remanence, name)
    except remanence.errors.MissingExtra as error:
        print(error)
"""


def run(program: str, *args: str) -> str:
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_loads_no_framework() -> None:
    """Nor an engine."""
    loaded = set(run(LOOK).split())

    assert "langchain_remanence" in loaded
    assert not loaded & {"langchain", "langchain_core", "langchain_classic", "langgraph", "pydantic", "numpy"}


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [
        ("deepagents", "RemanenceBackend", "deepagents"),
        ("langchain", "ClaudeMemoryMiddleware", "agent"),
        ("langchain", "MemoryMiddleware", "agent"),
        ("langchain_classic", "RemanenceMemory", "classic"),
        ("langchain_core", "RemanenceRetriever", "langchain"),
        ("langchain_core", "RemanenceChatMessageHistory", "langchain"),
        ("langchain_core", "memory_tools", "langchain"),
        ("langchain_core", "CheckpointView", "langchain"),
        ("langchain_core", "CheckpointUnknown", "langchain"),
        ("langchain_core", "extractor", "langchain"),
        ("langchain_core", "embedder", "langchain"),
        ("langgraph", "RemanenceStore", "langchain"),
    ],
)
def test_a_missing_package_is_answered_with_the_line_to_type(package: str, name: str, extra: str) -> None:
    """Which package, and the exact command."""
    said = run(WITHOUT, package, name)

    assert said.startswith(f"{name} needs the package '{package}")
    assert f'Run: pip install "remanence[{extra}]"' in said


def test_what_needs_only_the_core_of_langchain_needs_no_more() -> None:
    """Neither the agents nor the old chains."""
    names = ["RemanenceRetriever", "RemanenceChatMessageHistory", "memory_tools", "extractor", "embedder"]
    assert run(WITHOUT, "langchain langchain_classic langgraph", *names) == ""


def test_every_public_name_is_there() -> None:
    """`__all__` promises nothing that cannot be had, and `dir()` shows it."""
    for name in langchain_remanence.__all__:
        if name != "RemanenceBackend" or find_spec("deepagents") is not None:
            assert getattr(langchain_remanence, name).__doc__
    assert dir(langchain_remanence) == sorted(langchain_remanence.__all__)
    with pytest.raises(AttributeError, match="'langchain_remanence' has no attribute 'Memry'"):
        _ = langchain_remanence.Memry  # type: ignore[attr-defined]
