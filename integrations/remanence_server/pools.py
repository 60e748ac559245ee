"""The threads that operations run in: a pool for each sort, so that slow operations do not delay others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Literal, NamedTuple, TypeVar

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
        self._pools = {name: _Threads(size, f"remanence-{name}") for name, size in sizes.items()}
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
            result: T = await self._pools[name].submit(function)
            return result
        finally:
            self.active[name] -= 1

    def close(self) -> None:
        """Wait for what runs."""
        for pool in self._pools.values():
            pool.close()


class _Job(NamedTuple):
    function: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class _Threads:
    """Threads that run functions for an event loop.

    A `ThreadPoolExecutor` makes a future with a lock for each function, and copies its result into another future:
    handing over a function takes twice as long.
    """

    def __init__(self, size: int, name: str) -> None:
        self._size, self._name = size, name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        """How many functions run or wait, also those that nobody waits for any more."""

    def submit(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run a function as soon as a thread is free. Called in the event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._jobs.put(_Job(function, loop, future))
        self._unfinished += 1
        if self._unfinished > len(self._threads) < self._size:
            thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def close(self) -> None:
        """Wait until all functions were run."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            result, error = None, None
            try:
                result = job.function()
            except BaseException as raised:  # noqa: BLE001 - whatever it is, it is raised to the caller
                error = raised
            try:
                job.loop.call_soon_threadsafe(self._finish, job.future, result, error)
            except RuntimeError:  # the event loop has ended, and nobody waits for the result
                pass
            del job, result, error  # an answer may be large, and the next job may come late

    def _finish(self, future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
        self._unfinished -= 1
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
