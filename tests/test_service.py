"""The service layer: requests and answers have the same shape at every interface, and answers lose nothing."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from pydantic import ValidationError

import remanence
from model_replies import USER_FACTS
from remanence import InvalidInput, NotFound, Space
from remanence.cli.parser import make_parser
from remanence.graph.history import HistoryEvent
from remanence.index.index import Index
from remanence.recall.answer import Recall
from remanence.service.client.remote_facets import (
    RemoteAdmin,
    RemoteAudit,
    RemoteEntities,
    RemoteGraph,
    RemoteJobs,
    RemoteProcedures,
    RemoteProposals,
)
from remanence.service.client.remote_space import RemoteSpace
from remanence.service.client.remote_upkeep import RemoteUpkeep
from remanence.service.endpoints import (
    admin_operations,
    decision_operations,
    entity_operations,
    files,
    graph_operations,
    map_operations,
    memory_operations,
    upkeep_operations,
)
from remanence.service.endpoints.files import FileReport, FileRequest
from remanence.service.error_wording import with_commands, without_calls
from remanence.service.hosting.spaces import Spaces, from_segment, to_segment
from remanence.service.noun_forms import adapter_of, to_json
from remanence.service.operations import OPERATION_OF, OPERATIONS, Operation
from remanence.service.requests import ReadRequest, Request
from remanence.space.facets.admin_facet import Admin
from remanence.space.facets.audit_facet import Audit
from remanence.space.facets.entity_facet import Entities
from remanence.space.facets.graph_facet import Graph
from remanence.space.facets.job_facet import Jobs
from remanence.space.facets.procedure_facet import Procedures
from remanence.space.facets.proposal_facet import Proposals
from remanence.space.facets.upkeep_facet import Upkeep
from remanence.testing import FakeClock
from remanence_server.mcp.operation_tools import operation_tool
from remanence_server.routes import operation_routes


def test_every_operation_has_an_address_of_its_own() -> None:
    """No two operations share a method and a path, and each path names fields of its request."""
    addresses = [(each.http_method, each.path) for each in OPERATIONS.values()]

    assert len(set(addresses)) == len(addresses)
    for each in OPERATIONS.values():
        assert set(re.findall(r"{(\w+)}", each.path)) <= set(each.request.model_fields), each.name
        assert each.description.endswith("."), each.name


def test_one_declaration_gives_the_route_the_method_of_the_client_and_the_tool() -> None:
    """For every operation, with the same arguments everywhere; a method of the client is not refused."""
    routes = {route.name: route for route in operation_routes() if isinstance(route, APIRoute)}
    for each in OPERATIONS.values():
        assert routes[each.name].path.endswith(each.path)
        arguments = inspect.signature(operation_tool(each)).parameters
        assert set(arguments) == {*each.request.model_fields, "max_tokens"}
    done = 0
    for local, remote in _REMOTE.items():
        for method in OPERATION_OF:
            if getattr(local, method.__name__, None) is method:
                assert getattr(remote, method.__name__).__code__.co_name != "refuse", method.__qualname__
                done += 1
    assert done == len(OPERATION_OF)


_REMOTE: dict[type, type] = {
    Space: RemoteSpace,
    Entities: RemoteEntities,
    Graph: RemoteGraph,
    Audit: RemoteAudit,
    Admin: RemoteAdmin,
    Jobs: RemoteJobs,
    Procedures: RemoteProcedures,
    Proposals: RemoteProposals,
    Upkeep: RemoteUpkeep,
}


def test_no_error_outside_of_python_names_a_method() -> None:
    """Of every message in the package that names a call: commands are named that exist, and no call is left."""
    messages, parser = list(_messages_with_calls()), make_parser()
    assert len(messages) > 20

    for message in messages:
        message = f"It failed. {message[0].upper()}{message[1:]}"
        assert not re.search(r"\b(space|remanence)\.\w+\(", without_calls(message) + with_commands(message)), message
        for command in re.findall("`remanence ([^`]+)`", with_commands(message)):
            parser.parse_args(shlex.split(command))
    for odd in (
        "there is no entity 'space.x()'.",
        "no space.entities.list( here",
        "space.x(" + "(" * 9_000 + ")" * 9_000,
    ):
        assert without_calls(odd) == odd  # a message is not left out as a whole


def test_what_the_commands_and_servers_say_of_an_unknown_id_names_no_method(space: Space) -> None:
    """Nor does what they say of text that cannot be stored. These messages are shown as they are."""
    for refused in (
        lambda: space.forget("m7"),
        lambda: space.graph.invalidate_edge("r7"),
        lambda: space.upkeep.import_vault(dry_run=True),
        lambda: space.add("a\0b"),
    ):
        with pytest.raises(remanence.RemanenceError) as caught:
            refused()
        assert "(" not in without_calls(str(caught.value))


def _messages_with_calls() -> Iterator[str]:
    """The texts in `raise` and in variables for it that contain a call, with an id in place of each value."""
    for path in Path(remanence.__file__).parent.rglob("*.py"):
        if {"adapters", "cli", "client"} & set(path.parts):
            continue  # for Python alone, or no error of the core
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Raise | ast.Assign):
                whole = {id(part) for each in ast.walk(node) if isinstance(each, ast.JoinedStr) for part in each.values}
                for inner in (each for each in ast.walk(node) if id(each) not in whole):
                    parts = inner.values if isinstance(inner, ast.JoinedStr) else [inner]
                    filled = [each.value if isinstance(each, ast.Constant) else "'7'" for each in parts]
                    text = "".join(map(str, filled)).replace("''", "'")
                    if re.search(r"\b(space|remanence)(\.[a-z_]+)+\([^(]*\)", text):
                        yield text


def test_all_reads_take_a_moment() -> None:
    """`as_of` is an argument of every operation that a view has, too."""
    of_a_view = {"recall", "get", "get_many", "find", "list_memories", "count", "profile", "stats", "diff"}
    of_a_view |= {"list_entities", "resolve", "graph", "query", "path", "when", "timeline", "disagreements", "changes"}

    assert all(issubclass(OPERATIONS[name].request, ReadRequest) for name in of_a_view)


@pytest.mark.parametrize(
    ("name", "method"), [("recall", remanence.View.recall), ("add", Space.add), ("relate", Graph.relate)]
)
def test_a_request_has_the_arguments_of_the_method(name: str, method: Callable[..., object]) -> None:
    """What can be said to the method can be said in a request."""
    assert set(inspect.signature(method).parameters) - {"self"} <= set(OPERATIONS[name].request.model_fields)


def test_an_answer_can_be_turned_back(space: Space, clock: FakeClock) -> None:
    """A memory, a recall and a history come back from JSON as they were."""
    space.add_turns([{"speaker": "Ana", "content": "I live in Porto.", "time": "2026-05-01", "conversation": "c"}])
    clock.advance(days=1)
    space.add("Ana lives in Lisbon.", tags=["home"], meta={"page": 3}, source="diary", valid_from="2026-05-03")
    space.entities.register("Ana", aliases=[("Anna", None, "2020-01-01")], kind="person")
    found = space.recall("Where does Ana live?", history=True)
    events = space.graph.timeline("Ana")

    read = adapter_of(Recall).validate_json(adapter_of(Recall).dump_json(found))
    assert [hit.memory for hit in read] == [hit.memory for hit in found]
    assert (read.explain(), read.receipt, str(read)) == (found.explain(), found.receipt, str(found))
    assert [hit.superseded_by for hit in read] == [hit.superseded_by for hit in found]
    texts = [adapter_of(HistoryEvent).dump_json(event) for event in events]
    assert [adapter_of(HistoryEvent).validate_json(text) for text in texts] == list(events)


def as_json(operation: Operation, space: Space, request: Request) -> Any:
    """The answer as the server gives it."""
    return json.loads(operation.adapter.dump_json(operation.run(space, request)))


def test_every_answer_is_written_as_its_schema_says(space: Space, clock: FakeClock) -> None:
    """What differs from the fields of a noun is in the description of the answer, too, and nothing else is written."""
    space.add_turns([{"speaker": "Ana", "content": "I live in Porto.", "time": "2026-05-01", "conversation": "c"}])
    clock.advance(days=1)
    space.add("Ana lives in Lisbon.", tags=["home"], meta={"page": 3}, source="diary", valid_from="2026-05-03")
    first, second = space.add_many(["The launch is in June.", "The launch is in July."])
    space.graph.link(first, "contradicts", second)
    space.touch(first.id)
    disagreeing = 0
    for query in ("Where does Ana live?", "When is the launch?"):
        request = memory_operations.recall.request(query=query, history=True, explain=True)
        written = as_json(memory_operations.recall, space, request)
        report = memory_operations.recall(space, query=query, history=True, explain=True)
        assert written["explanation"] == space.recall(query, history=True).explain()
        assert written["hits"] == [to_json(hit) for hit in report.recall]
        assert {"reason", "replacement", "superseded_by", "answer_probability"} <= set(written["hits"][0])
        disagreeing += sum(len(hit["disagreements"]) for hit in written["hits"])
    assert disagreeing
    for operation, arguments in (
        (memory_operations.recall, {"query": "Where does Ana live?"}),
        (memory_operations.get_many, {"ids": [first.id]}),
        (graph_operations.timeline, {"node": "Ana"}),
        (graph_operations.list_relations, {}),
        (entity_operations.list_entities, {}),
        (admin_operations.stats, {}),
    ):
        made = as_json(operation, space, operation.request.model_validate(arguments))
        _check_properties(made, operation.adapter.json_schema(mode="serialization"))


def _check_properties(value: Any, schema: dict[str, Any]) -> None:
    """Each object in a value has the properties that its schema lists."""

    def check(value: Any, part: dict[str, Any]) -> None:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        if "anyOf" in part:
            part = next((each for each in part["anyOf"] if (each.get("type") == "null") == (value is None)), part)
            return check(value, part)
        if "properties" in part:
            assert set(value) == set(part["properties"])
            for name, inner in part["properties"].items():
                check(value[name], inner)
        elif isinstance(value, list) and isinstance(part.get("items"), dict):
            for item in value:
                check(item, part["items"])
        return None

    check(value, schema)


def test_pages_have_every_memory_once(space: Space) -> None:
    """Going from cursor to cursor lists what `memories` lists, also while others write."""
    added = space.add_many([f"Fact number {number} is here." for number in range(7)])
    seen: list[str] = []
    cursor = None
    while True:
        page = memory_operations.list_memories(space, limit=3, cursor=cursor)
        seen += [memory.id for memory in page.items]
        if len(seen) == 3:
            added.append(space.add("One more is learned meanwhile."))
        cursor = page.next_cursor
        if cursor is None:
            break

    assert seen == [memory.id for memory in added]
    with pytest.raises(InvalidInput, match="not a cursor of this list"):
        memory_operations.list_memories(space, cursor="e30")


def test_a_listing_can_be_filtered(space: Space) -> None:
    """Filters on fields, on `meta` as JSON, and on the past."""
    space.add("Ana drinks tea.", meta={"page": 3}, tags=["drink"], now="2026-01-01")
    space.add("Ana eats cake.", meta={"page": 4}, now="2026-02-01")

    def texts(**fields: object) -> list[str]:
        request = memory_operations.list_memories.request.model_validate(fields)
        return [memory.text for memory in memory_operations.list_memories.run(space, request).items]

    assert texts(meta='{"page": {"$gt": 3}}') == ["Ana eats cake."]
    assert texts(tags=["drink"]) == texts(as_of="2026-01-15") == ["Ana drinks tea."]
    with pytest.raises(InvalidInput, match="not a JSON object"):
        texts(meta="[3]")


def test_changes_go_on_from_a_position(space: Space) -> None:
    """A live view asks for what came after the last position it has seen."""
    first = admin_operations.changes(space)
    memory = space.add("The bridge is closed.")
    space.forget(memory, why="it is open")
    page = admin_operations.changes(space, after=first.position, limit=1)
    rest = admin_operations.changes(space, after=page.position, limit=1)

    assert (first.items, first.has_more) == ([], False)
    assert [each.kind for each in (*page.items, *rest.items)] == ["remembered", "forgotten"]
    assert (page.has_more, rest.has_more, rest.items[0].why) == (True, False, "it is open")
    assert admin_operations.changes(space, after=rest.position).items == []


def test_a_plan_is_previewed_applied_and_undone(space: Space) -> None:
    """Nothing changes before `apply`, and `undo` reverses it."""
    old = space.add("It rained.", kind="episode", now="2020-01-01")
    plan = upkeep_operations.preview(space, step="gc")
    before = space.count()
    applied = upkeep_operations.apply(space, plan=plan.id)

    assert (plan.memories, before, space.count()) == ((old.id,), 1, 0)
    assert applied.hidden == (old.id,)
    with pytest.raises(NotFound, match="Preview again"):
        upkeep_operations.apply(space, plan=plan.id)
    upkeep_operations.undo(space, run=applied.id)
    assert space.count() == 1


def test_a_plan_takes_the_options_of_its_step_only(space: Space) -> None:
    """A folder of the server cannot be chosen, nor an option that another step has."""
    with pytest.raises(InvalidInput, match="vault"):
        upkeep_operations.preview(space, settings={"vault": "/tmp"})
    with pytest.raises(InvalidInput, match="ids is for promote"):
        upkeep_operations.preview(space, step="gc", ids=["m1"])


def test_similar_names_are_proposed_once(space: Space) -> None:
    """Each pair of entities once, whichever end it is found from."""
    space.add("Alice Smith runs AlphaOne.")
    space.add("A. Smith likes tea.")
    pairs = entity_operations.merge_proposals(space)

    assert [{pair.name, pair.other_name} for pair in pairs] == [{"Alice Smith", "A. Smith"}]


def test_a_cancelled_job_writes_nothing() -> None:
    """Its source stays stored."""
    with remanence.open(None, extractor=USER_FACTS, worker=False) as space:
        job = memory_operations.remember(space, text="I live in Porto.")
        cancelled = memory_operations.cancel_job(space, id=job.id)
        again = memory_operations.cancel_job(space, id=job.id)

        assert (job.status, cancelled.status, again.status) == ("queued", "cancelled", "cancelled")
        assert (space.jobs.run_due(), space.count()) == (0, 1)
        with pytest.raises(remanence.errors.JobFailed, match="cancelled"):
            space.jobs.get(job.id).result()
        assert [fact.text for fact in space.admin.reextract()] == ["The user lives in Porto."]


def test_remember_takes_one_of_text_and_turns(space: Space) -> None:
    """Neither, and both, are refused."""
    for given in ({}, {"text": "a", "turns": []}):
        with pytest.raises(InvalidInput, match="one of them"):
            memory_operations.remember(space, **given)


def test_an_unknown_field_is_refused() -> None:
    """A misspelt argument is not ignored."""
    with pytest.raises(ValidationError, match="qurey"):
        memory_operations.recall.request.model_validate({"qurey": "Where?"})


class TestSpaces:
    """Spaces by their full names."""

    def test_a_name_is_one_segment_of_a_path(self) -> None:
        """Whatever it contains, it comes back."""
        for name in ("default", "default/users/bob", "a~b/c~1", "~0/~", "ümlaut/%2F"):
            assert "/" not in to_segment(name)
            assert from_segment(to_segment(name)) == name

    def test_a_space_is_the_one_that_child_gives(self, space: Space) -> None:
        """Also if a part of its name has a slash."""
        child = space.child("users", "a/b%c")
        memory = child.add("Ana lives in Porto.")

        assert Spaces(space).get(child.name).get(memory.id) == memory
        assert Spaces(space).names() == [child.name]

    @pytest.mark.parametrize("name", ["", "a//b", "a/ ", "a/%vault", "a/%41", "/a"])
    def test_what_is_no_name_is_refused(self, space: Space, name: str) -> None:
        """The space of a vault is not reached by its name either."""
        with pytest.raises(InvalidInput):
            Spaces(space).get(name)

    def test_the_jobs_of_all_spaces_are_done_and_no_other_space_is_opened(self, home: Path) -> None:
        """What another process queues later is found, and a job that has to wait is looked at again."""
        with remanence.open(home, worker=False) as queuing, remanence.open(home, worker=False) as working:
            queuing.child("quiet").add("The bridge is closed.")
            jobs = [queuing.child("ann").remember("I live in Porto.", wait=False)]
            spaces = Spaces(working)
            assert (spaces.run_due_jobs(), spaces.run_due_jobs()) == (1, 0)
            jobs.append(queuing.child("bob").remember("I live in Braga.", wait=False))
            with queuing._engine.locks.acquire(jobs[1].id):
                assert spaces.run_due_jobs() == 0
            assert (spaces.run_due_jobs(), spaces.run_due_jobs()) == (1, 0)

            assert [job.status for job in jobs] == ["done", "done"]
            assert [name for name, _ in working._engine.indexes.items()] == ["default/ann", "default/bob"]

    def test_expired_memories_are_recorded_and_quiet_spaces_are_not_opened_again(
        self, space: Space, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The sweep of a server reads every space once, and then those where something may have happened."""
        space.child("quiet").add("The bridge is closed.")
        space.child("ann").add("The code is 4711.", expires_at="2027-01-02")
        spaces, opened = Spaces(space), list[str]()
        assert spaces.expire() == 0
        open_index = space._engine.open_index

        def spy(name: str, **options: bool) -> AbstractContextManager[Index]:
            opened.append(name)
            return open_index(name, **options)

        monkeypatch.setattr(space._engine, "open_index", spy)
        clock.advance(days=800)
        assert (spaces.expire(), spaces.expire()) == (1, 0)
        assert {*opened} == {"default/ann"}
        space.child("bob").add("The key is under the mat.", expires_at=clock.now() + timedelta(days=1))
        clock.advance(days=2)

        assert (spaces.expire(), spaces.expire()) == (1, 0)


