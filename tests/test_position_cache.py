"""What the map and the proposals of merges keep of one position of the ledger."""

from __future__ import annotations

import threading

import pytest

import remanence
from remanence.graph import entity_map
from remanence.graph.entity_map import MapEdge
from remanence.index.position_cache import PositionCache
from remanence.service.endpoints import entity_operations
from remanence.testing import FakeClock, HashingEmbedder


def opened(clock: FakeClock) -> remanence.Space:
    return remanence.open(None, embedder=HashingEmbedder(), reader=None, clock=clock)


def test_the_entities_of_a_map_are_counted_once_for_each_position(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    count = entity_map._count
    monkeypatch.setattr(entity_map, "_count", lambda *given: counted.append(1) or count(*given))
    with opened(clock) as space:
        space.add("Ana met Bruno.")
        assert space.graph.entity_map() == space.graph.entity_map()
        assert len(counted) == 1
        space.add("Ana met Carla.")
        assert [node.name for node in space.graph.entity_map().nodes] == ["Ana", "Bruno", "Carla"]
        assert len(counted) == 2


def test_a_map_that_is_kept_is_of_its_moment(clock: FakeClock) -> None:
    """Time alone changes it, as when a relation that was stated ends."""
    with opened(clock) as space:
        space.graph.relate("Ana", "knows", "Bruno", valid_until=clock.now().replace(year=clock.now().year + 1))
        space.add("Ana met Bruno.")
        before, start = space.graph.entity_map(), clock.now()
        clock.advance(days=400)
        later = space.graph.entity_map()
        assert (before.edges, later.edges) == ((MapEdge(0, 1, 5),), (MapEdge(0, 1, 3),))
        assert space.as_of(start).graph.entity_map() == before


def test_merges_are_proposed_from_the_present_names(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    propose = entity_operations._all_proposals
    monkeypatch.setattr(entity_operations, "_all_proposals", lambda view: compared.append(1) or propose(view))
    with opened(clock) as space:
        space.add("Alice Smith runs AlphaOne.")
        assert entity_operations.merge_proposals(space) == entity_operations.merge_proposals(space) == []
        assert len(compared) == 1
        before = clock.now()
        clock.advance(days=1)
        space.add("A. Smith likes tea.")
        assert [pair.name for pair in entity_operations.merge_proposals(space)]
        assert entity_operations.merge_proposals(space.as_of(before)) == []


def test_what_is_being_computed_is_not_computed_again(clock: FakeClock) -> None:
    cache: PositionCache[int] = PositionCache()
    started, go_on, computed = threading.Event(), threading.Event(), []

    def compute() -> int:
        started.set()
        go_on.wait(30)
        computed.append(1)
        return 7

    with opened(clock) as space, space._engine.open_index(space.name) as index:
        found: list[int] = []
        first, second = (
            threading.Thread(target=lambda: found.append(cache.get(index, "key", compute))) for _ in range(2)
        )
        first.start()
        assert started.wait(30)
        second.start()
        go_on.set()
        first.join(30)
        second.join(30)
        assert found == [7, 7]
        assert computed == [1]
