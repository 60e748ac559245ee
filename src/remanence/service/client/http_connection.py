"""One HTTP call for each operation. Errors are raised as the exceptions that the server raised."""

from __future__ import annotations

import os
import re
import ssl
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any, TypeVar
from urllib.parse import quote, urlsplit

import httpx
from pydantic_core import PydanticSerializationError, from_json, to_json

from remanence.errors import Closed, InvalidInput, LedgerUnavailable, RemanenceError
from remanence.index.engine.identity import new_id
from remanence.schema.version import __version__
from remanence.service.exceptions import exception_from_response
from remanence.service.hosting.spaces import to_segment
from remanence.service.operation import Operation
from remanence.service.requests import Request
from remanence.text.text import truncate

SLOW_SECONDS = 600.0
ResultT = TypeVar("ResultT")


class Connection:
    """A connection to a server. It may be used from several threads.

    Proxies are those of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), certificates those that OpenSSL
    trusts (SSL_CERT_FILE, SSL_CERT_DIR).

    Args:
        url: The address of the server, as http://127.0.0.1:8765 or https://host/path.
        token: A token, as `remanence tokens create` prints it.
        timeout: How many seconds an answer may take; operations that are known to be slow may take ten minutes.
        transport: What brings requests to the server; by default the network.

    Raises:
        InvalidInput: An argument is not what it should be, or the proxy of the environment cannot be used.
    """

    def __init__(
        self, url: str, token: str | None, timeout: float, transport: httpx.BaseTransport | None = None
    ) -> None:
        if token is not None and not re.fullmatch(r"[!-~]*", token):
            raise InvalidInput(
                "the token has a space or another character that no token has. Give it as it was printed."
            )
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            raise InvalidInput(f"timeout={timeout!r} is not a number of seconds above 0.")
        self.url = _checked_url(url)
        # Answers are not compressed: on one machine or in one network that takes longer than to send them.
        self._headers = {"user-agent": f"remanence/{__version__}", "accept": "application/json"}
        self._headers |= {"accept-encoding": "identity"}
        self._headers |= {} if token is None else {"authorization": f"Bearer {token}"}
        self._timeout = timeout
        self._transport = transport
        self._client = self._new_client()
        self._process = os.getpid()

    def call(self, operation: Operation[ResultT], space: str, request: Request) -> ResultT:
        """Ask the server to do an operation, and return what its answer stands for."""
        try:
            fields: dict[str, Any] = request.model_dump(mode="json", exclude_unset=True)
            path = re.sub(r"{(\w+)}", lambda match: quote(str(fields.pop(match[1])), safe=""), operation.path)
            query, content = (fields, b"") if operation.http_method == "GET" else ({}, to_json(fields))
        except (PydanticSerializationError, UnicodeEncodeError) as error:  # such as half of a surrogate pair
            raise InvalidInput(f"this cannot be sent to the server: {error}.") from None
        headers = {"content-type": "application/json"} if content else {}
        if operation.access != "read":
            headers["idempotency-key"] = new_id()
        timeout = SLOW_SECONDS if operation.slow else self._timeout
        response = self._send(operation.http_method, space, path, query, timeout, content=content, headers=headers)
        read: Callable[[bytes], ResultT] = operation.adapter.validate_json
        return self._read(response, read)

    def upload(
        self, space: str, path: str, fields: Mapping[str, Any], file: IO[bytes], read: Callable[[bytes], ResultT]
    ) -> ResultT:
        """Send a file, and return what `read` makes of the JSON of the answer."""
        headers = {"content-type": "application/octet-stream", "idempotency-key": new_id()}
        response = self._send("POST", space, path, fields, SLOW_SECONDS, content=file, headers=headers)
        return self._read(response, read)

    def download(self, space: str, path: str, fields: Mapping[str, Any], file: IO[bytes]) -> None:
        """Write an answer into a file while it comes."""
        self._send("GET", space, path, fields, SLOW_SECONDS, into=file)

    def close(self) -> None:
        self._client.close()

    def _new_client(self) -> httpx.Client:
        # Reading the certificates takes 70 ms. Without TLS nothing asks for them; the context for that trusts nobody.
        is_secure = urlsplit(self.url).scheme == "https"
        context = ssl.create_default_context() if is_secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            return httpx.Client(transport=self._transport, verify=context, headers=self._headers)
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise InvalidInput(
                f"the proxy of the environment cannot be used ({error}). Name another one in HTTP_PROXY, or let "
                "NO_PROXY contain the server."
            ) from None

    def _send(
        self,
        method: str,
        space: str,
        path: str,
        query: Mapping[str, Any],
        timeout: float,
        *,
        content: bytes | IO[bytes] = b"",
        headers: Mapping[str, str] | None = None,
        into: IO[bytes] | None = None,
    ) -> httpx.Response:
        """Send a request. One that got no answer is sent once more: writes have a key, and are done once."""
        if self._client.is_closed:
            raise Closed(f"the connection to {self.url} was closed. Connect again.")
        if self._process != os.getpid():
            self._client, self._process = self._new_client(), os.getpid()  # after a fork the parent reads from the old
        url = f"{self.url}/v1/spaces/{quote(to_segment(space), safe='~')}{path}"
        asked = {name: value for name, value in query.items() if value is not None}
        for is_last in (False, True):
            try:
                if not isinstance(content, bytes):
                    content.seek(0)
                sent = {**(headers or {}), **_trace_headers()}
                with self._client.stream(
                    method, url, params=asked or None, content=content, headers=sent, timeout=timeout
                ) as response:
                    _receive(response, into)
                self._raise_problem(response)
                return response
            except (httpx.RequestError, httpx.InvalidURL) as error:
                if is_last or isinstance(error, httpx.TimeoutException | httpx.InvalidURL):
                    raise LedgerUnavailable(
                        f"{self.url} does not answer ({str(error) or type(error).__name__}). Is the server running?"
                    ) from error
        raise AssertionError

    def _read(self, response: httpx.Response, read: Callable[[bytes], ResultT]) -> ResultT:
        try:
            return read(response.content)
        except (ValueError, KeyError, TypeError) as error:  # ValidationError is a ValueError
            raise RemanenceError(
                f"{self.url} answered {response.request.method} {response.request.url.path} with what release "
                f"{__version__} cannot read ({truncate(' '.join(repr(error).split()), 160)}). Is it a server of "
                "Remanence, of the same release?"
            ) from error

    def _raise_problem(self, response: httpx.Response) -> None:
        """Raise the exception that an answer stands for, if it is not a success."""
        if response.is_success:
            return
        try:
            body = from_json(response.content)
        except ValueError:
            body = None
        body = body if isinstance(body, dict) else {}
        detail = body.get("detail") or f"{self.url} answered with status {response.status_code}."
        if response.status_code == 404 and not body.get("error"):
            detail = f"{response.request.url} does not exist. Connect to the address of the server alone, without /v1."
        wait = response.headers.get("retry-after", "")
        retry_after = float(wait) if wait.isdigit() else 0.0
        raise exception_from_response(
            body.get("error"), detail, response.status_code, body.get("position"), retry_after
        )


