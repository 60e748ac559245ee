"""A model's answer: what of it can be read, and what of that is believed."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from case_tables import cases
from examples import examples
from remanence.models.llm_clients import Reply
from remanence.models.llm_facts import checked_fact, parse_rows
from remanence.models.llm_source import Chunk, Piece
from remanence.schema import MEMORY_KINDS, UTC, Fact, Memory, Triple, Utterance

NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)  # a Monday
FIELDS = (
    "kind turn quotation when until names triples replaces ends confirms extends importance confidence tags".split()
)


def one_fact(row: dict[str, object], *said: str, speaker: str = "user", told: datetime = NOW) -> Fact | None:
    """The fact that a row states of these turns. Without a quotation it has the first of them."""
    pieces = (Piece(number, Utterance(text, speaker, told)) for number, text in enumerate(said))
    return checked_fact({"quotation": said[0], **row}, Chunk(tuple(pieces)), NOW)


def claim(subject: str, object: str) -> list[dict[str, str]]:
    return [{"subject": subject, "predicate": "lives_in", "object": object}]


# What is believed


def test_names_are_spelled_as_they_were_said() -> None:
    """Accents and capitals of the conversation win, in the text, the names and the claims."""
    row = {"text": "Zoe lives in Sao Paulo.", "names": [{"name": "zoe"}], "triples": claim("zoe", "Sao Paulo")}

    fact = one_fact(row, "Zoë moved, she lives in São Paulo now!")

    assert fact.text == "Zoë lives in São Paulo."
    assert fact.triples == (Triple("Zoë", "lives_in", "São Paulo"),)
    assert [mention.name for mention in fact.mentions] == ["Zoë", "São Paulo"]


@cases("llm_answers")
def test_a_fact_needs_a_quotation_that_stands_in_a_turn(quotation: object, found: str | None) -> None:
    """But for case, accents, marks and a word of three, for which the turn's own stand; "..." leaves words out."""
    said = ("Zoë moved, she lives far away, to São  Paulo now!", "She likes tea.")
    fact = one_fact({"text": "Zoë lives in São Paulo.", "quotation": quotation}, *said)

    assert (fact and fact.quotation) == found


def test_a_quotation_says_which_turn_is_meant() -> None:
    """The one with the number that was given if it has the words, else the first that has them."""
    said = ("I like tea.", "Tea, yes.", "I like tea.")
    turns = []
    for turn in (2, 1, 7, None, [2], True):
        fact = one_fact({"text": "The user likes tea.", "quotation": "I like tea", "turn": turn}, *said)
        turns.append(fact and fact.source_turns)

    assert turns == [(2,), (0,), (0,), (0,), (0,), (0,)]


def test_nothing_is_quoted_from_the_turns_before() -> None:
    """They were read already, and only help to understand."""
    before, said = Piece(-1, Utterance("I live in Porto.")), Piece(0, Utterance("Yes, there."))
    row = {"text": "The user lives in Porto."}

    assert checked_fact({**row, "quotation": "I live in Porto"}, Chunk((said,), (before,)), NOW) is None
    assert checked_fact({**row, "quotation": "Yes, there"}, Chunk((said,), (before,)), NOW) is not None


@pytest.mark.parametrize(
    ("said", "text", "kept"),
    [
        ("i moved to graz with anna", "The user moved to Graz with Anna.", "The user moved to Graz with Anna."),
        ("I moved to GRAZ", "The user moved to Graz.", "The user moved to GRAZ."),
        ("My McDonald's voucher", "The user has a Mcdonald's voucher.", "The user has a McDonald's voucher."),
    ],
)
def test_capitals_are_as_said(said: str, text: str, kept: str) -> None:
    """Where nobody used any, those of the model stay."""
    fact = one_fact({"text": text}, said)

    assert fact.text == kept


@cases("llm_answers")
def test_a_number_that_nobody_said_is_refused(said: str, text: str, kept: bool) -> None:
    """Unless it is part of the date of the fact."""
    assert (one_fact({"text": text, "kind": "episode"}, said) is not None) == kept


def test_a_fact_about_the_user_does_not_rest_on_words_of_the_assistant() -> None:
    """What it said itself may be remembered."""
    said = "Since you live in Porto, I recommend the Lello bookshop."

    assert one_fact({"text": "The user lives in Porto."}, said, speaker="assistant") is None
    assert one_fact({"text": "The assistant recommended the Lello bookshop."}, said, speaker="assistant") is not None


def test_a_translated_name_makes_no_claim_and_costs_confidence() -> None:
    """Munich was not said."""
    names = [{"name": "Anna"}, {"name": "Munich"}]
    row = {"text": "Anna lives in Munich.", "names": names, "confidence": 0.9}
    fact = one_fact({**row, "triples": claim("Anna", "Munich")}, "Anna lives in München.")

    assert (fact.confidence, fact.triples) == (0.45, ())
    assert [mention.name for mention in fact.mentions] == ["Anna"]


