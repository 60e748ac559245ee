"""The reader as a decision model. langchain-tests 1.1.9 has no tests for those, so what the base class promises is
tested here: typed answers for each question, sync and async, in batches, with what traces need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

decisions = pytest.importorskip("langchain_core.decisions", reason="decision models need langchain-core 1.8")

from langchain_core.decisions import BaseDecisionModel, Box, Choice, Noul, NoulAnswer, NoulCriteria, Score  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage  # noqa: E402
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler  # noqa: E402

from langchain_remanence import RemanenceDecisionModel  # noqa: E402
from remanence import InvalidInput  # noqa: E402
from remanence.adapters import told_probability  # noqa: E402

HOME = Noul(instructions="Where does the user live?")
JOB = Noul(instructions="What is the user's job?")


@pytest.fixture(autouse=True)
def with_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REMANENCE_READER", raising=False)


def ask(state: Any, *questions: str) -> list[float]:
    asked = {text: Noul(instructions=text) for text in questions}
    answers = RemanenceDecisionModel().invoke({"state": state, "questions": asked}).nouls
    return [answers[text].noul for text in questions]


def test_each_question_has_an_answer_of_its_type() -> None:
    """Under its own name, from 0 to 1, with the name of the model."""
    response = RemanenceDecisionModel().invoke(
        {"state": "I moved to Porto in May.", "questions": {"home": HOME, "job": JOB}}
    )

    assert list(response.answers) == ["home", "job"]
    assert response.answers == response.nouls
    assert all(isinstance(answer, NoulAnswer) for answer in response.answers.values())
    assert response.nouls["home"].noul > 0.5 > 0.1 > response.nouls["job"].noul
    assert (response.model, response.usage, response.choices) == ("small", None, {})
    assert isinstance(RemanenceDecisionModel(), BaseDecisionModel)


def test_a_statement_is_judged_by_what_is_told() -> None:
    """A turn that ends what is stated tells about it, too, and supports it less than one that says it."""
    stated = "The user moved to Porto."
    [says], [ends], [other] = (
        ask(state, stated) for state in ("I moved to Porto in May.", "I left Porto for good.", "It rains.")
    )
    assert says > 0.5 > other
    assert says > ends


@pytest.mark.parametrize(
    "state",
    [
        "I moved to Porto in May. It rains.",
        HumanMessage("I moved to Porto in May."),
        [HumanMessage("Good morning."), AIMessage("Hello."), HumanMessage("I moved to Porto in May.")],
        {"messages": [HumanMessage("I moved to Porto in May.")], "turn": 3, "note": None},
        ["It rains. " * 200, {"profile": {"text": "I moved to Porto in May."}}],
        HumanMessage([{"type": "text", "text": "I moved to Porto in May."}]),
    ],
)
def test_a_state_may_have_any_form(state: Any) -> None:
    """Text, messages, objects and lists of them, short or long."""
    home, job = ask(state, "Where does the user live?", "What is the user's job?")

    assert home > 0.4 > 0.2 > job


@pytest.mark.parametrize("state", ["", [], {}, [None, "  "]])
def test_an_empty_state_tells_nothing(state: Any) -> None:
    assert ask(state, "Where does the user live?") == [0.0]


def test_who_says_it_counts() -> None:
    """What the assistant asks, the user has not told."""
    asked, told = (
        ask([AIMessage("Do you live in Porto?")], "Where does the user live?"),
        ask([HumanMessage("I live in Porto.")], "Where does the user live?"),
    )

    assert told[0] > 0.9 > asked[0]


async def test_it_is_a_runnable() -> None:
    """Async, in batches and in a chain, with the same answers."""
    model = RemanenceDecisionModel()
    requests: list[Any] = [
        {"state": text, "questions": {"home": HOME}} for text in ("I live in Porto.", "The bridge is closed.")
    ]
    one_by_one = [model.invoke(request) for request in requests]

    assert model.batch(requests) == one_by_one
    assert await model.ainvoke(requests[0]) == one_by_one[0]
    assert await model.abatch(requests) == one_by_one
    chain = model | (lambda response: response.nouls["home"].noul >= 0.5)
    assert [chain.invoke(request) for request in requests] == [True, False]


def test_a_run_names_provider_and_model() -> None:
    """As LangSmith expects it."""
    runs = RunCollectorCallbackHandler()
    RemanenceDecisionModel().invoke({"state": "I live in Porto.", "questions": {"home": HOME}}, {"callbacks": [runs]})

    [run] = runs.traced_runs
    assert run.run_type == "llm"
    assert run.metadata["ls_provider"] == "remanence"
    assert run.metadata["ls_model_name"] == "small"


@pytest.mark.parametrize(
    ("question", "error"),
    [
        (Choice(instructions="Which?", criteria={"a": None}), "is a Choice. The reader answers Noul only"),
        (Score(instructions="How much?", criteria=["a", "b"]), "is a Score"),
        (Box(instructions="Where?"), "is a Box"),
        (Noul(instructions="Is it?", criteria=NoulCriteria(true="yes")), "has criteria"),
    ],
)
def test_what_it_cannot_answer_is_refused(question: Any, error: str) -> None:
    """Rather than guessed."""
    with pytest.raises(InvalidInput, match=error):
        RemanenceDecisionModel().invoke({"state": "x", "questions": {"q": question}})


def test_a_picture_is_refused() -> None:
    """At any depth; the reader cannot see it."""
    picture = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    for state in (picture, [picture], {"a": [picture]}, HumanMessage([picture])):
        with pytest.raises(InvalidInput, match=r"a block of type 'image'\. The reader reads text only"):
            ask(state, "What is it?")


def test_a_reader_that_is_turned_off_or_unknown_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="nosuch"):
        RemanenceDecisionModel(model="nosuch").invoke({"state": "I live here.", "questions": {"home": HOME}})
    monkeypatch.setenv("REMANENCE_READER", "none")
    with pytest.raises(InvalidInput, match="turned off by REMANENCE_READER"):
        ask("I live in Porto.", "Where does the user live?")


def test_the_example_of_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not run with the other pages, as LangChain 1.7 and Python 3.10 do not have decision models."""
    page = (Path(__file__).parents[2] / "docs" / "langchain.md").read_text("utf-8")
    section = page.partition("## A decision model")[2].partition("\n## ")[0]
    code, shown = re.findall(r"```(?:py|text)\n(.*?)```", section, re.DOTALL)

    exec(code, {})
    assert capsys.readouterr().out == shown


def test_of_many_texts_the_one_that_tells_counts() -> None:
    """Wherever it stands among more lines than are read at once."""
    rain = [("user", f"It rained on day {number}.") for number in range(40)]
    told = ("user", "I live in Porto.")
    for place in (0, 20, 40):
        turns = [*rain[:place], told, *rain[place:]]
        assert told_probability("Where does the user live?", turns) > 0.5
    assert told_probability("Where does the user live?", rain) < 0.3
