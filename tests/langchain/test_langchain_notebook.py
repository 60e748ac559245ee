"""The notebook runs, offline, and its examples are short."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "langchain.ipynb"


@pytest.fixture(scope="module")
def notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]


def test_the_notebook_runs(notebook: Any, tmp_path: Path) -> None:
    """Every cell, its own checks among them."""
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()

    said = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    for line in ("No praline for you: hazelnuts.", "Ana lives in Porto.", "You are allergic to peanuts."):
        assert line in said
    assert "\\u003c/recalled-memories\\u003e" in said


def test_each_example_is_under_fifteen_lines(notebook: Any) -> None:
    """A chain, a RAG pipeline and an agent, blank lines left out."""
    for name in ("ConversationChain(", "StrOutputParser()", "create_agent("):
        (cell,) = [c for c in notebook.cells if c.cell_type == "code" and name in c.source]
        assert len([line for line in cell.source.splitlines() if line.strip()]) < 15


def test_no_output_and_no_machine_is_in_the_file() -> None:
    """What is committed is what was written by hand."""
    text = NOTEBOOK.read_text("utf-8")
    raw = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]

    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in raw.cells)
    assert not re.search(r"/root/|/home/|/work/|https?://", text)