def test_where_nothing_changed_no_entry_is_asked_for(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event stream of a server asks several times a second."""
    space.add("The bridge is closed.")
    page = admin_operations.changes(space, after=0)
    monkeypatch.setattr(space._engine.ledger, "read", None)
    again = admin_operations.changes(space, after=page.position)

    assert len(page.items) == 1
    assert (again.items, again.position, again.has_more) == ([], page.position, False)


class TestFiles:
    """Files become memories with their source."""

    def add(self, space: Space, folder: Path, name: str, content: str, **options: object) -> FileReport:
        path = folder / "upload"
        path = path.with_suffix(Path(name).suffix)
        path.write_text(content, "utf-8")
        return files.add_file(space, path, FileRequest.model_validate({"name": name, **options}))

    def test_text_is_split_into_paragraphs(self, space: Space, tmp_path: Path) -> None:
        """Each is a memory; the same file again adds nothing."""
        first = self.add(space, tmp_path, "notes.txt", "Ana lives\nin Porto.\n\n \nBob drinks tea.\n")
        again = self.add(space, tmp_path, "notes.txt", "Ana lives\nin Porto.\n\n \nBob drinks tea.\n")

        assert (first.added, again.added, again.unchanged) == (2, 0, 2)
        assert {(m.text, m.source) for m in space.memories()} == {
            ("Ana lives\nin Porto.", "notes.txt"),
            ("Bob drinks tea.", "notes.txt"),
        }

    def test_lines_of_json_are_rows_or_turns(self, space: Space, tmp_path: Path) -> None:
        """`text` makes a memory, `content` a chat turn."""
        rows = '{"text": "Ana drinks tea.", "tags": ["drink"]}\n{"text": "Bob runs."}\n'
        turns = json.dumps(
            [{"role": "user", "content": "I live in Porto."}, {"role": "assistant", "content": "Noted."}]
        )

        assert self.add(space, tmp_path, "rows.jsonl", rows).kind == "rows"
        assert self.add(space, tmp_path, "chat.json", turns, observed_by="Ana").kind == "turns"
        assert [m.turn.speaker for m in space.memories(conversation="chat.json") if m.turn] == ["Ana", "assistant"]
        assert [m.text for m in space.memories(tags="drink")] == ["Ana drinks tea."]

    def test_markdown_is_read_by_sections(self, space: Space, tmp_path: Path) -> None:
        """As notes of a folder are."""
        answer = self.add(space, tmp_path, "Ana.md", "# Food\nAna is allergic to hazelnuts.")

        assert (answer.kind, answer.added) == ("Markdown folder", 1)

    def test_a_file_of_another_program_is_known_by_what_is_in_it(self, space: Space, tmp_path: Path) -> None:
        """Also if it is called as rows are; a dry run says what would come."""
        graph = '{"type": "entity", "name": "Ana", "entityType": "person", "observations": ["Sails"]}\n'
        mem0 = '{"results": [{"id": "m", "memory": "Ana rows.", "actor_id": "Ana"}]}'
        planned = self.add(space, tmp_path, "all.json", mem0, dry_run=True)

        assert (planned.kind, planned.added, planned.dry_run, space.count()) == ("mem0 listing", 1, True, 0)
        assert planned.speakers == {"Ana": 1}
        assert self.add(space, tmp_path, "memory.jsonl", graph).kind == "MCP memory server file"
        assert self.add(space, tmp_path, "notes.csv", "text\nAna sails.\n").added == 1

    def test_an_export_comes_back(self, space: Space, tmp_path: Path) -> None:
        """With its ids, into an empty space."""
        memory = space.add("Ana lives in Porto.")
        admin_operations.export_file(space, tmp_path / "out.jsonl")
        other = space.child("copy")
        answer = files.add_file(other, tmp_path / "out.jsonl", FileRequest(name="out.jsonl"))

        assert (answer.kind, other.get(memory.id) is not None) == ("export", True)

    def test_what_cannot_be_read_is_named(self, space: Space, tmp_path: Path) -> None:
        """By the name that the caller gave, not by a path of the server."""
        with pytest.raises(InvalidInput) as error:
            self.add(space, tmp_path, "chat.json", '{"something": "else"}')
        assert "chat.json" in str(error.value)
        assert str(tmp_path) not in str(error.value)
        with pytest.raises(InvalidInput, match=r"By their names also text \(.txt\) and JSON lines"):
            self.add(space, tmp_path, "table.xyz", "a,b\n1,2\n")
        with pytest.raises(InvalidInput, match=r"^table\.csv: line 1: none of the columns"):
            self.add(space, tmp_path, "table.csv", "a,b\n1,2\n")
        assert space.count() == 0
        assert self.add(space, tmp_path, "note.txt", "Ana runs.").report == "note.txt (text): 1 memory added"


# Decisions, and the space at a glance


def test_a_decision_is_previewed_made_listed_and_undone(space: Space) -> None:
    """A preview changes nothing; what is decided is in the ledger with its reason, and undone by its position."""
    memory = space.add("Ana lives in Porto.")
    preview = decision_operations.preview_decision(space, "forget", memory.id)
    assert any("Ana lives in Porto" in effect for effect in preview.effects)
    assert space.count() == 1

    made = decision_operations.decide(space, "forget", memory.id, why="she asked")
    assert (made.kind, made.why, made.can_undo, space.count()) == ("forgotten", "she asked", True, 0)
    undone = decision_operations.undo_decision(space, position=made.position)
    assert (undone.kind, space.count()) == ("restored", 1)
    listed = decision_operations.decisions(space)
    assert [(each.kind, each.can_undo) for each in listed] == [("restored", True), ("forgotten", False)]
    with pytest.raises(InvalidInput, match="cannot be undone"):
        decision_operations.undo_decision(space, position=made.position)


def test_forgetting_is_previewed_with_what_holds_again(space: Space) -> None:
    """What the memory had replaced is named."""
    old, new = space.add("The bridge is open."), space.add("The bridge was closed on Monday.")
    space.graph.link(new, "supersedes", old)
    preview = decision_operations.preview_decision(space, "forget", new.id)
    assert "Holds again: “The bridge is open.”." in preview.effects


def test_a_supersedes_link_settles_a_conflict(space: Space) -> None:
    """The two are a correction then, and a conflict again once the link is undone."""
    one = space.add("Alice lives in Porto.", observed_by="Ann", valid_from="2024-01-01")
    two = space.add("Alice lives in Lisbon.", observed_by="Bob", valid_from="2024-01-01")
    assert len(space.graph.disagreements()) == 1
    made = decision_operations.decide(space, "supersede", two.id, one.id)
    assert (len(space.graph.disagreements()), len(space.graph.disagreements("correction"))) == (0, 1)
    decision_operations.undo_decision(space, position=made.position)
    assert len(space.graph.disagreements()) == 1


def test_what_an_upkeep_run_did_is_no_decision(space: Space) -> None:
    """Runs have a list of their own."""
    space.add("It rained.", kind="episode", now="2020-01-01")
    run = space.upkeep.apply(space.upkeep.gc(dry_run=True))
    assert run is not None
    space.upkeep.undo(run)
    assert decision_operations.decisions(space) == []


def test_a_decision_needs_what_its_action_takes(space: Space) -> None:
    """The error names what is missing, or does not fit."""
    with pytest.raises(InvalidInput, match="needs 'memory'"):
        decision_operations.decide(space, "forget")
    with pytest.raises(InvalidInput, match="does not fit"):
        decision_operations.decide(space, "forget", "m", into="e")


def test_the_map_has_the_entities_mentioned_most_and_what_belongs_together(space: Space) -> None:
    """Edges join entities that one memory mentions, or that a relation without a memory joins."""
    space.add_many(["Alice met Bob.", "Alice lives in Porto."])
    space.graph.relate("Porto", "twinned_with", "Duisburg")
    found = space.graph.entity_map()
    names = [node.name for node in found.nodes]
    joined = {frozenset((names[edge.source], names[edge.target])) for edge in found.edges}
    assert (names[0], found.nodes[0].mentions, found.total) == ("Alice", 2, 4)
    assert joined == {frozenset(("Alice", "Bob")), frozenset(("Alice", "Porto")), frozenset(("Porto", "Duisburg"))}
    assert len(space.graph.entity_map(limit=2).nodes) == 2


def test_days_and_what_was_learned_last(space: Space, clock: FakeClock) -> None:
    """Each day counts what was learned on it."""
    space.add("Ana lives in Porto.")
    clock.advance(days=1)
    space.add_many(["Bob runs.", "Bob swims."])
    assert [(each.day, each.learned) for each in map_operations.days(space).items] == [
        ("2026-05-04", 1),
        ("2026-05-05", 2),
    ]
    newest = map_operations.recent(space, limit=2)
    assert [memory.text for memory in newest] == ["Bob swims.", "Bob runs."]
