"""The queue in front of a model that several threads call."""

from __future__ import annotations

import threading
import time

import pytest

from remanence.models.time_limit import CallQueue, TimedOut, TimeLimit


def wait_until_waiting(queue: CallQueue, count: int) -> None:
    while len(queue._waiting) < count:
        time.sleep(0.001)


def test_who_comes_first_is_served_first() -> None:
    """Whoever else comes meanwhile."""
    queue, served = CallQueue(1), []

    def call(number: int) -> None:
        with queue.place():
            served.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(5)]
    with queue.place():
        for count, thread in enumerate(threads, 1):
            thread.start()
            wait_until_waiting(queue, count)
    for thread in threads:
        thread.join()

    assert served == [0, 1, 2, 3, 4]


def test_as_many_run_at_once_as_there_are_places() -> None:
    """The first knows that it is alone."""
    queue = CallQueue(2)
    with queue.place() as first, queue.place() as second:
        assert (first, second) == (True, False)
        other = threading.Thread(target=lambda: queue.place().__enter__(), daemon=True)
        other.start()
        wait_until_waiting(queue, 1)
    other.join(10)
    assert not other.is_alive()


def test_a_call_whose_time_is_over_leaves_the_queue() -> None:
    """Its place goes to who still waits."""
    queue, begun = CallQueue(1), []

    def call() -> None:
        with queue.place():
            begun.append(True)

    with queue.place():
        with pytest.raises(TimedOut):
            TimeLimit(0.05).call(call)
        late = time.monotonic() + 10
        while queue._waiting and time.monotonic() < late:
            time.sleep(0.001)
    with queue.place() as is_alone:
        assert (is_alone, begun) == (True, [])
