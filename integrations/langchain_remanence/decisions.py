"""The reader as a decision model of LangChain: how probable it is that a statement is true by a text, or that the text
tells what is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.decisions import BaseDecisionModel, ClassifierResponse, Noul, NoulAnswer
from langchain_core.decisions.types import Question, State
from langchain_core.messages import BaseMessage

from remanence import InvalidInput
from remanence.adapters import told_probability, true_probability

_TEXT_BLOCKS = ("text", "text-plain", "reasoning")
_SPEAKERS = {"human": "user", "ai": "assistant"}


class RemanenceDecisionModel(BaseDecisionModel):
    """Says how probable it is that a statement is true by a text or a conversation, or that these tell what is asked.

    It runs on this machine, in a tenth of a second for a text of a few sentences.

    It answers questions of the type `Noul`. For instructions that state something ("The customer wants a refund.") the
    answer is the probability that the state supports it. For a question ("Where does the user live?") it is the
    probability that the state tells the answer, be that yes or no. It was trained on what people told, in English.

    Args:
        model: The reader: "small" for the one that comes with the package, or a name of `remanence models list`, which
            takes statements as questions.

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
        >>> stated = {"porto": Noul(instructions="The user moved to Porto.")}
        >>> model.invoke({"state": "I moved to Porto in May.", "questions": stated}).nouls["porto"].noul > 0.5
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
        is_true = true_probability(text, told) if self.model == "small" else None
        noul = told_probability(text, told, reader=self.model) if is_true is None else is_true
        return NoulAnswer(type="noul", noul=noul)


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
