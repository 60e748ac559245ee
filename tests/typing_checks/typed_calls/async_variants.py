"""Async variants have the exact types of the methods they run, on spaces, views and facets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from typing_extensions import assert_type

import remanence
from remanence import Change, Entity, Memory, Profile, Recall, Relation, Space, Stats, View
from remanence.recall.show import RelationList
from remanence.schema import FoundFacts


async def right_calls(space: Space, view: View) -> None:
    """Each has this type and no other."""
    assert_type(await space.aadd("Alice lives in Porto.", tags=["home"]), Memory)
    assert_type(await space.aadd_many(["a"], progress=True), list[Memory])
    assert_type(await space.arecall("Where?", limit=3, during="May 2026"), Recall)
    assert_type(await view.arecall("Where?"), Recall)
    assert_type(await space.aremember("I moved."), FoundFacts)
    assert_type(await space.aremember("I moved.", wait=False), remanence.Job)
    assert_type(await space.aget("m1"), Memory | None)
    assert_type(await space.aprofile(max_tokens=100), Profile)
    assert_type(await space.aforget("m1", why="she asked"), None)
    assert_type(await space.graph.arelate("Alice", "lives_in", "Porto"), Relation)
    assert_type(await space.graph.awhen("Alice", "lives_in"), RelationList)
    assert_type(await view.graph.asave("graph.svg", depth=2), Path)
    assert_type(await space.entities.aresolve("Alice"), Entity | None)
    assert_type(await space.admin.astats(), Stats)
    assert_type(await view.audit.areplay({}), Recall)
    assert_type(view.audit.achanges(after_position=3), AsyncIterator[Change])
    assert_type(space.amemories("archived"), AsyncIterator[Memory])
    assert_type(await remanence.aopen("./memory", space="work"), Space)
    async with remanence.aopen(None) as opened:
        assert_type(opened, Space)


async def wrong_calls(space: Space, view: View) -> None:
    """Each is refused: an `ignore` that is not needed is an error."""
    await space.arecall("Where?", limt=3)  # type: ignore[call-arg]
    await space.arecall(3)  # type: ignore[arg-type]
    await space.aadd("a", importance="high")  # type: ignore[arg-type]
    await space.graph.aquery("Alice", depth="deep")  # type: ignore[arg-type]
    await view.aadd("a")  # type: ignore[attr-defined]
