"""The notebooks run from top to bottom, offline, and show what is committed.

`python tests/test_notebooks.py --update [NOTEBOOK...]` runs them and writes their outputs into them.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient

from doc_sessions import same
from forked_kernels import KernelServer, forked_manager

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MOST_CODE_CELLS, MOST_LINES = 14, 22
_INSTALL = re.compile(r'pip install (?:remanence-memory|"remanence-memory\[([\w,]+)\]")')
_PACKAGES = {  # what an extra brings, by the names that are imported
    "remanence": {"remanence", "numpy", "pydantic"},
    "agent": {"langchain", "langchain_core", "langgraph"},
    "langchain": {"langchain_core", "langchain_remanence"},
    "llamaindex": {"llama_index", "llama_index_remanence"},
    "notebook": {"pandas"},
}
_OPTIONAL = {"fastapi", "langchain", "langchain_core", "langgraph", "llama_index", "mcp", "pandas", "psycopg"}
"""What is installed for the tests, and not with the package alone."""
_VARIABLES = ("REMANENCE_READER", "REMANENCE_EMBEDDER", "REMANENCE_MEMORY")
"""What a notebook would depend on."""

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def kernels() -> Iterator[KernelServer]:
    """Where kernels are forked. What it imports prints no warning."""
    server = KernelServer(_environment())
    yield server
    assert not server.close()


@every_notebook
def test_a_notebook_shows_what_it_prints(
    path: Path, kernels: KernelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty folder, with just its own extra and the models that everybody gets. No warning is printed. No file is
    left behind: run in a checkout, a notebook would add to it, and find what another one left."""
    for variable in _VARIABLES:
        monkeypatch.delenv(variable, raising=False)

    ran = _run(path, tmp_path, kernels)

    for before, after in zip(_read(path).cells, ran.cells, strict=True):
        assert same(_text(before), _text(after)), (
            f"{path.name}:\n{before.source}\n--- the notebook shows:\n{_text(before)}\n--- printed:\n{_text(after)}\n"
            f"If that is right: python tests/test_notebooks.py --update notebooks/{path.name}"
        )
    assert not [out for cell in ran.cells for out in cell.get("outputs", []) if out.get("name") == "stderr"]
    assert not list(tmp_path.iterdir())


@every_notebook
def test_a_notebook_can_be_read_on_a_code_host(path: Path) -> None:
    """Every cell was run, no picture is a frame, nothing of a machine is in the file, and no cell is long."""
    code = [cell for cell in _read(path).cells if cell.cell_type == "code"]
    shown = [out for cell in code for out in cell.outputs if {"image/svg+xml", "text/html"} & set(out.get("data", {}))]

    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert shown
    assert "<iframe" not in path.read_text("utf-8")
    assert not re.search(r"/root/|/home/|/work/|/tmp/|https?://(?!www\.w3\.org)", path.read_text("utf-8"))
    assert len(code) <= MOST_CODE_CELLS
    assert max(len(cell.source.splitlines()) for cell in code) <= MOST_LINES


@every_notebook
def test_a_notebook_needs_only_what_it_says(path: Path) -> None:
    """The first cell names an extra, and nothing outside of it is imported."""
    extras = _extras(path)
    declared = (ROOT / "pyproject.toml").read_text("utf-8").split("[project.optional-dependencies]")[1]
    assert set(extras) <= set(re.findall(r"^(\w+) = \[", declared, re.MULTILINE))

    allowed = _packages(extras) | sys.stdlib_module_names
    imported = {name for cell in _read(path).cells if cell.cell_type == "code" for name in _imports(cell.source)}
    assert imported <= allowed


def test_there_is_a_notebook_for_each_step() -> None:
    """In the order in which they are read."""
    assert [path.name[:2] for path in NOTEBOOKS] == [f"{number:02}" for number in range(1, len(NOTEBOOKS) + 1)]
    assert len(NOTEBOOKS) >= 8


class _PageText(HTMLParser):
    """The text of a table, a line for each cell and each line in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines = [""]
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"td", "th", "br", "li", "caption", "summary"}:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        self.lines[-1] += data


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def _extras(path: Path) -> list[str]:
    """The extras that the first cell of a notebook names."""
    install = _INSTALL.search(_read(path).cells[0].source)
    assert install is not None
    return install[1].split(",") if install[1] else []


def _packages(extras: list[str]) -> set[str]:
    return set().union(*(_PACKAGES[name] for name in ("remanence", *extras)))


def _run(path: Path, folder: Path, kernels: KernelServer) -> Any:
    """The notebook with new outputs. Of a picture the image is kept, not the frame that a running notebook shows."""
    notebook = _read(path)
    client = NotebookClient(
        notebook,
        timeout=300,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
        kernel_manager_class=forked_manager(kernels, _OPTIONAL - _packages(_extras(path))),
    )
    client.execute(env=_environment())
    for cell in notebook.cells:
        cell.metadata.clear()
        for output in cell.get("outputs", []):
            if "image/svg+xml" in output.get("data", {}):
                output.data.pop("text/html", None)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def _environment() -> dict[str, str]:
    """With the packages of this checkout, whatever is installed."""
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'integrations'}"}


def _text(cell: Any) -> str:
    """All that a reader sees below a cell, as lines: what is printed, tables, and the texts in pictures."""
    lines: list[str] = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "image/svg+xml" in data:
            drawn = ElementTree.fromstring(data["image/svg+xml"]).iter("{http://www.w3.org/2000/svg}tspan")
            lines += [each.text or "" for each in drawn]
        elif "text/html" in data:
            page = _PageText(data["text/html"]).lines
            # As `explain()` writes reasons, whose order depends on the last digits of their shares.
            lines += [f"      {line}" if re.match(r"[+-]\d\.", line) else line for line in page]
        else:
            lines += str(output.get("text", data.get("text/plain", ""))).splitlines()
    return "\n".join(lines)


def _imports(source: str) -> set[str]:
    """The packages that a cell imports; a cell may `await`."""
    code = compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    found: set[str] = set()
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def _update(paths: list[Path]) -> None:
    for variable in _VARIABLES:
        os.environ.pop(variable, None)
    kernels = KernelServer(_environment())
    for path in paths:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            nbformat.write(_run(path, Path(folder), kernels), path)  # type: ignore[no-untyped-call]
        print(f"{path.name}: written")
    kernels.close()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Run the notebooks and write their outputs into them.")
    arguments.add_argument("--update", action="store_true", required=True)
    arguments.add_argument("notebooks", nargs="*", type=Path, default=NOTEBOOKS)
    _update(arguments.parse_args().notebooks)
