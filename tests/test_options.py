"""The options of a recall and of `add` are listed once: every other place takes them from there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from pydantic import ValidationError

import langchain_remanence
import llama_index_remanence
import remanence
from remanence import InvalidInput, Space, View
from remanence.adapters import RECALL_FILTERS
from remanence.adapters.recall_filters import NOT_PASSED_ON
from remanence.cli.parser import make_parser
from remanence.index.engine.row_filter import RecallOptions, RowFilter
from remanence.recall.receipts import CheckedOptions, Receipt
from remanence.remember.add_options import AddOptions, Fraction, TurnOptions
from remanence.service.client.remote_space import RemoteSpace
from remanence.service.endpoints import memory_operations
from remanence.service.endpoints.memory_operations import TextRequest, TurnRequest
from remanence.service.requests import request_of
from remanence_server.mcp import default_tools

SOURCES = Path(remanence.__file__).parent
OPTIONS = {field.name: field.default for field in fields(RecallOptions)}
NOT_IN_RECEIPTS = {"now", "include", "vector", "deadline"}
"""`now` is a field of the request itself; the others do not decide the list, or are kept by their names."""


def parameters(method: Callable[..., Any], *without: str) -> dict[str, Any]:
    found = inspect.signature(method).parameters.values()
    return {each.name: each.default for each in found if each.name not in ("self", *without)}


def test_recall_has_every_option_with_its_default_and_type() -> None:
    """Its signature is written out, for editors and help()."""
    written = inspect.signature(View.recall).parameters
    types = {field.name: field.type for field in fields(RecallOptions)}

    assert parameters(View.recall, "query") == OPTIONS
    for name, kind in types.items():
        plain = re.sub(r"Annotated\[(\w+), .*?\)\]", r"\1", str(kind)).replace("Fraction", "float")
        assert written[name].annotation == plain, name


def test_requests_have_the_same_options() -> None:
    """Those of REST and of the client are made of `RecallOptions` and of `AddOptions`."""
    assert set(memory_operations.recall.request.model_fields) == {*OPTIONS, "query", "as_of", "explain"}
    assert parameters(RemoteSpace.recall) == parameters(View.recall)
    assert parameters(RemoteSpace.add) == parameters(Space.add)


def test_receipts_have_what_decides_the_list() -> None:
    """A filter that a receipt left out would be missing in a replay."""
    checked = {field.name for field in fields(CheckedOptions)}

    assert checked == set(OPTIONS) - NOT_IN_RECEIPTS
    assert checked <= set(get_type_hints(Receipt, localns={"Vector": Any}))


def test_lists_of_memories_have_filters_of_recall() -> None:
    """And no other."""
    filters = set(parameters(View.memories, "status"))

    assert filters <= {field.name for field in fields(RowFilter)} <= set(OPTIONS)
    assert set(memory_operations.list_memories.request.model_fields) == filters | {"status", "as_of", "limit", "cursor"}


def test_retrievers_take_every_filter(space: Space) -> None:
    """All options but an exclusion list: one that is added later is taken without a change of the adapters."""
    assert set(RECALL_FILTERS) == set(OPTIONS) - NOT_PASSED_ON
    assert set(OPTIONS) >= NOT_PASSED_ON
    space.add_many([{"text": "Ana drinks tea.", "trust": 0.2}, {"text": "Ana drinks milk.", "trust": 0.9}])

    of_langchain = langchain_remanence.RemanenceRetriever(space=space, min_trust=0.5)
    of_llama_index = llama_index_remanence.RemanenceRetriever(space, min_trust=0.5)
    assert [each.page_content for each in of_langchain.invoke("What does Ana drink?")] == ["Ana drinks milk."]
    assert [each.text for each in of_llama_index.retrieve("What does Ana drink?")] == ["Ana drinks milk."]
    assert len(of_langchain.invoke("What does Ana drink?", min_trust=0.1)) == 2
    with pytest.raises(InvalidInput, match="there is no filter 'trust'"):
        llama_index_remanence.RemanenceRetriever(space, trust=0.5)


def test_the_tool_of_mcp_has_what_is_not_excluded() -> None:
    """The exclusion list spares the context of the model; a filter that is not on it is an argument."""
    shown = parameters(default_tools.recall)
    assert set(RECALL_FILTERS) <= {*shown, *default_tools._NOT_IN_TOOLS}
    assert set(RECALL_FILTERS) >= default_tools._NOT_IN_TOOLS


def test_add_has_every_option_with_its_default() -> None:
    """Its signature is written out, for editors and help(); all else takes the options from their one list."""
    options = {name: field.default for name, field in AddOptions.model_fields.items() if name != "text"}

    assert parameters(Space.add, "text") == options
    assert set(TextRequest.model_fields) == {"text", *options}
    assert set(TurnRequest.model_fields) == set(TurnOptions.model_fields)
    command_line = vars(make_parser().parse_args(["add", "Ana drinks tea."]))
    assert set(options) - set(command_line) == {"entities", "triples", "meta", "passages"}  # `add-many` reads these


RECALL = ("index/engine/row_filter.py", "space/view.py")
ADD = ("remember/add_options.py", "space/space.py")


@pytest.mark.parametrize(
    ("option", "declared"),
    [("informative_only", RECALL), ("exclude_texts", RECALL), ("min_trust", RECALL), ("passages", ADD)],
)
def test_an_option_is_named_in_two_files(option: str, declared: tuple[str, str]) -> None:
    """Where it is declared and checked, and in the signature of the method; where it is used is not counted."""
    naming = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if re.search(rf"^\s+{option}: |[\"']{option}[\"']:", path.read_text("utf-8"), re.MULTILINE)
    }

    assert set(declared) <= naming
    assert not {path for path in naming if path.startswith(("service/", "cli/", "adapters/"))}, naming


def test_a_new_option_of_add_is_an_option_of_requests() -> None:
    """With the type that a caller gives, and the limits of the check."""

    class Newer(AddOptions):
        weight: Fraction | None = None

    request = request_of(Newer)
    assert request(text="Ana drinks tea.", weight=0.5).provided_fields("text") == {"weight": 0.5}
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        request(text="Ana drinks tea.", weight=2)
