"""Where an event points at other lines of its space: these numbers change when lines move elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from remanence.events import Erased, Event, Ran, Served, Undone


def remap_positions(event: Event, where: Callable[[int], int]) -> Event:
    """The same event for lines that stand elsewhere: `where` says where the line at a position is now.

    >>> remap_positions(Erased("m1", (3, 4)), lambda position: position + 10)
    Erased(memory='m1', positions=(13, 14))
    """
    if isinstance(event, Erased):
        return replace(event, positions=tuple(map(where, event.positions)))
    if isinstance(event, Undone):
        return replace(event, position=where(event.position))
    if isinstance(event, Ran):
        revised = tuple((memory, where(line)) for memory, line in event.revised)
        return replace(event, planned=where(event.planned), revised=revised)
    if isinstance(event, Served):
        return replace(event, asked={**event.asked, "position": where(event.asked["position"])})
    return event


def without_space(event: Event) -> Event:
    """The same event without the name of its space, which may be another where it is taken."""
    if isinstance(event, Served):
        return replace(event, asked={name: value for name, value in event.asked.items() if name != "space"})
    return event


def with_space(event: Event, space: str) -> Event:
    """The event that `unplaced` made of this one, for a space of this name."""
    return replace(event, asked={"space": space, **event.asked}) if isinstance(event, Served) else event
