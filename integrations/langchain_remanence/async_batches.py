"""One batch for what the coroutines of an event loop ask for at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from remanence.adapters import in_thread

if TYPE_CHECKING:
    from langgraph.store.base import Op, Result

    Waiting = list[tuple[list[Op], asyncio.Future[list[Result]]]]


class AsyncBatches:
    """Executes operations in a worker thread, one batch for all that are waiting.

    As in LangGraph's own async stores, operations of one batch are at the same time: all reads come before all writes.
    One that fails does not affect the others.
    """

    def __init__(self, batch: Callable[[list[Op]], list[Result]]) -> None:
        self._batch = batch
        self._lock = Lock()
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, Waiting] = WeakKeyDictionary()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self, ops: list[Op]) -> list[Result]:
        """Return the results of operations, in order."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[list[Result]] = loop.create_future()
        with self._lock:
            waiting = self._waiting.setdefault(loop, [])
            waiting.append((ops, done))
            if len(waiting) == 1:
                task = loop.create_task(self._run_waiting(loop))
                self._running.add(task)
                task.add_done_callback(self._running.discard)
        return await done

    async def _run_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            waiting = self._waiting.pop(loop)
        for (_, done), outcome in zip(waiting, await self._aexecute([ops for ops, _ in waiting]), strict=True):
            if done.done():  # whoever waited for it was cancelled
                continue
            if isinstance(outcome, BaseException):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)

    def _execute(self, requests: list[list[Op]]) -> list[list[Result] | Exception]:
        try:
            results = self._batch([op for ops in requests for op in ops])
        except Exception as error:  # noqa: BLE001 - each request gets the error that is its own
            if len(requests) == 1:
                return [error]
            return [self._execute([ops])[0] for ops in requests]
        ends, end = [], 0
        for ops in requests:
            end += len(ops)
            ends.append(results[end - len(ops) : end])
        return list(ends)

    _aexecute = in_thread(_execute)