def test_a_name_inside_another_is_not_said() -> None:
    """Ann is not Anna; but where words have no spaces between them, a name may stand anywhere."""
    chunk = Chunk((Piece(0, Utterance("Annaは東京に住んでいます。")),))

    assert chunk.find_spelling("Ann") is None
    assert chunk.find_spelling("東京") == "東京"


def test_an_invented_fact_is_no_fact() -> None:
    """Nothing in it was said, as when a small model repeats the example of its prompt."""
    assert one_fact({"text": "The user works at Hooli."}, "Good morning, how are you?") is None
    assert one_fact({"text": "Marvin met Trillian there."}, "We met them there.") is None


# Facts that nobody said


@pytest.fixture
def with_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REMANENCE_READER", raising=False)


@pytest.mark.usefixtures("with_the_reader")
@cases("llm_answers")
def test_a_quotation_that_does_not_tell_the_fact_is_not_enough(said: str, invented: str) -> None:
    """The words are real, and none of them nor the reader says what the model made of them."""
    assert one_fact({"text": invented, "confidence": 1.0}, said) is None


@pytest.mark.usefixtures("with_the_reader")
@cases("llm_answers")
def test_a_fact_in_other_words_is_kept(said: str, told: str) -> None:
    """Also in other languages."""
    assert one_fact({"text": told}, said) is not None


@pytest.mark.usefixtures("with_the_reader")
def test_an_answer_rests_on_its_question() -> None:
    """The words of the turns before count, and those of known facts that it touches; not those of the whole chat."""
    said = ("My brother plays chess.", "How nice!", "And where?", "Does he come along on Monday?", "no")
    turns = tuple(Piece(n, Utterance(text, "assistant" if n % 2 else "user", NOW)) for n, text in enumerate(said))
    volvo = Memory("a" * 32, "default", "The user has a Volvo.")
    chunk = Chunk(turns, known=(volvo,))

    def kept(text: str, **more: object) -> bool:
        return checked_fact({"text": text, "quotation": "no", "turn": 4, **more}, chunk, NOW) is not None

    assert kept("The user's brother does not come along on Monday.")
    assert not kept("The user plays chess.")
    assert kept("The user no longer has the Volvo.", ends=[0])
    assert not kept("The user has a Volvo.")


def test_without_a_reader_one_shared_word_is_enough() -> None:
    """The tests turn it off."""
    assert one_fact({"text": "The user was given flowers by an old friend."}, "He brought flowers.") is not None
    assert one_fact({"text": "The user is divorced."}, "He brought flowers.") is None


# Dates


TOLD = datetime(2026, 3, 18, 20, 0, tzinfo=UTC)  # a Wednesday


@cases("llm_answers")
def test_a_date_is_believed_where_a_time_was_named(said: str, kind: str, when: str | None, read: str) -> None:
    """If the quotation names a year, it is of that. A clock time is no date; without any, an event is at its turn."""
    shop = "The meeting on 20 March is in the shop."  # the other turn names the day of the meeting
    fact = one_fact({"text": f"{said} The user.", "kind": kind, "when": when}, said, shop, told=TOLD)

    assert fact is not None
    assert (str(fact.valid) if fact.valid.has_bound else "always") == read


@pytest.mark.parametrize(("until", "read"), [("2026-06-30", "2026-07-01"), ("2026-06", "2026-07-01"), (None, "")])
def test_an_end_is_the_last_day(until: str | None, read: str) -> None:
    """Of the month, if only that is given."""
    fact = one_fact({"text": "The contract runs.", "until": until}, "My contract runs until 30 June.", told=TOLD)

    assert fact is not None
    assert f"{fact.valid.end or ''}"[:10] == read


@pytest.mark.parametrize("text", ["", "  ", None, 7, ["Alice"], "Alice " * 300])
def test_a_fact_needs_a_text(text: object) -> None:
    """Neither nothing, nor something else, nor a whole page."""
    assert one_fact({"text": text}, "Alice lives in Porto. " + "Alice " * 300) is None


def test_a_copy_of_everything_said_is_no_fact() -> None:
    """One sentence said and remembered is fine; a whole talk is not a fact."""
    assert one_fact({"text": "Alice lives in Porto."}, "Alice lives in Porto.") is not None
    assert one_fact({"text": "Alice lives in Porto. Bob is ill."}, "Alice lives in Porto.", "Bob is ill.") is None


