"""One message to a space, with what is quoted, answered and stored, and why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import remanence
from framed import quoted_texts
from remanence import InvalidInput, LLMExtractor, NotFound, Space
from remanence.models.readers import READER_VARIABLE
from remanence.space.playground import ask_again, exchange

TOLD = ("I'm allergic to peanuts.", "My dog is called Bo.", "I moved to Porto last spring.")


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> Iterator[Space]:
    """A space with the reader that comes with the package, which decides what helps."""
    monkeypatch.delenv(READER_VARIABLE, raising=False)
    with remanence.open(None, worker=False) as opened:
        for text in TOLD:
            exchange(opened, text)
        yield opened


def test_what_is_quoted_and_what_is_not_has_a_reason(space: Space) -> None:
    """What is nearest comes first; of what is not in the block it says why."""
    space.add_turns([{"role": "assistant", "content": "So you are allergic to peanuts."}])
    found = exchange(space, "What am I allergic to?", store=False)

    quoted = [each.hit.memory.text for each in found.considered if each.quoted]
    assert quoted[0] == TOLD[0]
    assert {*quoted} == {*TOLD} == {*quoted_texts(found.prompt.text)}
    assert "words #1" in found.considered[0].reason
    left = {each.hit.memory.text: each.reason for each in found.considered if not each.quoted}
    assert left == {"So you are allergic to peanuts.": "another line says the same"}


def test_the_reason_of_an_empty_block_is_said(space: Space) -> None:
    """For thanks nothing is looked for; for a question without an answer what was found does not help."""
    assert exchange(space, "Thanks!").why_empty == "it is blank or only a greeting"
    asked = exchange(space, "How tall is the Eiffel Tower?", store=False)
    assert not asked.prompt.text
    assert asked.why_empty


def test_turns_of_the_conversation_are_in_the_prompt_themselves() -> None:
    """So nothing is quoted of them, and the reason says so."""
    said = "i live in graz, near the opera"
    with remanence.open(None, worker=False) as space:
        exchange(space, said)
        asked = exchange(space, "where do i live?", turns=[{"role": "user", "content": said}], store=False)
        assert "turns of this conversation, which are in the prompt" in asked.why_empty
        assert exchange(space, "where do i live?", store=False).why_empty == ""


def test_what_is_stored_is_what_the_ledger_has_more(space: Space) -> None:
    """The message; and nothing if nothing is to be stored, or in the past."""
    before = space.count()
    said = exchange(space, "My sister Ana plays the cello.")
    assert [change.memory.text for change in said.stored if change.memory] == ["My sister Ana plays the cello."]
    assert said.analysis.save

    for asked in (exchange(space, "Who plays the cello?", store=False), exchange(space.as_of("2100"), "The cello?")):
        assert asked.stored == ()
        assert asked.why_not_stored
    assert space.count() == before + 1


def test_a_language_model_answers_and_what_it_used_is_marked() -> None:
    """It is given the block, and its answer is stored with the message."""
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return "You must avoid peanuts." if prompt.endswith("Assistant:") else '{"facts": []}'

    with remanence.open(None, extractor=LLMExtractor(model), worker=False) as space:
        space.add_many([TOLD[0], "I am allergic to cats."])
        asked = exchange(space, "What am I allergic to?", turns=[{"role": "user", "content": "We plan a dinner."}])

    assert asked.answer == "You must avoid peanuts."
    assert {each.hit.memory.text: each.used for each in asked.considered if each.quoted} == {
        TOLD[0]: True,
        "I am allergic to cats.": False,
    }
    assert asked.prompt.text in asked.model_prompt == prompts[0]
    assert "User: We plan a dinner." in asked.model_prompt
    assert "You must avoid peanuts." in [change.memory.text for change in asked.stored if change.memory]


def test_a_model_that_fails_is_named_and_the_message_is_kept() -> None:
    """The rest of the exchange is as without a model."""

    def broken(prompt: str) -> str:
        raise OSError("no network")

    with remanence.open(None, extractor=LLMExtractor(broken), worker=False) as space:
        asked = exchange(space, "I live in Porto.")
        assert space.count() == 1
    assert asked.answer is None
    assert "no network" in asked.problem


def test_a_blank_message_is_refused(space: Space) -> None:
    with pytest.raises(InvalidInput, match="Type something"):
        exchange(space, "  ")


def test_a_recorded_question_is_asked_again_in_its_own_way(space: Space) -> None:
    """A prompt as a prompt, a recall with its options; of what was learned since, both have what fits now."""
    space.for_prompt("What should I avoid?", turns=[{"role": "user", "content": "Peanuts?"}], record=True)
    space.audit.record(space.recall("Where do I live?", limit=1, kinds="episode"))
    asked, prompt = space.audit.recorded()
    assert (asked.receipt.prompt, prompt.receipt.prompt) == (False, True)
    assert [memory.id for memory in ask_again(space, prompt.position)] == list(prompt.memories)
    assert [memory.id for memory in ask_again(space, asked.position)] == list(asked.memories)
    before = ask_again(space, asked.position)
    space.forget(before[0])
    assert before[0] not in ask_again(space, asked.position)
    with pytest.raises(NotFound, match="no recorded recall at 1"):
        ask_again(space, 1)
