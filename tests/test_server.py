"""The REST server: routes, access, limits, and an end that loses nothing."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient

import remanence
from examples import examples
from live_server import served
from model_replies import USER_FACTS, FactsByQuotation
from remanence import InvalidInput, Space
from remanence.cli import main
from remanence.ports import ExtractionResult, Utterance
from remanence.service.endpoints import admin_operations
from remanence.service.hosting.server_database import open_database
from remanence.service.hosting.tokens import TokenStore
from remanence.testing import FakeClock, HashingEmbedder
from remanence_server import ServerSettings, create_app, serve
from remanence_server.connections import max_connections
from remote import connected

BASE = "/v1/spaces/default"


def client_of(space: Space, tokens: TokenStore | None = None, **settings: Any) -> TestClient:
    app = create_app(space, settings=ServerSettings(**{"sweep_seconds": 0, **settings}), tokens=tokens)
    return TestClient(app, base_url="http://127.0.0.1")


@pytest.fixture
def client(space: Space) -> Iterator[TestClient]:
    with client_of(space) as client:
        yield client


def test_what_is_added_is_recalled_with_reasons(client: TestClient, space: Space) -> None:
    """Over HTTP as in the program, in the same shape as `--json`."""
    added = client.post(f"{BASE}/memories", json={"text": "Ana lives in Porto.", "tags": ["home"]})
    found = client.post(f"{BASE}/recall", json={"query": "Where does Ana live?", "explain": True})

    assert (added.status_code, space.count()) == (201, 1)
    [hit] = found.json()["hits"]
    assert hit["memory"] == added.json()
    assert sum(each["share"] for each in hit["evidence"]) == pytest.approx(hit["score"], abs=0.02)
    assert "Ana lives in Porto." in found.json()["explanation"]


def test_remember_is_a_job(clock: FakeClock) -> None:
    """202 with an id, which can be asked for and cancelled."""
    with (
        remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=USER_FACTS, worker=False) as space,
        client_of(space) as client,
    ):
        job = client.post(f"{BASE}/remember", json={"text": "I live in Porto."})
        other = client.post(f"{BASE}/remember", json={"text": "I drink tea."}).json()["id"]
        client.post(f"{BASE}/jobs/{other}/cancel")
        space.jobs.run_due()
        done = client.get(f"{BASE}/jobs/{job.json()['id']}").json()

        assert (job.status_code, job.json()["status"], done["status"]) == (202, "queued", "done")
        assert space.get(done["memories"][0]).text == "The user lives in Porto."  # type: ignore[union-attr]
        assert client.get(f"{BASE}/jobs", params={"status": "cancelled"}).json()["items"][0]["id"] == other


def test_a_space_with_slashes_is_one_segment(client: TestClient, space: Space) -> None:
    """`~1` in place of the slash."""
    client.post("/v1/spaces/default~1users~1bob/memories", json={"text": "Bob likes tea."})

    assert space.child("users", "bob").count() == 1
    assert client.get("/v1/spaces").json() == {"spaces": ["default/users/bob"]}


def test_pages_and_etags(client: TestClient, space: Space) -> None:
    """A list goes on with its cursor; what has not changed is not sent again."""
    space.add_many([f"Fact number {number}." for number in range(5)])
    first = client.get(f"{BASE}/memories", params={"limit": 3})
    rest = client.get(f"{BASE}/memories", params={"limit": 3, "cursor": first.json()["next_cursor"]})
    same = client.get(f"{BASE}/memories", params={"limit": 3}, headers={"if-none-match": first.headers["etag"]})

    assert [len(page.json()["items"]) for page in (first, rest)] == [3, 2]
    assert rest.json()["next_cursor"] is None
    assert (same.status_code, same.content) == (304, b"")


def test_a_write_with_a_key_is_done_once(tmp_path: Path) -> None:
    """Also after a restart; the key cannot be used for something else."""
    headers = {"Idempotency-Key": "k1"}
    answers = []
    for _ in range(2):
        with remanence.open(tmp_path, embedder=HashingEmbedder()) as space, client_of(space) as client:
            answers.append(client.post(f"{BASE}/remember", json={"text": "Ana moved."}, headers=headers))
            other = client.post(f"{BASE}/remember", json={"text": "Bob moved."}, headers=headers)
            jobs = space.jobs.list()

    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["idempotency-replayed"] == "true"
    assert (other.status_code, len(jobs)) == (422, 1)


def test_an_erased_text_is_in_no_stored_answer_and_is_not_sent_again(location: str, home: Path) -> None:
    """Neither by the server that has answered nor by the next one. What was only forgotten is answered as before."""
    secret = "Zebrafish keeps the emerald ledger"
    writes = [
        ("memories", {"text": f"{secret}."}),
        ("memories/batch", {"rows": [{"text": f"{secret} {number}."} for number in range(3)]}),
        ("graph/relate", {"subject": "Zebrafish", "predicate": "keeps", "object": "the ledger"}),
    ]

    def send(client: TestClient) -> list[httpx.Response]:
        keys = [{"Idempotency-Key": path} for path, _ in writes]
        return [
            client.post(f"{BASE}/{path}", json=body, headers=key)
            for (path, body), key in zip(writes, keys, strict=True)
        ]

    with remanence.open(location, embedder=HashingEmbedder()) as space:
        with client_of(space) as client:
            first, again = send(client), send(client)
            space.forget(first[0].json()["id"])
            space.erase(first[1].json()["items"][1]["id"])
            erased = send(client)
        with client_of(space) as client:
            later = send(client)
        count = space.count()

    assert [answer.json() for answer in again] == [answer.json() for answer in first]
    assert [answer.status_code for answer in erased] == [answer.status_code for answer in later] == [201, 410, 409]
    assert erased[0].json() == later[0].json() == first[0].json()
    assert count == 2
    with contextlib.closing(open_database(location)) as database:
        stored = [row[0] for row in database.execute("SELECT outcome FROM outcomes")]
    files = [path.read_bytes() for path in home.glob("server.db*")]
    assert (len(stored), bool(files)) == (3, location == str(home))
    assert not [content for content in (*stored, *files) if b"ebrafish" in content]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("GET", f"{BASE}/memories/nothing", None, 404, "NotFound"),
        ("POST", f"{BASE}/recall", {"query": "x", "during": "florgle"}, 422, "InvalidInput"),
        ("POST", f"{BASE}/recall", {"qurey": "x"}, 422, "InvalidInput"),
        ("POST", f"{BASE}/recall", {"query": " "}, 422, "InvalidInput"),
        ("POST", f"{BASE}/recall/recent", {"query": "x"}, 422, "InvalidInput"),
        ("GET", "/v1/spaces/a~1%20/count", None, 422, "InvalidInput"),
        ("GET", "/v1/nothing", None, 404, None),
        ("PUT", f"{BASE}/recall", None, 405, None),
        ("GET", "/v1/spaces/none/stats", None, 404, "NotFound"),
        ("GET", f"{BASE}~1users~1bob/stats", None, 404, "NotFound"),
    ],
)
def test_problems(client: TestClient, method: str, path: str, body: Any, status: int, error: str | None) -> None:
    """Each error is a problem document that names the exception."""
    answer = client.request(method, path, json=body)

    assert (answer.status_code, answer.json().get("error")) == (status, error)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


def test_other_methods_are_those_of_the_route(client: TestClient) -> None:
    """Not also those of a route in which the end of the path may be any id."""
    refused = client.options(f"{BASE}/entities/merge")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert client.put(f"{BASE}/entities/e1").headers["allow"] == "GET"


def test_only_an_admin_is_told_where_a_space_is_stored(home: Path) -> None:
    """By `stats` of the space of the server, of one that a token names, and of one with something below it."""
    tokens = TokenStore(None)
    with remanence.open(home, embedder=HashingEmbedder()) as space, client_of(space, tokens) as client:
        space.child("users", "ana").add("Ana lives in Porto.")
        for access in ("read", "propose", "write", "admin"):
            secret, _ = tokens.create("a", spaces=["default", "team"], access=access)
            for name in ("default", "team", "default~1users", "default~1users~1ana"):
                answer = client.get(f"/v1/spaces/{name}/stats", headers={"authorization": f"Bearer {secret}"})
                assert answer.status_code == 200
                assert (str(home) in answer.text) == (access == "admin")


def test_a_problem_names_methods_to_python_only(client: TestClient, space: Space) -> None:
    """The page of the inspector and other programs cannot call `space.entities.list()`."""
    space.add("Alice lives in Porto.")
    answers = [
        client.get(f"{BASE}/graph/timeline", params={"node": "Zed"}, headers={"user-agent": agent}).json()["detail"]
        for agent in ("Mozilla/5.0", "remanence/0.1.0")
    ]
    assert "space." not in answers[0]
    assert "space.entities.list()" in answers[1]
    assert answers[1].startswith(answers[0])


def test_a_route_that_does_not_exist_is_named_with_what_to_do(client: TestClient) -> None:
    answers = [client.get("/v1/nothing").json(), client.put(f"{BASE}/recall").json()]
    answers.append(client.put(f"{BASE}/memories").json())

    assert [each["detail"] for each in answers] == [
        "there is no route '/v1/nothing'. GET /openapi.json lists them.",
        f"PUT is not possible for '{BASE}/recall'. Use POST.",
        f"PUT is not possible for '{BASE}/memories'. Use GET, POST.",
    ]


@pytest.mark.parametrize(
    ("method", "path", "body", "place", "names"),
    [
        ("POST", "remember/now", {"messages": []}, "body.messages", "text, turns, now, source, observed_by"),
        ("POST", "memories/batch", {"rows": [{"text": "a", "colour": 1}]}, "body.rows.0.colour", "text, key, kind, "),
        ("GET", "changes?colour=1", None, "query.colour", ""),
        ("GET", "export?colour=1", None, "query.colour", ""),
    ],
)
def test_a_field_that_does_not_exist_is_answered_with_those_that_do(
    client: TestClient, method: str, path: str, body: Any, place: str, names: str
) -> None:
    """Of a body, of an object in a list of it, and of a query."""
    answer = client.request(method, f"{BASE}/{path}", json=body)

    assert answer.status_code == 422
    assert f"{place}: There is no such field. The fields are {names}" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "content", "media_type", "detail"),
    [
        ("memories", b"", "application/json", "body: Field required"),
        ("recall", b'{"query": "x"', "application/json", "body.13: The body is not JSON from this character on ("),
        ("recall", b"null", "application/json", "body: "),
        ("recall", b'{"query": "x"}', "text/plain", "body: Send the body as application/json (given: b"),
        ("recall", b'{"query": "x", "limit": 0}', "application/json", "body.limit: "),
        (f"memories/{'x' * 3_000}/forget", b"", "application/json", "path.id: "),
    ],
)
def test_a_body_that_cannot_be_read(
    client: TestClient, path: str, content: bytes, media_type: str, detail: str
) -> None:
    """The answer says where the mistake is, and what was given."""
    answer = client.post(f"{BASE}/{path}", content=content, headers={"content-type": media_type})

    assert (answer.status_code, answer.json()["error"]) == (422, "InvalidInput")
    assert answer.json()["detail"].startswith(detail)


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ({"rows": [0] * 5_000}, 1),
        ({"rows": [{"text": "a", "tags": [0] * 5_000}] * 3}, 2),  # neither a text nor a list of texts
        ({f"field{number}": 0 for number in range(50)}, 10),
        ({f"field{number}": 0 for number in range(5_000)}, 1),
        ({"x" * 1_000_000: 0, "rows": []}, 1),
    ],
)
def test_a_body_with_many_mistakes_has_a_short_answer(client: TestClient, body: Any, reported: int) -> None:
    """At most ten of them are reported, and neither long values nor long names are repeated."""
    answer = client.post(f"{BASE}/memories/batch", json=body)

    assert (answer.status_code, len(answer.json()["errors"])) == (422, reported)
    assert len(answer.content) < 20_000


def test_a_message_that_shows_a_long_value_is_cut(client: TestClient) -> None:
    """Whatever raised it."""
    answer = client.post(f"{BASE}/upkeep/apply", json={"plan": "x" * 1_000_000})

    assert (answer.status_code, answer.json()["error"]) == (404, "NotFound")
    assert len(answer.content) < 20_000


def test_a_list_that_is_too_long_is_refused(client: TestClient, space: Space) -> None:
    """An answer has something for each item: a vector for each text."""
    long = client.post(f"{BASE}/embed", json={"texts": ["a"] * 1_001})
    with connected(space) as remote:
        embedded = remote._embed(["a"] * 1_001)

    assert (long.status_code, long.json()["error"]) == (422, "InvalidInput")
    assert len(embedded) == 1_001  # the client asks twice


def test_a_body_may_be_left_out_where_nothing_is_required(client: TestClient, porto: remanence.Memory) -> None:
    """Then the defaults hold, whatever the media type of nothing is."""
    assert client.post(f"{BASE}/usage", json={"ids": [porto.id]}).status_code == 200


def test_files_become_memories_and_exports_come_back(client: TestClient, space: Space) -> None:
    """A dropped file, and an export that is dropped into another space."""
    added = client.post(f"{BASE}/files", params={"name": "../notes.txt"}, content=b"Ana lives in Porto.\n\nBob runs.")
    exported = client.get(f"{BASE}/export")
    back = client.post("/v1/spaces/copy/files", params={"name": "memory.jsonl.gz"}, content=exported.content)

    assert (added.json()["added"], back.json()["kind"]) == (2, "export")
    assert {memory.source for memory in space.memories()} == {"../notes.txt"}
    assert client.get("/v1/spaces/copy/count").json() == {"count": 2}


def test_nobody_else_may_read_an_export_while_it_is_written(
    client: TestClient, space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It contains every memory, and is in the folder for temporary files, which all users share."""
    modes: list[int] = []

    def export_file(space: Space, path: Path, **options: bool) -> Any:
        report = real(space, path, **options)
        modes.extend(each.stat().st_mode & 0o077 for each in (path, path.parent))
        return report

    real = admin_operations.export_file
    monkeypatch.setattr(admin_operations, "export_file", export_file)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    space.add("Ana lives in Porto.")

    assert client.get(f"{BASE}/export").status_code == 200
    assert modes == [0, 0]
    assert not list(tmp_path.iterdir())


