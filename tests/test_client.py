"""`remanence.connect`: a space of a server, with the methods of `Space`."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import remanence
from model_replies import USER_FACTS
from remanence import InvalidInput, NotFound, RemanenceError, Space, View, errors
from remanence.adapters import is_space, is_view
from remanence.errors import LedgerUnavailable
from remanence.service.hosting.tokens import TokenStore
from remanence.testing import FakeClock, HashingEmbedder, evaluate
from remanence_server import ServerSettings, create_app
from remote import connected


@pytest.fixture
def remote(space: Space) -> Iterator[Space]:
    with connected(space) as remote:
        yield remote


def test_the_same_life_over_a_connection(space: Space, remote: Space, clock: FakeClock) -> None:
    """What is written over there is read here, and the other way round, as equal values."""
    memory = remote.add("Ana lives in Porto.", tags="home", meta={"page": 3}, valid_from="2026-01-01")
    clock.advance(days=1)
    newer = remote.add("Ana lives in Lisbon.", valid_from=clock.now())
    before = clock.now()
    clock.advance(days=1)
    remote.forget(newer, why="wrong")

    assert space.get(memory.id) == memory == remote.get(memory.id)
    assert (remote.get(newer), remote.count(), remote.as_of(before).count()) == (None, 1, 2)
    assert [*remote.memories(tags="home", meta={"page": {"$gt": 2}})] == [memory]
    assert remote.graph.timeline(newer) == space.graph.timeline(newer)
    assert remote.recall("Where is Ana?").explain() == space.recall("Where is Ana?").explain()
    assert remote.as_of(before).recall("Where does Ana live?")[0].memory == newer
    remote.unforget(newer)
    assert [hit.memory.id for hit in remote.recall("Where does Ana live?")] == [newer.id]


def test_facets_do_the_same(space: Space, remote: Space) -> None:
    """Entities, the graph, audit, jobs, upkeep and numbers."""
    first = remote.add("Alice works at Acme.")
    second = remote.add("Bob works at Acme.")
    remote.entities.register("Alice", aliases=[("Ally", None, "2020-01-01")], kind="person")
    merged = remote.entities.merge("Bob", "Alice", why="a test")
    remote.entities.undo(merged)
    remote.graph.relate("Alice", "knows", "Bob", evidence=first)
    remote.graph.link(second, "supports", first)
    [ended] = remote.graph.invalidate("Alice", "knows", "Bob", why="no more")
    recorded = remote.audit.record(remote.recall("Who works at Acme?"))

    assert remote.entities.resolve("Ally", at="2019-01-01") == space.entities.resolve("Ally", at="2019-01-01")
    assert list(remote.entities.list(page_size=2, page=2)) == list(space.entities.list(page_size=2, page=2))
    assert str(remote.graph.path("Alice", "Bob")) == str(space.graph.path("Alice", "Bob"))
    assert remote.graph.entity_map() == space.graph.entity_map()
    assert remote.graph.query("Alice") == space.graph.query("Alice")
    assert remote.graph.show("Alice").page() == space.graph.show("Alice").page()
    assert remote.graph.show_timeline() == space.graph.show_timeline()
    assert remote.graph.timeline("Alice") == space.graph.timeline("Alice")
    assert remote.graph.when("Alice", "knows") == [ended]
    assert list(remote.audit.changes()) == list(space.audit.changes())
    assert [hit.memory for hit in remote.audit.replay(recorded)] == [hit.memory for hit in space.audit.replay(recorded)]
    assert remote.admin.stats() == space.admin.stats()
    assert remote.get_many([first, "m7"]) == space.get_many([first, "m7"])
    assert str(remote.profile()) == str(space.profile())
    assert remote.graph.memories() == space.graph.memories()
    assert [hit.memory for hit in remote.recent()] == [hit.memory for hit in space.recent()] != []
    assert [hit.memory for hit in remote.recent(limit=1, min_trust=0.5)] == [space.recent()[0].memory]
    assert list(remote.memories(without="gossip", min_trust="user")) == list(remote.memories(min_trust=0.5)) != []
    with pytest.raises(InvalidInput, match=r"query='  ' is blank.*recent\(\)"):
        remote.recall("  ")
    with pytest.raises(InvalidInput, match="neither 'preview'"):
        remote.upkeep.consolidate("merge", dry_run=True)  # type: ignore[arg-type]


def test_filters_without_names_and_iterators_are_those_of_the_space(space: Space, remote: Space) -> None:
    """An address has no empty lists: an empty filter is not left out, so that nothing else is listed."""
    remote.add("Ana rows.", source="mail")
    remote.add("Bob swims.", source="chat")
    empty: list[str] = []

    for nothing in ({"source": empty}, {"speaker": empty}, {"conversation": empty}, {"kinds": empty}):
        assert list(remote.memories(**nothing)) == list(space.memories(**nothing)) == []
    assert [memory.text for memory in remote.memories(source=iter(["mail"]))] == ["Ana rows."]  # type: ignore[arg-type]
    assert len(list(remote.memories(tags=empty))) == 2


def test_upkeep_is_planned_applied_and_undone(space: Space, remote: Space) -> None:
    """Over there, as here."""
    old = remote.add("It rained.", kind="episode", now="2020-01-01")
    plan = remote.upkeep.gc(dry_run=True)
    run = remote.upkeep.apply(plan)
    hidden = space.count()

    assert (len(plan), str(plan).startswith("gc: would"), hidden) == (1, True, 0)
    assert run in remote.upkeep.runs()
    remote.upkeep.undo(run)
    assert [each.memory for each in remote.upkeep.decay()] == [old.id]


def test_jobs_are_done_by_the_server() -> None:
    """Their results are waited for here; what was learned from messages is the same."""
    with remanence.open(None, embedder=HashingEmbedder(), extractor=USER_FACTS) as space, connected(space) as remote:
        job = remote.remember([{"role": "user", "content": "I live in Porto."}], wait=False)

        assert [fact.text for fact in job.result(timeout=20)] == ["The user lives in Porto."]
        assert (job.status, [each.id for each in remote.jobs.list()]) == ("done", [job.id])
        assert [fact.text for fact in remote.remember("I drink tea.")] == ["The user drinks tea."]


def test_what_is_kept_as_it_was_said_is_returned_by_a_job(remote: Space) -> None:
    """Without a language model."""
    job = remote.remember([{"role": "user", "content": "I live in Porto."}], wait=False)

    assert [memory.text for memory in job.result(timeout=20)] == ["I live in Porto."]


def test_files_are_sent_and_fetched(remote: Space, tmp_path: Path) -> None:
    """An export of one space is imported into another."""
    memory = remote.add("Ana lives in Porto.")
    for wrong in (tmp_path, tmp_path / "no" / "out.jsonl"):
        with pytest.raises(remanence.InvalidInput, match="cannot be written"):
            remote.admin.export(wrong)
    remote.admin.export(tmp_path / "out.jsonl.gz")
    report = remote.child("copy").admin.import_from(tmp_path / "out.jsonl.gz")

    assert (report.kind, remote.child("copy").get(memory.id) is not None) == ("export", True)
    (tmp_path / "notes.csv").write_text("text,date\nAna sails.,2026-05-01\n")
    planned = remote.admin.import_from(tmp_path / "notes.csv", dry_run=True)
    assert (planned.added, planned.dry_run, planned.kinds, remote.count()) == (1, True, {"memory": 1}, 1)
    assert remote.spaces() == ["default", "default/copy"]


def test_texts_are_stored_over_a_connection_before_they_have_vectors() -> None:
    """The server makes the vectors in the background; `stats` counts what is left."""

    class Waiting(HashingEmbedder):
        gate = threading.Event()

        def embed(self, texts: Sequence[str]) -> Any:
            assert self.gate.wait(60)
            return super().embed(texts)

    embedder = Waiting()
    with remanence.open(None, embedder=embedder, reader=None) as space, connected(space) as remote:
        remote.add_many(["Ana lives in Porto.", {"text": "Bob sails.", "tags": ["sport"]}], wait=False)
        [turn] = remote.add_turns([{"speaker": "Ana", "content": "I moved to Lisbon."}], wait=False)
        assert remote.admin.stats().unembedded == 3
        assert remote.recall("Lisbon", signals=["words"])[0].memory == turn
        embedder.gate.set()
        deadline = time.monotonic() + 60
        while remote.admin.stats().unembedded and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not remote.recall("Lisbon").missing


def test_a_deadline_holds_over_a_connection() -> None:
    """What was not read by then is ranked by the signals, and the answer says so."""
    go = threading.Event()

    def read(question: str, texts: Sequence[str]) -> list[float]:
        go.wait(10)
        return [0.9] * len(texts)

    with remanence.open(None, embedder=HashingEmbedder(), reader=read) as space, connected(space) as remote:
        space.add("Ana lives in Porto.")
        late = remote.recall("Where does Ana live?", deadline=0.05)
        go.set()
        in_time = remote.recall("Where does Ana live?", deadline=10)

    assert (len(late), late.missing) == (1, {"reader": "the hits were not read by the deadline"})
    assert (in_time.missing, in_time.confidence) == ({}, 0.9)


def test_errors_are_the_same(remote: Space) -> None:
    """The class and the message of the exception that the server met."""
    with pytest.raises(NotFound, match="nothing"):
        remote.forget("nothing")
    with pytest.raises(InvalidInput, match="florgle"):
        remote.recall("Where?", during="florgle")
    with pytest.raises(InvalidInput, match="importance"):
        remote.add("Ana runs.", importance=7)
    with pytest.raises(InvalidInput, match="open"):
        evaluate(remote, {"Where?": "there"})
    assert remote.count() == 0


def test_a_token_is_needed_where_the_server_says_so(space: Space) -> None:
    """A wrong one is told at once."""
    tokens = TokenStore(None)
    secret, _ = tokens.create("bob", spaces=["default"], access="read")
    with connected(space, tokens=tokens, token=secret, require_token=True) as remote:
        assert remote.count() == 0
        with pytest.raises(RemanenceError, match="allows 'read'"):
            remote.add("Ana runs.")
    with pytest.raises(RemanenceError, match="a token is needed"), connected(space, tokens=tokens, require_token=True):
        raise AssertionError("it connected")


def test_a_server_that_does_not_answer_is_named() -> None:
    """With its address."""
    with pytest.raises(LedgerUnavailable, match=r"127\.0\.0\.1:9 does not answer"):
        remanence.connect("http://127.0.0.1:9")
    with pytest.raises(InvalidInput, match="not the address"):
        remanence.connect("./memory")


async def test_async_variants(remote: Space) -> None:
    """They come with the methods."""
    memory = await remote.aadd("Ana lives in Porto.")
    assert (await remote.arecall("Ana"))[0].memory == memory
    assert [each async for each in remote.amemories()] == [memory]


def test_it_is_a_space_without_an_engine(space: Space, remote: Space) -> None:
    """Adapters tell a space from a view of the past and from other things by its methods."""
    spaces: list[object] = [space, remote]
    views: list[object] = [space.as_of("2026-05-01"), remote.as_of("2026-05-01")]
    assert [is_space(each) for each in (*spaces, *views, "space", Space)] == [True, True, False, False, False, False]
    assert [is_view(each) for each in (*spaces, *views, "space", Space)] == [True, True, True, True, False, False]
    assert not isinstance(remote, View)
    assert not [part for part in (remote, remote.graph, remote.jobs, remote.upkeep) if hasattr(part, "_engine")]
    with pytest.raises(InvalidInput, match="over a connection"):
        remote.upkeep.missed_recalls()


def test_the_briefing_and_what_was_spent(space: Space, remote: Space) -> None:
    """The briefing is the same, to the byte."""
    remote.remember([{"role": "user", "content": "we live in Porto, near the river"}])
    assert remote.briefing() == space.briefing() != ""
    assert remote.as_of("2020-01-01").briefing() == ""
    assert remote.jobs.spent() == space.jobs.spent()


def test_clients_in_other_languages_get_the_same_block(space: Space) -> None:
    """`POST /for-prompt` is `for_prompt`, also of the past and for a message that needs nothing."""
    space.add("My sister Ana is allergic to shellfish.", now="2026-05-04")
    turns = [{"role": "user", "content": "Let's plan a dinner for my sister Ana."}]
    asked = {"message": "What should she avoid?", "max_tokens": 200, "now": "2026-06-01"}
    block = space.for_prompt(turns=turns, **asked)
    with TestClient(create_app(space, settings=ServerSettings(sweep_seconds=0)), base_url="http://127.0.0.1") as client:
        answers = [
            client.post("/v1/spaces/default/for-prompt", json=given).json()
            for given in ({**asked, "turns": turns}, {"message": "Thanks!"}, {**asked, "as_of": "2020-01-01"})
        ]
        refused = client.post("/v1/spaces/default/for-prompt", json={**asked, "turns": "What?"})
    assert [answer["text"] for answer in answers] == [block.text, "", ""]
    assert [hit["memory"]["id"] for hit in answers[0]["hits"]] == [hit.memory.id for hit in block.hits] != []
    assert answers[1]["skip_reason"] == "it is blank or only a greeting"
    assert refused.status_code == 422


def test_every_method_is_there(remote: Space) -> None:
    """What is not done over a connection is a known list."""
    not_remote = {"missed_recalls", "import_vault", "start"}
    inherited = {
        "for_prompt",
        "recent",
        "get",
        "show",
        "save",
        "to_igraph",
        "to_networkx",
        "show_timeline",
        "with_settings",
    }
    for part in (remote, remote.graph, remote.entities, remote.audit, remote.admin, remote.jobs, remote.upkeep):
        for name, method in inspect.getmembers(type(part), inspect.isfunction):
            is_async = name.startswith("a") and hasattr(part, name[1:])
            if name.startswith("_") or is_async or name in not_remote | inherited:
                continue
            assert method.__code__.co_filename.endswith(tuple(_CLIENT_FILES)), f"{type(part).__name__}.{name}"


_CLIENT_FILES = ("arguments.py", "remote_space.py", "remote_facets.py", "remote_upkeep.py")


def test_a_refused_token_has_an_exception_of_its_own(space: Space) -> None:
    """Whether to sign in again or to ask for more rights can be told apart."""
    tokens = TokenStore(None)
    secret, _ = tokens.create("bob", spaces=["default"], access="read")
    with connected(space, tokens=tokens, token=secret, require_token=True) as remote:
        with pytest.raises(errors.AccessDenied, match="this token allows 'read'") as refused:
            remote.add("Bob runs.")
        assert not isinstance(refused.value, errors.InvalidToken)
    wrong = connected(space, tokens=tokens, token="rem_wrong", require_token=True)
    with pytest.raises(errors.InvalidToken), wrong as remote:
        remote.count()


def test_text_that_cannot_be_sent_is_refused_as_it_is_locally(remote: Space) -> None:
    """Half of a surrogate pair is no text."""
    with pytest.raises(errors.InvalidInput):
        remote.add("\ud800")
    with pytest.raises(errors.InvalidInput):
        remote.remember([{"role": "user", "content": "\ud800"}])
