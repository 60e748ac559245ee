"""A small model and the default tools: what it reads, ten tasks, and the errors by which it finds the right call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mcp_calls import connected
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import remanence
from new_interpreter import run_program
from remanence import InvalidInput
from remanence_server.mcp import Grant, TokenFile
from trace_spans import recorded_spans

MAX_LIST_TOKENS = 2_400


async def test_the_list_of_tools_is_short_and_says_what_comes_back(space: remanence.Space) -> None:
    """Nine tools with the schemas of their arguments and answers in 2,400 tokens, at four characters a token."""
    async with connected(space) as mcp:
        tools = (await mcp.client.list_tools()).tools
    written = [json.dumps(t.model_dump(mode="json", by_alias=True, exclude_none=True)) for t in tools]
    assert sum(map(len, written)) / 4 <= MAX_LIST_TOKENS
    schemas = {tool.name: tool.output_schema or {} for tool in tools}
    assert set(schemas["recall"]["properties"]) == {"hits", "left_out", "confident", "confidence", "missing"}
    assert schemas["update"]["properties"]["id"] == {"type": "string"}
    assert "title" not in json.dumps(schemas)


Calls = list[tuple[str, dict[str, Any]]]
TASKS: list[tuple[str, Calls, str]] = [
    # Each: the task, the calls that a small model tries one after the other, and what the last answer contains. Every
    # call but the last is wrong, and its error must name the tool or the argument of the next one.
    (
        "store a fact",
        [("save_memory", {"text": "Ana lives in Porto."}), ("remember", {"text": "Ana rows."})],
        "Ana rows.",
    ),
    (
        "store with a wrong argument",
        [("remember", {"content": "x"}), ("remember", {"text": "Bo is a dog."})],
        "Bo is a dog.",
    ),
    ("look something up", [("search_memories", {"query": "Ana"}), ("recall", {"query": "Ana"})], "Ana likes tea."),
    ("ask with a wrong argument", [("recall", {"question": "Ana"}), ("recall", {"query": "Ana"})], "Ana likes tea."),
    (
        "limit an answer",
        [("recall", {"query": "Ana", "max_token": 90}), ("recall", {"query": "Ana", "max_tokens": 90})],
        "Ana",
    ),
    ("list what is new", [("list_memories", {}), ("recent", {})], "Ana likes tea."),
    (
        "correct a word",
        [("edit_memory", {"id": "ID"}), ("update", {"memory_id": "ID", "text": "Ana likes mate."})],
        "mate",
    ),
    ("delete one", [("delete_memory", {"id": "ID"}), ("forget", {"id": "ID"}), ("forget", {"memory_ids": "ID"})], "ID"),
    ("store a list", [("bulk_add", {"items": []}), ("store_many", {"texts": ["One.", "Two."]})], "ids"),
    ("summarize the user", [("get_profile", {}), ("profile", {})], "statements"),
]


@pytest.mark.parametrize(("task", "calls", "expected"), TASKS, ids=[task for task, _, _ in TASKS])
async def test_a_wrong_call_leads_to_the_right_one(
    space: remanence.Space, task: str, calls: Calls, expected: str
) -> None:
    """A model that does what an error says reaches its aim, and changes nothing on the way."""
    memory = space.add("Ana likes tea.")

    def filled(value: Any) -> Any:
        return json.loads(json.dumps(value).replace('"ID"', f'"{memory.id}"'))

    async with connected(space) as mcp:
        for (tool, arguments), (next_tool, next_arguments) in pairwise(calls):
            message = (await mcp.fail(tool, **filled(arguments))).content[0].text
            if next_tool != tool:
                assert f"Call `{next_tool}` instead." in message
            else:
                [wanted] = set(next_arguments) - set(arguments)
                assert f"Did you mean {wanted!r}?" in message
            assert space.count() == 1
        tool, arguments = calls[-1]
        result = await mcp.client.call_tool(tool, filled(arguments))
        assert not result.is_error
        assert expected.replace("ID", memory.id) in json.dumps(result.structured_content)


async def test_one_memory_is_corrected_by_its_id(space: remanence.Space) -> None:
    """As a new version; what is not given stays, and an unknown id says where ids come from."""
    memory = space.add("Ana lives in Prto.", tags=["home"])
    async with connected(space) as mcp:
        changed = await mcp.call("update", memory_id=memory.id, text="Ana lives in Porto.", valid_until="2026-05-03")
        assert (changed["id"], changed["tags"]) == (memory.id, ["home"])
        assert changed["valid_until"].startswith("2026-05-03")
        assert "update changes nothing" in (await mcp.fail("update", memory_id=memory.id)).content[0].text
        assert "Call `recall` first" in (await mcp.fail("update", memory_id="nope", text="x")).content[0].text
    assert space.get(memory.id).text == "Ana lives in Porto."  # type: ignore[union-attr]


async def test_many_are_stored_with_progress(space: remanence.Space) -> None:
    """The client hears how many are done, and gets their ids in order."""
    heard: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total))

    texts = [f"Fact number {number}." for number in range(600)]
    async with connected(space) as mcp:
        result = await mcp.client.call_tool("store_many", {"texts": texts}, progress_callback=progress)
        recent = await mcp.call("recent", limit=3, max_tokens=400)
    assert heard == [(250, 600), (500, 600), (600, 600)]
    assert [space.get(each).text for each in result.structured_content["ids"][:2]] == texts[:2]  # type: ignore[union-attr]
    assert len(recent["hits"]) == 3


async def test_upkeep_reports_its_progress(space: remanence.Space) -> None:
    """As the merging of clusters writes."""
    space.add_many([f"Ana likes green tea{mark}" for mark in (".", "!", " .")])
    heard: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async with connected(space, tools="cortex") as mcp:
        await mcp.call("cluster_memories", threshold=0.5)
        arguments = {"mode": "apply", "auto_detect": True, "cohesion_threshold": 0.5}
        done = await mcp.client.call_tool("consolidate_memories", arguments, progress_callback=progress)
    assert not done.is_error
    assert heard
    assert heard == sorted(set(heard))


async def test_names_and_tags_are_completed(space: remanence.Space) -> None:
    from mcp_types import ResourceTemplateReference

    space.add("Ana lives in Porto.", tags=["travel", "home"])
    space.add("Anton rows.")
    async with connected(space) as mcp:

        async def completed(uri: str, name: str, begun: str) -> list[str]:
            reference = ResourceTemplateReference(type="ref/resource", uri=uri)
            found = await mcp.client.complete(reference, {"name": name, "value": begun})
            return list(found.completion.values)

        assert await completed("remanence://timeline/{about}", "about", "an") == ["Ana", "Anton"]
        assert await completed("remanence://tag/{tag}", "tag", "tr") == ["travel"]
        tagged = await mcp.client.read_resource("remanence://tag/travel")
        assert "Ana lives in Porto." in tagged.contents[0].text
        assert "Anton" in (await mcp.client.read_resource("remanence://entities")).contents[0].text


class TestProjects:
    async def test_a_project_is_a_space_below(self, space: remanence.Space) -> None:
        """Only where the server is told to have them; a mistyped one is not created by reading."""
        async with connected(space, projects=True) as mcp:
            tools = {tool.name: tool for tool in (await mcp.client.list_tools()).tools}
            assert all("project" in tool.input_schema["properties"] for tool in tools.values())
            await mcp.call("remember", text="The release is on Friday.", project="web")
            assert (await mcp.call("recall", query="release", project="web"))["hits"]
            assert (await mcp.call("recall", query="release"))["hits"] == []
            wrong = (await mcp.fail("recall", query="release", project="wed")).content[0].text
        assert "Did you mean 'web'?" in wrong
        assert space.spaces() == ["default/web"]
        async with connected(space) as mcp:
            assert "has no argument 'project'" in (await mcp.fail("recall", query="x", project="web")).content[0].text

    def test_a_token_opens_its_projects_and_no_others(self, space: remanence.Space) -> None:
        """By their full names, or below the first."""
        space.child("web").add("A."), space.child("app").add("B."), space.add("C.")
        grant = Grant(space.child("web"), "write", ("default/web", "default/app"))
        assert grant.in_project("default/app", writes=False).space.name == "default/app"
        assert grant.in_project("new", writes=True).space.name == "default/web/new"
        for name in ("default", "default/apple", "default/web/none"):
            with pytest.raises(InvalidInput, match="There are: default/app, default/web"):
                grant.in_project(name, writes=False)

    def test_tokens_say_whether_they_open_several(self) -> None:
        assert not TokenFile({"0123456789abcdef": "default/users/bob"}).opens_several
        assert TokenFile({"0123456789abcdef": ["a", "b"]}).opens_several
        assert TokenFile({"0123456789abcdef": {"space": "*", "right": "read"}}).opens_several


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    with recorded_spans() as exporter:
        yield exporter


async def test_a_call_belongs_to_the_trace_in_its_meta(space: remanence.Space, spans: InMemorySpanExporter) -> None:
    """The search of the memory is below the call, and that in the trace of the client."""
    space.add("Ana lives in Porto.")
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    async with connected(space) as mcp:
        meta: Any = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
        await mcp.client.call_tool("recall", {"query": "Ana"}, meta=meta)
    [search] = [span for span in spans.get_finished_spans() if span.name == "search_memory"]
    [call] = [s for s in spans.get_finished_spans() if s.name == "tools/call recall" and s.kind.name == "SERVER"]
    assert search.parent.span_id == call.get_span_context().span_id
    assert search.get_span_context().trace_id == call.get_span_context().trace_id
    assert f"{search.get_span_context().trace_id:032x}" == trace_id


def test_the_tools_are_listed_before_the_engine_is_loaded(home: Path) -> None:
    """Over standard input: what takes long to import is not there yet, and the folder is not made."""
    printed = run_program(
        "import sys, anyio\n"
        "from mcp import Client\n"
        "from remanence.cli import server_commands\n"
        "from remanence.cli.parser import make_parser\n"
        "import remanence_server.mcp\n"
        "from contextlib import ExitStack\n"
        f"args = make_parser().parse_args(['--memory', {str(home)!r}, 'mcp'])\n"
        "async def main(server):\n"
        "    async with Client(server) as client:\n"
        "        print(len((await client.list_tools()).tools))\n"
        "        print([name for name in ('numpy', 'igraph', 'onnxruntime', 'dateparser') if name in sys.modules])\n"
        "        await client.call_tool('remember', {'text': 'Ana lives in Porto.'})\n"
        "with ExitStack() as opened:\n"
        "    anyio.run(main, server_commands._lazy_server(remanence_server.mcp, args, opened))\n"
    )
    assert re.findall(r"\S.*", printed) == ["9", "[]"]
    with remanence.open(home) as stored:
        assert stored.count() == 1
