"""Ids of memories and events, and the digests that tell whether two inputs are the same memory."""

from __future__ import annotations

import hashlib
import os
import random
import time
from typing import Any

from remanence.ledger.jsontext import json_writer


def key_identity(key: str) -> str:
    """The identity of the memory that is kept under a key."""
    return digest("key", key)


def new_id() -> str:
    """An id never given before, that sorts by when it was made.

    >>> len(new_id())
    24
    """
    return f"{time.time_ns() // 1_000_000:012x}{_dice.getrandbits(48):012x}"


_dice = random.Random()  # our own: a program that seeds the common one would give out the same ids again
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_dice.seed)


def digest(*values: Any) -> str:
    """What stands for these values. Two adds with one identity are about one memory; with one content as
    well, the second says nothing new. What an extractor found is in neither: a better one changes nothing
    about what was said."""
    return hashlib.blake2b(_written(values).encode(), digest_size=12).hexdigest()


_written = json_writer(sort_keys=True)
