"""What stands for a language model in tests: an extractor of given facts, and good, bad and unusable replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from remanence import Memory
from remanence.ports import ExtractionResult, Fact, Utterance
from remanence.testing.fakes import facts_reply
from remanence.text.rule_extractor import RuleExtractor

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

WORDS_AROUND: Mapping[str, Callable[[str], str]] = {
    "a fence": lambda good: f"```json\n{good}\n```",
    "prose around it": lambda good: f"Sure! Here are the facts:\n\n{good}\n\nLet me know if I missed one.",
    "thinking aloud": lambda good: f'<think>Is {{"facts": [{{"text": "x"}}]}} right?</think>{good}',
    "line breaks in strings": lambda good: good.replace("lives in", "lives\nin"),
}
"""A good reply with what models write around it."""


class FactsByQuotation(RuleExtractor):
    """Writes a fact for each quotation that a turn has, with the names and claims that the rules find in its text.

    Args:
        facts: The text of each fact, by the words of a turn that it rests on.
    """

    name = "scripted"

    def __init__(self, facts: Mapping[str, str]) -> None:
        self._facts = facts

    def facts(
        self,
        utterances: Sequence[Utterance],
        *,
        now: datetime,
        known: Sequence[Memory] = (),
        before: Sequence[Utterance] = (),
    ) -> ExtractionResult:
        found = tuple(
            self._fact(text, quotation, number, utterance, now)
            for number, utterance in enumerate(utterances)
            for quotation, text in self._facts.items()
            if quotation in utterance.text
        )
        return ExtractionResult(found, by=self.name, answered=True)

    def _fact(self, text: str, quotation: str, number: int, utterance: Utterance, now: datetime) -> Fact:
        read = self.extract(text, now=utterance.at or now, speaker=utterance.speaker)
        return Fact(text, mentions=read.mentions, triples=read.triples, source_turns=(number,), quotation=quotation)


USER_FACTS = FactsByQuotation(
    {
        "I live in Porto": "The user lives in Porto.",
        "I work at Bosch": "The user works at Bosch.",
        "I drink tea": "The user drinks tea.",
        "I am allergic to nuts": "The user is allergic to nuts.",
        "I am allergic to peanuts": "The user is allergic to peanuts.",
    }
)
"""Finds what a user says of themselves in these words."""
