"""Adapters written down and read again: in a context, in another process, after a restart, as copies."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, JsonSerializer, Workflow, step
from llama_index.core.workflow.events import StartEvent, StopEvent
from pydantic import ValidationError

import remanence
from llama_index_remanence import RemanenceAsyncChatStore, RemanenceChatStore, RemanenceMemory, RemanenceMemoryBlock
from llama_index_remanence.space_reference import close_opened
from llamaindex.scripted import texts, user
from new_interpreter import run_program


class Idle(Workflow):
    """A workflow to have a context of."""

    @step
    async def only(self, event: StartEvent) -> StopEvent:
        return StopEvent()


async def test_a_context_written_down_finds_the_space_again(space: remanence.Space) -> None:
    """In the same process, even one that is kept in memory only."""
    memory = RemanenceMemory(space, session_id="s1", max_tokens=300)
    memory.put(user("I live in Porto."))
    context = Context(Idle())
    await context.store.set("memory", memory)

    restored = Context.from_dict(Idle(), context.to_dict(serializer=JsonSerializer()))
    again = await restored.store.get("memory")

    assert isinstance(again, RemanenceMemory)
    assert again is not memory
    assert again.max_tokens == 300
    assert texts(again.get_all()) == ["I live in Porto."]


ELSEWHERE = """
import json, socket, sys

def refused(*args, **options):
    raise AssertionError(f"the network was asked for: {args[1:]}")

socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refused
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refused

from llama_index.core.llms import ChatMessage
from llama_index_remanence import RemanenceMemory
memory = RemanenceMemory.from_dict(json.load(sys.stdin))
(system,) = memory.get(input="Where am I from?")
print(memory.space.name, memory.get_all()[0].content, "Porto" in system.content)
memory.put(ChatMessage(role="assistant", content="Hello from elsewhere."))
"""


def test_another_process_opens_the_location_again_and_goes_on(home: Path) -> None:
    """A restart costs neither the window nor the memory; and the window follows whoever writes to it. Nothing asks the
    network, not for a tokenizer either."""
    RemanenceMemory(location=home, path=("users", "a/b")).put(user("I am from Porto."))
    memory = RemanenceMemory(location=home, path=("users", "a/b"), session_id="s1")
    memory.set([ChatMessage(role="system", content="Be brief.")])

    assert run_program(ELSEWHERE, stdin=memory.to_json()) == "default/users/a%2Fb Be brief. True\n"
    assert texts(memory.get_all()) == ["Be brief.", "Hello from elsewhere."]


def test_one_location_is_opened_once(home: Path) -> None:
    """Two memories of one folder share what they hold."""
    first, second = RemanenceMemory(location=home), RemanenceMemory(location=str(home))
    first.put(user("I live in Porto."))

    assert first.space is second.space
    assert "Porto" in (second.get(input="Where do I live?")[0].content or "")


def test_a_space_that_was_closed_is_opened_again_where_it_can_be(home: Path) -> None:
    """A memory that was written down outlives the space it was made with."""
    with remanence.open(home) as space:
        with pytest.raises(remanence.InvalidInput, match="is not where the space is"):
            RemanenceMemory(space, location=home.parent / "elsewhere")
        memory = RemanenceMemory(space, location=home, session_id="s1")
        memory.put(user("Hello."))
        written = memory.to_dict()
    del memory

    assert texts(RemanenceMemory.from_dict(written).get_all()) == ["Hello."]


def test_a_space_says_itself_where_it_is_kept(home: Path) -> None:
    """Given without a location, one in a folder is opened again all the same."""
    with remanence.open(home) as space:
        memory = RemanenceMemory(space.child("bob"), session_id="s1")
        memory.put(user("Hello."))
        written = memory.to_dict()
    del memory

    assert texts(RemanenceMemory.from_dict(written).get_all()) == ["Hello."]


def test_a_space_that_is_gone_is_named_with_the_way_out(clock: object) -> None:
    """What was kept in memory only cannot be had again, and nobody pretends."""
    with remanence.open(None) as space:
        written = RemanenceMemory(space.child("bob"), session_id="s1").to_dict()
    restored = RemanenceMemory.from_dict(written)

    with pytest.raises(remanence.NotFound, match=r"'default/bob' is not open .* attach\(space\)"):
        restored.get_all()

    with remanence.open(None) as other:
        restored.attach(other)
        restored.put(user("Hello."))
        assert texts(restored.get_all()) == ["Hello."]


def test_copies_hold_the_same_space(space: remanence.Space) -> None:
    """Frameworks copy what they are given."""
    memory = RemanenceMemory(space, session_id="s1")
    memory.put(user("Hello."))

    for other in (copy.deepcopy(memory), copy.copy(memory), memory.model_copy()):
        assert texts(other.get_all()) == ["Hello."]


ADAPTERS = [RemanenceMemory, RemanenceMemoryBlock, RemanenceChatStore, RemanenceAsyncChatStore]


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_pickles_find_the_space_again(space: remanence.Space, adapter: type[Any]) -> None:
    """Also after use: the space is not in them, nor what is known of it."""
    made = adapter(space)
    if isinstance(made, RemanenceMemory):
        made.put(user("Hello."))
    elif isinstance(made, RemanenceMemoryBlock):
        await made.aget([user("Hello.")])
    else:
        made._transcript.append("s", [user("Hello.")])

    again = pickle.loads(pickle.dumps(made))

    assert again.space is space
    assert again.model_dump() == made.model_dump()


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_misspelt_setting_is_refused(space: remanence.Space, adapter: type[Any]) -> None:
    """It would set nothing, and nobody would know."""
    with pytest.raises(ValidationError, match="reinforced"):
        adapter(space, reinforced=True)


def test_a_location_means_the_same_from_any_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written down whole."""
    home.mkdir(exist_ok=True)
    monkeypatch.chdir(home)
    memory = RemanenceMemory(location="memory", session_id="s1")
    memory.put(user("Hello."))
    written = memory.to_dict()
    close_opened()
    del memory
    monkeypatch.chdir("/")

    assert texts(RemanenceMemory.from_dict(written).get_all()) == ["Hello."]


