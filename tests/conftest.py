"""A tiny world for each test: a clock that stands still, and a space in memory or in a folder."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import hypothesis
import pytest
from _pytest.doctest import DoctestModule

import remanence
from examples import examples
from postgres_server import Server, shared_server
from remanence.testing import FakeClock, HashingEmbedder

# Tests of the signals ask without a reader and by a table of word vectors; those of the models name them.
os.environ.setdefault("REMANENCE_READER", "none")
os.environ.setdefault("REMANENCE_EMBEDDER", "fast")

# Machines are shared and noisy: how long an example takes says nothing about the code.
hypothesis.settings.register_profile("patient", deadline=None, max_examples=examples(20))
hypothesis.settings.load_profile("patient")


# Files whose tests start processes, run notebooks or try hundreds of examples: `make quick` leaves them out.
SLOW_FILES = {
    f"test_{name}"
    for name in (
        "agents bad_input bm25 both_frameworks chat_store_differential cli crash docs encryption entities erasure "
        "extractors hostile_text import_sources imports inspector langchain_imports langgraph_checkpoints "
        "langgraph_differential ledger llm llm_answers many_spaces mcp_transports migration near_pairs "
        "notebook_display notebooks one_story package parallel_extraction passages processes properties server "
        "shared_qdrant transfer upkeep_vault name_vectors vectorstores written_down"
    ).split()
}
REMOTE_MODULES = frozenset(
    "test_langchain_retriever test_langchain_tools test_langchain_history test_langchain_users "
    "test_langchain_documents test_langgraph_store llamaindex.test_retriever llamaindex.test_tools "
    "llamaindex.test_block llamaindex.test_memory llamaindex.test_nodes llamaindex.test_chat_store "
    "llamaindex.test_vector_store".split()
)
"""The tests of adapters that run against a server, too."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of adapters against a space of this process and one over a connection."""
    if "space" in metafunc.fixturenames and metafunc.module.__name__ in REMOTE_MODULES:
        marks = pytest.mark.not_remote
        if not any(mark.name == marks.name for mark in metafunc.definition.iter_markers()):
            metafunc.parametrize("space", ["here", "server"], indirect=True)


@contextmanager
def as_asked(space: remanence.Space, request: pytest.FixtureRequest) -> Iterator[remanence.Space]:
    """A space as the parameter of its fixture says."""
    if getattr(request, "param", "here") == "here":
        yield space
        return
    from remote import connected  # here, as it takes a second to load FastAPI, and most files need none

    with connected(space) as remote:
        yield remote


def pytest_xdist_auto_num_workers() -> int:
    """How many processes `-n auto` starts: one for each core. One more would only import all modules once more."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a file of which `make quick` runs no test: some of them import much."""
    return True if _is_quick(config) and collection_path.stem in SLOW_FILES else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for no examples in the docstrings of tests: there are none, and looking takes a second in each process."""
    found = yield
    return [each for each in found if not isinstance(each, DoctestModule)]


def _is_quick(config: pytest.Config) -> bool:
    return bool(config.option.markexpr == "not slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage in the modules that the tests import: that takes seconds in each process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests, and leave out what an older Python cannot do."""
    for item in items:
        if item.path.stem in SLOW_FILES or _needs_server(item):
            item.add_marker(pytest.mark.slow)
    if sys.version_info < (3, 11):
        for item in items:
            if item.get_closest_marker("run_config"):
                item.add_marker(pytest.mark.skip(reason="async runs show their config from Python 3.11 on"))


def _needs_server(item: pytest.Item) -> bool:
    """Whether a test asks a REST server or PostgreSQL; there are others of the same code that do not."""
    chosen = item.callspec.params.values() if hasattr(item, "callspec") else ()
    names = [*getattr(item, "fixturenames", ()), *(each for each in chosen if isinstance(each, str))]
    return not {"server", "postgres", "database"}.isdisjoint(names)


@pytest.fixture
def clock() -> FakeClock:
    """Monday, 4 May 2026, nine o'clock."""
    return FakeClock("2026-05-04T09:00")


@pytest.fixture
def space(clock: FakeClock, request: pytest.FixtureRequest) -> Iterator[remanence.Space]:
    """An empty space that is gone with the test: in this process, or over a connection."""
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock) as space, as_asked(space, request) as asked:
        yield asked


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All texts and questions that a hashing embedder is asked for, in order."""
    texts: list[str] = []
    embed = HashingEmbedder.embed

    def recording(self: HashingEmbedder, given: Sequence[str]) -> Any:
        texts.extend(given)
        return embed(self, given)

    monkeypatch.setattr(HashingEmbedder, "embed", recording)
    return texts


@pytest.fixture
def at_once() -> int:
    """How many users there are at the same time: about as many as asyncio starts threads for."""
    return 12


@pytest.fixture
def porto(space: remanence.Space) -> remanence.Memory:
    """Where Ana lives."""
    return space.add("Ana lives in Porto.")


@pytest.fixture
def nuts(space: remanence.Space) -> remanence.Memory:
    """What Ana must not eat."""
    return space.add("Ana is allergic to hazelnuts.")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder for a space, not made yet."""
    return tmp_path / "memory"


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Types a command about the folder `home` and gives back what it printed."""

    def typed(*words: str, code: int = 0) -> str:
        from remanence.cli import main

        capsys.readouterr()
        assert main(["--memory", str(home), *words]) == code, capsys.readouterr().err
        out, err = capsys.readouterr()
        return (err if code else out).strip()

    return typed


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Server]:
    """A PostgreSQL server that all tests share; it is stopped with the last of them."""
    base = tmp_path_factory.getbasetemp()
    with shared_server(base if worker_id == "master" else base.parent) as server:
        yield server


@pytest.fixture(scope="session")
def worker_id() -> str:
    """Which process of the test session this is. pytest-xdist has this fixture too."""
    return os.environ.get("PYTEST_XDIST_WORKER", "master")


@pytest.fixture
def database(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a ledger of its own, not made yet, with its files in the folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    schema = f"test_{uuid4().hex}"
    return f"{postgres.url(schema)}&application_name={schema}"


@pytest.fixture(params=["folder", "postgres"])
def location(request: pytest.FixtureRequest) -> str:
    """Where a ledger can be: in a folder or a database, not made yet."""
    return str(request.getfixturevalue("home" if request.param == "folder" else "database"))


@pytest.fixture
def with_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every space has an index file and a shard of the vector engine, also a small one."""
    monkeypatch.setattr("remanence.index.projection._UNSAVED", 0)
    monkeypatch.setattr("remanence.index.vectors.stores.folder.ENGINE_FROM", 1)


@pytest.fixture
def reopen(home: Path, clock: FakeClock) -> Iterator[Callable[..., remanence.Space]]:
    """Opens the space in `home`, closing the one opened before."""
    held: list[remanence.Space] = []

    def open_again(**options: Any) -> remanence.Space:
        for before in held:
            before.close()
        held[:] = [remanence.open(home, **{"embedder": HashingEmbedder(), "clock": clock, **options})]
        return held[0]

    yield open_again
    for before in held:
        before.close()


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Threads take turns after a few instructions, so that an access without its lock is likely to fail."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
