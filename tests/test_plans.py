"""Plans that a language model finds: they come true, are moved or cancelled, and memory says what holds then."""

from __future__ import annotations

from typing import Any

import pytest

import remanence
from remanence.models.llm_extractor import LLMExtractor
from remanence.testing.fakes import FakeClock, ScriptedModel, facts_reply

Chat = tuple[str, str, dict[str, Any]]  # the moment, what the user says, and the fact that the model finds


def plan(text: str, quotation: str, when: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "kind": "plan", "quotation": quotation, "when": when, **more}


RACE = plan("The user runs the race in Gent with Ama.", "Ama talked me into the race in Gent, 12 april", "2026-04-12")
RACE_CHAT: Chat = ("2026-01-06T07:00", "Ama talked me into the race in Gent, 12 april", RACE)
TABLE = plan("The user builds the table with Ola.", "building the table with Ola on the 28th", "2026-03-28")
TABLE_CHAT: Chat = ("2026-03-04T13:00", "building the table with Ola on the 28th", TABLE)
COFFEE = plan("The user has coffee with Ada.", "coffee with Ada on wednesday", "2026-03-04")
COFFEE_CHAT: Chat = ("2026-03-02T20:00", "coffee with Ada on wednesday", COFFEE)


def moved_to(when: str, text: str, said: str) -> dict[str, Any]:
    return plan(text, said, when, replaces=[0])


@pytest.mark.parametrize(
    ("planned", "later", "question", "holds"),
    [
        (
            TABLE_CHAT,
            (
                "2026-03-28T19:00",
                "it stands, and does not wobble",
                {
                    "text": "The user's table is built.",
                    "kind": "semantic",
                    "quotation": "it stands",
                    "when": "2026-03-28",
                    "replaces": [0],
                },
            ),
            "Is the table that I build with Ola finished?",
            "since 2026-03-28",
        ),
        (
            TABLE_CHAT,
            (
                "2026-03-27T21:00",
                "all rain. so we said two weeks after, 11 april",
                moved_to("2026-04-11", "The table is built with Ola.", "so we said two weeks after, 11 april"),
            ),
            "When do we build the table?",
            "2026-04-11",
        ),
        (
            COFFEE_CHAT,
            (
                "2026-03-04T09:00",
                "Ada has to work, we said saturday",
                moved_to("2026-03-07", "The user has coffee with Ada on Saturday.", "we said saturday"),
            ),
            "When do I have coffee with Ada?",
            "2026-03-07",
        ),
        (
            RACE_CHAT,
            (
                "2026-02-24T12:00",
                "torn ligament, so that's that with the race",
                {
                    "text": "The user does not run the race in Gent.",
                    "kind": "semantic",
                    "quotation": "that's that with the race",
                    "ends": [0],
                },
            ),
            "Do I run the race in Gent?",
            "",
        ),
    ],
    ids=["comes true", "moves", "moves on its day", "is cancelled"],
)
def test_what_becomes_of_a_plan(planned: Chat, later: Chat, question: str, holds: str) -> None:
    """The plan has its day and the tag; afterwards what holds is recalled, and neither it nor its turn is current."""
    script = ScriptedModel(facts_reply(planned[2]), facts_reply(later[2]))
    clock = FakeClock(planned[0])
    with remanence.open(None, extractor=LLMExtractor(script), clock=clock, worker=False) as space:
        [first] = space.remember([{"role": "user", "content": planned[1], "conversation": "c"}])
        assert (first.tags, str(first.valid)) == (("plan",), planned[2]["when"])

        clock.advance(days=(clock_days(later[0]) - clock_days(planned[0])))
        [second] = space.remember([{"role": "user", "content": later[1], "conversation": "c"}], now=later[0])
        clock.advance(hours=20)

        assert (str(second.valid) if second.valid.has_bound else "") == holds
        assert [memory.text for memory in space.memories("superseded")] == [first.text]
        replaced = {hit.memory.text: hit for hit in space.recall(question, limit=9, history=True)}
        assert [replaced[text].superseded_by for text in (first.text, planned[1])] == [second, second]
        quoted = {hit.memory.text: hit.current for hit in space.for_prompt(question).hits}
        assert second.text in quoted or later[1] in quoted
        assert not any(quoted.get(text) for text in (first.text, planned[1]))
        assert first.text not in space.briefing(max_tokens=400)


def clock_days(moment: str) -> int:
    return int(FakeClock(moment).now().timestamp() // 86_400)


def test_a_turn_of_which_one_fact_still_holds_stays_current() -> None:
    """It says more than what was moved."""
    says = "building the table with Ola on the 28th, she is a carpenter"
    job = {"text": "Ola is a carpenter.", "quotation": "she is a carpenter"}
    moved = moved_to("2026-04-11", "The table is built with Ola.", "we do it on 11 april")
    script = ScriptedModel(facts_reply(TABLE, job), facts_reply(moved))
    with remanence.open(None, extractor=LLMExtractor(script), clock=FakeClock("2026-03-28"), worker=False) as space:
        space.remember([{"role": "user", "content": says}], now="2026-03-04")
        space.remember([{"role": "user", "content": "rain, we do it on 11 april"}], now="2026-03-27")

        [turn] = [hit for hit in space.recall("What is Ola?", limit=9) if hit.memory.text == says]
        assert turn.superseded_by is None


@pytest.mark.parametrize(
    ("later", "homes"),
    [
        ({"text": "Oslo is off.", "quotation": "Oslo is off", "ends": [1]}, ["Rome", "Rome", "Rome"]),
        (
            plan("The user moves to Oslo.", "moving to Oslo in September", "2026-09", replaces=[1]),
            ["Rome", "Rome", "Oslo"],
        ),
        (
            {"text": "The user lives in Oslo.", "quotation": "I live in Oslo", "when": "2026-05-02", "replaces": [1]},
            ["Oslo", "Oslo", "Oslo"],
        ),
    ],
    ids=["is cancelled", "moves", "comes true early"],
)
def test_what_a_plan_was_to_replace(later: dict[str, Any], homes: list[str]) -> None:
    """It goes on if the plan is cancelled, and until the new day if the plan moves."""
    rome = {"text": "The user lives in Rome.", "quotation": "I live in Rome"}
    oslo = plan("The user moves to Oslo.", "moving to Oslo in June", "2026-06", replaces=[0])
    said = {"2026-01-05": ("I live in Rome.", rome), "2026-02-01": ("I'm moving to Oslo in June!", oslo)}
    said["2026-05-02"] = ("News: " + later["quotation"], later)
    script = ScriptedModel(*(facts_reply(fact) for _, fact in said.values()))
    shown: list[list[str]] = []

    def model(prompt: str) -> str:
        shown.append(prompt.rsplit("<known>\n", 1)[1].split("</known>")[0].splitlines())
        return script(prompt)

    with remanence.open(None, extractor=LLMExtractor(model), clock=FakeClock("2026-01-05"), worker=False) as space:
        for day, (text, _) in said.items():
            space.remember([{"role": "user", "content": text, "conversation": day}], now=day)
        assert ["Rome" in shown[1][0], "Oslo" in shown[2][1]] == [True, True]

        for day, home in zip(("2026-05-10", "2026-07-05", "2026-10-05"), homes, strict=True):
            over = [memory.text for memory in space.as_of(day).memories("superseded")]
            assert ("The user lives in Rome." in over) == (home != "Rome")
