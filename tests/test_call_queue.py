"""The queue in front of a model that several threads call."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from remanence.models.time_limit import CallQueue, TimedOut, TimeLimit


def blocked(queue: CallQueue) -> Callable[[], None]:
    """Takes a place of the queue, until it is called."""
    begun, end = threading.Event(), threading.Event()

    def call(is_alone: bool) -> bool:
        begun.set()
        return end.wait(10)

    threading.Thread(target=queue.call, args=(call,)).start()
    begun.wait(10)
    return end.set


def test_who_comes_first_is_served_first() -> None:
    """Whoever else comes meanwhile."""
    queue, served = CallQueue(1), list[int]()
    release = blocked(queue)
    threads = [threading.Thread(target=queue.call, args=(lambda _, n=n: served.append(n),)) for n in range(5)]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    release()
    for thread in threads:
        thread.join()

    assert served == [0, 1, 2, 3, 4]


def test_as_many_run_at_once_as_there_are_threads() -> None:
    """The first knows that it is alone; the third waits for a thread."""
    queue = CallQueue(2)
    assert queue.call(lambda is_alone: is_alone)
    release, waits = blocked(queue), threading.Event()
    assert not queue.call(lambda is_alone: is_alone)
    other = blocked(queue)
    third = threading.Thread(target=queue.call, args=(lambda _: waits.set(),))
    third.start()
    assert not waits.wait(0.05)
    release()
    assert waits.wait(10)
    other()
    third.join()


def test_a_call_whose_time_is_over_leaves_the_queue() -> None:
    queue, begun, left = CallQueue(1), list[bool](), threading.Event()
    release = blocked(queue)

    def wait_in_queue() -> None:
        try:
            queue.call(begun.append)
        finally:
            left.set()

    with pytest.raises(TimedOut):
        TimeLimit(0.05).call(wait_in_queue)
    assert left.wait(10)
    release()
    late = time.monotonic() + 10
    while not queue.call(lambda is_alone: is_alone) and time.monotonic() < late:
        time.sleep(0.001)
    assert (queue.call(lambda is_alone: is_alone), begun) == (True, [])


def test_a_call_that_has_begun_is_not_broken_off() -> None:
    """What it returns late is of use to who asks next."""
    queue, ended = CallQueue(1), threading.Event()

    def call(is_alone: bool) -> None:
        time.sleep(0.1)
        ended.set()

    with pytest.raises(TimedOut):
        TimeLimit(0.02).call(queue.call, call)
    assert ended.wait(10)


@pytest.mark.parametrize("error", [TimeoutError("of the caller"), KeyError("x")])
def test_an_error_of_the_function_reaches_the_caller(error: Exception) -> None:
    """Also one that is called as the end of the time is."""

    def fail(*_: object) -> None:
        raise error

    for call in (CallQueue(1).call, TimeLimit(10).call):
        with pytest.raises(type(error)) as caught:
            call(fail)
        assert caught.value is error
