"""When to remember and when to recall."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_tables import cases
from remanence.remember.message_analysis import analyze_for_recall, analyze_message


@cases("analysis")
def test_a_message_that_tells_something_is_saved(text: str) -> None:
    """With a kind and an importance, and the reason says of which kind it is."""
    found = analyze_message(text)

    assert found.save
    assert 0.5 <= found.confidence <= 1
    assert found.strength in (0.3, 0.6, 0.9)
    assert found.reason in KIND_OF


KIND_OF = {
    "it tells what is so": "semantic",
    "it tells what happened": "episode",
    "it tells what is planned": "episode",
    "it tells a preference": "viewpoint",
}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("My sister Carol lives in Porto.", "it tells what is so"),
        ("Next week I'm flying to Oslo.", "it tells what is planned"),
    ],
)
def test_what_a_message_would_be_is_said_by_its_vector(text: str, reason: str) -> None:
    """A state, an event, a plan or a preference."""
    found = analyze_message(text)
    assert (found.reason, found.kind) == (reason, KIND_OF[reason])


@pytest.mark.parametrize("text", ["Hi!", "Thanks, that's great!", "Where do I live?", "Write me a poem.", "ok", ""])
def test_a_message_that_tells_nothing_is_not(text: str) -> None:
    """Greetings, thanks, questions and requests."""
    found = analyze_message(text)

    assert (found.save, found.strength, found.kind) == (False, 0, "episode")
    assert found.reason == "it asks, requests or chats, and tells nothing that lasts"
    assert 0.5 <= found.confidence <= 1


def test_an_analysis_names_whom_it_is_about() -> None:
    """People and organizations, and the speaker."""
    assert set(analyze_message("My brother Bob works at CERN.").entities) == {"me", "Bob", "CERN"}
    assert analyze_message("It rains.").entities == ()


@cases("analysis")
def test_a_message_that_needs_memory_asks_for_it(text: str) -> None:
    """About the speaker, somebody they know, or what was said before."""
    assert analyze_for_recall(text).recall


@cases("analysis")
def test_a_message_that_does_not_is_left_alone(text: str) -> None:
    """Knowledge of the world, requests, greetings and statements; and what is only quoted."""
    assert not analyze_for_recall(text).recall


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Hey, do you remember where my sister lives?", "where my sister lives?"),
        ("Can you tell me what my favourite colour is?", "what my favourite colour is?"),
        ("Where does Alice work?", "Where does Alice work?"),
    ],
)
def test_the_query_is_what_is_asked_for(text: str, query: str) -> None:
    """Without the words that only lead to it."""
    assert analyze_for_recall(text).query == query


@given(st.text())
@pytest.mark.slow
def test_any_text_can_be_analyzed(text: str) -> None:
    """With a reason, always."""
    assert analyze_message(text).reason
    assert analyze_for_recall(text).reason


def test_what_is_asked_about_oneself_is_known_as_such() -> None:
    """With more confidence than what is asked about anybody else."""
    own, other = analyze_for_recall("Where do I live?"), analyze_for_recall("Where does Alice live?")

    assert own.reason.startswith("it sounds personal: 'i'")
    assert own.confidence > other.confidence


@cases("analysis")
def test_who_asks_to_be_remembered_is(text: str) -> None:
    """Whatever it is about."""
    assert analyze_message(text).save


@pytest.mark.parametrize("text", ["Do you remember my name?", "Remember when we went to Rome?", "Remember me?"])
def test_a_question_about_remembering_is_not_such_a_wish(text: str) -> None:
    """It is for recall."""
    assert not analyze_message(text).save


@cases("analysis")
def test_the_query_is_what_is_asked_about(text: str, query: str) -> None:
    """Without the words that only say that something was said."""
    found = analyze_for_recall(text)
    assert (found.recall, found.query) == (True, query)


def test_an_analysis_for_recall_names_whom_it_is_about() -> None:
    """The names in it, and the speaker."""
    assert analyze_for_recall("Where does my friend Carol live?").entities == ("me", "Carol")
