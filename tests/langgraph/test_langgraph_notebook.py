"""The notebook does what it says."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "langgraph_time_travel.ipynb"


def test_the_notebook_on_time_travel_runs_and_shows_three_memories() -> None:
    """Each cell runs, offline, and the branches print what is known in them."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    printed = [
        line
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        for line in output.get("text", "").splitlines()
    ]

    assert printed == [
        "['Alice lives in Porto.']",
        "['Alice lives in Porto.']",
        "['Alice lives in Porto.']",
        "['Alice lives in Lisbon.']",
        "['Alice lives in Madrid.']",
        "['Alice lives in Lisbon.'] ['Alice lives in Madrid.']",
        " 1",
    ]
