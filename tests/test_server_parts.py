"""Parts of the server by themselves: its threads, and how answers are written."""

from __future__ import annotations

import asyncio
import threading

import pytest

from remanence_server.problems import RequestRejected
from remanence_server.settings import ServerSettings
from remanence_server.state import Pools


async def test_functions_run_at_once_up_to_the_size_of_their_pool() -> None:
    """Then they wait, and more than may wait are refused."""
    pools = Pools(ServerSettings(slow_threads=2, max_waiting=1))
    together = threading.Barrier(3)
    running = [asyncio.create_task(pools.run("slow", lambda: together.wait(20))) for _ in range(2)]
    waiting = asyncio.create_task(pools.run("slow", threading.get_ident))
    await asyncio.sleep(0)
    with pytest.raises(RequestRejected):
        await pools.run("slow", threading.get_ident)
    assert (pools.active["slow"], waiting.done()) == (3, False)
    await asyncio.to_thread(together.wait, 20)
    await asyncio.gather(*running)
    assert await waiting != threading.get_ident()
    assert pools.active["slow"] == 0
    pools.close()


async def test_what_a_function_raises_is_raised_to_its_caller() -> None:
    """And the thread goes on."""
    pools = Pools(ServerSettings(quick_threads=1))

    def fail() -> None:
        raise LookupError("not there")

    for _ in range(3):
        with pytest.raises(LookupError, match="not there"):
            await pools.run("quick", fail)
    assert await pools.run("quick", lambda: 7) == 7
    pools.close()


async def test_a_function_that_nobody_waits_for_holds_no_other_up() -> None:
    """Its thread is still taken, so that the next function has another."""
    pools = Pools(ServerSettings(quick_threads=2))
    end = threading.Event()
    left = asyncio.create_task(pools.run("quick", lambda: end.wait(20)))
    await asyncio.sleep(0.01)
    left.cancel()
    await asyncio.sleep(0)
    assert await asyncio.wait_for(pools.run("quick", lambda: 7), 10) == 7
    end.set()
    pools.close()


async def test_closing_waits_for_what_was_begun() -> None:
    """An answer may be lost then, but no write."""
    pools = Pools(ServerSettings(quick_threads=1))
    done: list[int] = []
    tasks = [asyncio.create_task(pools.run("quick", lambda number=number: done.append(number))) for number in range(5)]  # type: ignore[misc]
    await asyncio.sleep(0)
    await asyncio.to_thread(pools.close)
    assert done == [0, 1, 2, 3, 4]
    await asyncio.gather(*tasks)
