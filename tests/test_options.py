"""The options of a recall and of `add` are listed once: every other place takes them from there."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
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
from remanence.recall.filters import RowFilter
from remanence.recall.options import FilterOptions, RecallOptions, RecentOptions
from remanence.recall.receipts import CheckedOptions, Receipt
from remanence.remember.add_options import AddOptions, Fraction, TurnOptions
from remanence.service.client.remote_space import RemoteSpace
from remanence.service.endpoints import memory_operations
from remanence.service.endpoints.memory_operations import TextRequest, TurnRequest
from remanence.service.requests import request_of
from remanence_server.mcp import default_tools

SOURCES = Path(remanence.__file__).parent
OPTIONS = {field.name: field.default for field in fields(RecallOptions)}
FILTERS = {field.name for field in fields(FilterOptions)}
NOT_IN_RECEIPTS = {"now", "include", "vector", "deadline"}
"""`now` is a field of the request itself; the others do not decide the list, or are kept by their names."""


def parameters(method: Callable[..., Any], *without: str) -> dict[str, Any]:
    found = inspect.signature(method).parameters.values()
    return {each.name: each.default for each in found if each.name not in ("self", *without)}


def test_methods_have_the_parameters_that_are_declared() -> None:
    """In help() and in editors, each with its description."""
    assert parameters(View.recall, "query") == OPTIONS
    assert parameters(View.recent).keys() == {field.name for field in fields(RecentOptions)}
    assert parameters(View.memories, "status").keys() == FILTERS
    assert "        deadline: How many seconds the recall may take." in (View.recall.__doc__ or "")


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
    """All of them, and no other."""
    assert {field.name for field in fields(RowFilter)} == FILTERS
    assert set(memory_operations.list_memories.request.model_fields) == FILTERS | {"status", "as_of", "limit", "cursor"}


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


def test_the_tool_of_mcp_has_what_is_declared_for_tools() -> None:
    """The others spare the context of the model."""
    assert set(parameters(default_tools.recall)) == {
        *("query", "as_of", "also", "max_tokens"),
        *("tags", "during", "reader", "deadline"),
    }


def test_the_command_line_has_every_option_but_a_vector() -> None:
    """Under its name, or that of one: `--tag`, `--exclude-texts`."""
    given = vars(
        make_parser().parse_args(["recall", "tea", "--tag", "a", "--exclude-texts", "b", "--weights", "words=1"])
    )

    assert set(OPTIONS) - set(given) == {"vector"}
    assert (given["tags"], given["exclude_texts"], given["weights"]) == (["a"], ["b"], {"words": 1.0})
    assert set(vars(make_parser().parse_args(["recent"]))) >= {field.name for field in fields(RecentOptions)}
    assert set(vars(make_parser().parse_args(["memories"]))) >= FILTERS


def test_without_docstrings_everything_works_too() -> None:
    """`python -OO` leaves them out, from which the descriptions of options are taken."""
    program = "import remanence; from remanence.cli import main; remanence.View; main(['recent', '--help'])"
    environment = {**os.environ, "PYTHONOPTIMIZE": "2", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert "--tag TAG" in done.stdout, done.stderr


def test_add_has_every_option_with_its_default() -> None:
    """Its signature is written out, for editors and help(); all else takes the options from their one list."""
    options = {name: field.default for name, field in AddOptions.model_fields.items() if name != "text"}

    assert parameters(Space.add, "text") == options
    assert set(TextRequest.model_fields) == {"text", *options}
    assert set(TurnRequest.model_fields) == set(TurnOptions.model_fields)
    command_line = vars(make_parser().parse_args(["add", "Ana drinks tea."]))
    assert set(options) - set(command_line) == {"entities", "triples", "meta", "passages"}  # `add-many` reads these


DECLARATION = """\
    min_importance: Fraction | None = field(default=None, metadata={"tool": "Only what is at least this important"})
"""
DESCRIPTION = "        min_importance: Only memories that are at least this important.\n"
CHECK = '        min_importance=inputs.check_fraction(options.min_importance, "min_importance"),\n'
MASK = """\
    if filters.min_importance is not None:
        mask = mask & (catalog.attributes.importance.values >= np.float32(filters.min_importance))
"""
NEW_FILTER = {
    "options.py": {'    """\n\n    kinds: ': f'{DESCRIPTION}    """\n\n{DECLARATION}    kinds: '},
    "filters.py": {
        "    kinds: tuple[": "    min_importance: float | None = None\n    kinds: tuple[",
        "    if filters.informative_only:\n": f"{MASK}    if filters.informative_only:\n",
        "        kinds=inputs.": f"{CHECK}        kinds=inputs.",
    },
}
"""What replaces a place of each of the two files."""


def test_a_new_filter_is_written_in_two_files(tmp_path: Path) -> None:
    """In a copy of the sources with a new filter everything that asks takes it: methods, REST, the client, MCP, the
    command line, retrievers and receipts."""
    repository = SOURCES.parent.parent
    for folder in ("src", "integrations", "tests"):
        shutil.copytree(repository / folder, tmp_path / folder, copy_function=os.symlink)
    for name, edits in NEW_FILTER.items():
        file = tmp_path / "src" / "remanence" / "recall" / name
        text = file.read_text("utf-8")
        file.unlink()
        for place, written in edits.items():
            assert text.count(place) == 1, place
            text = text.replace(place, written)
        file.write_text(text, "utf-8")

    paths = os.pathsep.join(str(tmp_path / folder) for folder in ("src", "integrations", "."))
    command = [sys.executable, str(tmp_path / "tests" / "new_filter.py"), str(tmp_path / "memory")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {way: ["Ana drinks milk."] for way in found}
    assert len(found) == 10


def test_a_new_option_of_add_is_an_option_of_requests() -> None:
    """With the type that a caller gives, and the limits of the check."""

    class Newer(AddOptions):
        weight: Fraction | None = None

    request = request_of(Newer)
    assert request(text="Ana drinks tea.", weight=0.5).provided_fields("text") == {"weight": 0.5}
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        request(text="Ana drinks tea.", weight=2)


@pytest.mark.parametrize(
    ("method", "given", "meant"),
    [
        ("recall", "k", "limit"),
        ("recall", "filter", "meta"),
        ("recall", "limt", "limit"),
        ("recent", "top_k", "limit"),
        ("add", "metadata", "meta"),
    ],
)
def test_an_unknown_argument_names_the_method_and_what_is_meant(
    space: Space, method: str, given: str, meant: str
) -> None:
    """Not a class inside; an error of another kind is left as it is."""
    with pytest.raises(TypeError, match=rf"^{method}\(\) got an unexpected .* '{given}'\. Did you mean {meant}\?$"):
        getattr(space, method)(*["Ana lives in Porto."] if method != "recent" else [], **{given: 3})
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'text'"):
        space.add()  # type: ignore[call-arg]


def test_methods_of_other_memories_are_answered_with_ours(space: Space) -> None:
    """Of a space, and of a view of it."""
    for named, meant in {"search": "recall", "get_all": "memories", "delete": "forget", "update": "revise"}.items():
        with pytest.raises(AttributeError, match=rf"no attribute '{named}'\. Did you mean {meant}\?"):
            getattr(space, named)
    with pytest.raises(AttributeError, match=r"'View' object has no attribute 'search'\. Did you mean recall"):
        space.as_of("2026-05-04").search  # noqa: B018
    assert not hasattr(space, "search")
