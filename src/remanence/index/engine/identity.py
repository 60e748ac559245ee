"""Ids of memories and events, and the digests that decide whether two inputs are the same memory."""

from __future__ import annotations

import hashlib
import json
import random
import time
from typing import Any

from remanence.operating_system import after_fork

# Digests depend on these options. Circular references are not checked for: validated input has none.
_encode_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True, check_circular=False).encode


def key_identity(key: str) -> str:
    return content_digest("key", key)


def turn_identity(turn_digest: str, count: int) -> str:
    return content_digest("turn", turn_digest, count)


def new_id() -> str:
    """A new id. Ids sort by the time they were made."""
    return f"{time.time_ns() // 1_000_000 << 48 | _random.getrandbits(48):024x}"


_random = random.Random()  # not the shared generator: a program that seeds it would get the same ids again
after_fork(_random.seed)


def content_digest(*values: Any) -> str:
    """A digest of these values. Two inputs with the same identity are one memory; if their content is the same as well,
    the second changes nothing. Neither includes what an extractor found, so that another extractor changes neither."""
    return hashlib.blake2b(_encode_json(values).encode(), digest_size=12).hexdigest()
