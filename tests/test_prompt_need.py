"""Whether a message needs memory, in spaces of few memories: with what little there is, nothing can be compared."""

from __future__ import annotations

import pytest

from framed import quoted_texts
from remanence import Space

TOLD = "My secret word is zebra."


@pytest.mark.parametrize("others", [[], ["I like tea."], ["I like tea.", "Bob rows.", "It rained on Monday."]])
@pytest.mark.parametrize("times", [1, 2])
def test_the_only_memory_is_quoted_for_a_question_about_it(space: Space, others: list[str], times: int) -> None:
    """Also one that was told twice, or among a few."""
    for number in range(times):
        space.add_turns([{"role": "user", "content": TOLD, "conversation": f"chat {number}"}])
    space.add_many(others)

    for message in ("What is my secret word?", "What is my secret word? (2)"):
        assert quoted_texts(space.for_prompt(message).text).count(TOLD) == 1
    for message in ("Tell me a joke.", "What is 12 times 12?", "Translate 'good morning' into French."):
        assert space.for_prompt(message).text == ""


def test_a_fact_beside_its_text_is_quoted_once(space: Space) -> None:
    """Two that say the same are not what the nearest is compared with."""
    space.remember("Well, I live in Porto, you know.")
    assert len(quoted_texts(space.for_prompt("Where do I live?").text)) == 1


def test_questions_with_the_words_of_the_message_take_no_room(space: Space) -> None:
    """Neither those that name what is asked."""
    for number in range(20):
        asked = {"role": "user", "content": f"Does Ana live in Porto? ({number})", "conversation": f"chat {number}"}
        space.add_turns([asked, {"role": "assistant", "content": "Yes.", "conversation": f"chat {number}"}])
    space.add("Ana lives in Porto.")

    assert quoted_texts(space.for_prompt("Does Ana live in Porto?", max_tokens=60).text) == ["Ana lives in Porto."]
