"""The package itself: lazy, complete, offline, and clear about what is missing."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from llama_index.core.memory import BaseMemory, BaseMemoryBlock

import llama_index_remanence
from new_interpreter import run_program

LAZY = """
import sys
import llama_index_remanence
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""

MISSING = """
import sys
sys.modules["llama_index"] = None
sys.modules["llama_index.core"] = None
import remanence, llama_index_remanence
for name in llama_index_remanence.__all__:
    try:
        getattr(llama_index_remanence, name)
    except remanence.errors.MissingExtra as error:
        print(error)
"""


def test_importing_it_loads_neither_engine_nor_framework() -> None:
    """LlamaIndex alone takes seconds."""
    assert not set(run_program(LAZY).split()) & {"llama_index", "numpy", "pydantic", "qdrant_client", "igraph"}


def test_without_llamaindex_each_name_says_what_to_install() -> None:
    """With the exact line."""
    said = run_program(MISSING).splitlines()

    assert len(said) == len(llama_index_remanence.__all__)
    assert all(line.endswith('Run: pip install "remanence-memory[llamaindex]"') for line in said)


def test_llamaindex_has_it_under_its_own_integrations() -> None:
    """`llama_index.memory.remanence` has the same names, and `llama_index` is still a namespace package."""
    from llama_index.memory import remanence as namespaced

    assert namespaced.__all__ == llama_index_remanence.__all__
    for name in namespaced.__all__:
        assert getattr(namespaced, name) is getattr(llama_index_remanence, name)
    integrations = Path(llama_index_remanence.__file__).parents[1]
    shipped = {path.relative_to(integrations).as_posix() for path in (integrations / "llama_index").rglob("*.py")}
    assert shipped == {"llama_index/memory/remanence/__init__.py"}
    assert '"integrations/llama_index",' in (integrations.parent / "pyproject.toml").read_text("utf-8")


def test_every_public_name_is_there() -> None:
    """And no other."""
    for name in llama_index_remanence.__all__:
        assert getattr(llama_index_remanence, name).__name__ == name
    assert dir(llama_index_remanence) == sorted(llama_index_remanence.__all__)
    with pytest.raises(AttributeError, match="no attribute 'RemanenceMemry'"):
        _ = llama_index_remanence.RemanenceMemry


def test_every_option_is_documented() -> None:
    """One that is not written down is not found."""
    section = (Path(__file__).parents[2] / "docs" / "llamaindex.md").read_text("utf-8")
    ours = {"location", "path", *inspect.signature(llama_index_remanence.RemanenceRetriever).parameters}
    for adapter, base in (
        (llama_index_remanence.RemanenceMemory, BaseMemory),
        (llama_index_remanence.RemanenceMemoryBlock, BaseMemoryBlock),
    ):
        ours |= set(adapter.model_fields) - set(base.model_fields)

    theirs = {"callback_manager", "verbose", "reference", "others"}  # the others are the filters of recall
    named = set(re.findall(r"`([a-z_]+)(?:=True)?`", section))
    assert not ours - theirs - {"space"} - named
    assert all(f"`{name}" in section for name in llama_index_remanence.__all__)
