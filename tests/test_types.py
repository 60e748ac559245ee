"""`aopen` is `open` beside the event loop. The types of all async variants are in `typing_checks`, for mypy."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import remanence


async def test_a_space_is_opened_beside_the_event_loop(home: Path) -> None:
    """To be awaited, or entered and closed; a wrong argument is refused as by `open`."""
    space = await remanence.aopen(home, space="work")
    await space.aadd("Porto has six bridges.")
    await space.aclose()

    async with remanence.aopen(home, space="work") as opened:
        assert await opened.acount() == 1
    with pytest.raises(remanence.Closed):
        opened.count()
    with pytest.raises(remanence.InvalidInput, match="clock"):
        await remanence.aopen(home, clock=3)  # type: ignore[arg-type]
    assert inspect.signature(remanence.aopen) == inspect.signature(remanence.open)
