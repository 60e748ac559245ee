"""The reader as a decision model of LangChain: how probable it is that a text tells what is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.decisions import BaseDecisionModel, ClassifierResponse, Noul, NoulAnswer
from langchain_core.decisions.types import Question, State
from langchain_core.messages import BaseMessage

from remanence import InvalidInput
from remanence.adapters import told_probability

_TEXT_BLOCKS = ("text", "text-plain", "reasoning")
_SPEAKERS = {"human": "user", "ai": "assistant"}


class RemanenceDecisionModel(BaseDecisionModel):
    """Says how probable it is that a text or a conversation tells what is asked, on this machine and in milliseconds.

    It answers questions of the type `Noul`. The answer is near 1 if the state tells what the instructions ask, and
    near 0 if it does not: "Where does the user live?", "Does the customer want a refund?". A state that says no tells
    it too, so ask for what is told, not for a verdict: "I have no dog." has a high answer to "Does the user have a
    dog?". The reader was trained on questions about what people told, in English.

    Args:
        model: The reader: "small" for the one that comes with the package, or a name of `remanence models list`.

    Example:
        >>> import os
        >>> os.environ["REMANENCE_READER"] = "small"  # the default; the tests of this package turn it off
        >>> model = RemanenceDecisionModel()
        >>> asked = {
        ...     "home": Noul(instructions="Where does the user live?"),
        ...     "job": Noul(instructions="What is the user's job?"),
        ... }
        >>> answers = model.invoke({"state": "I moved to Porto in May.", "questions": asked}).nouls
        >>> answers["home"].noul > 0.5 > 0.1 > answers["job"].noul
        True
    """

    model: str = "small"

    @property
    def _provider(self) -> str:
        return "remanence"

    def _classify(self, state: State, questions: dict[str, Question]) -> ClassifierResponse:
        told = list(_told(state))
        return ClassifierResponse(
            model=self.model, answers={name: self._answer(name, question, told) for name, question in questions.items()}
        )

    def _answer(self, name: str, question: Question, told: Sequence[tuple[str | None, str]]) -> NoulAnswer:
        if not isinstance(question, Noul):
            raise InvalidInput(
                f"the question {name!r} is a {type(question).__name__}. The reader answers Noul only: ask one for "
                "each choice, or give it to another decision model."
            )
        if question.criteria is not None:
            raise InvalidInput(
                f"the question {name!r} has criteria, which the reader does not read. Ask what they say."
            )
        asked = question.instructions
        text = asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False)
        return NoulAnswer(type="noul", noul=told_probability(text, told, reader=self.model))


def _told(state: Any, name: str = "") -> Iterator[tuple[str | None, str]]:
    """Who says what in a state, in order; the fields of an object with their names."""
    if isinstance(state, BaseMessage):
        _check_blocks(state.content)
        yield _SPEAKERS.get(state.type), str(state.text)
    elif isinstance(state, Mapping):
        _check_blocks([state])
        for key, value in state.items():
            yield from _told(value, str(key))
    elif isinstance(state, Sequence) and not isinstance(state, str):
        for part in state:
            yield from _told(part, name)
    elif state is not None and str(state).strip():
        yield None, f"{name}: {state}" if name else str(state)


def _check_blocks(content: str | Sequence[Any]) -> None:
    """Refuse pictures, sounds and files, which the reader cannot see."""
    for block in () if isinstance(content, str) else content:
        if not isinstance(block, Mapping) or block.get("type") in _TEXT_BLOCKS:
            continue
        if any(name in block for name in ("base64", "url", "file_id")):
            raise InvalidInput(f"the state has a block of type {block.get('type')!r}. The reader reads text only.")