def _trace_headers() -> dict[str, str]:
    """The headers by which a request belongs to the trace of its caller, if traces are recorded."""
    telemetry = sys.modules.get("remanence.telemetry")  # which loads the engine; a client alone has none
    return {} if telemetry is None else telemetry.outgoing_headers()


def _receive(response: httpx.Response, into: IO[bytes] | None) -> None:
    """Read the body of an answer; that of a success into a file, if one is given."""
    if into is None or not response.is_success:
        response.read()
        return
    into.seek(0)
    into.truncate()
    for block in response.iter_bytes(1 << 20):
        into.write(block)


def _checked_url(url: object) -> str:
    """The address of a server, without a slash at its end.

    >>> _checked_url("http://127.0.0.1:8765/memory/")
    'http://127.0.0.1:8765/memory'
    """
    text = url if isinstance(url, str) else ""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_address = is_address and not re.search(r"\s", text) and bool(httpx.URL(text))
    except (ValueError, httpx.InvalidURL):  # a port that is no number, or letters that no name has
        is_address = False
    if "@" in text:  # it is not shown: a password may be in it
        raise InvalidInput("the address of the server has a user name in it. Give a token: connect(url, token=...).")
    if not is_address:
        raise InvalidInput(f"url={url!r} is not the address of a server. Give for example http://127.0.0.1:8765.")
    if parts.query or parts.fragment:
        raise InvalidInput(f"url={url!r} ends with a query or a fragment. Leave it out.")
    return text.rstrip("/")
