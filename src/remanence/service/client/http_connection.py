"""One HTTP call for each operation. Errors are raised as the exceptions that the server raised."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import getproxies

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json

from remanence.core.identity import new_id
from remanence.errors import Closed, InvalidInput, LedgerUnavailable, MissingExtra
from remanence.schema.version import __version__
from remanence.service.exceptions import exception_from_response
from remanence.service.hosting.spaces import to_segment
from remanence.service.operation import AnswerT, AnyRequest, Operation

if TYPE_CHECKING:
    import httpx

_SLOW_SECONDS = 600.0
_TRIES = 2
_MAX_URLS = 1_000


class Connection:
    """A connection to a server. It may be used from several threads.

    Args:
        url: The address of the server.
        token: A token, as `remanence tokens create` prints it.
        timeout: How many seconds an answer may take; operations that are known to be slow may take ten minutes.
        transport: An `httpx` transport, for tests.
    """

    def __init__(self, url: str, token: str | None, timeout: float, transport: Any = None) -> None:
        try:
            import httpx
        except ModuleNotFoundError as error:
            raise MissingExtra('connect() needs httpx. Run: pip install "remanence[client]"') from error
        if not isinstance(url, str) or not re.match(r"https?://[^/]", url):
            raise InvalidInput(f"url={url!r} is not the address of a server. Give for example http://127.0.0.1:8765.")
        self._httpx = httpx
        self.url = url.rstrip("/")
        headers = {"user-agent": f"remanence/{__version__}", "accept-encoding": "gzip"}
        headers |= {} if token is None else {"authorization": f"Bearer {token}"}
        # Where a proxy is set, httpx chooses the transport.
        self._transport = transport or (None if getproxies() else httpx.HTTPTransport())
        self._client = httpx.Client(base_url=self.url, headers=headers, timeout=timeout, transport=self._transport)
        self._headers = {**headers, "host": httpx.URL(self.url).netloc.decode(), "content-type": "application/json"}
        self._timeout = timeout
        self._adapters: dict[str, TypeAdapter[Any]] = {}
        self._urls: dict[str, httpx.URL] = {}

    def call(self, operation: Operation[AnyRequest, AnswerT], space: str, request: AnyRequest) -> AnswerT:
        """Ask the server to do an operation, and return its answer."""
        try:
            fields: dict[str, Any] = request.model_dump(mode="json", exclude_unset=True)
            path = re.sub(r"{(\w+)}", lambda match: quote(str(fields.pop(match[1])), safe=""), operation.path)
            content = b"" if operation.method == "GET" else to_json(fields)
        except (PydanticSerializationError, UnicodeEncodeError) as error:  # such as half of a surrogate pair
            raise InvalidInput(f"this cannot be sent to the server: {error}.") from None
        timeout = _SLOW_SECONDS if operation.slow else self._timeout
        if operation.method == "GET":
            response = self.send("GET", space, path, params=fields, timeout=timeout)
        else:
            headers = {"idempotency-key": new_id()} if operation.access != "read" else {}
            response = self._send_json(operation.method, _path(space, path), content, headers, timeout)
        adapter = self._adapters.get(operation.name)
        if adapter is None:
            adapter = self._adapters[operation.name] = TypeAdapter(operation.answer)
        answer: AnswerT = adapter.validate_json(response.content)
        return answer

    def send(self, method: str, space: str, path: str, **options: Any) -> httpx.Response:
        """Send a request about a space. One that got no answer is sent again: writes have a key, and are done once."""
        return self._answer(lambda: self._client.request(method, _path(space, path), **options))

    def _send_json(
        self, method: str, path: str, content: bytes, headers: dict[str, str], timeout: float
    ) -> httpx.Response:
        """Send JSON. Without a proxy the transport is asked directly: what an httpx client does for each request
        besides (addresses, cookies, redirects) takes longer than the exchange itself."""
        transport = self._transport
        if transport is None:
            given = {**headers, "content-type": "application/json"}
            return self._answer(
                lambda: self._client.request(method, path, content=content, headers=given, timeout=timeout)
            )
        url = self._urls.get(path)
        if url is None:
            if len(self._urls) >= _MAX_URLS:
                self._urls.clear()
            url = self._urls[path] = self._httpx.URL(f"{self.url}{path}")
        limits = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout)}

        def exchange() -> httpx.Response:
            if self._client.is_closed:
                raise RuntimeError("the client was closed")
            asked = self._httpx.Request(
                method, url, headers={**self._headers, **headers}, content=content, extensions=limits
            )
            response: httpx.Response = transport.handle_request(asked)
            response.request = asked
            response.read()
            return response

        return self._answer(exchange)

    def _answer(self, exchange: Callable[[], httpx.Response]) -> httpx.Response:
        for tries_left in reversed(range(_TRIES)):
            try:
                return self._checked(exchange())
            except (self._httpx.ConnectError, self._httpx.RemoteProtocolError, self._httpx.ReadError) as error:
                if not tries_left:
                    raise self._unavailable(error) from error
            except self._httpx.TransportError as error:
                raise self._unavailable(error) from error
            except RuntimeError as error:
                raise Closed(f"the connection to {self.url} was closed. Connect again.") from error
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def download(self, space: str, path: str, **options: Any) -> Iterator[httpx.Response]:
        """A response that is read while it comes."""
        with self._client.stream("GET", _path(space, path), timeout=_SLOW_SECONDS, **options) as response:
            if response.is_error:
                response.read()
            yield self._checked(response)

    def close(self) -> None:
        self._client.close()

    def _checked(self, response: httpx.Response) -> httpx.Response:
        if not response.is_error:
            return response
        try:
            body = response.json()
        except ValueError:
            body = {}
        detail = body.get("detail") or f"{self.url} answered with status {response.status_code}."
        if response.status_code == 404 and not body.get("error"):
            detail = f"{response.url} does not exist. Connect to the address of the server alone, without /v1."
        raise exception_from_response(body.get("error"), detail, response.status_code, body.get("position"))

    def _unavailable(self, error: Exception) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"{self.url} does not answer ({error or type(error).__name__}). Is the server running?"
        )


def _path(space: str, path: str) -> str:
    return f"/v1/spaces/{quote(to_segment(space), safe='~')}{path}"
