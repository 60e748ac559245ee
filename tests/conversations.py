"""Conversations that tests tell to a space, and what is known afterwards."""

from __future__ import annotations

from typing import Any

import remanence
from remanence.testing import FakeClock


def profile_after(*messages: str, reader: Any = None) -> str:
    """The profile after these messages of the user, each in a conversation of its own, a month apart."""
    clock = FakeClock("2026-01-05T09:00")
    with remanence.open(None, clock=clock, reader=reader) as space:
        for message in messages:
            space.remember([{"role": "user", "content": message, "time": clock.now()}], now=clock.now())
            clock.advance(days=30)
        return str(space.profile())
