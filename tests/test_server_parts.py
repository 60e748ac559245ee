"""Parts of the server by themselves: its threads, and how answers are written."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest

import remanence
from live_server import served
from remanence.ports import ListReading
from remanence.testing import FakeClock, HashingEmbedder
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
    pools.close(10)


async def test_what_a_function_raises_is_raised_to_its_caller() -> None:
    """And the thread goes on."""
    pools = Pools(ServerSettings(quick_threads=1))

    def fail() -> None:
        raise LookupError("not there")

    for _ in range(3):
        with pytest.raises(LookupError, match="not there"):
            await pools.run("quick", fail)
    assert await pools.run("quick", lambda: 7) == 7
    pools.close(10)


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
    pools.close(10)


async def test_closing_waits_for_what_runs_and_begins_nothing_more() -> None:
    """Who waits for what was not begun is told that it is cancelled."""
    pools, begun, end = Pools(ServerSettings(quick_threads=1)), threading.Event(), threading.Event()

    def run() -> int:
        begun.set()
        end.wait(20)
        return 7

    running = asyncio.create_task(pools.run("quick", run))
    waiting = [asyncio.create_task(pools.run("quick", run)) for _ in range(3)]
    await asyncio.to_thread(begun.wait, 20)
    asyncio.get_running_loop().call_later(0.1, end.set)
    assert await asyncio.to_thread(pools.close, 20) == 0
    assert await running == 7
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 3


async def test_closing_does_not_wait_longer_than_it_may() -> None:
    pools, end = Pools(ServerSettings(quick_threads=1)), threading.Event()
    task = asyncio.create_task(pools.run("quick", lambda: end.wait(60)))
    await asyncio.sleep(0.05)
    assert await asyncio.to_thread(pools.close, 0) == 1
    assert not task.done()
    end.set()
    await task


class SlowReader:
    """Reads nothing, slowly, and counts how often it was asked."""

    fingerprint = "slow"

    def __init__(self) -> None:
        self.calls = 0

    def read(self, question: str, lines: Sequence[Any], **_: object) -> ListReading:
        self.calls += 1
        time.sleep(0.05)
        none, all_ = (0.0,) * len(lines), (1.0,) * len(lines)
        return ListReading(all_, all_, none, none, 1.0)


@pytest.mark.slow
def test_work_that_no_client_waits_for_is_cancelled(clock: FakeClock) -> None:
    """Of six profiles, which read 37 pairs each, none is finished."""
    reader = SlowReader()
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock, worker=False) as space:
        for _ in range(20):
            clock.advance(days=1)
            for user in range(6):
                space.child(f"user {user}").add(f"Note {clock.now():%d %B} is about the harbour.")
        with served(space, slow_threads=1) as address:
            assert httpx.get(f"{address}/v1/spaces/default~1nobody/profile", timeout=60).status_code == 200

            def ask(user: int) -> None:
                with suppress(httpx.TimeoutException):
                    httpx.get(f"{address}/v1/spaces/default~1user%20{user}/profile", timeout=1.0)

            with ThreadPoolExecutor(6) as threads:
                list(threads.map(ask, range(6)))
            assert httpx.get(f"{address}/healthz", timeout=20).status_code == 200
        assert reader.calls < 37


@pytest.mark.slow
def test_a_server_ends_in_time_whatever_runs() -> None:
    """Here an embedder that does not answer. The write was not answered, either."""
    asked, end, answered = threading.Event(), threading.Event(), list[int]()

    def embed(texts: Sequence[str]) -> list[list[float]]:
        if "wait" in texts[0]:
            asked.set()
            end.wait(120)
        return [[1.0, 0.0] for _ in texts]

    with remanence.open(None, embedder=embed, reader=None, worker=False) as space:
        space.add("a first note")
        with served(space) as address:

            def write() -> None:
                with suppress(httpx.HTTPError):
                    answered.append(
                        httpx.post(
                            f"{address}/v1/spaces/default/memories", json={"text": "wait"}, timeout=60
                        ).status_code
                    )

            writer = threading.Thread(target=write)
            writer.start()
            assert asked.wait(20)
        assert space.count() == 1
        end.set()
        writer.join()
    assert 201 not in answered
