"""A Qdrant server for tests: the REST calls that Remanence makes, answered by qdrant-client's in-process mode.

`python qdrant_server.py` prints its URL and serves until it is killed. `PUT /fault` with a JSON object makes it fail:
`{"status": 500}` answers every call so, `{"delay": 3}` answers late, `{"cut": true}` closes connections without an
answer, `{"garbage": true}` answers with what is not JSON, `{"drip": true}` sends a byte now and then, `{"long": true}`
never stops; `{}` ends it. `GET /calls` counts calls by method and route.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from qdrant_client import QdrantClient, models

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

    def answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
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
        else:
            self.reply(*respond(self.command, path, body))

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
        try:
            with lock, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return 200, {"result": act(*found.groups(), body), "status": "ok", "time": 0.0}
        except FileExistsError:
            return 409, {"status": {"error": "already exists"}}
        except ValueError as error:
            return (404 if "not found" in str(error) else 400), {"status": {"error": str(error)}}
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

    def _send(self, method: str, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())


@contextmanager
def running_server() -> Iterator[RunningServer]:
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        yield RunningServer(process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
