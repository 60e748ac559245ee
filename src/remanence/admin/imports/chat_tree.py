"""Which messages of a conversation are on its last branch.

Editing a question, or asking for another answer, begins a new branch: the messages are a tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import count

from remanence.schema import EPOCH


def last_branch(parents: Mapping[str, str | None], leaf: object, times: Mapping[str, datetime | None]) -> list[str]:
    """The ids from the first message to the last one.

    Args:
        parents: The parent of each message, in the order of the export.
        leaf: The id of the last message. If there is no such message, it is the newest one without a child.
        times: The times of the messages.
    """
    last = leaf if isinstance(leaf, str) and leaf in parents else None
    if last is None:
        with_children = set(parents.values())
        order = count()
        ends = [(times.get(parent) or EPOCH, next(order), parent) for parent in parents if parent not in with_children]
        last = max(ends)[2] if ends else next(reversed([*parents]), None)
    path: dict[str, None] = {}
    while last is not None and last in parents and last not in path:  # a damaged export may have a circle
        path[last] = None
        last = parents[last]
    return [*path][::-1]
