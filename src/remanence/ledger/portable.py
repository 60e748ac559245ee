"""Events in the form that does not depend on the ledger they are in: entries of a space are numbered from 1, and
positions inside an event are replaced by these numbers. Exports and signatures have this form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from remanence.events import Emptied, Erased, Event, Ran, Served, Undone


def to_portable(event: Event, number_of: Callable[[int], int]) -> Event:
    """The event without the name of its space; `number_of` gives how many entries the space has up to a position."""
    event = remap_positions(event, number_of)
    if isinstance(event, Served):
        return replace(event, asked={name: value for name, value in event.asked.items() if name != "space"})
    return replace(event, space="") if isinstance(event, Emptied) else event


def remap_positions(event: Event, new_position: Callable[[int], int]) -> Event:
    """The same event with each position of another entry replaced by `new_position` of it."""
    if isinstance(event, Erased):
        return replace(event, positions=tuple(map(new_position, event.positions)))
    if isinstance(event, Undone):
        return replace(event, position=new_position(event.position))
    if isinstance(event, Ran):
        revised = tuple((memory, new_position(position)) for memory, position in event.revised)
        return replace(event, planned=new_position(event.planned), revised=revised)
    if isinstance(event, Served):
        return replace(event, asked={**event.asked, "position": new_position(event.asked["position"])})
    return event