def test_long_answers_are_compressed(client: TestClient, space: Space) -> None:
    """If the caller can read that. For a short one it would take longer than it saves."""
    space.add_many([f"Fact number {number}." for number in range(50)])
    answer, short, plain = (
        client.get(f"{BASE}/memories", params={"limit": limit}, headers={"accept-encoding": encoding})
        for limit, encoding in ((50, "gzip"), (2, "gzip"), (50, "identity"))
    )

    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json() == plain.json()
    assert len(plain.json()["items"]) == 50
    assert "content-encoding" not in short.headers
    assert "content-encoding" not in plain.headers
    found, found_plain = (
        client.post(f"{BASE}/recall", json={"query": "fact", "limit": 50}, headers={"accept-encoding": encoding})
        for encoding in ("br, gzip", "identity")
    )
    assert (found.headers["content-encoding"], "content-encoding" in found_plain.headers) == ("gzip", False)
    assert len(found.json()["hits"]) == len(found_plain.json()["hits"]) == 50


def test_a_compressed_body_is_refused_with_the_reason(client: TestClient) -> None:
    body = gzip.compress(b'{"text": "Ana lives in Porto."}')
    answer = client.post(f"{BASE}/memories", content=body, headers={"content-encoding": "gzip"})
    assert (answer.status_code, answer.headers["content-type"]) == (415, "application/problem+json")
    assert "Send the body as it is" in answer.json()["detail"]


