"""What reaches the prompt for a message that asks for everything: the profile, or what a time was about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from remanence.recall.overview_questions import asked_overview
from remanence.schema import ASSISTANT, Hit, Memory, Window

_MAX_OF_TIME = 60
"""How many memories of a time are looked at."""
_PROFILE_TOKENS = 600
"""The length of the profile without a token budget."""


def recall_overview(
    view: Any, message: str, in_prompt: Sequence[str], now: datetime, max_tokens: int | None
) -> tuple[list[Hit], int]:
    """The memories for a message that asks for all of the user or of a time, and the ledger position of the recall.
    None for any other message."""
    window = asked_overview(message, now)
    if window is None:
        return [], 0
    if window.has_bound:
        return _of_time(view, message, window, in_prompt, now)
    if not hasattr(view, "profile"):  # a view of checkpoints has none
        return [], 0
    profile = view.profile(max_tokens=max_tokens or _PROFILE_TOKENS)
    context = {memory: each.context for each in profile.statements for memory in each.memories}
    found = view.get_many(list(context)) if context else ()
    return [Hit(each.memory, 0.0, context=context[each.memory.id]) for each in found], profile.position


def _of_time(view: Any, message: str, window: Window, in_prompt: Sequence[str], now: datetime) -> tuple[list[Hit], int]:
    """What was told in a time or is about it, in its order. Of a time to come nothing was told in it."""
    is_ahead = window.start is not None and window.start > now
    recall = view.recall(
        message,
        during=window if is_ahead else None,
        limit=_MAX_OF_TIME,
        signals=["times"],
        reader="none",
        informative_only=True,
        exclude_texts=[message, *in_prompt],
    )
    hits = [hit for hit in recall if (hit.memory.turn is None or hit.memory.turn.speaker != ASSISTANT)]
    dated = [(moment, hit) for hit in hits if (moment := _moment_in(hit.memory, window)) is not None]
    return [hit for _, hit in sorted(dated, key=lambda pair: pair[0])], recall.position


def _moment_in(memory: Memory, window: Window) -> datetime | None:
    """When in a time a memory happened or was told; None if it did neither."""
    moments = (memory.valid.start, memory.told_at)
    return next((moment for moment in moments if moment is not None and moment in window), None)
