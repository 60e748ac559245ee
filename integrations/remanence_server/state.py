"""What all routes of one application share: spaces, threads, and who may do what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar, cast

from starlette.requests import Request

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
        self.active: dict[PoolName, int] = dict.fromkeys(sizes, 0)
        """How many operations run or wait, by pool."""

    async def run(self, name: PoolName, function: Callable[[], T]) -> T:
        """Run a function in a thread of this pool.

        Raises:
            RequestRejected: Too many wait already.
        """
        if self.active[name] >= self._most[name]:
            raise RequestRejected(problem(503, f"{self.active[name]} requests are waiting already. Try again later."))
        self.active[name] += 1
        try:
            # With the variables of the request: its id and its span.
            run: Callable[[], T] = partial(copy_context().run, function)
            return await asyncio.get_running_loop().run_in_executor(self._pools[name], run)
        finally:
            self.active[name] -= 1

    def close(self) -> None:
        """Wait for what runs."""
        for pool in self._pools.values():
            pool.shutdown(wait=True)


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
