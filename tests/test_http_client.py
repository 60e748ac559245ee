"""The connections of `remanence.connect`: kept, shared, broken, encrypted, and through a proxy."""

from __future__ import annotations

import contextlib
import datetime
import gzip
import http.server
import ipaddress
import json
import os
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import remanence
from remanence import InvalidInput, RemanenceError
from remanence.errors import Closed, LedgerUnavailable

NOW = json.dumps({"now": "2026-05-01T00:00:00+00:00"}).encode()
Behaviour = Callable[["Handler"], None]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every request as `server.behaviour` says, and notes it."""

    protocol_version = "HTTP/1.1"
    server: FakeServer

    def answer(self) -> None:
        length = int(self.headers.get("content-length", 0))
        self.content = self.rfile.read(length)
        self.server.requests.append(self)
        self.server.behaviour(self)

    do_GET = do_POST = answer

    def send(self, content: bytes = NOW, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content_length": str(len(content)), **headers}.items():
            if value:
                self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def do_CONNECT(self) -> None:
        """Be a proxy: pass on what comes, both ways."""
        self.server.requests.append(self)
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as onward:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_copy, args=(onward, self.connection))
            back.start()
            _copy(self.connection, onward)
            back.join()

    def log_message(self, *args: object) -> None:
        pass


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the other side has gone
        while part := source.recv(65536):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)


class FakeServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[Handler] = []
        self.behaviour: Behaviour = Handler.send

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *args: object) -> None:
        pass

    @property
    def connections(self) -> int:
        """How many different connections requests came over."""
        return len({handler.client_address for handler in self.requests})


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    yield from _running(FakeServer())


def _running(server: FakeServer) -> Iterator[FakeServer]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_one_connection_serves_many_calls(server: FakeServer) -> None:
    """It is kept open between them."""
    with remanence.connect(server.url) as space:
        for _ in range(5):
            space._now()
    assert (len(server.requests), server.connections) == (6, 1)


def test_threads_have_connections_of_their_own(server: FakeServer) -> None:
    """Every answer goes to the thread that asked."""

    def echo(handler: Handler) -> None:
        time.sleep(0.002)
        handler.send(json.dumps({"count": int(handler.path.rpartition("~1")[2].partition("/")[0])}).encode())

    with remanence.connect(server.url) as space, ThreadPoolExecutor(8) as pool:
        server.behaviour = echo
        assert list(pool.map(lambda number: space.child(str(number)).count(), range(200))) == list(range(200))
    assert server.connections <= 9


def test_a_connection_that_the_server_closed_is_replaced(server: FakeServer) -> None:
    """Whether it says so or not."""

    def said(handler: Handler) -> None:
        handler.send(connection="close")

    def unsaid(handler: Handler) -> None:
        handler.send()
        handler.close_connection = True

    with remanence.connect(server.url) as space:
        for behaviour in (said, unsaid, unsaid):
            server.behaviour = behaviour
            space._now()
            time.sleep(0.05)
        space._now()
    assert len(server.requests) == 5


def test_a_request_without_an_answer_is_sent_once_more(server: FakeServer) -> None:
    """With the same key, so that a write is done once; then the server is unavailable."""

    def cut(handler: Handler) -> None:
        handler.close_connection = True

    def once(handler: Handler) -> None:
        cut(handler)
        server.behaviour = lambda handler: handler.send(b'{"done": true}')

    with remanence.connect(server.url) as space:
        server.behaviour = once
        space.forget("m1")
        first, second = server.requests[-2:]
        assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
        server.behaviour = cut
        before = len(server.requests)
        with pytest.raises(LedgerUnavailable, match="does not answer"):
            space.forget("m1")
        assert len(server.requests) == before + 2


def test_half_an_answer_is_none(server: FakeServer, tmp_path: Path) -> None:
    """Neither a memory nor an export is made of it, and no file is left."""

    def half(handler: Handler) -> None:
        handler.send(NOW[:10], content_length="40")
        handler.close_connection = True

    with remanence.connect(server.url) as space:
        server.behaviour = half
        with pytest.raises(LedgerUnavailable):
            space._now()
        with pytest.raises(LedgerUnavailable):
            space.admin.export(tmp_path / "out.jsonl.gz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
    ],
)
def test_what_is_not_http_is_no_answer(server: FakeServer, answer: bytes) -> None:
    """The server is named, and nothing else is raised."""

    def write(handler: Handler) -> None:
        handler.wfile.write(answer)
        handler.close_connection = True

    with remanence.connect(server.url) as space:
        server.behaviour = write
        with pytest.raises(LedgerUnavailable, match="does not answer"):
            space._now()


def test_a_silent_server_is_not_asked_twice(server: FakeServer) -> None:
    """It may still be working on the first request."""
    over = threading.Event()
    with remanence.connect(server.url, timeout=0.2) as space:
        server.behaviour = lambda handler: (over.wait(5), None)[1]
        before = len(server.requests)
        with pytest.raises(LedgerUnavailable, match="timed out"):
            space._now()
        over.set()
        assert len(server.requests) == before + 1


def test_an_answer_of_another_program_is_told(server: FakeServer) -> None:
    """A page, or JSON with other fields, is not taken for an answer."""
    with remanence.connect(server.url) as space:
        for content in (b"<html>Welcome</html>", b'{"hits": 3}', b"[]"):
            server.behaviour = lambda handler, content=content: handler.send(content)  # type: ignore[misc]
            for call in (space._now, lambda: space.recall("Where?")):
                with pytest.raises(RemanenceError, match="Is it a server of Remanence"):
                    call()
        server.behaviour = lambda handler: handler.send(b"", 302, location="https://elsewhere.example")
        with pytest.raises(RemanenceError, match="status 302"):
            space._now()


def test_nothing_is_sent_after_closing(server: FakeServer) -> None:
    """Not even by a child space that was made before."""
    space = remanence.connect(server.url)
    child = space.child("bob")
    space.close()
    with pytest.raises(Closed, match="Connect again"):
        child.count()


def test_a_path_before_the_server_is_kept(server: FakeServer) -> None:
    """As behind a reverse proxy."""
    with remanence.connect(f"{server.url}/memory/"), remanence.connect(f"{server.url}/erinnerung/für~%C3%BC"):
        prefixes = [request.path.removesuffix("/v1/spaces/default/now") for request in server.requests]
    assert prefixes == ["/memory", "/erinnerung/f%C3%BCr~%C3%BC"]


def test_a_forked_process_has_connections_of_its_own(server: FakeServer) -> None:
    """The answers to its requests must not mix with those of its parent."""
    with remanence.connect(server.url) as space:
        child = os.fork()
        if not child:
            space._now()
            os._exit(0)
        os.waitpid(child, 0)
        space._now()
    assert server.connections == 2


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://", "not the address"),
        ("http://host:port", "not the address"),
        ("http://[::1", "not the address"),
        ("ftp://host", "not the address"),
        ("http://ho st", "not the address"),
        ("http://host/a b", "not the address"),
        ("http://ä..b", "not the address"),
        ("http://bob:secret@host", "user name"),
        ("http://bob:secret@host:port", "user name"),
        ("http://host/?a=1", "query"),
    ],
)
def test_what_is_not_an_address_is_refused(url: str, message: str) -> None:
    """Before anything is sent; a password is not shown."""
    with pytest.raises(InvalidInput, match=message) as refused:
        remanence.connect(url)
    assert "secret" not in str(refused.value)


def test_tokens_and_timeouts_are_checked(server: FakeServer) -> None:
    """A token with a line break would be another header."""
    with pytest.raises(InvalidInput, match="token") as refused:
        remanence.connect(server.url, token="rem_x\r\nhost: other")
    assert "rem_x" not in str(refused.value)
    for timeout in (0, -1, "5", None):
        with pytest.raises(InvalidInput, match="timeout="):
            remanence.connect(server.url, timeout=timeout)  # type: ignore[arg-type]
    assert server.requests == []


def test_a_proxy_is_asked_for_other_machines(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told the whole address and who asks; compressed answers are read. NO_PROXY is respected."""
    monkeypatch.setenv("HTTP_PROXY", server.url.replace("//", "//ana:p%40ss@"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("REQUEST_METHOD", raising=False)
    monkeypatch.setenv("http_proxy", os.environ["HTTP_PROXY"])
    server.behaviour = lambda handler: handler.send(gzip.compress(NOW), content_encoding="gzip")
    with remanence.connect("http://memory.example:8765"):
        [request] = server.requests
    assert request.path == "http://memory.example:8765/v1/spaces/default/now"
    assert request.headers["host"] == "memory.example:8765"
    assert request.headers["proxy-authorization"] == "Basic YW5hOnBAc3M="
    server.behaviour = Handler.send
    with remanence.connect(server.url):
        assert server.requests[1].path == "/v1/spaces/default/now"
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1080")
    with pytest.raises(InvalidInput, match="HTTP_PROXY"):
        remanence.connect("http://memory.example")


def test_https_directly_and_through_a_proxy(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate is checked; a proxy only passes on what it cannot read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(tmp_path / "own.pem"))
    secure = FakeServer()
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    url = secure.url.replace("http:", "https:")
    running = _running(secure)
    next(running)
    with pytest.raises(LedgerUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        remanence.connect(url)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
    with remanence.connect(url) as space:
        space._now()
    assert (len(secure.requests), secure.connections) == (2, 1)
    monkeypatch.setenv("https_proxy", server.url)
    with remanence.connect(url) as space:
        space._now()
    assert [request.command for request in server.requests] == ["CONNECT"]
    assert len(secure.requests) == 4
    next(running, None)


def test_only_tls_reads_the_certificates(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are some hundred, and a server on this machine needs none."""
    read: list[str] = []
    monkeypatch.setattr(
        ssl, "create_default_context", lambda: read.append("") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )
    remanence.connect(server.url).close()
    assert not read
    with pytest.raises(LedgerUnavailable):
        remanence.connect(server.url.replace("http:", "HTTPS:"), timeout=1)
    assert read


def _certificate(path: Path) -> Path:
    """A key and a certificate for 127.0.0.1, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