def test_a_memory_is_persisted_and_loaded(home: Path, tmp_path: Path) -> None:
    """With its settings and its window; the file says where the space is."""
    path = str(tmp_path / "saved" / "memory.json")
    memory = RemanenceMemory(location=home, session_id="monday", token_limit=500, kinds=["semantic"])
    memory.put(user("I live in Porto."))
    memory.persist(path)
    close_opened()

    loaded = RemanenceMemory.from_persist_path(path)
    assert texts(loaded.get_all()) == ["I live in Porto."]
    assert (loaded.session_id, loaded.token_limit, loaded.kinds) == ("monday", 500, ("semantic",))


@pytest.mark.parametrize("adapter", [RemanenceMemoryBlock, RemanenceChatStore, RemanenceAsyncChatStore])
def test_blocks_and_stores_are_persisted_too(home: Path, tmp_path: Path, adapter: type[Any]) -> None:
    """Each is loaded by its own class."""
    path = str(tmp_path / "saved.json")
    saved = adapter(location=home, path=["users", "ana"])
    saved.persist(path)

    assert adapter.from_persist_path(path).space is saved.space
    with pytest.raises(remanence.InvalidInput, match=r"was not written by a RemanenceMemory\. Load it with"):
        RemanenceMemory.from_persist_path(path)


def test_what_is_in_memory_cannot_be_persisted(tmp_path: Path) -> None:
    """The file would lead nowhere."""
    with (
        remanence.open(None) as space,
        pytest.raises(remanence.InvalidInput, match="is in memory, so nothing could be loaded again"),
    ):
        RemanenceMemory(space).persist(str(tmp_path / "memory.json"))
    assert not list(tmp_path.iterdir())
