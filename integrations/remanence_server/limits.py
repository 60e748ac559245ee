"""Limits on every request, before it reaches a route: the size of its body, and how many come in a minute.

Requests count for their token. Those without a valid one count for their address, and are refused before the token is
looked up if there were too many.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remanence import RemanenceError
from remanence_server.access import IDENTIFIED, Callers, given_token
from remanence_server.metrics import Metrics
from remanence_server.problems import Watched, problem, problem_of
from remanence_server.settings import ServerSettings

_HEALTH = ("/healthz", "/readyz")
_METRICS = "/metrics"
_NOT_FOR_OTHER_SITES = (b"cross-origin-resource-policy", b"same-origin")


class RateLimiter:
    """A token bucket for each caller: `rate` requests a minute, and as many at once.

    Example:
        >>> moments = iter([0.0, 0.0, 0.0, 30.0])
        >>> limiter = RateLimiter(2, clock=lambda: next(moments))
        >>> [limiter.wait("ana") for _ in range(4)]
        [0.0, 0.0, 30.0, 0.0]
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str, *, count: bool = True) -> float:
        """Count a request; returns 0, or after how many seconds the caller may try again.

        Without `count`, says only whether one more would be too many.
        """
        if not self._rate:
            return 0.0
        now = self._clock()
        left, before = self._buckets.pop(caller, (float(self._rate), now))
        left = min(float(self._rate), left + (now - before) * self._rate / 60)
        allowed = left >= 1
        self._buckets[caller] = (left - 1 if allowed and count else left, now)
        if len(self._buckets) > 10_000:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / self._rate


class Limits:
    """ASGI middleware: identifies who asks, refuses requests beyond the limits, and counts all of them.

    Browsers are told to keep every answer from the pages of other sites.
    """

    def __init__(self, app: ASGIApp, *, settings: ServerSettings, access: Callers, metrics: Metrics) -> None:
        self._app = app
        self._access = access
        self._settings = settings
        self._metrics = metrics
        self._limiter = RateLimiter(settings.rate_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, watched = time.perf_counter(), Watched(send, *_NOT_FOR_OTHER_SITES)
        try:
            await self._within_limits(scope, receive, watched)
        finally:
            operation = getattr(scope.get("route"), "name", None) or "other"
            self._metrics.observe(operation, watched.status, time.perf_counter() - began)

    async def _within_limits(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, headers = scope["path"], Headers(scope=scope)
        try:
            seconds = await self._identify_and_count(scope)
        except RemanenceError as error:  # such as a database that does not answer
            await problem_of(error)(scope, receive, send)
            return
        if seconds:
            detail = f"more than {self._settings.rate_limit} requests a minute. Try again in {seconds:.1f} s."
            await problem(429, detail, error="TooManyRequests", headers={"retry-after": str(int(seconds) + 1)})(
                scope, receive, send
            )
            return
        if (coding := headers.get("content-encoding", "").lower()) not in ("", "identity"):
            await problem(415, f"content-encoding {coding!r} is not read. Send the body as it is.")(
                scope, receive, send
            )
            return
        most = self._settings.max_file if path.endswith("/files") else self._settings.max_body
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > most:
            await problem(413, _too_large(most))(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise HTTPException(413, _too_large(most))  # FastAPI answers other exceptions with status 400
            return message

        await self._app(scope, counted, send)

    async def _identify_and_count(self, scope: Scope) -> float:
        """Look up the token; returns 0, or after how many seconds the caller may try again."""
        path, given, token = scope["path"], given_token(scope), None
        scope[IDENTIFIED] = None
        if path in _HEALTH:
            return 0.0
        address = scope["client"][0] if scope.get("client") else ""
        if given and not self._access.was_valid(given) and (seconds := self._limiter.wait(address, count=False)):
            return seconds
        if given:
            scope[IDENTIFIED] = token = await self._access.identify(given)
        if path == _METRICS and (token or not given):
            return 0.0
        return self._limiter.wait(address if token is None else token.id)


def _too_large(most: int) -> str:
    return f"the body is larger than {most:,} bytes. Send it in parts."
