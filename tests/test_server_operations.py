"""What whoever runs the server needs: request ids, logs, health, a page of routes, other sites."""

from __future__ import annotations

import io
import json
import logging
import shutil
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import remanence
from live_server import served
from remanence import InvalidInput, Space, telemetry
from remanence.errors import EmbedderUnavailable, LedgerUnavailable, TooManyRequests
from remanence.service.hosting.tokens import TokenStore
from remanence.testing import HashingEmbedder
from remanence_server import ServerSettings, create_app
from remanence_server.request_log import JsonFormatter, set_up_logging

BASE = "/v1/spaces/default"


@pytest.fixture
def space() -> Iterator[Space]:
    with remanence.open(None, embedder=HashingEmbedder(), worker=False) as opened:
        opened.add("Ana lives in Porto.")
        yield opened


def client_of(space: Space, tokens: TokenStore | None = None, **settings: object) -> TestClient:
    chosen = ServerSettings(sweep_seconds=0, **settings)  # type: ignore[arg-type]
    app = create_app(space, settings=chosen, tokens=tokens)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


class TestRequestIds:
    def test_an_answer_has_the_id_that_was_sent(self, space: Space) -> None:
        """One that can be used; else a new one, also with an error."""
        with client_of(space) as client:
            assert client.get("/v1", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
            ids = {client.get("/v1/nothing").headers["x-request-id"] for _ in range(2)}
            assert len(ids) == 2
            given = client.get("/v1", headers={"x-request-id": "a b\tc"}).headers["x-request-id"]
            assert given != "a b\tc"

    def test_every_line_of_the_log_has_it(self, space: Space) -> None:
        """Also one that a thread of a pool writes; and no words of a request are in a line."""
        written = io.StringIO()
        handler = logging.StreamHandler(written)
        handler.setFormatter(JsonFormatter())
        root = logging.getLogger()
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        try:
            with client_of(space) as client:
                client.post(
                    f"{BASE}/memories",
                    json={"text": "A secret.", "now": "2100-01-01"},  # which the engine warns of
                    headers={"x-request-id": "r1"},
                ).raise_for_status()
                client.get(f"{BASE}/memories/find?key=secret-key", headers={"x-request-id": "r2"})
            logging.getLogger("uvicorn.error").info("started", extra={"color_message": "\x1b[36mstarted"})
        finally:
            root.removeHandler(handler)
            root.setLevel(logging.WARNING)

        rows = [json.loads(line) for line in written.getvalue().splitlines()]
        assert not any("color_message" in row for row in rows), "what is for a terminal"
        first = [row for row in rows if row.get("request_id") == "r1"]
        assert {row["logger"] for row in first} >= {"remanence.index.engine.engine", "remanence_server.access"}
        access = next(row for row in first if row["logger"] == "remanence_server.access")
        assert (access["operation"], access["status"], access["method"]) == ("add", 201, "POST")
        assert access["seconds"] > 0
        lines = [line for line in written.getvalue().splitlines() if "httpx" not in line]  # that of the client
        assert "secret" not in "\n".join(lines).lower()

    def test_the_log_of_a_process_is_json_or_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        for log_format, begin in (("json", '{"time": '), ("text", "20")):
            end = set_up_logging(log_format, "info")  # type: ignore[arg-type]
            logging.getLogger("a").info("done")
            end()
            logging.getLogger("a").info("not shown")
            err = capsys.readouterr().err
            assert err.startswith(begin)
            assert "not shown" not in err


class TestHead:
    def test_head_has_the_headers_of_get_and_no_body(self, space: Space) -> None:
        with client_of(space) as client:
            for path in (f"{BASE}/count", "/v1", "/healthz", "/", "/openapi.json"):
                get, head = client.get(path), client.head(path)
                assert (head.status_code, head.content) == (get.status_code, b"")
                assert head.headers["content-type"] == get.headers["content-type"]
            assert client.head(f"{BASE}/count").headers["etag"] == client.get(f"{BASE}/count").headers["etag"]
            assert client.head(f"{BASE}/recall").status_code == 405
            assert client.head("/v1/nothing").status_code == 404

    def test_head_of_a_stream_ends(self, space: Space) -> None:
        """Which GET does not."""
        with client_of(space) as client:
            answer = client.head(f"{BASE}/events")
            assert (answer.status_code, answer.content) == (200, b"")
            assert client.app.state.server.streams == 0  # type: ignore[attr-defined]


class TestHealth:
    def test_each_part_is_named(self, space: Space) -> None:
        with client_of(space) as client:
            answer = client.get("/readyz")
        assert answer.status_code == 200
        assert answer.json()["status"] == "ok"
        assert set(answer.json()["parts"]) >= {"server", "ledger", "tokens", "embedder", "disk"}

    def test_what_is_missing_is_named(self, space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without an embedder questions are answered; without a ledger none is."""

        def away(*arguments: object) -> object:
            raise EmbedderUnavailable("http://10.0.0.7 does not answer")

        with client_of(space) as client:
            monkeypatch.setattr(type(space._engine.embedder), "embed_query", away)
            degraded = client.get("/readyz")
            assert (degraded.status_code, degraded.json()["status"]) == (200, "degraded")
            assert degraded.json()["detail"] == "embedder: EmbedderUnavailable"

            def gone(self: object) -> list[str]:
                raise LedgerUnavailable("the disk is away")

            monkeypatch.setattr(type(client.app.state.server.spaces), "names", gone)  # type: ignore[attr-defined]
            down = client.get("/readyz")
            assert (down.status_code, down.json()["status"]) == (503, "unavailable")
            assert down.json()["parts"]["ledger"] == "LedgerUnavailable"

    def test_a_full_disk_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        usage = namedtuple("usage", "total used free")
        with remanence.open(tmp_path / "memory", embedder=HashingEmbedder()) as space, client_of(space) as client:
            assert client.get("/readyz").json()["status"] == "ok"
            monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(100, 99, 1))
            answer = client.get("/readyz").json()
        assert answer["status"] == "degraded"
        assert "MiB are free" in answer["parts"]["disk"]


def test_the_routes_are_on_a_page_that_loads_nothing_from_elsewhere(space: Space) -> None:
    """`/docs` has every operation, and neither a script nor an address of another site."""
    with client_of(space) as client:
        page, api = client.get("/docs"), client.get("/openapi.json").json()
        assert client.get("/docs/style.css").headers["content-type"].startswith("text/css")
    assert page.status_code == 200
    ids = [route["operationId"] for methods in api["paths"].values() for route in methods.values()]
    assert all(f'id="{name}"' in page.text for name in ids)
    assert "<script" not in page.text
    assert "http" not in page.text.replace("HTTP", "")
    assert "default-src 'none'" in page.headers["content-security-policy"]


class TestOtherSites:
    ORIGIN = "https://app.example"

    def test_only_sites_that_are_named_may_ask(self, space: Space) -> None:
        """Their pages also see the answers; without the option none does."""
        with client_of(space, cors_origins=(self.ORIGIN,)) as client:
            asked = client.get(f"{BASE}/count", headers={"origin": self.ORIGIN, "sec-fetch-site": "cross-site"})
            assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, self.ORIGIN)
            before = {"origin": self.ORIGIN, "access-control-request-method": "POST"}
            preflight = client.options(f"{BASE}/recall", headers=before)
            assert preflight.status_code == 200
            assert "POST" in preflight.headers["access-control-allow-methods"]
            other = client.get(f"{BASE}/count", headers={"origin": "https://evil.example"})
            assert other.status_code == 403
            assert "access-control-allow-origin" not in other.headers
        with client_of(space) as client:
            refused = client.get(f"{BASE}/count", headers={"origin": self.ORIGIN})
            assert refused.status_code == 403

    def test_every_site_only_with_tokens(self) -> None:
        with pytest.raises(InvalidInput, match="require tokens"):
            ServerSettings(cors_origins=("*",))
        assert ServerSettings(cors_origins=("*",), require_token=True).needs_token
        with pytest.raises(InvalidInput, match=r"https://app\.example"):
            ServerSettings(cors_origins=("app.example/path",))


def test_a_client_is_told_when_to_try_again(space: Space) -> None:
    """Too many requests are an exception of their own, with the seconds to wait."""
    with served(space, rate_limit=3) as url, remanence.connect(url) as remote:  # which asks once itself
        remote.count()
        remote.count()
        with pytest.raises(TooManyRequests, match="requests a minute") as refused:
            remote.count()
    assert 0 < refused.value.retry_after <= 60


def test_a_client_sends_the_trace_of_its_caller(space: Space) -> None:
    """So that the spans of the server are below its own."""
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider()
    telemetry.instrument(tracer_provider=provider)
    try:
        assert telemetry.outgoing_headers() == {}
        with provider.get_tracer("test").start_as_current_span("agent") as span:
            sent = telemetry.outgoing_headers()["traceparent"]
    finally:
        telemetry.uninstrument()
    assert f"{span.get_span_context().trace_id:032x}" in sent
    assert telemetry.outgoing_headers() == {}
