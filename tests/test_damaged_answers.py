"""What is kept of the answers of a language model that makes mistakes: a table of damages, and one of near misses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest

import remanence
from case_tables import cases
from remanence import LLMExtractor
from remanence.models.llm_extractor import REST_PROMPT
from remanence.ports import Utterance
from remanence.schema import SELF, UTC
from remanence.testing.fakes import ScriptedModel, facts_reply

Row = dict[str, Any]
NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)
SAID = [
    "im a nurse in leeds, nights mostly, n i cant have penicillin, hives as a kid",
    "We've rented the flat above the bakery since March, and my sister Jo doesn't pay a penny.",
    "callums got trumpet thurs 4.30 w/ mr adeyemi, hes in year 10",
    "Ich habe seit Januar einen Dackel, er heißt Bruno.",
    "the car loans 190 a month. olives scared of stairs so shes in the kitchen at night",
    "昨日から大阪に住んでいます。",
]
FACTS = [
    (0, "im a nurse in leeds", "The user is a nurse in Leeds."),
    (0, "i cant have penicillin", "The user cannot have penicillin."),
    (1, "We've rented the flat above the bakery since March", "The user rents the flat above the bakery."),
    (1, "my sister Jo doesn't pay a penny", "The user's sister Jo pays nothing for the flat."),
    (2, "callums got trumpet thurs 4.30 w/ mr adeyemi", "Callum has trumpet lessons with Mr Adeyemi on Thursdays."),
    (2, "hes in year 10", "Callum is in year 10."),
    (3, "Ich habe seit Januar einen Dackel, er heißt Bruno", "Der Nutzer hat einen Dackel, der Bruno heißt."),
    (4, "the car loans 190 a month", "The user's car loan costs 190 a month."),
    (4, "olives scared of stairs so shes in the kitchen at night", "Olive sleeps in the kitchen."),
    (5, "昨日から大阪に住んでいます", "ユーザーは大阪に住んでいます。"),
]
GOOD: list[Row] = [{"turn": turn, "quotation": quotation, "text": text} for turn, quotation, text in FACTS]


def tidied(quotation: str) -> str:
    """As a model writes it that mends what it quotes."""
    pairs = {"im": "I'm", "cant": "can't", "hes": "he's", "shes": "she's", "We've": "We have", "n": "and", "w/": "with"}
    words = (pairs.get(word, word) for word in quotation.split(" "))
    return " ".join(words).capitalize().replace("callums", "Callum's") + "."


def one_word_off(quotation: str) -> str:
    """The third word is another one."""
    words = quotation.split(" ")
    return " ".join([*words[:2], "really", *words[3:]]) if len(words) > 2 else quotation


def kept(*replies: object, said: Sequence[str] = SAID) -> set[str]:
    utterances = [Utterance(text, SELF, NOW) for text in said]
    return {fact.text for fact in LLMExtractor(ScriptedModel(*replies)).facts(utterances, now=NOW).facts}


@pytest.mark.parametrize(
    ("damage", "count"),
    [
        (lambda row: row, 10),
        (lambda row: row | {"quotation": None}, 0),
        (lambda row: row | {"quotation": tidied(row["quotation"])}, 10),
        (lambda row: row | {"quotation": one_word_off(row["quotation"])}, 10),
        (lambda row: row | {"quotation": row["quotation"].upper(), "turn": 99}, 10),
        (lambda row: row | {"quotation": "something that nobody ever said"}, 0),
    ],
    ids=["none", "no quotation", "tidied quotations", "one word off", "capitals, no turn", "invented quotations"],
)
def test_a_quotation_that_is_nearly_right_costs_no_fact(damage: Callable[[Row], Row], count: int) -> None:
    """It is stored in the words of its turn."""
    assert len(kept(facts_reply(*map(damage, GOOD)))) == count


def test_a_tidied_quotation_is_stored_as_it_was_said() -> None:
    said = [Utterance(text, SELF, NOW) for text in SAID]
    rows = [row | {"quotation": tidied(row["quotation"])} for row in GOOD]
    found = LLMExtractor(ScriptedModel(facts_reply(*rows))).facts(said, now=NOW).facts
    assert all(fact.quotation in SAID[fact.source_turns[0]] for fact in found)


def test_an_answer_that_is_cut_costs_no_fact() -> None:
    """Of one that ends after 60% of its letters, the rest is asked for."""
    answer = facts_reply(*GOOD)

    def rest(prompt: str) -> str:
        received = prompt.partition(REST_PROMPT)[2]
        return facts_reply(*(row for row in GOOD if row["text"] not in received))

    assert len(kept(answer[: int(0.6 * len(answer))], rest)) == len(GOOD)


@cases("damaged_answers")
def test_a_fact_that_nearly_says_what_was_said_is_refused(said: str, text: str, is_kept: bool) -> None:
    """Another number, name, relative or a denial; another verb and another likelihood are not noticed."""
    assert bool(kept(facts_reply({"text": text, "quotation": said}), said=[said])) == is_kept


@cases("damaged_answers")
def test_a_fact_in_other_words_is_not_taken_for_a_near_miss(said: str, text: str) -> None:
    assert kept(facts_reply({"text": text, "quotation": said}), said=[said])


def test_a_wrong_number_ends_nothing() -> None:
    """A fact on a car that ends an allergy to nuts contradicts it: both are shown, and both are current."""
    nuts = {"text": "The user is allergic to hazelnuts.", "quotation": "allergic to hazelnuts"}
    car = {"text": "Callum repairs gearboxes.", "quotation": "Callum repairs gearboxes", "ends": [0]}
    model = LLMExtractor(ScriptedModel(facts_reply(nuts), facts_reply(car)))
    with remanence.open(None, extractor=model, worker=False) as space:
        space.remember("I'm allergic to hazelnuts.", now="2026-01-10")
        space.remember("Callum repairs gearboxes now.", now="2026-02-10")
        assert [memory.text for memory in space.memories("superseded")] == []
        [(memory, disagreement)] = space.graph.disagreements()
        assert {memory.text, disagreement.memory.text} == {nuts["text"], car["text"]}
