"""The tools of CortexGraph and ai-memory: every documented parameter, default and field is there, and works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_calls import connected

import remanence
from remanence.adapters import estimate_tokens
from remanence.testing import FakeClock

# Parameters with their defaults, as the API reference of CortexGraph and ai-memory document them. None: no default.
PARAMETERS: dict[str, dict[str, Any]] = {
    "save_memory": dict.fromkeys("content tags entities source context meta strength".split()),
    "search_memory": {"query": None, "tags": None, "top_k": 10, "window_days": None, "min_score": None}
    | {"use_embeddings": False},
    "search_unified": {"query": None, "tags": None, "limit": 10, "stm_weight": 1.0, "ltm_weight": 0.7}
    | {"window_days": None, "min_score": None, "verbose": False},
    "touch_memory": {"memory_id": None, "boost_strength": False},
    "observe_memory_usage": {"memory_ids": None, "context_tags": []},
    "analyze_message": {"message": None},
    "analyze_for_recall": {"message": None},
    "gc": {"dry_run": True, "archive_instead": False, "limit": None},
    "promote_memory": {"memory_id": None, "auto_detect": False, "dry_run": False, "target": "obsidian", "force": False},
    "cluster_memories": {"strategy": "similarity", "threshold": 0.83, "max_cluster_size": 12}
    | {"find_duplicates": False, "duplicate_threshold": 0.88},
    "consolidate_memories": {"cluster_id": None, "mode": "preview", "auto_detect": False, "cohesion_threshold": 0.75},
    "read_graph": {"status": "active", "include_scores": True, "limit": None, "page": 1, "page_size": 10},
    "open_memories": {
        "memory_ids": None,
        "include_relations": True,
        "include_scores": True,
        "page": 1,
        "page_size": 10,
    },
    "create_relation": {"from_memory_id": None, "to_memory_id": None, "relation_type": None, "strength": 1.0}
    | {"metadata": {}},
    "memory_entity_register": dict.fromkeys("canonical_name namespace aliases kind".split()),
    "memory_entity_get_by_alias": {"alias": None, "namespace": None},
    "memory_kg_query": {"start_id": None, "relations": None, "depth": 3, "as_of": None},
    "memory_kg_timeline": dict.fromkeys("node_id since until relations".split()),
    "memory_kg_invalidate": dict.fromkeys("source_id target_id relation".split()),
    "memory_kg_erase": {"edge_id": None},
}
REQUIRED = {
    "save_memory": {"content"},
    "touch_memory": {"memory_id"},
    "observe_memory_usage": {"memory_ids"},
    "analyze_message": {"message"},
    "analyze_for_recall": {"message"},
    "open_memories": {"memory_ids"},
    "create_relation": {"from_memory_id", "to_memory_id", "relation_type"},
    "memory_entity_register": {"canonical_name"},
    "memory_entity_get_by_alias": {"alias"},
    "memory_kg_query": {"start_id"},
    "memory_kg_timeline": {"node_id"},
    "memory_kg_invalidate": {"source_id", "target_id", "relation"},
    "memory_kg_erase": {"edge_id"},
}
"""Of the others, every parameter may be left out."""
# A call of each tool, and the fields that its answer is documented to have; "a/b" is the field b of the first in a.
ANSWERS: list[tuple[str, dict[str, Any], str]] = [
    ("save_memory", {"content": "Tea is at five."}, "success memory_id message has_embedding enrichment_applied"),
    ("search_memory", {"query": "printer"}, "success count results"),
    (
        *("search_memory", {"query": "printer"}),
        (
            "results/id results/content results/tags results/score results/similarity results/use_count "
            "results/last_used results/age_days"
        ),
    ),
    ("touch_memory", {"memory_id": "$a"}, "success memory_id old_score new_score use_count strength message"),
    ("observe_memory_usage", {"memory_ids": ["$a"]}, "reinforced count cross_domain_count results/strength"),
    (
        *("observe_memory_usage", {"memory_ids": ["$a"]}),
        "results/id results/status results/cross_domain results/new_use_count results/new_review_count",
    ),
    (
        *("analyze_message", {"message": "Remember: I prefer tea."}),
        "should_save confidence suggested_entities suggested_tags suggested_strength reasoning",
    ),
    (
        *("analyze_for_recall", {"message": "What did I say about tea?"}),
        "should_search confidence suggested_query suggested_tags suggested_entities reasoning",
    ),
    (
        *("create_relation", {"from_memory_id": "$a", "to_memory_id": "$b", "relation_type": "supports"}),
        "success relation_id from to type strength message",
    ),
    ("read_graph", {}, "success memories relations stats pagination"),
    (
        *("read_graph", {}),
        (
            "memories/id memories/content memories/entities memories/tags memories/created_at memories/last_used "
            "memories/use_count memories/strength memories/status memories/score memories/age_days relations/id "
            "relations/from relations/to relations/type relations/strength relations/created_at stats/total_memories "
            "stats/total_relations stats/avg_score stats/avg_use_count stats/status_filter pagination/page "
            "pagination/page_size pagination/total_count pagination/total_pages pagination/has_more"
        ),
    ),
    ("open_memories", {"memory_ids": "$a"}, "success count memories not_found"),
    (
        *("open_memories", {"memory_ids": ["$a"]}),
        (
            "memories/id memories/content memories/entities memories/tags memories/source memories/context "
            "memories/created_at memories/last_used memories/use_count memories/strength memories/status "
            "memories/promoted_at memories/promoted_to memories/score memories/age_days memories/relations/outgoing/to "
            "memories/relations/outgoing/type memories/relations/outgoing/strength memories/relations/incoming"
        ),
    ),
    (*("gc", {}), "success dry_run removed_count archived_count freed_score_sum memory_ids total_affected message"),
    (
        *("promote_memory", {"memory_id": "$a", "force": True}),
        (
            "success dry_run candidates_found promoted_count promoted_ids candidates/id candidates/content_preview "
            "candidates/reason candidates/score candidates/use_count candidates/age_days message"
        ),
    ),
    (
        *("cluster_memories", {}),
        (
            "success mode clusters_found strategy threshold clusters/id clusters/size clusters/cohesion "
            "clusters/suggested_action clusters/memory_ids clusters/content_previews message"
        ),
    ),
    (
        *("cluster_memories", {"find_duplicates": True}),
        (
            "success mode duplicates_found duplicates/id1 duplicates/id2 duplicates/content1_preview "
            "duplicates/content2_preview duplicates/similarity message"
        ),
    ),
    (
        *("consolidate_memories", {"auto_detect": True}),
        (
            "success mode auto_detect candidates_found previews/cluster_id previews/cohesion previews/memory_count "
            "previews/merged_content_preview previews/merged_tags previews/merged_entities previews/calculated_strength"
        ),
    ),
    (
        *("consolidate_memories", {"auto_detect": True, "mode": "link"}),
        "success mode relations_created cluster_id message",
    ),
    (
        *("consolidate_memories", {"auto_detect": True, "mode": "apply"}),
        "success mode new_memory_id source_ids relation_ids archived_count message",
    ),
    (
        *("memory_entity_register", {"canonical_name": "AlphaOne LLC", "aliases": ["AO"], "kind": "organization"}),
        "entity_id created aliases_added",
    ),
    ("memory_entity_get_by_alias", {"alias": "AO"}, "entity_id canonical_name all_aliases"),
    (
        *("memory_kg_query", {"start_id": "$a"}),
        (
            "nodes edges/source_id edges/target_id edges/relation edges/created_at edges/valid_from edges/valid_until "
            "edges/observed_by edges/signature depth_reached edges_walked"
        ),
    ),
    ("memory_kg_timeline", {"node_id": "$a"}, "events/at events/type events/relation events/target_id"),
    (
        *("memory_kg_invalidate", {"source_id": "$a", "target_id": "$b", "relation": "supports"}),
        "invalidated valid_until",
    ),
    ("memory_kg_erase", {"edge_id": "$edge"}, "erased pending"),
]
MEMORY_FIELDS = set("id content entities tags created_at last_used use_count strength status score age_days".split())


async def test_every_documented_parameter_has_its_default(space: remanence.Space) -> None:
    async with connected(space, tools="cortex,kg", default_tools=False) as mcp:
        listed = (await mcp.client.list_tools()).tools
    tools = {tool.name: tool.input_schema["properties"] for tool in listed}
    required = {tool.name: set(tool.input_schema.get("required", ())) for tool in listed}
    assert tools.keys() == PARAMETERS.keys()
    for name, expected in PARAMETERS.items():
        assert {each: tools[name][each].get("default") for each in expected} == expected, name
        assert required[name] == REQUIRED.get(name, set()), name


async def test_every_documented_field_is_returned(space: remanence.Space) -> None:
    """Each tool is called as its documentation shows, and its answer has every field that is documented."""
    first, second = space.add_many(["The printer is on floor two.", "The printer is on floor two!"])
    ids = {"$a": first.id, "$b": second.id, "$edge": space.graph.relate("Bob", "knows", "Carol").id}
    async with connected(space, tools="cortex,kg", default_tools=False) as mcp:
        for tool, arguments, fields in ANSWERS:
            text = json.dumps(arguments)
            for name, id_ in ids.items():
                text = text.replace(f'"{name}"', f'"{id_}"')
            answer = await mcp.call(tool, **json.loads(text))
            for path in fields.split():
                found = answer
                for part in path.split("/"):
                    found = found[0] if isinstance(found, list) else found
                    assert part in found, (tool, path)
                    found = found[part]
    assert {tool for tool, _, _ in ANSWERS} == PARAMETERS.keys() - {"search_unified"}, "which returns text"


async def test_reinforcement_can_be_switched_off(space: remanence.Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORTEXGRAPH_AUTO_REINFORCE", "false")
    memory = space.add("The printer is on floor two.")
    async with connected(space, tools="cortex") as mcp:
        used = await mcp.call("observe_memory_usage", memory_ids=memory.id)
        assert (used["reinforced"], used["count"], set(used)) == (False, 0, {"reinforced", "reason", "count"})
        assert (await mcp.call("open_memories", memory_ids=memory.id))["memories"][0]["use_count"] == 0


async def test_memories_are_saved_searched_and_reinforced(space: remanence.Space, clock: FakeClock) -> None:
    async with connected(space, tools="cortex") as mcp:
        saved = await mcp.call(
            "save_memory", content="Remember: I prefer tea to coffee.", tags=["drinks"], context="chat"
        )
        assert saved == {
            "success": True,
            "memory_id": saved["memory_id"],
            "message": f"Memory saved with ID: {saved['memory_id']}",
            "has_embedding": True,
            "enrichment_applied": True,
        }
        given = {"entities": ["Q4"], "strength": 2.0, "source": "meeting", "meta": {"page": 3}, "tags": ["work"]}
        other = await mcp.call("save_memory", content="The deadline is 15 December.", **given)
        assert other["enrichment_applied"] is False
        assert space.get(other["memory_id"]).strength == 2.0  # type: ignore[union-attr]
        found = await mcp.call("search_memory", query="tea", use_embeddings=True)
        fields = "id content tags score similarity use_count last_used age_days relevance review_priority".split()
        assert set(found["results"][0]) == set(fields)
        assert found["results"][0]["id"] == saved["memory_id"]
        assert isinstance(found["results"][0]["similarity"], float)
        assert (await mcp.call("search_memory", query="tea"))["results"][0]["similarity"] is None
        assert (await mcp.call("search_memory", tags=["work"]))["count"] == 1
        clock.advance(days=20)
        assert (await mcp.call("search_memory", query="tea", window_days=7))["count"] == 0
        scores = sorted(result["score"] for result in (await mcp.call("search_memory"))["results"])
        above = await mcp.call("search_memory", min_score=sum(scores) / 2)
        assert [result["score"] for result in above["results"]] == scores[1:]
        touched = await mcp.call("touch_memory", memory_id=saved["memory_id"], boost_strength=True)
        assert set(touched) == set("success memory_id old_score new_score use_count strength message".split())
        assert touched["new_score"] > touched["old_score"]
        assert touched["message"].startswith("Memory reinforced. Score: ")
        ids = [saved["memory_id"], "nope"]
        used = await mcp.call("observe_memory_usage", memory_ids=ids, context_tags=["api", "backend"])
        assert (used["reinforced"], used["count"], used["cross_domain_count"]) == (True, 1, 1)
        assert used["results"][0].items() >= {"status": "reinforced", "cross_domain": True, "new_use_count": 2}.items()
        assert used["results"][1] == {"id": "nope", "status": "not_found"}
        text = (await mcp.call("search_unified", query="tea", verbose=True))["result"]
        assert "[STM] Remember: I prefer tea to coffee." in text
        assert saved["memory_id"] in text
        assert saved["memory_id"] not in (await mcp.call("search_unified", query="tea"))["result"]
        assert "(score: 0.00)" in (await mcp.call("search_unified", query="tea", stm_weight=0))["result"]


async def test_a_window_of_days_is_that_of_memories_not_of_notes(
    space: remanence.Space, clock: FakeClock, tmp_path: Path
) -> None:
    """As CortexGraph documents `window_days` and `min_score` of search_unified."""
    (tmp_path / "tea.md").write_text("Tea is to be steeped for three minutes.\n")
    space.upkeep.import_vault(tmp_path)
    space.add("Ana drinks tea.")
    clock.advance(days=30)
    space.add("Bob drinks tea.")
    async with connected(space, tools="cortex") as mcp:
        given: list[dict[str, Any]] = [{}, {"window_days": 7}, {"min_score": 0.95}]
        texts = [(await mcp.call("search_unified", query="tea", **each))["result"] for each in given]
    found = [[name for name in ("Ana", "Bob", "[LTM] Tea") if name in text] for text in texts]
    assert found == [["Ana", "Bob", "[LTM] Tea"], ["Bob", "[LTM] Tea"], ["Bob", "[LTM] Tea"]]


async def test_messages_are_analyzed(space: remanence.Space) -> None:
    async with connected(space, tools="cortex") as mcp:
        save = await mcp.call("analyze_message", message="Remember: I am allergic to peanuts.")
        look = await mcp.call("analyze_for_recall", message="What did I say about my allergies?")
        thanks = await mcp.call("analyze_message", message="Thanks!")
    assert set(save) == set(
        "should_save confidence suggested_entities suggested_tags suggested_strength reasoning".split()
    )
    assert save["should_save"]
    assert save["confidence"] > 0.7
    assert 1.0 < save["suggested_strength"] <= 2.0
    assert (thanks["should_save"], thanks["suggested_strength"]) == (False, 1.0)
    assert set(look) == set(
        "should_search confidence suggested_query suggested_tags suggested_entities reasoning".split()
    )
    assert look["should_search"]


async def test_confidence_is_that_of_saving_and_searching(space: remanence.Space) -> None:
    """By the documented levels a greeting, of which it is sure, is not saved and not searched for."""
    async with connected(space, tools="cortex") as mcp:
        thanks = await mcp.call("analyze_message", message="Thanks!")
        hello = await mcp.call("analyze_for_recall", message="hello")
        look = await mcp.call("analyze_for_recall", message="What did I say about TypeScript?")
    assert (thanks["should_save"], hello["should_search"]) == (False, False)
    assert max(thanks["confidence"], hello["confidence"]) < 0.4
    assert (look["suggested_query"], look["suggested_entities"]) == ("TypeScript", ["TypeScript"])


async def test_without_a_query_every_memory_is_listed(space: remanence.Space) -> None:
    space.add_many(["Ana drinks tea.", "Bob drinks coffee."])
    async with connected(space, tools="cortex") as mcp:
        assert (await mcp.call("search_memory"))["count"] == 2
        assert (await mcp.call("search_unified"))["result"].startswith("Found 2 results for 'all memories':")


async def test_a_relation_is_read_as_it_was_created_last(space: remanence.Space) -> None:
    """Two memories may be related in several ways at once, and each way has its last strength and metadata."""
    a, b = (memory.id for memory in space.add_many(["We use PostgreSQL.", "The data must be relational."]))
    async with connected(space, tools="cortex") as mcp:
        ends = {"from_memory_id": a, "to_memory_id": b}
        await mcp.call("create_relation", **ends, relation_type="related", strength=0.9, metadata={"by": "Ana"})
        await mcp.call("create_relation", **ends, relation_type="has_decision", strength=0.7)
        await mcp.call("create_relation", **ends, relation_type="related", strength=0.4, metadata={"by": "Bob"})
        [opened] = (await mcp.call("open_memories", memory_ids=a))["memories"]
        assert opened["relations"]["outgoing"] == [
            {"to": b, "type": "has_decision", "strength": 0.7},
            {"to": b, "type": "related", "strength": 0.4, "metadata": {"by": "Bob"}},
        ]


async def test_numbers_of_the_graph_are_those_of_the_status(space: remanence.Space) -> None:
    """A promoted memory is not active, and averages are of the memories that the status has."""
    used, other = space.add_many(["The door code is 4711.", "Ana drinks tea."])
    async with connected(space, tools="cortex") as mcp:
        await mcp.call("promote_memory", memory_id=used.id, force=True)
        active, promoted, archived = [
            await mcp.call("read_graph", status=status) for status in ("active", "promoted", "archived")
        ]
    assert [[memory["id"] for memory in page["memories"]] for page in (active, promoted)] == [[other.id], [used.id]]
    assert [memory["status"] for memory in active["memories"]] == ["active"]
    assert [page["stats"]["avg_use_count"] for page in (active, promoted, archived)] == [0, 1, 0]
    assert archived["stats"]["avg_score"] == 0


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"query": "tea"}),
        ("explain", {"query": "tea"}),
        ("search_memory", {"query": "tea", "top_k": 50}),
        ("search_unified", {"query": "tea", "limit": 50}),
        ("read_graph", {"page_size": 50}),
    ],
)
async def test_answers_fit_also_where_one_memory_is_long(space: remanence.Space, tool: str, arguments: Any) -> None:
    space.add_many([f"Tea number {number} is green. " + "It is good. " * 500 for number in range(4)])
    async with connected(space, tools="cortex") as mcp:
        for answer in ((await mcp.call(tool, **arguments, max_tokens=500)),):
            assert estimate_tokens(json.dumps(answer)) < 1_000


async def test_memories_and_candidates_that_do_not_fit_are_counted(space: remanence.Space, clock: FakeClock) -> None:
    ids = [memory.id for memory in space.add_many(f"It rained on day {day}." for day in range(60))]
    clock.advance(days=4_000)
    async with connected(space, tools="cortex") as mcp:
        plan = await mcp.call("gc", max_tokens=100)
        assert (plan["total_affected"], plan["left_out"] + len(plan["memory_ids"])) == (60, 60)
        opened = await mcp.call("open_memories", memory_ids=ids, page_size=50, max_tokens=500)
        assert opened["left_out"] + opened["count"] == 50
        explained = await mcp.call("explain", memory_id=ids[0], max_tokens=100)
        assert explained["memory"]["id"] == ids[0]


async def test_the_graph_is_read_in_pages_with_scores(space: remanence.Space) -> None:
    memories = space.add_many(f"Fact number {number} is about tea." for number in range(25))
    a, b = memories[0].id, memories[1].id
    async with connected(space, tools="cortex") as mcp:
        made = await mcp.call(
            "create_relation",
            from_memory_id=a,
            to_memory_id=b,
            relation_type="has_decision",
            strength=0.9,
            metadata={"by": "Ana"},
        )
        assert made.items() >= {"success": True, "from": a, "to": b, "type": "has_decision", "strength": 0.9}.items()
        page = await mcp.call("read_graph")
        assert set(page["memories"][0]) == MEMORY_FIELDS
        assert page["relations"][0].items() >= {"id": made["relation_id"], "from": a, "to": b}.items()
        assert page["relations"][0]["type"] == "has_decision"
        assert set(page["stats"]) == set("total_memories total_relations avg_score avg_use_count status_filter".split())
        assert page["pagination"].items() >= {"total_count": 25, "total_pages": 3, "has_more": True}.items()
        last = await mcp.call("read_graph", page=3, include_scores=False)
        assert len(last["memories"]) == 5
        assert "score" not in last["memories"][0]
        assert (await mcp.call("read_graph", limit=3))["pagination"]["total_count"] == 3
        one = await mcp.call("open_memories", memory_ids=a)
        more = set("source context promoted_at promoted_to relations".split())
        assert set(one["memories"][0]) == MEMORY_FIELDS | more
        assert one["memories"][0]["relations"]["outgoing"] == [
            {"to": b, "type": "has_decision", "strength": 0.9, "metadata": {"by": "Ana"}}
        ]
        several = await mcp.call("open_memories", memory_ids=[a, b, "nope"], page=2, page_size=1)
        assert (several["count"], several["not_found"]) == (1, ["nope"])


async def test_what_has_faded_is_removed_and_what_is_used_is_promoted(space: remanence.Space, clock: FakeClock) -> None:
    old = space.add("It rained.", kind="episode", now="2020-01-01")
    clock.advance(days=400)
    kept = space.add("The door code is 4711.")
    async with connected(space, tools="cortex") as mcp:
        plan = await mcp.call("gc")
        fields = "success dry_run removed_count archived_count freed_score_sum memory_ids total_affected message"
        assert set(plan) == set(fields.split())
        assert plan["message"] == "Would remove 1 low-scoring memories (threshold: 0.05)"
        done = await mcp.call("gc", dry_run=False, archive_instead=True)
        assert (done["archived_count"], done["memory_ids"]) == (1, [old.id])
        assert [m["id"] for m in (await mcp.call("read_graph", status="archived"))["memories"]] == [old.id]
        refused = await mcp.failure("promote_memory", memory_id=kept.id)
        assert refused["success"] is False
        assert "force=true" in refused["message"]
        promoted = await mcp.call("promote_memory", memory_id=kept.id, force=True)
        assert promoted["promoted_ids"] == [kept.id]
        assert set(promoted["candidates"][0]) == set("id content_preview reason score use_count age_days".split())
        assert (await mcp.call("promote_memory", auto_detect=True, dry_run=True))["promoted_count"] == 0
        assert [m["id"] for m in (await mcp.call("read_graph", status="promoted"))["memories"]] == [kept.id]


async def test_similar_memories_are_clustered_and_consolidated(space: remanence.Space) -> None:
    texts = ["The printer is on floor two.", "The printer is on floor two!", "Ana has a dog."]
    [first] = space.add_many([{"text": texts[0], "now": "2025-03-01"}])
    second, _ = space.add_many(texts[1:])
    async with connected(space, tools="cortex") as mcp:
        found = await mcp.call("cluster_memories")
        assert set(found) == set("success mode clusters_found strategy threshold clusters message".split())
        [cluster] = found["clusters"]
        assert set(cluster) == set("id size cohesion suggested_action memory_ids content_previews".split())
        assert (await mcp.call("cluster_memories", min_cluster_size=3))["clusters"] == []
        pairs = await mcp.call("cluster_memories", find_duplicates=True)
        expected = set("id1 id2 content1_preview content2_preview similarity".split())
        assert [set(pair) for pair in pairs["duplicates"]] == [expected]
        shown = await mcp.call("consolidate_memories", auto_detect=True)
        merged = "merged_content_preview merged_entities merged_tags calculated_strength"
        assert set(shown["previews"][0]) == {"cluster_id", "cohesion", "memory_count", *merged.split()}
        done = await mcp.call("consolidate_memories", cluster_id=cluster["id"], mode="apply")
        assert set(done["source_ids"]) == {first.id, second.id}
        assert done["archived_count"] == 2
        assert space.get(done["new_memory_id"]) is not None
        [opened] = (await mcp.call("open_memories", memory_ids=done["new_memory_id"]))["memories"]
        assert opened["created_at"] == int(first.told_at.timestamp())
        assert done["relation_ids"]
        assert (await mcp.failure("consolidate_memories", cluster_id="nope"))["success"] is False
        assert "auto_detect=true" in (await mcp.failure("consolidate_memories"))["message"]


async def test_clusters_can_be_linked_only(space: remanence.Space) -> None:
    space.add_many(["The printer is on floor two.", "The printer is on floor two!"])
    async with connected(space, tools="cortex") as mcp:
        linked = await mcp.call("consolidate_memories", auto_detect=True, mode="link")
    assert set(linked) >= set("success mode relations_created cluster_id message".split())
    assert linked["relations_created"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("touch_memory", {"memory_id": "nope"}),
        ("save_memory", {"content": " "}),
        ("save_memory", {"content": "x", "strength": 3}),
        ("create_relation", {"from_memory_id": "a", "to_memory_id": "b", "relation_type": "loves"}),
        ("create_relation", {"from_memory_id": "a", "to_memory_id": "b", "relation_type": "related"}),
        ("open_memories", {"memory_ids": []}),
        ("open_memories", {"memory_ids": ["x"] * 101}),
        ("read_graph", {"page_size": 101}),
        ("read_graph", {"status": "lost"}),
        ("promote_memory", {}),
        ("promote_memory", {"memory_id": "nope", "force": True}),
        ("search_memory", {"window_days": 0}),
    ],
)
async def test_an_error_has_the_documented_shape(space: remanence.Space, tool: str, arguments: Any) -> None:
    async with connected(space, tools="cortex") as mcp:
        failed = await mcp.failure(tool, **arguments)
    assert failed.keys() == {"success", "message"}
    assert failed["success"] is False


async def test_entities_and_edges_of_ai_memory(space: remanence.Space, clock: FakeClock) -> None:
    """Registered, found by an alias, walked now and in the past, listed in order, and invalidated."""
    draft, review = space.add_many(["The Q3 draft of AlphaOne.", "The Q3 review of AlphaOne."])
    async with connected(space, tools="kg", default_tools=False) as mcp:
        made = await mcp.call(
            "memory_entity_register", canonical_name="AlphaOne LLC", aliases=["AlphaOne", "AO"], kind="organization"
        )
        assert made == {"entity_id": made["entity_id"], "created": True, "aliases_added": ["AlphaOne", "AO"]}
        again = await mcp.call("memory_entity_register", canonical_name="AlphaOne LLC", aliases=["A1"])
        assert again == {"entity_id": made["entity_id"], "created": False, "aliases_added": ["A1"]}
        found = await mcp.call("memory_entity_get_by_alias", alias="AO")
        assert found["canonical_name"] == "AlphaOne LLC"
        assert set(found["all_aliases"]) == {"AlphaOne", "AO", "A1"}
        assert "Register it" in (await mcp.fail("memory_entity_get_by_alias", alias="Zed")).content[0].text
        below = await mcp.call("memory_entity_register", canonical_name="AlphaOne LLC", namespace="team/papers")
        assert below["created"]

        space.graph.link(review, "supersedes", draft)
        space.graph.link(draft, "related_to", review)
        clock.advance(days=1)
        then = clock.now().isoformat()
        clock.advance(days=1)
        walk = await mcp.call("memory_kg_query", start_id=draft.id, relations=["related_to", "supersedes"])
        assert {"nodes", "edges", "depth_reached", "edges_walked"} <= walk.keys()
        assert {edge["relation"] for edge in walk["edges"]} == {"related_to", "supersedes"}
        columns = "id source_id target_id relation created_at valid_from valid_until observed_by signature"
        assert set(walk["edges"][0]) == set(columns.split())
        ended = await mcp.call("memory_kg_invalidate", source_id=draft.id, target_id=review.id, relation="related_to")
        assert ended["invalidated"] is True
        assert ended["valid_until"].startswith("2026-05-06")
        now = await mcp.call("memory_kg_query", start_id=draft.id, relations=["related_to"])
        past = await mcp.call("memory_kg_query", start_id=draft.id, relations=["related_to"], as_of=then)
        assert (now["edges"], len(past["edges"])) == ([], 1)
        line = await mcp.call("memory_kg_timeline", node_id=draft.id, relations=["related_to"])
        assert [(e["type"], e["relation"], e["target_id"]) for e in line["events"]] == [
            ("edge_added", "related_to", review.id),
            ("edge_invalidated", "related_to", review.id),
        ]
        erased = await mcp.call("memory_kg_erase", edge_id=past["edges"][0]["id"])
        gone = await mcp.call("memory_kg_query", start_id=draft.id, relations=["related_to"], as_of=then)
        assert (erased, gone["edges"]) == ({"erased": True, "pending": []}, [])
        about = await mcp.call("memory_kg_query", start_id=made["entity_id"], depth=1)
        assert {draft.id, review.id} <= {node["id"] for node in about["nodes"]}
        for arguments in (
            {"start_id": "nope"},
            {"start_id": draft.id, "depth": 9},
            {"start_id": draft.id, "as_of": "x"},
        ):
            await mcp.fail("memory_kg_query", **arguments)
        again_ended = {"source_id": draft.id, "target_id": review.id, "relation": "related_to"}
        assert "memory_kg_query" in (await mcp.fail("memory_kg_invalidate", **again_ended)).content[0].text
