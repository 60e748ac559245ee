"""Language models for tests: no framework, no network, and every way in which real ones misbehave.

Each is a function from prompt to text. Give it to `LLMExtractor` as it is, or let a model of your own
framework answer with what it says.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

SOUND = '{"facts": [{"text": "Alice lives in Porto.", "kind": "semantic"}]}'


class ScriptedModel:
    """Answers with each line of its script in turn, then with the last one for ever.

    A line is a text, an exception to be raised, a function of the prompt, or anything else, which is
    returned as it is. `prompts` holds what it was asked.

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
            line = self._script[min(len(self.prompts), len(self._script) - 1)]
            self.prompts.append(prompt)
        if isinstance(line, BaseException):
            raise line
        return line(prompt) if callable(line) else line


class HungModel:
    """Never answers, until `release` is called.

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
        """Let every question end, with an empty answer."""
        self._released.set()


def facts_reply(*facts: Mapping[str, object] | str) -> str:
    """The JSON that a well-behaved model answers with; a plain text is a fact with no other field.

    >>> facts_reply("Alice lives in Porto.")
    '{"facts": [{"text": "Alice lives in Porto."}]}'
    """
    rows = [{"text": fact} if isinstance(fact, str) else dict(fact) for fact in facts]
    return json.dumps({"facts": rows}, ensure_ascii=False)


def _of_wrong_types() -> str:
    return facts_reply({"text": 7, "kind": ["?"], "names": {"a": 1}, "triples": "none", "said": {"x": None}})


UNUSABLE_REPLIES: Mapping[str, object] = MappingProxyType(
    {
        "prose": "I'm happy to help! Alice seems nice, and Porto is a lovely city.",
        "an apology": "I cannot help with that request.",
        "nothing": None,
        "an empty text": "",
        "a number": 42,
        "half a JSON, no fact whole": SOUND[:30],
        "only brackets": "[{[{[{" * 5_000,
        "deep nesting": '{"facts": ' + "[" * 100_000,
        "a fact of wrong types": _of_wrong_types(),
        "a list of numbers": '{"facts": [1, 2, 3]}',
        "the schema again": '{"type": "object", "properties": {"facts": {"type": "array"}}}',
        "facts of somebody else": facts_reply("Zaphod Beeblebrox stole Heart of Gold.", "Trillian met Arthur Dent."),
        "an exception": ConnectionError("503 Service Unavailable"),
        "an exception of no words": TimeoutError(),
    }
)
"""Lines for a ScriptedModel that hold no usable fact, by what they are."""

REPAIRABLE_REPLIES: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "a fence": lambda good: f"```json\n{good}\n```",
        "prose around it": lambda good: f"Sure! Here are the facts:\n\n{good}\n\nLet me know if I missed one.",
        "thinking aloud": lambda good: f'<think>Is {{"facts": [{{"text": "x"}}]}} right?</think>{good}',
        "a bare list": lambda good: good[good.index("[") : good.rindex("]") + 1],
        "a lost bracket": lambda good: good[: good.rindex("]")],
        "a comma too many": lambda good: good.replace("}]", ",},]"),
        "Python, not JSON": lambda good: repr(json.loads(good)),
        "one object a line": lambda good: "\n".join(json.dumps(fact) for fact in json.loads(good)["facts"]),
        "line breaks in strings": lambda good: good.replace("lives in", "lives\nin"),
    }
)
"""Ways to write a sound answer badly, in which every fact can still be read."""
