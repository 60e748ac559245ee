"""`remanence.compat.mem0`: the examples of mem0's README and quickstart, its results, and who sees what."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import remanence
from case_tables import cases
from model_replies import USER_FACTS
from remanence.compat.mem0 import AsyncMemory, Memory
from remanence.testing import HashingEmbedder

MOVIES = [
    {"role": "user", "content": "I'm planning to watch a movie tonight. Any recommendations?"},
    {"role": "assistant", "content": "How about a thriller? They can be quite engaging."},
    {"role": "user", "content": "I'm not a big fan of thriller movies but I love sci-fi movies."},
    {"role": "assistant", "content": "Got it! I'll avoid thrillers and suggest sci-fi movies in the future."},
]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(location=None, reader=None, embedder=HashingEmbedder()) as opened:
        yield opened


def texts(found: dict[str, Any]) -> list[str]:
    return [entry["memory"] for entry in found["results"]]


class TestTheExamplesOfMem0:
    def test_the_chat_of_the_readme(self, memory: Memory) -> None:
        """With a model that repeats its system prompt."""

        def chat_with_memories(message: str, user_id: str = "default_user") -> str:
            relevant_memories = memory.search(query=message, filters={"user_id": user_id}, top_k=3)
            memories_str = "\n".join(f"- {entry['memory']}" for entry in relevant_memories["results"])
            system_prompt = f"You are a helpful AI.\nUser Memories:\n{memories_str}"
            messages = [{"role": "system", "content": system_prompt}, {"role": "user", "content": message}]
            assistant_response = "I know: " + memories_str
            messages.append({"role": "assistant", "content": assistant_response})
            memory.add(messages, user_id=user_id)
            return assistant_response

        assert chat_with_memories("I play chess on Fridays.") == "I know: "
        assert "I play chess on Fridays." in chat_with_memories("When do I play chess?")
        assert chat_with_memories("When do I play chess?", user_id="bob") == "I know: "

    def test_the_quickstart(self, memory: Memory) -> None:
        added = memory.add(MOVIES, user_id="alice", metadata={"category": "movie_recommendations"})
        assert [(entry["memory"], entry["event"]) for entry in added["results"]] == [
            (message["content"], "ADD") for message in MOVIES
        ]
        assert set(texts(memory.get_all(filters={"user_id": "alice"}))) == {message["content"] for message in MOVIES}

        found = memory.search("sci-fi movies", filters={"user_id": "alice"})
        best = found["results"][0]
        assert "sci-fi" in best["memory"]
        assert best["metadata"] == {"category": "movie_recommendations"}
        assert best["user_id"] == "alice"
        assert 0 <= best["score"] <= 1

        memory_id = added["results"][2]["id"]
        assert memory.get(memory_id)["memory"] == MOVIES[2]["content"]  # type: ignore[index]
        assert memory.update(memory_id=memory_id, data="I love India, it is my favorite country.") == {
            "message": "Memory updated successfully!"
        }
        assert memory.get(memory_id)["memory"] == "I love India, it is my favorite country."  # type: ignore[index]
        assert memory.delete(memory_id=memory_id) == {"message": "Memory deleted successfully!"}
        assert memory.get(memory_id) is None
        assert [(each["event"], each["old_memory"], each["new_memory"]) for each in memory.history(memory_id)] == [
            ("ADD", None, MOVIES[2]["content"]),
            ("UPDATE", MOVIES[2]["content"], "I love India, it is my favorite country."),
            ("DELETE", "I love India, it is my favorite country.", None),
        ]
        assert memory.delete_all(user_id="alice") == {"message": "Memories deleted successfully!"}
        assert memory.get_all(filters={"user_id": "alice"}) == {"results": []}
        memory.reset()
        assert memory.history(memory_id) == []

    def test_a_result_has_the_fields_of_mem0(self, memory: Memory) -> None:
        memory.add("I am Alex.", user_id="alex", agent_id="coach", run_id="r1", metadata={"topic": "name"})
        [entry] = memory.get_all(filters={"user_id": "alex"})["results"]
        ids = {"user_id": "alex", "agent_id": "coach", "run_id": "r1", "role": "user", "metadata": {"topic": "name"}}
        assert ids.items() <= entry.items()
        assert set(entry) == {*ids, "id", "memory", "hash", "created_at", "updated_at"}
        assert entry["created_at"] == entry["updated_at"]

    def test_messages_as_they_are(self, memory: Memory) -> None:
        """`infer=False`, with names of speakers; messages of the system are left out."""
        given = [{"role": "system", "content": "Be kind."}, {"role": "user", "name": "Ana", "content": "I sail."}]
        [entry] = memory.add(given, run_id="trip", infer=False)["results"]
        assert (entry["memory"], entry["actor_id"], entry["event"]) == ("I sail.", "Ana", "ADD")
        assert texts(memory.search("sail", filters={"run_id": "trip", "actor_id": "Ana"})) == ["I sail."]
        assert texts(memory.search("sail", filters={"run_id": "trip", "actor_id": "Tom"})) == []


class TestWhoSeesWhat:
    def test_different_users_never_see_each_other(self, memory: Memory) -> None:
        names = ["alice", "bob", "alice/agents/x", "users", "a%2Fb", "agents"]
        for name in names:
            memory.add(f"The code of {name} is 4711.", user_id=name)
        for name in names:
            for found in (memory.search("code 4711", filters={"user_id": name}), memory.get_all(user_id=name)):
                assert texts(found) == [f"The code of {name} is 4711."]
                assert [entry["user_id"] for entry in found["results"]] == [name]
        memory.delete_all(user_id="alice")
        assert len(texts(memory.get_all(user_id="bob"))) == 1

    def test_an_agent_and_a_run_narrow_what_is_searched(self, memory: Memory) -> None:
        memory.add("I like tea.", user_id="alice")
        memory.add("I like trains.", user_id="alice", agent_id="travel")
        memory.add("I like boats.", user_id="alice", agent_id="travel", run_id="r1")
        memory.add("I like planes.", user_id="bob", agent_id="travel")
        assert len(texts(memory.search("like", user_id="alice"))) == 3
        assert set(texts(memory.get_all(user_id="alice", agent_id="travel"))) == {"I like trains.", "I like boats."}
        assert texts(memory.get_all(filters={"AND": [{"user_id": "alice"}, {"run_id": "r1"}]})) == ["I like boats."]
        assert len(texts(memory.get_all(agent_id="travel"))) == 3

    @pytest.mark.parametrize(
        ("filters", "found"),
        [
            ({"city": "Porto"}, {"a"}),
            ({"stars": {"gte": 3}}, {"b", "c"}),
            ({"OR": [{"city": "Porto"}, {"stars": 5}]}, {"a", "c"}),
            ({"NOT": [{"city": "Porto"}]}, {"b", "c"}),
            ({"city": {"in": ["Faro", "Porto"]}, "stars": {"lt": 4}}, {"a", "b"}),
            ({"city": "*"}, {"a", "b"}),
        ],
    )
    def test_filters_on_metadata(self, memory: Memory, filters: dict[str, Any], found: set[str]) -> None:
        for text, metadata in (
            ("a", {"city": "Porto", "stars": 1}),
            ("b", {"city": "Faro", "stars": 3}),
            ("c", {"stars": 5}),
        ):
            memory.add(f"Hotel {text}", user_id="alice", metadata=metadata)
        wanted = {f"Hotel {text}" for text in found}
        assert set(texts(memory.get_all(filters={"user_id": "alice", **filters}))) == wanted
        assert set(texts(memory.search("Hotel", filters={"user_id": "alice", **filters}))) == wanted

    def test_it_is_there_the_next_time(self, tmp_path: Path) -> None:
        """Also by its id alone."""
        config = {"vector_store": {"provider": "qdrant", "config": {"path": str(tmp_path / "memory")}}}
        with Memory.from_config(config) as memory:
            [entry] = memory.add("I sold the boat.", user_id="ana")["results"]
        with Memory.from_config(config) as memory:
            assert memory.get(entry["id"])["memory"] == "I sold the boat."  # type: ignore[index]


class TestChanges:
    def test_metadata_is_added_to_and_the_last_day_is_kept(self, memory: Memory) -> None:
        [entry] = memory.add("The pass is 12.", user_id="u", metadata={"a": 1}, expiration_date="2999-01-01")["results"]
        memory.update(entry["id"], metadata={"b": 2})
        changed = memory.get(entry["id"])
        assert (changed["memory"], changed["metadata"], changed["expiration_date"]) == (
            "The pass is 12.",
            {"a": 1, "b": 2},
            "2999-01-01",
        )
        memory.update(entry["id"], expiration_date=None)
        assert "expiration_date" not in (memory.get(entry["id"]) or {})

    def test_whose_a_memory_is_cannot_be_set_through_metadata(
        self, memory: Memory, caplog: pytest.LogCaptureFixture
    ) -> None:
        """As in mem0: the field is left out, and a warning says so, unless it says what is so anyway."""
        given = {"agent_id": "victim", "actor_id": "Eve", "topic": "x"}
        [entry] = memory.add("I sail.", user_id="a", metadata=given, infer=False)["results"]
        assert memory.get(entry["id"])["metadata"] == {"topic": "x"}  # type: ignore[index]
        assert [record.args for record in caplog.records] == [("agent_id",), ("actor_id",)]

        caplog.clear()
        memory.update(entry["id"], metadata={"user_id": "a", "run_id": "r", "stars": 3})
        assert memory.get(entry["id"])["metadata"] == {"topic": "x", "stars": 3}  # type: ignore[index]
        assert [record.args for record in caplog.records] == [("run_id",)]

    def test_the_older_name_of_the_text_warns(self, memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
        [entry] = memory.add("I sail.", user_id="a")["results"]
        memory.update(entry["id"], text="I row.")
        assert not caplog.records
        memory.update(entry["id"], data="I swim.")
        assert "`data` is an older name" in caplog.text

    def test_what_has_expired_is_shown_when_it_is_asked_for(self, memory: Memory) -> None:
        memory.add("The sale ends today.", user_id="u", expiration_date="2020-01-01")
        assert texts(memory.get_all(user_id="u")) == texts(memory.search("sale", user_id="u")) == []
        assert texts(memory.get_all(user_id="u", show_expired=True)) == ["The sale ends today."]
        assert texts(memory.search("sale", user_id="u", show_expired=True)) == ["The sale ends today."]

    def test_numbers_of_results_and_scores(self, memory: Memory) -> None:
        for number in range(25):
            memory.add(f"Note {number} about tea.", user_id="u")
        assert len(texts(memory.get_all(user_id="u"))) == len(texts(memory.search("tea", user_id="u"))) == 20
        assert len(texts(memory.search("tea", user_id="u", limit=3))) == 3
        assert texts(memory.search("tea", user_id="u", top_k=0)) == []
        assert texts(memory.search("zebra", user_id="u", threshold=1.0)) == []
        [explained] = memory.search("tea", user_id="u", top_k=1, explain=True)["results"]
        assert explained["score_details"]

    def test_facts_of_a_language_model_are_returned(self) -> None:
        """Of `infer=True`; the words stay, too."""
        with Memory(location=None, extractor=USER_FACTS, embedder=HashingEmbedder(), reader=None) as memory:
            added = memory.add("I drink tea.", user_id="u")
            assert texts(added) == ["The user drinks tea."]
            memory.update(added["results"][0]["id"], text="The user drinks coffee.")
            assert "The user drinks coffee." in texts(memory.get_all(user_id="u"))
            assert "The user drinks tea." not in texts(memory.get_all(user_id="u"))


class TestErrors:
    @cases("compat_mem0")
    def test_what_cannot_be_had_is_named(self, config: dict[str, Any], problem: str) -> None:
        with pytest.raises(ValueError, match=problem):
            Memory.from_config(config)

    def test_a_folder_of_mem0_itself_is_to_be_imported(self, tmp_path: Path) -> None:
        (tmp_path / "meta.json").write_text("{}")
        config = {"vector_store": {"provider": "qdrant", "config": {"path": str(tmp_path)}}}
        with pytest.raises(remanence.InvalidInput, match="import_from"):
            Memory.from_config(config)

    @pytest.mark.parametrize(
        ("call", "problem"),
        [
            (lambda memory: memory.add("x"), "At least one of user_id"),
            (lambda memory: memory.search("x"), "At least one of user_id"),
            (lambda memory: memory.get_all(filters={"OR": [{"user_id": "a"}]}), "stands in OR or NOT"),
            (lambda memory: memory.get_all(filters={"user_id": "a", "NOT": [{"user_id": "b"}]}), "stands in OR or NOT"),
            (lambda memory: memory.delete_all(), "At least one of user_id"),
            (lambda memory: memory.add("x", user_id="a b"), "without spaces"),
            (lambda memory: memory.search("x", user_id="a", filters={"user_id": "b"}), "both 'a' and 'b'"),
            (lambda memory: memory.add(7, user_id="a"), "messages=7"),
            (lambda memory: memory.add("x", user_id="a", memory_type="procedural_memory"), "memory_type"),
            (lambda memory: memory.search(" ", user_id="a"), "query=' '"),
            (lambda memory: memory.search("x", user_id="a", threshold=2), "threshold=2"),
            (lambda memory: memory.search("x", user_id="a", top_k=-1), "top_k=-1"),
            (lambda memory: memory.search("x", filters={"user_id": "a", "n": {"icontains": "x"}}), "'icontains'"),
            (lambda memory: memory.delete("nothing"), "Memory with id nothing not found"),
            (lambda memory: memory.update("nothing", text="x"), "Memory with id nothing not found"),
            (lambda memory: memory.update("nothing"), "nothing is to be changed"),
            (lambda memory: memory.add("x", user_id="a", expiration_date="soon"), "expiration_date='soon'"),
        ],
    )
    def test_a_wrong_call_is_a_value_error(self, memory: Memory, call: Any, problem: str) -> None:
        with pytest.raises(ValueError, match=problem):
            call(memory)
        assert memory.space.spaces() == []

    def test_nothing_to_store_stores_nothing(self, memory: Memory) -> None:
        assert memory.add([{"role": "system", "content": "Be kind."}], user_id="a") == {"results": []}
        assert memory.get("nothing") is None
        assert memory.history("nothing") == []


def test_the_async_class_has_the_same_methods() -> None:
    """And the same results."""

    async def use() -> list[str]:
        async with AsyncMemory(location=None, reader=None, embedder=HashingEmbedder()) as memory:
            await memory.add("I sail.", user_id="ana")
            assert (await memory.search("sail", user_id="bob"))["results"] == []
            return texts(await memory.get_all(user_id="ana"))

    assert asyncio.run(use()) == ["I sail."]
    public = {name for name in vars(Memory) if not name.startswith("_")}
    assert public == {name for name in vars(AsyncMemory) if not name.startswith("_")}
