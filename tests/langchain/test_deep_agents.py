"""The files of a deep agent in a space: as in the backend for stores, with every version kept."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_models import Actor

import remanence
from remanence import MemoryFiles

deepagents = pytest.importorskip(
    "deepagents", reason="deepagents is not installed: pip install remanence-memory[deepagents]"
)

from deepagents.backends import CompositeBackend, StateBackend, StoreBackend  # noqa: E402
from langgraph.store.memory import InMemoryStore  # noqa: E402

from langchain_remanence import RemanenceBackend  # noqa: E402


@pytest.fixture
def backend(space: remanence.Space) -> RemanenceBackend:
    return RemanenceBackend(space)


def story(backend: Any) -> list[Any]:
    """What a backend answers to each call, without times."""
    backend.write("/a.md", "one\ntwo\nthree\n")
    backend.write("/notes/b.py", "print('tea')\n")
    backend.write("/notes/deep/c.md", "tea")
    answers = [
        backend.write("/a.md", "one\ntwo\ntea\n"),
        backend.read("/a.md", 1, 1),
        backend.read("/a.md", 9),
        backend.read("/no.md"),
        backend.edit("/a.md", "tea", "milk"),
        backend.edit("/a.md", "o", "0"),
        backend.edit("/a.md", "o", "0", replace_all=True),
        backend.edit("/a.md", "gone", "x"),
        backend.edit("/no.md", "a", "b"),
        backend.grep("tea"),
        backend.grep("tea", "/notes", "*.md"),
        backend.grep("tea", max_count=1),
        backend.ls("/"),
        backend.ls("/notes"),
        backend.glob("*.md"),
        backend.glob("**/*.py", "/notes"),
        backend.upload_files([("/t.txt", b"text"), ("/i.png", b"\x89PNG\xff\x00")]),
        backend.download_files(["/t.txt", "/i.png", "/no"]),
        backend.edit("/i.png", "a", "b"),
        backend.delete("/i.png"),
        backend.delete("/notes"),
        backend.delete("/notes"),
        backend.ls("/"),
    ]
    return [_without_times(answer) for answer in answers]


def _without_times(answer: Any) -> Any:
    if isinstance(answer, list):
        return sorted((_without_times(each) for each in answer), key=repr)
    if isinstance(answer, dict):
        return {name: _without_times(value) for name, value in answer.items() if not name.endswith("_at")}
    fields = getattr(answer, "__dataclass_fields__", None)
    return answer if fields is None else _without_times({name: getattr(answer, name) for name in fields})


def test_every_call_is_answered_as_by_the_backend_for_stores(backend: RemanenceBackend) -> None:
    """The same files, the same results, the same error messages."""
    assert story(backend) == story(StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files",)))


def test_every_write_is_a_version(space: remanence.Space, backend: RemanenceBackend) -> None:
    backend.write("/a.md", "1")
    backend.edit("/a.md", "1", "2")
    backend.delete("/a.md")

    assert [version.content for version in MemoryFiles(space).history("/memories/a.md")] == ["1", "2", None]


@pytest.mark.parametrize("path", ["../x", "/../x", "/a/../../x", "/a\\b", "/a\0", ""])
def test_a_wrong_path_is_an_error_and_not_an_exception(backend: RemanenceBackend, path: str) -> None:
    """A model may give any text as a path."""
    for answer in (backend.read(path), backend.write(path, "x"), backend.edit(path, "a", "b"), backend.delete(path)):
        assert answer.error
    assert backend.upload_files([(path, b"x")])[0].error == "invalid_path"
    assert backend.download_files([path])[0].error == "invalid_path"
    assert backend.glob("../*").error
    assert backend.ls("/").entries == []


def test_a_folder_is_no_file(backend: RemanenceBackend) -> None:
    backend.write("/a/b.md", "x")

    assert "is not a file" in (backend.write("/a", "x").error or "")
    assert "already exists" in (backend.write("/a/b.md/c", "x").error or "")
    assert backend.download_files(["/a"])[0].error == "is_directory"
    assert backend.upload_files([("/big", b"x" * 2_000_001)])[0].error == (
        "text has 2,000,001 characters. At most 2,000,000 are allowed: split it."
    )


def test_a_deep_agent_keeps_its_memories_in_a_space(space: remanence.Space) -> None:
    """Other files stay in the state of the thread."""
    write = {"name": "write_file", "args": {"file_path": "/memories/tea.md", "content": "Ana drinks tea."}, "id": "1"}
    other = {"name": "write_file", "args": {"file_path": "/draft.md", "content": "x"}, "id": "2"}
    model = Actor(lines=[AIMessage("", tool_calls=[write]), AIMessage("", tool_calls=[other]), "Done."])
    backend = CompositeBackend(default=StateBackend(), routes={"/memories/": RemanenceBackend(space)})
    answer = deepagents.create_deep_agent(model, backend=backend).invoke({"messages": [("user", "Note it.")]})

    assert MemoryFiles(space).read("/memories/tea.md").content == "Ana drinks tea."
    assert list(answer["files"]) == ["/draft.md"]


@pytest.mark.run_config
async def test_each_user_has_their_own_files(space: remanence.Space) -> None:
    write = {"name": "write_file", "args": {"file_path": "/tea.md", "content": "x"}, "id": "1"}
    model = Actor(lines=[AIMessage("", tool_calls=[write]), "Done."])
    agent = deepagents.create_deep_agent(model, backend=RemanenceBackend(space, user_key="user_id"))
    await agent.ainvoke({"messages": [("user", "Note it.")]}, {"configurable": {"user_id": "ana"}})

    assert MemoryFiles(space.child("users", "ana")).files()
    assert not MemoryFiles(space.child("users", "bob")).files()


def test_a_file_is_read_by_its_ending(space: remanence.Space) -> None:
    """As StoreBackend does: a film has no lines, whatever it contains."""
    files = RemanenceBackend(space)
    files.write("/clip.mkv", "one line")
    files.write("/note.txt", "one line")

    assert files.read("/clip.mkv", offset=5).error is None
    assert "exceeds" in (files.read("/note.txt", offset=5).error or "")
