"""The parameters that `recall`, `recent` and `memories` take from a dataclass have its types."""

from __future__ import annotations

from typing_extensions import assert_type

from remanence import Memory, Recall, Space, View


def right_calls(space: Space, view: View) -> None:
    """With and without the name of the first parameter."""
    assert_type(space.recall("Where is Alice?", limit=3, tags=["home"], during="May 2026", min_trust="user"), Recall)
    assert_type(view.recall(query="Where is Alice?", history=True, weights={"words": 1.0}, include="archive"), Recall)
    assert_type(view.recent(limit=3, without="gossip", min_trust=0.5), Recall)
    assert_type(next(iter(view.memories("current", kinds="episode"))), Memory)


async def right_async_calls(space: Space) -> None:
    """As without `a`."""
    assert_type(await space.arecall("Where is Alice?", limit=3, reader="none"), Recall)
    assert_type(await space.arecent(limit=3), Recall)


def wrong_calls(space: Space) -> None:
    """A type checker refuses each of these."""
    space.recall("Where is Alice?", limit="three")  # type: ignore[arg-type]
    space.recall("Where is Alice?", lmit=3)  # type: ignore[call-arg]
    space.recall(3)  # type: ignore[arg-type]
    space.recall("Where is Alice?", "episode")  # type: ignore[call-arg]
    space.recall("Where is Alice?", reader="big")  # type: ignore[arg-type]
    space.recent(context=["Alice is here."])  # type: ignore[call-arg]
    space.memories(limit=3)  # type: ignore[call-arg]
