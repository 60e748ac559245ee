"""The notebook runs, offline, and its examples are short."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "llamaindex.ipynb"


@pytest.fixture(scope="module")
def notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def test_the_notebook_runs(notebook: Any, tmp_path: Path) -> None:
    """Every cell, its own checks among them."""
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()

    said = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    for line in ("No praline for you", "Carla.", "In Porto.", "cello", "['My boat is green.']", "At nine."):
        assert line in said


@pytest.mark.parametrize("example", ["RemanenceMemory(space, session_id=", "SimpleChatEngine", "RetrieverQueryEngine("])
def test_an_example_is_short(notebook: Any, example: str) -> None:
    """An agent, a chat, a query engine: under 15 lines each, blank ones left out."""
    cell = next(c for c in notebook.cells if c.cell_type == "code" and example in c.source)

    assert len([line for line in cell.source.splitlines() if line.strip()]) < 15


def test_no_output_and_no_machine_is_in_the_file() -> None:
    """What is committed is what was written by hand."""
    text = NOTEBOOK.read_text("utf-8")
    raw = nbformat.reads(text, as_version=4)

    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in raw.cells)
    assert not re.search(r"/root/|/home/|/work/|https?://", text)
