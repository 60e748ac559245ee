"""Async variants have the exact types of the methods they run, on spaces, views and facets: mypy says so."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import remanence

ROOT = Path(__file__).parents[1]

PROGRAM = """
from collections.abc import AsyncIterator
from pathlib import Path
from typing import assert_type

import remanence
from remanence import Change, Entity, Memory, Profile, Recall, Relation, Space, Stats, View
from remanence.read.recall_tables import Relations


async def main(space: Space, view: View) -> None:
    assert_type(await space.aadd("Alice lives in Porto.", tags=["home"]), Memory)
    assert_type(await space.aadd_many(["a"], progress=True), list[Memory])
    assert_type(await space.arecall("Where?", limit=3, during="May 2026"), Recall)
    assert_type(await view.arecall("Where?"), Recall)
    assert_type(await space.aremember("I moved."), list[Memory])
    assert_type(await space.aremember("I moved.", wait=False), remanence.Job)
    assert_type(await space.aget("m1"), Memory | None)
    assert_type(await space.aprofile(max_tokens=100), Profile)
    assert_type(await space.aforget("m1", why="she asked"), None)
    assert_type(await space.graph.arelate("Alice", "lives_in", "Porto"), Relation)
    assert_type(await space.graph.awhen("Alice", "lives_in"), Relations)
    assert_type(await view.graph.asave("graph.svg", depth=2), Path)
    assert_type(await view.graph.asave_timeline("Alice", "alice.svg"), Path)
    assert_type(await space.entities.aresolve("Alice"), Entity | None)
    assert_type(await space.admin.astats(), Stats)
    assert_type(await view.audit.areplay({}), Recall)
    assert_type(view.audit.achanges(after=3), AsyncIterator[Change])
    assert_type(space.amemories("archived"), AsyncIterator[Memory])
    assert_type(await remanence.aopen("./memory", space="work"), Space)
    async with remanence.aopen(None) as opened:
        assert_type(opened, Space)
"""

ADAPTERS = """
import remanence
from langchain_remanence import RemanenceChatMessageHistory, RemanenceRetriever, RemanenceVectorStore
from langchain_remanence import RemanenceMemory as ChainMemory
from llama_index_remanence import RemanenceChatStore, RemanenceIndex, RemanenceMemory, RemanenceMemoryBlock
from llama_index_remanence import RemanenceRetriever as NodeRetriever
from llama_index_remanence import RemanenceToolSpec

chats = remanence.open("./chats")
ChainMemory(space=chats.child("users", "bob"), session_id="monday")
ChainMemory(space=chats, limit=3, window=2)
RemanenceRetriever(space=chats.as_of("2026-05-01"), k=1, filter={"page": 3})
RemanenceVectorStore(chats).add_texts(["Porto."], [{"page": 3}], ids=["a"])
RemanenceChatMessageHistory(chats, "monday")
RemanenceMemory(chats, session_id="monday", limit=3)
RemanenceMemory(space=chats, session_id="monday")
RemanenceMemoryBlock(space=chats)
RemanenceChatStore(space=chats)
RemanenceIndex.from_documents([], space=chats).as_retriever(limit=3)
NodeRetriever(space=chats, filters={"page": 3})
RemanenceToolSpec(chats, prefix="work_")
"""

WRONG = {
    'await space.arecall("Where?", limt=3)': "limt",
    "await space.arecall(3)": "arg-type",
    'await space.aadd("a", importance="high")': "arg-type",
    'await space.graph.aquery("Alice", depth="deep")': "arg-type",
    'await view.aadd("a")': "attr-defined",
}


def check(tmp_path: Path, source: str) -> str:
    file = tmp_path / "program.py"
    file.write_text(source)
    config = ROOT / "pyproject.toml"
    options = [f"--config-file={config}", "--python-version=3.11", f"--cache-dir={ROOT / '.mypy_cache'}"]
    # Not in this process: mypy raises the recursion limit, on which other tests depend.
    done = subprocess.run([sys.executable, "-m", "mypy", *options, str(file)], capture_output=True, text=True, cwd=ROOT)
    assert not done.stderr
    return done.stdout


def test_async_variants_have_the_types_of_their_methods(tmp_path: Path) -> None:
    """`assert_type` accepts each, and each wrong call is refused."""
    assert "Success" in check(tmp_path, PROGRAM)
    lines = ["from remanence import Space, View", "", "async def main(space: Space, view: View) -> None:"]
    found = check(tmp_path, "\n".join([*lines, *(f"    {call}" for call in WRONG), ""])).splitlines()
    for number, (call, part) in enumerate(WRONG.items(), len(lines) + 1):
        assert any(f"program.py:{number}:" in line and part in line for line in found), call


def test_the_adapters_are_made_as_the_readme_makes_them(tmp_path: Path) -> None:
    """No argument that has a default is asked for."""
    assert "Success" in check(tmp_path, ADAPTERS)


async def test_a_space_is_opened_beside_the_event_loop(home: Path) -> None:
    """To be awaited, or entered and closed; a wrong argument is refused as by `open`."""
    space = await remanence.aopen(home, space="work")
    await space.aadd("Porto has six bridges.")
    await space.aclose()

    async with remanence.aopen(home, space="work") as opened:
        assert await opened.acount() == 1
    with pytest.raises(remanence.Closed):
        opened.count()
    with pytest.raises(remanence.InvalidInput, match="clock"):
        await remanence.aopen(home, clock=3)  # type: ignore[arg-type]
    assert inspect.signature(remanence.aopen) == inspect.signature(remanence.open)
