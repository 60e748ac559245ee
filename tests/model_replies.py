"""Replies of language models that hold no usable fact, and bad forms in which every fact can still be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from remanence.testing.fakes import facts_reply

GOOD_REPLY = '{"facts": [{"text": "Alice lives in Porto.", "kind": "semantic"}]}'
_WRONG_TYPES = facts_reply({"text": 7, "kind": ["?"], "names": {"a": 1}, "triples": "none", "quotation": {"x": None}})

UNUSABLE_REPLIES: Mapping[str, object] = {
    "prose": "I'm happy to help! Alice seems nice, and Porto is a lovely city.",
    "an apology": "I cannot help with that request.",
    "nothing": None,
    "an empty text": "",
    "a number": 42,
    "half a JSON, no fact whole": GOOD_REPLY[:30],
    "only brackets": "[{[{[{" * 5_000,
    "deep nesting": '{"facts": ' + "[" * 100_000,
    "a fact of wrong types": _WRONG_TYPES,
    "a list of numbers": '{"facts": [1, 2, 3]}',
    "the schema again": '{"type": "object", "properties": {"facts": {"type": "array"}}}',
    "facts of somebody else": facts_reply("Zaphod Beeblebrox stole Heart of Gold.", "Trillian met Arthur Dent."),
    "an exception": ConnectionError("503 Service Unavailable"),
    "an exception of no words": TimeoutError(),
}
"""Replies for a ScriptedModel that hold no usable fact."""

REPAIRABLE_REPLIES: Mapping[str, Callable[[str], str]] = {
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
"""Bad forms of a good reply in which every fact can still be read."""
