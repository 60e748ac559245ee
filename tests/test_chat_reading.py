"""When a language model reads a chat: once it is quiet or has grown, within a budget; and what that costs."""

from __future__ import annotations

from pathlib import Path

import pytest

import remanence
from remanence import InvalidInput, Space
from remanence.events import Spent
from remanence.schema import TokenUsage
from remanence.testing.fakes import FakeClock, ScriptedModel, facts_reply

TEA = facts_reply({"text": "The user drinks tea.", "quotation": "I drink tea"})
NOTHING = facts_reply()


def turns(*said: str, chat: str = "monday") -> list[dict[str, str]]:
    return [{"role": "user", "content": text, "conversation": chat} for text in said]


def opened(model: ScriptedModel, clock: FakeClock, location: Path | None = None, **settings: object) -> Space:
    extractor = remanence.LLMExtractor(model, **settings)  # type: ignore[arg-type]
    return remanence.open(location, extractor=extractor, clock=clock, worker=False)


def test_a_chat_is_read_once_when_it_is_quiet() -> None:
    """Not for each message: the messages of one chat wait for one call."""
    model, clock = ScriptedModel(TEA), FakeClock()
    with opened(model, clock) as space:
        jobs = set()
        for said in ("Hello there.", "I drink tea, by the way.", "And it rains here."):
            jobs.add(space.remember(turns(said), wait="quiet").id)
            clock.advance(seconds=200)
            assert space.jobs.run_due() == 0
        assert (len(jobs), model.prompts) == (1, [])

        clock.advance(seconds=100)
        assert space.jobs.run_due() == 1
        [prompt] = model.prompts
        assert all(said in prompt for said in ("Hello there.", "I drink tea", "And it rains"))
        assert [memory.text for memory in space.jobs.get(jobs.pop()).result()] == ["The user drinks tea."]

        clock.advance(days=1)
        assert space.jobs.run_due() == 0, "there is nothing new to read"


def test_what_is_said_later_is_read_with_the_turns_before_it() -> None:
    model, clock = ScriptedModel(NOTHING), FakeClock()
    with opened(model, clock) as space:
        space.remember(turns("I have a cat."), wait="quiet")
        clock.advance(minutes=5)
        space.jobs.run_due()
        space.remember(turns("She is called Mia."), wait="quiet")
        clock.advance(minutes=5)
        space.jobs.run_due()

    before, conversation = model.prompts[1].rsplit("<before>", 1)[1].split("</before>")
    assert "I have a cat." in before
    assert "Mia" in conversation
    assert "cat" not in conversation


def test_a_chat_that_goes_on_is_read_after_so_many_turns() -> None:
    model, clock = ScriptedModel(NOTHING), FakeClock()
    with opened(model, clock, every_turns=3) as space:
        for number in range(7):
            space.remember(turns(f"This is line {number}."), wait="quiet")
            clock.advance(seconds=40)
            space.jobs.run_due()
        assert len(model.prompts) == 2
        assert "line 6" not in "".join(model.prompts)


def test_two_chats_are_two_calls() -> None:
    model, clock = ScriptedModel(NOTHING), FakeClock()
    with opened(model, clock) as space:
        space.remember(turns("I drink tea."), wait="quiet")
        space.remember(turns("The car is red.", chat="tuesday"), wait="quiet")
        clock.advance(minutes=5)
        assert space.jobs.run_due() == 2
        assert ["tea" in prompt.rsplit("<conversation>", 1)[1] for prompt in model.prompts] == [True, False]


def test_a_waiting_chat_survives_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    with opened(ScriptedModel(NOTHING), clock, tmp_path) as space:
        job = space.remember(turns("I drink tea."), wait="quiet").id
    model = ScriptedModel(TEA)
    with opened(model, clock.__class__(clock.now().isoformat()), tmp_path) as space:
        assert space.jobs.run_due() == 0
    clock.advance(minutes=10)
    with opened(model, clock, tmp_path) as space:
        assert space.jobs.run_due() == 1
        assert [memory.text for memory in space.jobs.get(job).result()] == ["The user drinks tea."]
        assert len(model.prompts) == 1


