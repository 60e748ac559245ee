"""Errors as application/problem+json (RFC 9457), with the name of the exception: a client raises the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Message, Send

from remanence import RemanenceError
from remanence.service.error_wording import without_calls
from remanence.service.exceptions import http_status

MEDIA_TYPE = "application/problem+json"
_MAX_DETAIL = 4_000

_PYTHON_CLIENT = "remanence/"


class Problem(BaseModel):
    """Why a request was not done (RFC 9457). `error` is the name of the exception of `remanence.errors`, if it was one;
    `errors` has the fields that were not valid."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    error: str | None = None
    position: int | None = Field(default=None, description="The ledger position of the first entry that was changed.")
    errors: list[dict[str, Any]] | None = None


def problem(
    status: int,
    detail: str,
    *,
    error: str | None = None,
    errors: Sequence[Mapping[str, Any]] | None = None,
    position: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A response that says why a request was not done."""
    body: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    body["detail"] = detail if len(detail) <= _MAX_DETAIL else f"{detail[:_MAX_DETAIL]}…"
    more = {"error": error, "errors": errors, "position": position}
    body |= {name: value for name, value in more.items() if value is not None}
    sent = dict(headers or {})
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        sent.setdefault("retry-after", "1")  # seconds
    if status == HTTPStatus.UNAUTHORIZED:
        sent.setdefault("www-authenticate", 'Bearer realm="remanence"')
    return Response(to_json(body), status, sent, media_type=MEDIA_TYPE)


def problem_of(error: RemanenceError, user_agent: str = "") -> Response:
    """An exception of remanence as a response. Only `remanence.connect` is told which method to call next."""
    detail = str(error) if user_agent.startswith(_PYTHON_CLIENT) else without_calls(str(error))
    return problem(http_status(error), detail, error=type(error).__name__, position=getattr(error, "position", None))


class Watched:
    """Passes on what is sent, with one more header, and knows the status of the answer: 500 while there is none."""

    def __init__(self, send: Send, *header: bytes) -> None:
        self._send, self._header = send, header
        self.status = 500

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message["headers"], self._header]}
        await self._send(message)


class RequestRejected(Exception):
    """A request is refused before an operation runs. `response` says why."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response
