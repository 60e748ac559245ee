"""Language models for tests, without a framework or a network.

Each is a function from prompt to text, for `LLMExtractor` or as the answer of a model of your framework.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any


class ScriptedModel:
    """Returns the replies of its script in turn, then the last one for ever.

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
    """The JSON reply with these facts. A text is a fact without other fields.

    >>> facts_reply("Alice lives in Porto.")
    '{"facts": [{"text": "Alice lives in Porto."}]}'
    """
    rows = [{"text": fact} if isinstance(fact, str) else dict(fact) for fact in facts]
    return json.dumps({"facts": rows}, ensure_ascii=False)