def test_what_is_said_while_the_model_reads_is_read_next() -> None:
    clock = FakeClock()

    def model(prompt: str) -> str:
        prompts.append(prompt)
        if len(prompts) == 1:
            space.remember(turns("I drink tea."), wait="quiet")
        return NOTHING if "tea" not in prompt else TEA

    prompts: list[str] = []
    space = remanence.open(None, extractor=remanence.LLMExtractor(model), clock=clock, worker=False)
    with space:
        space.remember(turns("Hello there."), wait="quiet")
        for _ in range(2):
            clock.advance(minutes=5)
            space.jobs.run_due()
        assert [memory.text for memory in space.memories(kinds="semantic")][-1:] == ["The user drinks tea."]
        assert len(prompts) == 2


def test_a_model_that_fails_is_asked_again_about_the_chat() -> None:
    model, clock = ScriptedModel("no", "no", TEA), FakeClock()
    with opened(model, clock) as space:
        job = space.remember(turns("I drink tea."), wait="quiet")
        clock.advance(minutes=5)
        space.jobs.run_due()
        assert job.status == "waiting"
        clock.advance(minutes=5)
        space.jobs.run_due()
        assert job.status == "done"
        assert job.usage.calls == 3, "what failed was paid too"


def test_tokens_are_counted_by_the_job_and_in_the_ledger() -> None:
    """Estimated where the model does not report them."""
    model, clock = ScriptedModel(TEA), FakeClock("2026-05-04")
    with opened(model, clock) as space:
        job = space.remember(turns("I drink tea."), wait=False)
        assert job.usage == TokenUsage()
        space.jobs.run_due()
        assert job.usage == TokenUsage(1, len(model.prompts[0]) // 4 + 1, len(TEA) // 4 + 1)
        space.remember("I drink tea in the morning.")
        events = [entry.event for entry in space._engine.ledger.read(space.name)]
        spent = [event for event in events if isinstance(event, Spent)]
        assert [(event.use == job.id, event.calls, event.model) for event in spent] == [
            (True, 1, "scripted"),
            (False, 1, "scripted"),
        ]
        assert space.jobs.spent("2026-05-04") == job.usage + TokenUsage(1, spent[1].tokens_in, spent[1].tokens_out)
        assert space.jobs.spent("2026-05-03") == TokenUsage()


def test_the_budget_of_a_day_holds_after_a_restart(tmp_path: Path) -> None:
    """One call takes about 1,500 tokens: the chat of that day which comes next waits for tomorrow."""
    clock = FakeClock("2026-05-04T10:00")
    for day in ("first", "second"):
        model = ScriptedModel(NOTHING)
        with opened(model, clock, tmp_path, budget_tokens=1_000) as space:
            for chat in ("one", "two"):
                space.remember(turns(f"I drink tea on the {day} day.", chat=f"{day} {chat}"), wait="quiet")
                clock.advance(minutes=5)
                space.jobs.run_due()
            assert len(model.prompts) == 1
        with opened(model, clock, tmp_path, budget_tokens=1_000) as space:
            assert space.jobs.run_due() == 0
            clock.advance(days=1)
            assert space.jobs.run_due() >= 1
            assert len(model.prompts) == 2
        clock.advance(days=1)


@pytest.mark.parametrize(
    "settings", [{"quiet": -1}, {"quiet": "5"}, {"every_turns": 0}, {"every_turns": None}, {"budget_tokens": 0}]
)
def test_settings_are_checked(settings: dict[str, object]) -> None:
    [name] = settings
    with pytest.raises(InvalidInput, match=name):
        opened(ScriptedModel(NOTHING), FakeClock(), **settings)
    with remanence.open(None) as space, pytest.raises(InvalidInput, match="wait='later'"):
        space.remember("I drink tea.", wait="later")  # type: ignore[call-overload]
