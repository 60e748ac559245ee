"""A clock, an embedder and language models for tests. None of them needs a framework, a model or a network.

Each language model is a function from prompt to text, for `LLMExtractor` or as the answer of a model of your framework.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from remanence.schema import UTC

if TYPE_CHECKING:
    from remanence.ports import Vector


class FakeClock:
    """A clock for `remanence.open(..., clock=clock)`. Time passes only by `advance`.

    Args:
        start: The first moment, as a datetime or ISO text. Without a time zone it is UTC.

    Example:
        >>> clock = FakeClock("2026-05-04")
        >>> clock.advance(days=1).isoformat()
        '2026-05-05T00:00:00+00:00'
        >>> clock() == clock.now()
        True
    """

    def __init__(self, start: datetime | str = "2026-01-01") -> None:
        moment = datetime.fromisoformat(start) if isinstance(start, str) else start
        self._now = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    def __call__(self) -> datetime:
        return self._now

    def now(self) -> datetime:
        """The current moment of this clock."""
        return self._now

    def advance(self, **by: Any) -> datetime:
        """Move the clock by the arguments of `timedelta`, such as `days=1`. Returns the new moment."""
        self._now += timedelta(**by)
        return self._now


class HashingEmbedder:
    """Hashes words and their three-letter parts into a vector. The same on every machine.

    Args:
        dimension: The length of the vectors.

    Example:
        >>> embedder = HashingEmbedder()
        >>> tea, teas, car = embedder.embed(["Alice drinks tea", "Alice drank some teas", "the car is red"])
        >>> bool(tea @ teas > tea @ car)
        True
    """

    similarity_floor = 0.0

    def __init__(self, dimension: int = 64) -> None:
        self.dimension: int | None = dimension
        self.name = f"hashing-{dimension}"
        self.fingerprint = f"{self.name}@{dimension}:1"
        self._size = dimension

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row of unit length for each text; zeros for a text without words."""
        rows = np.zeros((len(texts), self._size), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()):
                _add_feature(row, word, 1.0)
                padded = f"^{word}$"
                for start in range(len(padded) - 2):
                    _add_feature(row, padded[start : start + 3], 0.5)
            row /= np.linalg.norm(row) or 1
        return rows

    def embed_query(self, text: str) -> Vector:
        """One vector of unit length for a question."""
        row: Vector = self.embed([text])[0]
        return row


def _add_feature(row: Vector, feature: str, weight: float) -> None:
    code = crc32(feature.encode("utf-8", "replace"))
    row[(code >> 1) % len(row)] += weight if code & 1 else -weight


class ScriptedModel:
    """Returns the replies of its script in turn, then the last one every time.

    Args:
        *script: Each reply is a text, an exception to raise, a function of the prompt, or any other object,
            which is returned as it is.

    Attributes:
        prompts: The prompts so far.

    Example:
        >>> model = ScriptedModel("first", ConnectionError("down"), lambda prompt: prompt.upper())
        >>> model("hello")
        'first'
        >>> model("hello")
        Traceback (most recent call last):
            ...
        ConnectionError: down
        >>> model("hello"), model("again"), len(model.prompts)
        ('HELLO', 'AGAIN', 4)
    """

    def __init__(self, *script: object) -> None:
        self.model = "scripted"
        self.prompts: list[str] = []
        self._script = script
        self._lock = threading.Lock()

    def __call__(self, prompt: str) -> Any:
        with self._lock:
            reply = self._script[min(len(self.prompts), len(self._script) - 1)]
            self.prompts.append(prompt)
        if isinstance(reply, BaseException):
            raise reply
        return reply(prompt) if callable(reply) else reply


class HungModel:
    """Does not answer until `release` is called.

    Example:
        >>> model = HungModel()
        >>> model.release()
        >>> model("hello"), model.call_count
        ('', 1)
    """

    def __init__(self) -> None:
        self.model = "hung"
        self.call_count = 0
        self._released = threading.Event()

    def __call__(self, prompt: str) -> str:
        self.call_count += 1
        self._released.wait()
        return ""

    def release(self) -> None:
        """End every call, with an empty answer."""
        self._released.set()


def facts_reply(*facts: Mapping[str, object] | str) -> str:
    """The JSON reply with these facts. A text is a fact that was said in the same words.

    >>> facts_reply("Alice lives in Porto.")
    '{"facts": [{"text": "Alice lives in Porto.", "quotation": "Alice lives in Porto."}]}'
    """
    rows = [{"text": fact, "quotation": fact} if isinstance(fact, str) else dict(fact) for fact in facts]
    return json.dumps({"facts": rows}, ensure_ascii=False)