def test_the_relations_learned_last_are_listed(client: TestClient, space: Space, clock: FakeClock) -> None:
    """The same as at the end of the list of all, also on an earlier day."""
    names = [f"N{number}" for number in range(30)]
    for name in names:
        space.graph.relate("Ana", "knows", name)
    moment = clock.now().isoformat()
    clock.advance(days=1)
    space.graph.relate("Bo", "knows", "Cy")
    last = client.get(f"{BASE}/graph/relations", params={"limit": 3}).json()
    then = client.get(f"{BASE}/graph/relations", params={"limit": 3, "as_of": moment}).json()
    everything = client.get(f"{BASE}/graph/relations").json()
    assert last["items"] == everything["items"][-3:]
    assert (last["total"], last["items"][-1]["object"]) == (len(everything["items"]), "Cy")
    assert "Cy" not in [relation["object"] for relation in then["items"]]


def test_limits_on_bodies_and_rates(space: Space) -> None:
    """What is too large or too much is refused before it is read."""
    with client_of(space, max_body=200, rate_limit=3) as client:
        large = client.post(f"{BASE}/memories", json={"text": "a" * 300})
        chunked = client.post(f"{BASE}/memories", content=iter([b"x" * 150, b"x" * 150]))
        client.get(f"{BASE}/count")
        limited = client.get(f"{BASE}/count")

        assert (large.status_code, chunked.status_code, limited.status_code) == (413, 413, 429)
        assert int(limited.headers["retry-after"]) >= 1
        assert client.get("/healthz").status_code == 200