def test_i_is_the_one_who_speaks() -> None:
    """By name where the turn has one."""
    row = {"text": "Caroline likes tea.", "triples": claim("I", "tea")}

    fact = one_fact(row, "I like tea.", speaker="Caroline")

    assert fact is not None
    assert [triple.subject for triple in fact.triples] == ["Caroline"]


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("yesterday", "2026-05-04 09:00"),
        ("2026-05-03", "2026-05-03"),
        ("2024-02", "2024-02-01 to 2024-03-01"),
        ("2024-02-01/2024-02-05", "2024-02-01 to 2024-02-06"),
        ("2019", "2019-01-01 to 2020-01-01"),
        ("at some point", "2026-05-04 09:00"),
        ("", "2026-05-04 09:00"),
        (["May"], "2026-05-04 09:00"),
        (True, "2026-05-04 09:00"),
        (10**40, "2026-05-04 09:00"),
    ],
)
def test_times_are_read_against_the_turn(said: object, read: str) -> None:
    """ISO; with anything else, an event is as old as the turn that tells it."""
    row = {"text": "Alice ran a race.", "kind": "episode", "when": said}
    fact = one_fact(row, "Alice ran a race.", "That was in 2019 or on 3 February 2024.")

    assert str(fact.valid) == read


def test_what_is_so_has_no_end_unless_one_was_said() -> None:
    """Since 2019, until March; an end before the beginning is not an end."""
    ends = {}
    for until in (None, "2026-03", "2018"):
        row = {"text": "Alice lives in Porto.", "when": "2019", "until": until}
        fact = one_fact(row, "Alice lives in Porto.", "From 2019 on, until March 2026; not in 2018.")
        ends[until] = fact and str(fact.valid)

    assert ends == {None: "since 2019-01-01", "2026-03": "2019-01-01 to 2026-04-01", "2018": "since 2019-01-01"}


@pytest.mark.parametrize(
    ("given", "read"), [(0.7, 0.7), (7, 1.0), (-1, 0.0), (float("nan"), 0.6), ("high", 0.6), (None, 0.6), (True, 0.6)]
)
def test_importance_is_a_number_from_0_to_1(given: object, read: float) -> None:
    """Anything else is left out."""
    fact = one_fact({"text": "Alice ran.", "importance": given}, "Alice ran.")

    assert fact.importance == read


def test_what_a_model_leaves_out_is_not_added() -> None:
    """A bare text has the names in it and whoever says "I", and no claim."""
    lives = one_fact({"text": "Alice lives in Porto."}, "Alice lives in Porto.")
    likes = one_fact({"text": "I like tea."}, "I like tea.", speaker="Caroline")

    assert lives is not None
    assert likes is not None
    assert (lives.kind, lives.triples, lives.effects) == ("semantic", (), ())
    assert [mention.name for mention in likes.mentions] == ["Caroline"]


# Anything at all


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FACTS = st.lists(
    st.fixed_dictionaries({"text": st.text(), "triples": st.lists(st.dictionaries(st.text(), JSON, max_size=2))}),
    max_size=4,
)


@settings(deadline=None)
@given(facts=FACTS, share=st.floats(0, 1), spaces=st.sampled_from([None, 1]))
def test_a_whole_answer_is_read_and_a_part_of_one_is_not(
    facts: list[dict[str, Any]], share: float, spaces: int | None
) -> None:
    """Cut it anywhere."""
    whole = json.dumps({"facts": facts}, indent=spaces)
    rows = parse_rows(Reply(text=whole[: round(share * len(whole))]), "facts")

    if share == 1:
        assert json.dumps(rows) == json.dumps(facts)  # as text: NaN is not equal to itself
    elif round(share * len(whole)) < len(whole):
        assert rows is None


@settings(deadline=None)
@given(text=st.text() | st.text(alphabet='{}[]",:\\ factsxe0'))
def test_any_text_can_be_looked_at(text: str) -> None:
    """Nothing that a model may write makes the reading fail."""
    rows = parse_rows(Reply(text=text), "facts")

    assert rows is None or all(isinstance(row, dict) for row in rows)


@settings(max_examples=examples(30), deadline=None)  # the first of them loads dateparser
@given(row=st.fixed_dictionaries({}, optional=dict.fromkeys(["text", *FIELDS], JSON)))
def test_any_row_is_a_sound_fact_or_none(row: dict[str, Any]) -> None:
    """Whatever stands in its fields, what comes out can be kept."""
    fact = one_fact({"text": "Alice lives in Porto.", **row}, "Alice lives in Porto.")
    if fact is None:
        return

    assert fact.text.strip()
    fact.text.encode()
    assert fact.kind in MEMORY_KINDS
    assert 0 <= fact.importance <= 1
    assert 0 <= fact.confidence <= 1
    assert fact.source_turns == (0,)
    assert all(name.isidentifier() for name in (triple.predicate for triple in fact.triples))
