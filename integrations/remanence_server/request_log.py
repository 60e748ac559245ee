"""An id for each request, in its answer and in every line of the log that is written for it; and the log itself."""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime, timezone
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remanence.telemetry import current_trace_id
from remanence_server.access import IDENTIFIED
from remanence_server.problems import Watched
from remanence_server.settings import LogFormat, LogLevel

HEADER = "x-request-id"
REQUEST_ID: ContextVar[str] = ContextVar("remanence_request_id", default="")
access_log = logging.getLogger("remanence_server.access")
_USABLE = re.compile(r"[\w.:/+=@-]{1,128}", re.ASCII)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class RequestLog:
    """ASGI middleware: gives each request an id, writes a line about it, and answers HEAD as GET without the body.

    The id is that of the header `X-Request-Id`, if it has one that can be used, so that a proxy and this log agree.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        request_id = given if _USABLE.fullmatch(given) else secrets.token_hex(8)
        began, watched = time.perf_counter(), Watched(send, HEADER.encode(), request_id.encode())
        token = REQUEST_ID.set(request_id)
        try:
            if scope["method"] == "HEAD":
                await _answer_head(self._app, scope, receive, watched)
            else:
                await self._app(scope, receive, watched)
        finally:
            if access_log.isEnabledFor(logging.INFO):
                fields = _fields(scope, watched.status, time.perf_counter() - began)
                access_log.info("%s %s %s", scope["method"], scope["path"], watched.status, extra=fields)
            REQUEST_ID.reset(token)


async def _answer_head(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer as to GET, with its headers and without a body. A stream ends when it has begun."""
    ended = False

    async def without_body(message: Message) -> None:
        nonlocal ended
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})
            ended = True

    async def until_ended() -> Message:
        return {"type": "http.disconnect"} if ended else await receive()

    # The route is looked up in the new scope; what it finds belongs to the log and the metrics of the request.
    scope["method"] = "GET"
    try:
        await app(scope, until_ended, without_body)
    finally:
        scope["method"] = "HEAD"


def _fields(scope: Scope, status: int, seconds: float) -> dict[str, Any]:
    """What is known of a request. Its query is left out, as it may have words of a memory."""
    token = scope.get(IDENTIFIED)
    return {
        "method": scope["method"],
        "path": scope["path"],
        "operation": getattr(scope.get("route"), "name", None) or "other",
        "status": status,
        "seconds": round(seconds, 6),
        "client": scope["client"][0] if scope.get("client") else None,
        "token": None if token is None else token.id,
    }


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON, with the id of its request and of its trace.

    Example:
        >>> fields = {"name": "a", "levelname": "INFO", "msg": "done", "created": 0, "status": 200}
        >>> record = logging.makeLogRecord(fields)
        >>> JsonFormatter().format(record)
        '{"time": "1970-01-01T00:00:00.000+00:00", "level": "info", "logger": "a", "message": "done", "status": 200}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        at = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = {"time": at, "level": record.levelname.lower(), "logger": record.name}
        fields["message"] = record.getMessage()
        fields |= {"request_id": REQUEST_ID.get()} if REQUEST_ID.get() else {}
        fields |= {"trace_id": trace} if (trace := current_trace_id()) else {}
        fields |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False, default=str)


class _TextFormatter(logging.Formatter):
    """A log record as a line of text, with the id of its request."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        return f"{line} [{REQUEST_ID.get()}]" if REQUEST_ID.get() else line


def set_up_logging(log_format: LogFormat, level: LogLevel) -> Callable[[], None]:
    """Write the log of this process to standard error; returns what takes that back."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter() if log_format == "json" else _TextFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(level.upper())

    def undo() -> None:
        root.removeHandler(handler)
        root.setLevel(before)

    return undo