class TestAccess:
    """Tokens, and who needs none."""

    @pytest.fixture
    def tokens(self) -> TokenStore:
        return TokenStore(None)

    def test_a_token_has_one_rate_limit(self, space: Space, tokens: TokenStore) -> None:
        """However its header is written; another token has its own."""
        (ana, _), (bob, _) = (tokens.create(name, spaces=["default"], access="read") for name in ("ana", "bob"))
        with client_of(space, tokens=tokens, rate_limit=2) as client:
            headers = [f"Bearer {ana}", f"bearer {ana}", f"BEARER  {ana} ", f"Bearer {bob}"]
            answers = [client.get(f"{BASE}/count", headers={"authorization": header}) for header in headers]
        assert [answer.status_code for answer in answers] == [200, 200, 429, 200]

    def test_made_up_tokens_count_for_their_address(self, space: Space, tokens: TokenStore) -> None:
        """However many there are. A token that was valid before is answered all the same."""
        (ana, _), (bob, _) = (tokens.create(name, spaces=["default"], access="read") for name in ("ana", "bob"))
        made_up = [f"rem_{number:012x}_x" for number in range(4)]
        with client_of(space, tokens=tokens, require_token=True, rate_limit=3) as client:
            answers = [
                client.get(f"{BASE}/count", headers={"authorization": f"Bearer {token}"})
                for token in (ana, *made_up, ana, bob)
            ]
            without = client.get(f"{BASE}/count")
        assert [answer.status_code for answer in answers] == [200, 401, 401, 401, 429, 200, 429]
        assert without.status_code == 429

    @pytest.mark.parametrize(("access", "expected"), [("read", [200, 403, 403]), ("write", [200, 201, 403])])
    def test_a_token_allows_what_it_says(
        self, space: Space, tokens: TokenStore, porto: remanence.Memory, access: str, expected: list[int]
    ) -> None:
        """Reading, writing, and what cannot be taken back."""
        secret, _ = tokens.create("bob", spaces=["default"], access=access)
        headers = {"authorization": f"Bearer {secret}"}
        with client_of(space, tokens, require_token=True) as client:
            answers = [
                client.get(f"{BASE}/count", headers=headers),
                client.post(f"{BASE}/memories", json={"text": "Ana runs."}, headers=headers),
                client.post(f"{BASE}/memories/{porto.id}/erase", headers=headers),
            ]

        assert [answer.status_code for answer in answers] == expected

    def test_a_token_opens_its_spaces_only(self, space: Space, tokens: TokenStore, porto: remanence.Memory) -> None:
        """And those below them; the others are not even listed."""
        space.child("users", "bob").add("Bob likes tea.")
        secret, _ = tokens.create("bob", spaces=["default/users/bob"], access="admin")
        headers = {"authorization": f"Bearer {secret}"}
        with client_of(space, tokens, require_token=True) as client:
            assert client.get("/v1/spaces/default~1users~1bob/count", headers=headers).status_code == 200
            denied = client.get(f"{BASE}/memories", headers=headers)
            assert (denied.status_code, denied.json()["error"]) == (403, "AccessDenied")
            assert client.get("/v1/spaces", headers=headers).json() == {"spaces": ["default/users/bob"]}

    def test_without_a_valid_token_nothing_is_answered(self, space: Space, tokens: TokenStore) -> None:
        """A missing, wrong, revoked or expired one."""
        revoked, token = tokens.create("a", spaces=["*"], access="admin")
        tokens.revoke(token.id)
        past = FakeClock("2020-01-01").now()
        expired, _ = tokens.create("b", spaces=["*"], access="admin", expires_at=past)
        with client_of(space, tokens, require_token=True) as client:
            for headers in ({}, *({"authorization": f"Bearer {each}"} for each in (revoked, expired, "rem_x_y"))):
                answer = client.get(f"{BASE}/count", headers=headers)
                assert (answer.status_code, "www-authenticate" in answer.headers) == (401, True)
                assert answer.json()["error"] == "InvalidToken"

    def test_an_event_stream_ends_when_its_token_is_revoked(self, space: Space, tmp_path: Path) -> None:
        """Also by another process, and what is written after it is not sent."""
        here, there = TokenStore(tmp_path), TokenStore(tmp_path)
        secret, token = here.create("bob", spaces=["default"], access="read")
        past = FakeClock("2020-01-01").now()
        _, expired = here.create("ana", spaces=["default"], access="read", expires_at=past)
        texts: list[str] = []
        with client_of(space, here, require_token=True) as client:
            headers = {"authorization": f"Bearer {secret}"}
            events = threading.Thread(target=lambda: texts.append(client.get(f"{BASE}/events", headers=headers).text))
            events.start()
            wait_for(lambda: client.app.state.server.streams)  # type: ignore[attr-defined]
            there.revoke(token.id)
            space.add("Ana lives in Porto.")
            events.join(20)
            ended = not events.is_alive()
            client.portal.call(client.app.state.server.stopping.set)  # type: ignore[attr-defined, union-attr]
            events.join(20)

        assert ended
        assert "Porto" not in texts[0]
        assert not here.is_still_valid(expired.id)

    @pytest.mark.parametrize("access", [None, "read"])
    def test_a_body_is_read_only_of_those_who_may_send_it(
        self, space: Space, tokens: TokenStore, access: str | None
    ) -> None:
        """Without a token, and with one that does not allow it: neither its size nor its mistakes are seen."""
        secret, _ = tokens.create("bob", spaces=["default"], access=access or "write")
        headers = {} if access is None else {"authorization": f"Bearer {secret}"}
        with client_of(space, tokens, require_token=True, max_body=200) as client:
            bodies: list[Any] = [b"{", iter([b"x" * 150, b"x" * 150])]
            answers = [client.post(f"{BASE}/memories/batch", content=body, headers=headers) for body in bodies]

        assert [answer.status_code for answer in answers] == [401 if access is None else 403] * 2

    def test_no_route_looks_at_a_request_without_a_token(self, space: Space, tokens: TokenStore) -> None:
        """Whatever its path, query and body are. Only the health and the description are answered."""
        with client_of(space, tokens, require_token=True) as client:
            described = client.get("/openapi.json").json()["paths"]
            statuses = {
                (client.request(method, path.replace("{space}", segment), content=b"{").status_code, path)
                for path, methods in described.items()
                for method in methods
                for segment in ("default", "a~1%20")
            }

        assert len(statuses) > 60
        assert {path for status, path in statuses if status != 401} == {"/healthz", "/readyz"}

    @pytest.mark.parametrize(
        "headers",
        [
            {"host": "evil.example"},
            {"host": "evil.example:80@127.0.0.1"},
            {"host": "127.0.0.1#evil.example"},
            {"host": "127.0.0.1/evil.example"},
            {"host": "127.0.0.1:80:90"},
            {"origin": "http://evil.example"},
        ],
    )
    def test_a_page_of_another_site_is_refused(self, client: TestClient, headers: dict[str, str]) -> None:
        """Whatever name it gives this machine."""
        assert client.post(f"{BASE}/recall", json={"query": "x"}, headers=headers).status_code == 403

    def test_two_host_headers_are_refused(self, client: TestClient) -> None:
        """Which one counts would depend on what reads them."""
        hosts = [("host", "127.0.0.1"), ("host", "evil.example")]
        assert client.post(f"{BASE}/recall", json={"query": "x"}, headers=hosts).status_code == 400

    @pytest.mark.parametrize("site", ["cross-site", "same-site"])
    def test_a_page_of_another_site_cannot_tell_whether_a_key_exists(
        self, client: TestClient, space: Space, site: str
    ) -> None:
        """Browsers send no Origin with an image or a script. What they loaded they may not use."""
        space.add("The test was positive.", key="test")
        addresses = [f"{BASE}/memories/find?key={key}" for key in ("test", "none")]
        answers = [client.get(address, headers={"sec-fetch-site": site}) for address in addresses]
        own = [client.get(address, headers={"sec-fetch-site": "same-origin"}) for address in addresses]

        assert [answer.status_code for answer in (*answers, *own)] == [403, 403, 200, 404]
        assert answers[0].content == answers[1].content
        shown = [*answers, *own, client.get("/"), client.get("/nothing"), client.get("/healthz")]
        assert [answer.headers.get_list("cross-origin-resource-policy") for answer in shown] == [["same-origin"]] * 7

    def test_other_addresses_need_tokens(self, tmp_path: Path) -> None:
        """The server does not start without one."""
        with pytest.raises(InvalidInput, match="no tokens"):
            serve(remanence.open(tmp_path), ServerSettings(host="0.0.0.0"))

    def test_a_port_that_another_program_has_is_refused(self, tmp_path: Path) -> None:
        """Before anything says that it serves, and with what to do."""
        started: list[int] = []
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with pytest.raises(InvalidInput, match=rf"Port {port} of 127.0.0.1 .*another port with --port"):
                serve(remanence.open(tmp_path), ServerSettings(port=port), on_start=started.append)
            with pytest.raises(InvalidInput, match="port=99999 is no port"):
                serve(remanence.open(tmp_path), ServerSettings(port=99_999), on_start=started.append)
        assert not started

    def test_who_starts_it_is_told_the_port_that_was_taken(self, tmp_path: Path) -> None:
        """Port 0 is any free one."""
        told: list[int] = []

        def stop(port: int) -> None:
            told.append(port)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            serve(remanence.open(tmp_path), ServerSettings(port=0), on_start=stop)
        assert told[0] > 0

    def test_tokens_are_stored_as_hashes(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Made, listed and revoked on the command line."""
        with remanence.open(tmp_path) as space:
            space.add("Ana lives in Porto.")

        def run(*argv: str) -> str:
            assert main(["--memory", str(tmp_path), "tokens", *argv]) == 0
            return capsys.readouterr().out.strip()

        secret = run("create", "bob", "default", "--access", "write")
        listed = run("list").split("\t")
        run("revoke", listed[0])

        assert listed[1:] == ["bob", "write", "default", "valid"]
        assert run("list").endswith("revoked")
        stored = b"".join(path.read_bytes() for path in tmp_path.glob("server.db*"))
        assert secret.split("_", 2)[-1].encode() not in stored
        assert (tmp_path / "server.db").stat().st_mode & 0o077 == 0

    def test_tokens_are_kept_where_the_ledger_is(
        self, location: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In the folder or in the database: made by the command, taken by a server, refused when revoked."""
        monkeypatch.setenv("REMANENCE_MEMORY", location)
        with remanence.open(location, embedder=HashingEmbedder()) as space:
            assert main(["tokens", "create", "laptop", "default", "--access", "write"]) == 0
            headers = {"authorization": f"Bearer {capsys.readouterr().out.strip()}", "Idempotency-Key": "k1"}
            with client_of(space, require_token=True) as client:
                answers = [client.post(f"{BASE}/memories", json={"text": "Ana runs."}, headers=headers) for _ in "ab"]
                assert [each.status_code for each in answers] == [201, 201]
                assert answers[1].headers["idempotency-replayed"] == "true"
            assert main(["tokens", "list"]) == 0
            token_id, name, *_ = capsys.readouterr().out.split("\t")
            assert (name, main(["tokens", "revoke", token_id])) == ("laptop", 0)
            with client_of(space, require_token=True) as client:
                assert client.get(f"{BASE}/count", headers=headers).status_code == 401

    def test_a_revocation_by_another_process_is_seen_after_a_second(self, tmp_path: Path) -> None:
        """Until then the answer of the last look is used."""
        now = [0.0]
        here, there = TokenStore(tmp_path, clock=lambda: now[0]), TokenStore(tmp_path)
        secret, token = here.create("a", spaces=["default"], access="read")
        assert here.cached(secret) is None
        assert here.authenticate(secret) == here.cached(secret) == token
        there.revoke(token.id)
        now[0] = 1.0
        assert here.cached(secret) is None
        assert here.authenticate(secret) is None


def test_expired_memories_are_swept_while_it_runs(space: Space, clock: FakeClock) -> None:
    """At once, and then at intervals."""
    memory = space.add("The sale is on.", expires_at="2026-05-05")
    clock.advance(days=2)
    with client_of(space, sweep_seconds=3600):
        wait_for(lambda: any(event.kind == "expired" for event in space.graph.timeline(memory)))


def test_events_arrive_as_they_happen(client: TestClient, space: Space) -> None:
    """Each with the position to go on from."""
    position = client.get(f"{BASE}/changes").json()["position"]
    memory = space.add("Ana lives in Porto.")
    state = client.app.state.server  # type: ignore[attr-defined]
    threading.Timer(0.6, lambda: client.portal.call(state.stopping.set)).start()  # type: ignore[union-attr]
    text = client.get(f"{BASE}/events", params={"after": position}).text

    [event] = [block.split("\n") for block in text.split("\n\n") if block.startswith("id:")]
    assert text.split("\n")[1] == f"id: {position}"
    assert event[1] == "event: remembered"
    assert json.loads(event[2].removeprefix("data: "))["memory"]["id"] == memory.id


def test_metrics_and_health(client: TestClient) -> None:
    """Counted by operation, without names of spaces."""
    client.get(f"{BASE}/count")
    text = client.get("/metrics").text

    assert 'remanence_requests_total{operation="count",status="200"} 1' in text
    assert 'remanence_request_seconds_bucket{operation="count",le="+Inf"} 1' in text
    assert client.get("/readyz").json()["status"] == "ok"


def test_one_slow_request_holds_nobody_up() -> None:
    """While a reader and an extraction take their time, others are answered."""
    release = threading.Event()
    started = threading.Semaphore(0)

    def reader(question: str, texts: Sequence[str]) -> list[float]:
        if "slow" in question:
            started.release()
            release.wait(30)
        return [0.5] * len(texts)

    class SlowExtractor(FactsByQuotation):
        def facts(self, utterances: Sequence[Utterance], **options: Any) -> ExtractionResult:
            started.release()
            release.wait(30)
            return super().facts(utterances, **options)

    opened = remanence.open(None, embedder=HashingEmbedder(), reader=reader, extractor=SlowExtractor({}))
    with opened as space, client_of(space) as client:
        space.add("Ana lives in Porto.")
        requests: list[tuple[str, dict[str, Any]]] = [("recall", {"query": "slow Ana"})] * 3
        requests += [("remember/now", {"text": "I live in Braga."}), ("remember", {"text": "I drink tea."})]
        slow = [
            threading.Thread(target=client.post, args=(f"{BASE}/{route}",), kwargs={"json": body})
            for route, body in requests
        ]
        for thread in slow:
            thread.start()
        for _ in slow:  # the last of them in the thread that works on queued jobs
            assert started.acquire(timeout=20)
        answers = [
            client.post(f"{BASE}/recall", json={"query": "Where does Ana live?"}),
            client.post(f"{BASE}/memories", json={"text": "Ana drinks tea."}),
            client.get(f"{BASE}/memories"),
        ]
        held_up = all(thread.is_alive() for thread in slow[:-1])
        release.set()
        for thread in slow:
            thread.join(20)

    assert [answer.status_code for answer in answers] == [200, 201, 200]
    assert held_up


def test_many_clients_are_answered_without_error(space: Space) -> None:
    """32 at once, each on a connection of its own, while they also write; each finds what it has written."""
    with served(space) as address:

        def ask(number: int) -> list[tuple[int, bool]]:
            own = f"Client {number} keeps its key in drawer {number}."
            found = []
            with httpx.Client(base_url=address, timeout=60) as client:
                for turn in range(2):
                    if turn == 0:
                        client.post(f"{BASE}/memories", json={"text": own}).raise_for_status()
                    answer = client.post(f"{BASE}/recall", json={"query": own, "limit": 40})
                    texts = [hit["memory"]["text"] for hit in answer.json()["hits"]]
                    found.append((answer.status_code, own in texts))
            return found

        with ThreadPoolExecutor(32) as pool:
            answers = [each for found in pool.map(ask, range(32)) for each in found]

    assert answers == [(200, True)] * 64
    assert space.count() == 32


class TestConnections:
    """What a connection may hold and how long, whatever comes over it."""

    @pytest.mark.parametrize(
        "sent",
        [
            b"",
            b"GET /v1 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-a: ",
            b"POST /v1/spaces/default/recall HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
            b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n\r\n",
        ],
        ids=["nothing", "half a head", "half a body", "an empty line after a request"],
    )
    def test_half_sent_requests_are_ended(self, space: Space, sent: bytes) -> None:
        """After the time for them, so that they keep no connection for ever."""
        with served(space, idle_seconds=1) as address:
            assert exchange(address, sent).count(b"HTTP/1.1 200") == sent.count(b"healthz")

    def test_an_answer_may_take_longer_than_a_request(self, space: Space) -> None:
        """Only what the client has to send is waited for; also after another request on the same connection."""
        with served(space, idle_seconds=1) as address, httpx.Client(base_url=address, timeout=30) as client:
            position = client.get(f"{BASE}/changes").json()["position"]
            with client.stream("GET", f"{BASE}/events", params={"after": position}) as answer:
                lines = answer.iter_lines()
                next(lines)
                time.sleep(1.5)
                space.add("Ana lives in Porto.")
                assert any("Porto" in line for line in lines if line.startswith("data"))

    def test_many_half_sent_requests_block_nobody(self, space: Space) -> None:
        """Each connection too many ends the one that has waited longest, and none that is answered."""
        with served(space, max_connections=20, idle_seconds=300) as address, contextlib.ExitStack() as opened:
            client = opened.enter_context(httpx.Client(base_url=address, timeout=30))
            answer = opened.enter_context(client.stream("GET", f"{BASE}/events"))
            host, _, port = address.removeprefix("http://").partition(":")
            flood = [opened.enter_context(socket.create_connection((host, int(port)), timeout=20)) for _ in range(60)]
            for each in flood[-10:]:
                each.sendall(b"GET /v1 HTTP/1.1\r\nX-a: ")
            assert httpx.get(f"{address}/healthz", timeout=20).status_code == 200
            with contextlib.suppress(ConnectionError):
                assert flood[0].recv(1) == b""
            space.add("Ana lives in Porto.")
            assert any("Porto" in line for line in answer.iter_lines() if line.startswith("data"))

    def test_connections_leave_file_descriptors(self) -> None:
        """At least half of them, for files."""
        resource = pytest.importorskip("resource")
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert max_connections(ServerSettings(max_connections=7)) == 7
        assert max_connections(ServerSettings(max_connections=10**9)) == soft // 2

    @pytest.mark.parametrize(("size", "end"), [(70_000, b"\r\n\r\n"), (2_000_000, b"")], ids=["complete", "endless"])
    def test_long_headers_are_refused(self, space: Space, size: int, end: bytes) -> None:
        """Before they are complete, if they do not come at once."""
        with served(space, idle_seconds=300) as address:
            answer = exchange(address, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * size + end)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 400")  # or the connection was cut first
            assert httpx.get(f"{address}/healthz", headers={"x": "a" * 30_000}).status_code == 200


def exchange(address: str, *parts: bytes) -> bytes:
    """What a server sends until it closes the connection. It has 20 seconds."""
    host, _, port = address.removeprefix("http://").partition(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=20) as sent, contextlib.suppress(ConnectionError):
        for part in parts:
            sent.sendall(part)
        while chunk := sent.recv(65_536):
            received += chunk
    return received


def test_the_description_is_exact(space: Space) -> None:
    """Schemathesis calls every route by its description, with fitting and unfitting values.

    Left out is only that every fitting value is accepted: no schema describes "last May".
    """
    space.add("Ana lives in Porto.")
    app = create_app(space, settings=ServerSettings(sweep_seconds=0))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith("/events"):  # it does not end
            continue

        @hypothesis.settings(
            max_examples=examples(2),
            deadline=None,
            database=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy())
        def call(case: Any) -> None:
            case.call_and_validate(headers={"host": "127.0.0.1"}, excluded_checks=[positive_data_acceptance])

        call()


class Running:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [sys.executable, "-m", "remanence.cli", "serve", str(folder), "--port", str(self.port), *options]
        self.process = subprocess.Popen(command, env={**os.environ, "REMANENCE_READER": "none", **environment})
        self.url = f"http://127.0.0.1:{self.port}"
        with httpx.Client(base_url=self.url) as client:  # one for all attempts: making it takes longer than they do
            wait_for(lambda: self.answers(client))

    def answers(self, client: httpx.Client) -> bool:
        try:
            return client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False


def wait_for(condition: Any, seconds: float = 30.0, *, pause: float = 0.05) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(pause)


def test_a_job_that_never_ends_holds_nobody_up_and_is_given_up(tmp_path: Path) -> None:
    """A pattern that runs away keeps the interpreter to itself, and one that ends the process is no better."""
    (tmp_path / "hostile.py").write_text(_HOSTILE)
    options = ("--reader", "none", "--extractor", "hostile:extractor", "--job-seconds", "4")
    running = Running(tmp_path / "memory", *options, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
    try:
        with httpx.Client(base_url=running.url, timeout=60) as client:
            jobs = [
                client.post(f"{BASE}/remember", json={"text": text}).json()["id"]
                for text in ("Loop for ever.", "Die at once.", "I live in Porto.")
            ]

            def statuses() -> list[str]:
                return [client.get(f"{BASE}/jobs/{job}").json()["status"] for job in jobs]

            wait_for(lambda: statuses()[0] == "running")
            assert client.get("/healthz").status_code == 200
            wait_for(lambda: statuses() == ["given up", "given up", "done"], seconds=60, pause=0.5)
            problems = [client.get(f"{BASE}/jobs/{job}").json()["problem"] for job in jobs]
    finally:
        running.process.send_signal(signal.SIGTERM)
        running.process.wait(40)

    assert problems == [
        "the try was ended twice: it took more than 4 s",
        "the try was ended twice: its process ended",
        None,
    ]


_HOSTILE = """
import ctypes, os
import remanence

def model(prompt: str) -> str:
    if "Loop for ever" in prompt:
        ctypes.PyDLL(None).sleep(600)  # with the lock of the interpreter, as a pattern that runs away
    if "Die at once" in prompt:
        os._exit(1)
    return '{"facts": []}'

extractor = remanence.LLMExtractor(model)
"""


def test_an_end_during_writes_loses_nothing(tmp_path: Path) -> None:
    """Every memory that was answered with 201 is there afterwards, and so is every job."""
    running = Running(tmp_path / "memory", "--reader", "none")
    stored: list[str] = []

    def write(writer: int) -> None:
        with httpx.Client(base_url=running.url) as client:
            for number in range(10_000):
                try:
                    body = {"text": f"Writer {writer} has written note {number}."}
                    answer = client.post(f"{BASE}/memories", json=body)
                    job = client.post(f"{BASE}/remember", json={"text": f"I am writer {writer}, turn {number}."})
                except httpx.TransportError:
                    return
                if answer.status_code == 201:
                    stored.append(answer.json()["id"])
                if job.status_code == 202:
                    stored.append(job.json()["id"])

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    stream = threading.Thread(target=lambda: httpx.get(f"{running.url}{BASE}/events", timeout=60))
    for thread in (stream, *writers):
        thread.start()
    wait_for(lambda: len(stored) >= 40)
    running.process.send_signal(signal.SIGTERM)
    code = running.process.wait(40)
    for thread in (stream, *writers):
        thread.join(30)

    assert code in (0, -signal.SIGTERM)
    with remanence.open(tmp_path / "memory", worker=False) as space:
        known = {memory.id for memory in space.memories()} | {job.id for job in space.jobs.list()}
        assert set(stored) <= known
        space.verify()
