"""One HTTP call for each operation. Errors are raised as the exceptions that the server raised."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import IO, Any, TypeVar
from urllib.parse import quote, urlencode

from pydantic_core import PydanticSerializationError, from_json, to_json

from remanence.core.identity import new_id
from remanence.errors import Closed, InvalidInput, LedgerUnavailable, RemanenceError
from remanence.language.text import truncate
from remanence.schema.version import __version__
from remanence.service.client.http_address import ServerAddress
from remanence.service.client.http_pool import NO_ANSWER, HttpAnswer, HttpPool, HttpRequest, Transport
from remanence.service.exceptions import exception_from_response
from remanence.service.hosting.spaces import to_segment
from remanence.service.operation import AnswerT, AnyRequest, Operation

SLOW_SECONDS = 600.0
"""How long operations may take that are known to be slow."""
ResultT = TypeVar("ResultT")


class Connection:
    """A connection to a server. It may be used from several threads.

    Args:
        url: The address of the server.
        token: A token, as `remanence tokens create` prints it.
        timeout: How many seconds an answer may take; operations that are known to be slow may take ten minutes.
        transport: What brings requests to the server; by default the network.
    """

    def __init__(self, url: str, token: str | None, timeout: float, transport: Transport | None = None) -> None:
        if token is not None and not re.fullmatch(r"[!-~]*", token):
            raise InvalidInput(
                "the token has a space or another character that no token has. Give it as it was printed."
            )
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            raise InvalidInput(f"timeout={timeout!r} is not a number of seconds above 0.")
        address = ServerAddress(url)
        self.url = address.url
        self._path = address.path
        self._headers = {"user-agent": f"remanence/{__version__}", "accept": "application/json"}
        self._headers |= {} if token is None else {"authorization": f"Bearer {token}"}
        self._transport = transport or HttpPool(address)
        self._timeout = timeout
        self._closed = False

    def call(self, operation: Operation[AnyRequest, AnswerT], space: str, request: AnyRequest) -> AnswerT:
        """Ask the server to do an operation, and return its answer."""
        answer: AnswerT = self.call_json(operation, space, request, operation.adapter.validate_json)
        return answer

    def call_json(
        self, operation: Operation[AnyRequest, Any], space: str, request: AnyRequest, read: Callable[[bytes], ResultT]
    ) -> ResultT:
        """Ask the server to do an operation, and return what `read` makes of the JSON of its answer."""
        try:
            fields: dict[str, Any] = request.model_dump(mode="json", exclude_unset=True)
            path = re.sub(r"{(\w+)}", lambda match: quote(str(fields.pop(match[1])), safe=""), operation.path)
            query, content = (_query(fields), b"") if operation.method == "GET" else ("", to_json(fields))
        except (PydanticSerializationError, UnicodeEncodeError) as error:  # such as half of a surrogate pair
            raise InvalidInput(f"this cannot be sent to the server: {error}.") from None
        headers = {} if operation.method == "GET" else {"content-type": "application/json"}
        if operation.access != "read":
            headers["idempotency-key"] = new_id()
        timeout = SLOW_SECONDS if operation.slow else self._timeout
        target = _path(space, path) + query
        return self._answer(self._request(operation.method, target, headers, content, timeout), read)

    def upload(
        self, space: str, path: str, fields: Mapping[str, Any], file: IO[bytes], read: Callable[[bytes], ResultT]
    ) -> ResultT:
        """Send a file, and return what `read` makes of the JSON of the answer."""
        headers = {"content-type": "application/octet-stream", "idempotency-key": new_id()}
        return self._answer(
            self._request("POST", _path(space, path) + _query(fields), headers, file, SLOW_SECONDS), read
        )

    def download(self, space: str, path: str, fields: Mapping[str, Any], file: IO[bytes]) -> None:
        """Write an answer into a file while it comes."""
        request = self._request("GET", _path(space, path) + _query(fields), {}, b"", SLOW_SECONDS)
        self._checked(request, self._exchange(request, file))

    def close(self) -> None:
        self._closed = True
        self._transport.close()

    def _request(
        self, method: str, target: str, headers: dict[str, str], content: bytes | IO[bytes], timeout: float
    ) -> HttpRequest:
        return HttpRequest(method, self._path + target, self._headers | headers, content, timeout)

    def _answer(self, request: HttpRequest, read: Callable[[bytes], ResultT]) -> ResultT:
        response = self._exchange(request)
        self._checked(request, response)
        try:
            return read(response.content)
        except (ValueError, KeyError, TypeError) as error:  # ValidationError is a ValueError
            raise RemanenceError(
                f"{self.url} answered {request.method} {request.target} with what release {__version__} cannot read "
                f"({truncate(' '.join(repr(error).split()), 160)}). Is it a server of Remanence, of the same release?"
            ) from error

    def _exchange(self, request: HttpRequest, into: IO[bytes] | None = None) -> HttpAnswer:
        """Send a request. One that got no answer is sent once more: writes have a key, and are done once."""
        if self._closed:
            raise Closed(f"the connection to {self.url} was closed. Connect again.")
        try:
            return self._transport.exchange(request, into)
        except TimeoutError as error:
            raise self._unavailable(error) from error
        except NO_ANSWER:
            if into is not None:
                into.seek(0)
                into.truncate()
        try:
            return self._transport.exchange(request, into)
        except NO_ANSWER as error:
            raise self._unavailable(error) from error

    def _checked(self, request: HttpRequest, response: HttpAnswer) -> None:
        """Raise the exception that an answer stands for, if it is not a success."""
        if 200 <= response.status < 300:
            return
        try:
            body = from_json(response.content)
        except ValueError:
            body = None
        body = body if isinstance(body, dict) else {}
        detail = body.get("detail") or f"{self.url} answered with status {response.status}."
        if response.status == 404 and not body.get("error"):
            detail = (
                f"{self.url}{request.target} does not exist. Connect to the address of the server alone, without /v1."
            )
        raise exception_from_response(body.get("error"), detail, response.status, body.get("position"))

    def _unavailable(self, error: Exception) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"{self.url} does not answer ({str(error) or type(error).__name__}). Is the server running?"
        )


def _path(space: str, path: str) -> str:
    return f"/v1/spaces/{quote(to_segment(space), safe='~')}{path}"


def _query(fields: Mapping[str, Any]) -> str:
    """The query of an address, with its question mark.

    >>> _query({"tags": ["a b", "c"], "children": True, "kind": None}), _query({})
    ('?tags=a+b&tags=c&children=true', '')
    """
    given = {name: to_json(value).decode() if isinstance(value, bool) else value for name, value in fields.items()}
    query = urlencode({name: value for name, value in given.items() if value is not None}, doseq=True)
    return query and f"?{query}"
