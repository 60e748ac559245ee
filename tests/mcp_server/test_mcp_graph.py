"""The tools of the knowledge-graph memory server: the same answers as its own rules give, and no answer too long."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from mcp_calls import connected

import remanence
from remanence import InvalidInput
from remanence.testing import FakeClock
from remanence_server.mcp import KnowledgeGraph

NAMES = ["Ana", "Bo", "Acme", "Porto"]
TOOLS = (
    "create_entities create_relations add_observations delete_entities delete_observations delete_relations "
    "read_graph search_nodes open_nodes"
).split()


class Reference:
    """The rules of the knowledge-graph memory server, in memory."""

    def __init__(self) -> None:
        self.entities: list[dict[str, Any]] = []
        self.relations: list[dict[str, str]] = []

    def create_entities(self, entities: list[dict[str, Any]]) -> Any:
        new = [each for each in entities if each["name"] not in [e["name"] for e in self.entities]]
        self.entities += [dict(each, observations=list(each["observations"])) for each in new]
        return {"entities": new}

    def create_relations(self, relations: list[dict[str, str]]) -> Any:
        new = [each for each in relations if each not in self.relations]
        self.relations += new
        return {"relations": new}

    def add_observations(self, observations: list[dict[str, Any]]) -> Any:
        results = []
        for given in observations:
            found = [e for e in self.entities if e["name"] == given["entityName"]]
            if not found:
                raise LookupError(given["entityName"])
            new = [text for text in given["contents"] if text not in found[0]["observations"]]
            found[0]["observations"] += new
            results.append({"entityName": given["entityName"], "addedObservations": new})
        return {"results": results}

    def delete_entities(self, entityNames: list[str]) -> Any:
        known = [e["name"] for e in self.entities]
        missing = [name for name in entityNames if name not in known]
        self.entities = [e for e in self.entities if e["name"] not in entityNames]
        self.relations = [r for r in self.relations if r["from"] not in entityNames and r["to"] not in entityNames]
        deleted = len(entityNames) - len(missing)
        text = f"Deleted {deleted} of {len(entityNames)} entities. Not found: {', '.join(missing)}"
        return {"success": True, "message": text if missing else "Entities deleted successfully"}

    def delete_observations(self, deletions: list[dict[str, Any]]) -> Any:
        count, asked, missing = 0, 0, []
        for each in deletions:
            found = [e for e in self.entities if e["name"] == each["entityName"]]
            missing += [] if found else [each["entityName"]]
            asked += len(each["observations"])
            for entity in found:
                count += sum(text in each["observations"] for text in entity["observations"])
                entity["observations"] = [t for t in entity["observations"] if t not in each["observations"]]
        if count == asked:
            return {"success": True, "message": "Observations deleted successfully"}
        text = f"Deleted {count} of {asked} observations."
        return {"success": True, "message": text + (f" Entities not found: {', '.join(missing)}" if missing else "")}

    def delete_relations(self, relations: list[dict[str, str]]) -> Any:
        count = sum(each in self.relations for each in relations)
        self.relations = [each for each in self.relations if each not in relations]
        text = f"Deleted {count} of {len(relations)} relations. The rest matched nothing."
        return {"success": True, "message": "Relations deleted successfully" if count == len(relations) else text}

    def read_graph(self) -> Any:
        return {"entities": self.entities, "relations": self.relations}

    def open_nodes(self, names: list[str]) -> Any:
        return self._part([e for e in self.entities if e["name"] in names])

    def search_nodes(self, query: str) -> Any:
        low = query.lower()
        return self._part(
            [
                e
                for e in self.entities
                if any(low in t.lower() for t in (e["name"], e["entityType"], *e["observations"]))
            ]
        )

    def _part(self, entities: list[dict[str, Any]]) -> Any:
        names = [e["name"] for e in entities]
        return {
            "entities": entities,
            "relations": [r for r in self.relations if r["from"] in names or r["to"] in names],
        }


def some_call(dice: random.Random) -> tuple[str, dict[str, Any]]:
    name, other, text = dice.choice(NAMES), dice.choice(NAMES), f"fact {dice.randint(1, 4)}"
    relation = {"from": name, "to": other, "relationType": dice.choice(["knows", "lives in", "Works_At"])}
    entity = {"name": name, "entityType": dice.choice(["person", "Place"]), "observations": [text]}
    arguments: dict[str, dict[str, Any]] = {
        "create_entities": {"entities": [entity]},
        "create_relations": {"relations": [relation]},
        "add_observations": {"observations": [{"entityName": name, "contents": [text]}]},
        "delete_entities": {"entityNames": [name]},
        "delete_observations": {"deletions": [{"entityName": name, "observations": [text]}]},
        "delete_relations": {"relations": [relation]},
        "read_graph": {},
        "search_nodes": {"query": dice.choice(["an", "PERSON", "fact 1"])},
        "open_nodes": {"names": [name, other]},
    }
    tool = dice.choice([*TOOLS, "create_entities", "add_observations", "create_relations"])
    return tool, arguments[tool]


def outcome(reference: Reference, tool: str, arguments: dict[str, Any]) -> tuple[Any, str | None]:
    """What the rules answer, or the name that they do not know."""
    try:
        return getattr(reference, tool)(**arguments), None
    except LookupError as error:
        return None, str(error.args[0])


def in_any_order(graph: Any) -> Any:
    """What is created again has another place."""
    if isinstance(graph, dict):
        return {name: in_any_order(value) for name, value in graph.items()}
    return sorted(map(in_any_order, graph), key=repr) if isinstance(graph, list) else graph


async def test_any_story_is_answered_as_by_the_rules_of_that_server(space: remanence.Space) -> None:
    """Structured answers, and which calls fail."""
    reference, dice, failures = Reference(), random.Random(3), 0
    async with connected(space, tools="graph", default_tools=False) as mcp:
        assert [tool.name for tool in (await mcp.client.list_tools()).tools] == TOOLS
        for step in range(200):
            tool, arguments = some_call(dice)
            expected, unknown = outcome(reference, tool, arguments)
            if unknown is not None:
                found = await mcp.failure(tool, **arguments)
                assert f"Entity with name {unknown} not found" in found["message"]
                failures += 1
                continue
            answer = await mcp.call(tool, **arguments)
            if tool == "search_nodes" and not expected["entities"]:
                continue  # here a search by meaning follows
            assert in_any_order(answer) == in_any_order(expected), (step, tool, arguments)
    assert failures > 5


@pytest.mark.slow
async def test_a_large_graph_is_read_in_parts_that_fit(space: remanence.Space) -> None:
    """The first complaint about that server is a graph of 80,000 tokens in one answer."""
    observations = [f"observation {number} of some length" for number in range(30)]
    entities = [{"name": f"E{number}", "entityType": "thing", "observations": observations} for number in range(120)]
    KnowledgeGraph(space).create_entities(entities)
    KnowledgeGraph(space).create_relations(
        {"from": "E0", "to": f"E{number}", "relationType": "knows"} for number in range(1, 120)
    )
    async with connected(space, tools="graph", default_tools=False) as mcp:
        result = await mcp.client.call_tool("read_graph", {"max_tokens": 4_000})
        assert len(json.dumps(result.structured_content)) < 4_000 * 4 * 1.2
        assert "read page=2 next" in result.structured_content["note"]
        third = await mcp.call("read_graph", page=3, max_tokens=100_000)
        assert [entity["name"] for entity in third["entities"]] == [f"E{number}" for number in range(100, 120)]
        assert "note" not in third
        small = await mcp.call("open_nodes", names=["E7"], max_tokens=50)
        assert small["entities"][0]["observationsLeftOut"] > 0


async def test_what_the_tools_store_is_part_of_the_space(space: remanence.Space) -> None:
    """A relation is one of the graph, a deletion can be undone, and recall finds observations."""
    graph = KnowledgeGraph(space)
    graph.create_entities([{"name": name, "entityType": "person", "observations": []} for name in ("Ana", "Bo")])
    graph.add_observations([{"entityName": "Ana", "contents": ["Drinks green tea"]}])
    graph.create_relations([{"from": "Ana", "to": "Bo", "relationType": "knows"}])
    assert space.graph.path("Ana", "Bo") is not None
    assert any(hit.memory.text == "Ana: Drinks green tea" for hit in space.recall("What does Ana drink?"))
    graph.delete_entities(["Ana"])
    assert graph.read() == ([{"name": "Bo", "entityType": "person", "observations": []}], [])
    [forgotten] = [each for each in space.memories("forgotten") if each.text == "Ana: Drinks green tea"]
    assert space.graph.timeline(forgotten)[-1].why == "the entity was deleted"


async def test_what_memories_tell_is_part_of_the_graph(space: remanence.Space, clock: FakeClock) -> None:
    """Entities, observations and relations of other memories are read, extended and deleted by the same tools."""
    space.add("Alice lives in Porto.")
    clock.advance(days=1)
    space.add("Alice moved to Lisbon.")
    space.entities.register("Alice", aliases=["Ali"])
    space.add("Ali runs every day.")
    async with connected(space, tools="graph", default_tools=False) as mcp:
        whole = await mcp.call("read_graph")
        alice = whole["entities"][0]
        assert (alice["name"], alice["entityType"]) == ("Alice", "person")
        assert alice["observations"] == ["Alice lives in Porto.", "Alice moved to Lisbon.", "Ali runs every day."]
        lives = [each for each in whole["relations"] if each["relationType"] == "lives_in"]
        assert lives == [{"from": "Alice", "to": "Lisbon", "relationType": "lives_in"}]
        assert (await mcp.call("search_nodes", query="runs"))["entities"] == [alice]

        await mcp.call("add_observations", observations=[{"entityName": "Alice", "contents": ["Drinks tea"]}])
        rows = [{"name": "Alice", "entityType": "runner", "observations": ["Has a dog"]}]
        assert (await mcp.call("create_entities", entities=rows)) == {"entities": rows}
        alice = (await mcp.call("open_nodes", names=["Alice"]))["entities"][0]
        assert alice["entityType"] == "runner"
        assert {"Drinks tea", "Has a dog", "Ali runs every day."} <= set(alice["observations"])

        await mcp.call("delete_relations", relations=lives)
        assert lives[0] not in (await mcp.call("read_graph"))["relations"]
        assert space.count() == 6
        await mcp.call("delete_entities", entityNames=["Alice"])
        assert [each["name"] for each in (await mcp.call("read_graph"))["entities"]] == []
    assert any(memory.text == "Alice lives in Porto." for memory in space.memories("forgotten"))


async def test_wrong_shapes_are_refused_and_write_nothing(space: remanence.Space) -> None:
    async with connected(space, tools="graph", default_tools=False) as mcp:
        for tool, arguments in [
            ("create_entities", {"entities": [{"name": "Ana"}]}),
            ("create_entities", {"entities": "Ana"}),
            ("create_entities", {"entities": [{"name": " ", "entityType": "x", "observations": []}]}),
            ("create_entities", {"entities": [{"name": "A", "entityType": "x", "observations": ["ok", ""]}]}),
            ("create_relations", {"relations": [{"from": "A", "to": "B"}]}),
            ("search_nodes", {"query": "x" * 2_049}),
            ("open_nodes", {"names": 3}),
        ]:
            assert (await mcp.failure(tool, **arguments))["success"] is False
    assert space.count() == 0


def test_the_file_of_that_server_is_imported_once(space: remanence.Space, tmp_path: Path) -> None:
    """What was deleted here since does not come back."""
    file = tmp_path / "memory.jsonl"
    rows: list[dict[str, Any]] = [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["Drinks tea"]},
        {"type": "entity", "name": "Porto", "entityType": "city", "observations": []},
        {"type": "relation", "from": "Ana", "to": "Porto", "relationType": "lives_in"},
        {"type": "relation", "from": "Bo", "to": "Cy", "relationType": "knows"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    graph = KnowledgeGraph(space)
    assert graph.import_once(file) == 4
    assert graph.read()[1] == [
        {"from": "Ana", "to": "Porto", "relationType": "lives_in"},
        {"from": "Bo", "to": "Cy", "relationType": "knows"},
    ]
    graph.delete_entities(["Ana", "Porto", "Bo"])
    assert graph.import_once(file) == 0
    assert graph.read() == ([], [])
    file.write_text('{"type": "entity"}\n')
    with pytest.raises(InvalidInput, match="line 1 is neither an entity nor a relation"):
        graph.import_file(file)
