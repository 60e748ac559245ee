"""What all routes of one application share: spaces, threads, and who may do what."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Literal, TypeVar, cast

from starlette.requests import Request
from starlette.responses import Response

from remanence.adapters import cancel_with
from remanence.service.hosting.spaces import Spaces, from_segment
from remanence.service.operation import Access
from remanence_server.access import AccessControl, Caller
from remanence_server.idempotency import IdempotencyKeys
from remanence_server.metrics import Metrics
from remanence_server.problems import RequestRejected, problem
from remanence_server.settings import ServerSettings

T = TypeVar("T")
PoolName = Literal["quick", "recall", "slow"]


class Pools:
    """Thread pools, each with a limit on how many operations wait."""

    def __init__(self, settings: ServerSettings) -> None:
        sizes: dict[PoolName, int] = {
            "quick": settings.quick_threads,
            "recall": settings.recall_threads,
            "slow": settings.slow_threads,
        }
        self._pools = {name: ThreadPoolExecutor(size, f"remanence-{name}") for name, size in sizes.items()}
        self._most = {name: size + settings.max_waiting for name, size in sizes.items()}
        self._changed = threading.Condition()
        self._running: dict[threading.Event, PoolName] = {}
        """What runs or waits: the event that cancels each, and its pool."""

    @property
    def active(self) -> dict[PoolName, int]:
        """How many operations run or wait, by pool."""
        with self._changed:
            counts = Counter(self._running.values())
        return {name: counts[name] for name in self._pools}

    async def run(self, name: PoolName, function: Callable[[], T], request: Request | None = None) -> T:
        """Run a function in a thread of this pool. If the caller does not wait for it any more, or the client of the
        `request` is gone, it is not begun, and ends at its next step if it runs.

        Raises:
            RequestRejected: Too many wait already, or the client is gone.
        """
        if (waiting := self.active[name]) >= self._most[name]:
            raise RequestRejected(problem(503, f"{waiting} requests are waiting already. Try again later."))
        cancelled, context = threading.Event(), copy_context()  # with the variables of the request: its id and its span
        context.run(cancel_with, cancelled)
        with self._changed:
            self._running[cancelled] = name
        future = self._pools[name].submit(context.run, function)
        future.add_done_callback(lambda _: self._end(cancelled))
        result: asyncio.Future[T] = asyncio.wrap_future(future)
        try:
            if request is not None:
                await _answer_or_disconnect(result, request)
            return await result
        finally:
            cancelled.set()
            result.cancel()

    def _end(self, cancelled: threading.Event) -> None:
        with self._changed:
            del self._running[cancelled]
            self._changed.notify_all()

    def close(self, seconds: float) -> int:
        """Begin nothing more, and wait at most so many seconds for what runs. Returns how many go on all the same."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        with self._changed:
            for cancelled in self._running:
                cancelled.set()
            # So that what runs may notice that it is cancelled.
            self._changed.wait_for(lambda: not self._running, max(1.0, seconds))
            return len(self._running)


async def _answer_or_disconnect(answer: asyncio.Future[T], request: Request) -> None:
    """Wait for an answer.

    Raises:
        RequestRejected: The client is gone before.
    """

    async def disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    gone = asyncio.ensure_future(disconnect())
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
    if not answer.done():
        raise RequestRejected(Response(status_code=499))  # for the log: nobody waits for the answer


@dataclass
class ServerState:
    """The spaces, the threads, and who may do what."""

    settings: ServerSettings
    spaces: Spaces
    pools: Pools
    access: AccessControl
    keys: IdempotencyKeys
    metrics: Metrics
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is asked to stop: event streams end then."""
    stop_by: float = math.inf
    """Until when it has to have stopped, as `time.monotonic` says it."""
    streams: int = 0
    """How many event streams are open."""


def state_of(request: Request) -> ServerState:
    """The state of the application that a request came to."""
    return cast(ServerState, request.app.state.server)


def authorize(request: Request, segment: str, access: Access) -> tuple[ServerState, Caller, str]:
    """The caller, who may do this, and the name of the space that a path names.

    Raises:
        RequestRejected: The caller is unknown, or may not do this there.
    """
    state, name = state_of(request), from_segment(segment)
    caller = state.access.caller(request)
    caller.require(name, access)
    return state, caller, name
