"""The tables of options in docs/ name the parameters of the adapters, each with its default."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import langchain_remanence
import llama_index_remanence
from remanence.adapters import RECALL_FILTERS

DOCS = Path(__file__).parent.parent / "docs"
LANGCHAIN, LLAMAINDEX = langchain_remanence, llama_index_remanence
THEIRS = {"metadata", "reference", "args", "kwargs", "description", "priority", "accept_short_term_memory", "others"}
"""Parameters that the frameworks define, or that a caller does not set."""
TABLES: list[tuple[str, str, list[Any], set[str]]] = [  # page, section, what is made, parameters of the framework
    ("langchain", "An agent with memory", [LANGCHAIN.RemanenceMiddleware], set()),
    ("langchain", "Tools for the model", [LANGCHAIN.memory_tools], set()),
    ("langchain", "Retriever", [LANGCHAIN.RemanenceRetriever], {"name", "tags"}),
    ("langchain", "Memory for existing chains", [LANGCHAIN.RemanenceMemory], set()),
    ("langgraph-store", "Put, get, search", [LANGCHAIN.RemanenceStore], {"space"}),
    ("file-memory", "A LangChain agent", [LANGCHAIN.ClaudeMemoryMiddleware], set()),
    (
        "llamaindex",
        "An agent with memory",
        [LLAMAINDEX.RemanenceMemory, LLAMAINDEX.RemanenceMemoryBlock, LLAMAINDEX.RemanenceChatStore],
        {"name"},
    ),
    ("llamaindex", "Retriever and query engine", [LLAMAINDEX.RemanenceRetriever], set()),
    ("llamaindex", "Your documents", [LLAMAINDEX.RemanenceIndex], set()),
    ("llamaindex", "Vector store", [LLAMAINDEX.RemanenceVectorStore], {"stores_text", "is_embedding_query"}),
    ("llamaindex", "Tools for the model", [LLAMAINDEX.RemanenceToolSpec], set()),
]


@pytest.mark.parametrize(
    ("page", "section", "made", "theirs"), TABLES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_table_has_every_option_and_its_default(page: str, section: str, made: list[Any], theirs: set[str]) -> None:
    """And no other."""
    shown = options(page, section)
    real: dict[str, Any] = {}
    for each in made:
        real |= parameters(each)

    assert set(shown) == set(real) - THEIRS - theirs - (set(RECALL_FILTERS) - set(shown))  # "any other filter"
    for name, default in shown.items():
        if (value := literal(default)) is not None:
            assert real[name] == value, name


def options(page: str, section: str) -> dict[str, str]:
    """The options of the table of a section, with the default that it shows."""
    text = re.split(r"^## ", (DOCS / f"{page}.md").read_text("utf-8"), flags=re.MULTILINE)
    [body] = [part for part in text if part.startswith(f"{section}\n")]
    table = re.search(r"^\| option \|.*?(?=^(?!\|))", body + "\n", re.MULTILINE | re.DOTALL)
    assert table is not None, f"{page}, {section} has no table of options"
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines() if line)
    at, found = head.index("default"), dict[str, str]()
    for row in rows:
        names = re.findall(r"`(\w+)", row[0])
        defaults = [part.strip() for part in re.split(r", (?!000)", row[at])] if len(names) > 1 else [row[at]]
        found |= dict(zip(names, defaults if len(defaults) == len(names) else [""] * len(names), strict=True))
    return found


def parameters(made: Any) -> dict[str, Any]:
    """The parameters of a function or class, with their defaults."""
    found = {name: each.default for name, each in inspect.signature(made).parameters.items()}
    return found | {name: field.default for name, field in getattr(made, "model_fields", {}).items()}


def literal(default: str) -> Any:
    """The value that a cell shows, if it shows one: a number, a word in quotes, False."""
    if default == "False":
        return False
    if re.fullmatch(r"[\d,]+", default):
        return int(default.replace(",", ""))
    word = re.fullmatch(r'`"(\w+)"`', default)
    return word[1] if word else None
