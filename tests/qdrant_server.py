"""A Qdrant server for tests: a real one if QDRANT_BINARY names its program, else the REST calls that Remanence makes,
answered by qdrant-client's in-process mode.

`python qdrant_server.py` prints its URL and serves until it is killed; with a URL, it passes all calls on to the server
there. `PUT /fault` with a JSON object makes it fail: `{"status": 500}` answers every call so,
`{"delay": 3}` answers late, `{"cut": true}` closes connections without an answer, `{"garbage": true}` answers with what
is not JSON, `{"drip": true}` sends a byte now and then, `{"long": true}` never stops; `{}` ends it. `GET /calls` counts
calls by method and route.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from qdrant_client import QdrantClient, models

BINARY = os.environ.get("QDRANT_BINARY") or None
"""The program of a real server."""

MAX_REQUEST_BYTES = 32 << 20
"""What a real server takes at once, by default."""

client = QdrantClient(":memory:")
lock = threading.Lock()
fault: dict[str, Any] = {}
calls: Counter[str] = Counter()


def create_collection(name: str, body: dict[str, Any]) -> Any:
    if name in [each.name for each in client.get_collections().collections]:
        raise FileExistsError(name)
    return client.create_collection(name, vectors_config=models.VectorParams(**body["vectors"]))


def change_aliases(body: dict[str, Any]) -> bool:
    steps: list[Any] = []
    for action in body["actions"]:
        made = models.CreateAliasOperation if "create_alias" in action else models.DeleteAliasOperation
        steps.append(made(**action))
    return client.update_collection_aliases(change_aliases_operations=steps)


def query(name: str, body: dict[str, Any]) -> Any:
    asked = models.QueryRequest(**body)
    return client.query_points(
        name, query=asked.query, query_filter=asked.filter, limit=asked.limit or 10, with_payload=asked.with_payload
    )


def scroll(name: str, body: dict[str, Any]) -> Any:
    asked = models.ScrollRequest(**body)
    points, after = client.scroll(
        name,
        scroll_filter=asked.filter,
        limit=asked.limit or 10,
        offset=asked.offset,
        with_payload=asked.with_payload or False,
        with_vectors=asked.with_vector or False,
    )
    return {"points": points, "next_page_offset": after}


def upsert(name: str, body: dict[str, Any]) -> Any:
    return client.upsert(name, models.PointsList(**body).points)


def delete(name: str, body: dict[str, Any]) -> Any:
    chosen = models.PointIdsList(**body) if "points" in body else models.FilterSelector(**body)
    return client.delete(name, chosen)


def count(name: str, body: dict[str, Any]) -> Any:
    return client.count(name, count_filter=models.CountRequest(**body).filter)


ROUTES: list[tuple[str, str, Callable[..., Any]]] = [
    ("GET", r"/collections", lambda _: client.get_collections()),
    ("GET", r"/aliases", lambda _: client.get_aliases()),
    ("POST", r"/collections/aliases", change_aliases),
    ("GET", r"/collections/([^/]+)", lambda name, _: client.get_collection(name)),
    ("PUT", r"/collections/([^/]+)", create_collection),
    ("DELETE", r"/collections/([^/]+)", lambda name, _: client.delete_collection(name)),
    ("PUT", r"/collections/([^/]+)/index", lambda name, _: {"operation_id": 0, "status": "completed"}),
    ("PUT", r"/collections/([^/]+)/points", upsert),
    ("POST", r"/collections/([^/]+)/points/query", query),
    ("POST", r"/collections/([^/]+)/points/scroll", scroll),
    ("POST", r"/collections/([^/]+)/points/delete", delete),
    ("POST", r"/collections/([^/]+)/points/count", count),
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    passed_on_to: str | None = None

    def answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if len(content) > MAX_REQUEST_BYTES and self.passed_on_to is None:
            self.close_connection = True  # as a real one does, amid the request
            return
        body = json.loads(content or b"{}")
        path = self.path.partition("?")[0]
        if path == "/fault":
            fault.clear()
            fault.update(body)
            self.reply(200, {"result": True})
        elif path == "/calls":
            self.reply(200, dict(calls))
        else:
            self.serve(path, body)

    def serve(self, path: str, body: dict[str, Any]) -> None:
        if "delay" in fault:
            time.sleep(fault["delay"])
        if "cut" in fault:
            self.close_connection = True
        elif "garbage" in fault:
            self.send(200, b"<html>not a Qdrant</html>")
        elif "drip" in fault or "long" in fault:
            self.send_endless(b" " * (1 if "drip" in fault else 1 << 20), 0.1 if "drip" in fault else 0.0)
        elif "status" in fault:
            self.reply(fault["status"], {"status": {"error": "told to fail"}})
        elif self.passed_on_to is not None:
            self.pass_on(path, body)
        else:
            self.reply(*respond(self.command, path, body))

    def pass_on(self, path: str, body: dict[str, Any]) -> None:
        """Answer as the server there does, or not at all if it does not answer."""
        calls[f"{self.command} {path.rpartition('/')[2]}"] += 1
        headers = {"Content-Type": "application/json"}
        content = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"{self.passed_on_to}{self.path}", content, headers, method=self.command)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                self.send(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            self.send(error.code, error.read())
        except OSError:
            self.close_connection = True

    def reply(self, status: int, content: Any) -> None:
        self.send(status, json.dumps(content, default=lambda each: each.model_dump(mode="json")).encode())

    def send_endless(self, part: bytes, pause: float) -> None:
        """Send this part again and again, until the client goes or the fault ends."""
        self.send_response(200)
        self.send_header("Content-Length", str(10**12))
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):
            while fault:
                self.wfile.write(part)
                time.sleep(pause)

    def send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        """Tests look at the answers."""


def respond(method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    for verb, route, act in ROUTES:
        found = re.fullmatch(route, path)
        if verb != method or found is None:
            continue
        calls[f"{verb} {path.rpartition('/')[2]}"] += 1
        if body.get("limit") == 0:
            return 422, {"status": {"error": "value 0 invalid, must be 1 or larger"}}
        try:
            with lock, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return 200, {"result": act(*found.groups(), body), "status": "ok", "time": 0.0}
        except FileExistsError:
            return 409, {"status": {"error": "already exists"}}
        except ValueError as error:
            taken = re.match(r"Collection \S+ already exists", str(error)) is not None
            return (404 if "not found" in str(error) else 409 if taken else 400), {"status": {"error": str(error)}}
    return 404, {"status": {"error": f"no route {method} {path}"}}


class RunningServer:
    """A server in a process of its own."""

    def __init__(self, url: str) -> None:
        self.url = url

    def fail(self, **how: Any) -> None:
        """Fail from now on in this way; not at all without arguments."""
        self._send("PUT", "/fault", how)

    def calls(self) -> dict[str, int]:
        found: dict[str, int] = self._send("GET", "/calls", {})
        return found

    def drop_collections(self) -> None:
        for each in self._send("GET", "/collections", {})["result"]["collections"]:
            self._send("DELETE", f"/collections/{each['name']}", {})

    def status(self, method: str, path: str, body: dict[str, Any] | None) -> int:
        """Of the answer to this call."""
        try:
            self._send(method, path, body or {})
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    def _send(self, method: str, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())


class QdrantNode:
    """A real server in a process of its own, on loopback, with its files in `folder`. It can be killed and started
    again. Without `settings` it is alone; `settings` are as Qdrant reads them from the environment, without `QDRANT__`.
    """

    def __init__(self, folder: Path, arguments: Sequence[str] = (), **settings: object) -> None:
        assert BINARY is not None, "QDRANT_BINARY does not name the program of a Qdrant server"
        self.folder, self._arguments = folder, arguments
        self.port, grpc_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        given = {
            "TELEMETRY_DISABLED": "true",
            "LOG_LEVEL": "WARN",
            "SERVICE__HOST": "127.0.0.1",
            "SERVICE__HTTP_PORT": self.port,
            "SERVICE__GRPC_PORT": grpc_port,
            "STORAGE__STORAGE_PATH": folder / "storage",
            "STORAGE__SNAPSHOTS_PATH": folder / "snapshots",
            **settings,
        }
        self._environment = {**os.environ, **{f"QDRANT__{name}": str(value) for name, value in given.items()}}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was not started"
        return self._process.pid

    def start(self, seconds: float = 60.0) -> None:
        """Start it, and wait until it answers; not with `seconds=0`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(BINARY), *self._arguments], cwd=self.folder, env=self._environment, stdout=log, stderr=log
            )
        end = time.monotonic() + seconds
        while seconds and not self.answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Qdrant did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def answers(self) -> bool:
        """Whether it serves requests."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def replicas_are_active(self) -> bool:
        """Whether all replicas of all collections are active, as this node of a cluster sees it."""
        try:
            names = [each["name"] for each in self._get("/collections")["collections"]]
            states = [self._get(f"/collections/{name}/cluster") for name in names]
        except (OSError, ValueError):
            return False
        replicas = [each for state in states for each in (*state["local_shards"], *state["remote_shards"])]
        return all(each["state"] == "Active" for each in replicas) and not any(
            state["shard_transfers"] for state in states
        )

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=5) as answer:
            return json.loads(answer.read())["result"]

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def cluster(folder: Path, count: int = 3) -> list[QdrantNode]:
    """The nodes of a cluster. The first one has to be started first."""
    uris = [f"http://127.0.0.1:{free_port()}" for _ in range(count)]
    return [
        QdrantNode(
            folder / str(number),
            ["--uri", uri] if number == 0 else ["--uri", uri, "--bootstrap", uris[0]],
            CLUSTER__ENABLED="true",
            CLUSTER__P2P__PORT=uri.rpartition(":")[2],
        )
        for number, uri in enumerate(uris)
    ]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def real_server() -> Iterator[str | None]:
    """The URL of a real server; None if QDRANT_BINARY names none."""
    if BINARY is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="remanence-qdrant-") as folder:
        node = QdrantNode(Path(folder))
        try:
            node.start()
            yield node.url
        finally:
            node.kill()


@contextmanager
def running_server() -> Iterator[RunningServer]:
    """A server that can be told to fail: a real one behind a process that passes calls on, or the stand-in."""
    with real_server() as url:
        arguments = [] if url is None else [url]
        process = subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            yield RunningServer(process.stdout.readline().strip())
        finally:
            process.kill()
            process.communicate()


def main() -> None:
    Handler.passed_on_to = sys.argv[1] if len(sys.argv) > 1 else None
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
