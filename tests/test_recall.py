"""Asking: four signals, one list, and its reasons."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console

import remanence
from case_tables import cases
from new_interpreter import run_program
from remanence import Recall, Space
from remanence.events import Remembered
from remanence.index.graph.graph_walk import ChainGraph, WalkScores
from remanence.index.times import Times
from remanence.recall.fusion import fuse, normalize_scores
from remanence.schema import UTC, Query, Ranking, Window
from remanence.testing import FakeClock, HashingEmbedder

if TYPE_CHECKING:
    from remanence.ports import Vector

Reopen = Callable[..., Space]


def texts(found: Recall) -> list[str]:
    return [hit.memory.text for hit in found]


def _said(content: str, day: str) -> dict[str, str]:
    return {"speaker": "user", "content": content, "time": f"{day}T10:00"}


@pytest.fixture(scope="module")
def town() -> Space:
    """A small town, with the embedder that comes inside. For reading only."""
    space = remanence.open(None, clock=FakeClock("2026-05-04T09:00"))
    space.add("Alice works at Harbour Books.", tags=["work"], importance=0.9)
    space.add("Harbour Books is closed on Mondays.", tags=["work", "hours"])
    space.add("The physician said the treatment went well.", kind="viewpoint")
    space.add("Bob's invoice number is QX-7741.", tags=["money"])
    space.add("We ate grilled sardines on the quay.", valid_from="2025-06-23", valid_until="2025-06-24")
    space.add("The old lighthouse was painted white.", valid_from="2019-03-01", valid_until="2019-04-01")
    space.add("東京タワーは赤い。")
    space.add_turns(
        [
            {"speaker": "Carol", "content": "Shall we try the new ramen place?", "time": "2026-05-01T12:00"},
            {"speaker": "Dan", "content": "Only if they have something without pork.", "time": "2026-05-01T12:01"},
            {"speaker": "Carol", "content": "They do, I checked.", "time": "2026-05-01T12:02"},
        ]
    )
    return space


# Each signal


def test_meaning_finds_other_words_for_the_same_thing(town: Space) -> None:
    """No word is shared with the question."""
    question = "What did the doctor think of her therapy?"

    assert texts(town.recall(question, signals=["vectors"]))[0].startswith("The physician")
    assert not town.recall(question, signals=["words"])


def test_words_find_what_has_no_meaning(town: Space) -> None:
    """A number is only itself."""
    [hit] = town.recall("QX-7741", signals=["words"])

    assert hit.memory.text == "Bob's invoice number is QX-7741."
    assert [e.signal for e in hit.evidence] == ["words"]
    assert "holds" in hit.reason


def test_a_word_used_alike_finds_it_after_the_word_itself(space: Space) -> None:
    """And says so. What holds the word asked for gains nothing by another for it."""
    voyage, ferry = ("The journey took a day, a fine voyage.", "The journey took a day, a fine ferry.")
    space.add_many([ferry, voyage, "The voyage took a day."])

    other, itself, alike = space.recall("journey", signals=["words"])

    assert [other.memory.text, itself.memory.text] == [ferry, voyage]
    assert other.evidence[0].raw_score == itself.evidence[0].raw_score
    assert itself.reason == "words #2: holds 'journey'"
    assert alike.memory.text == "The voyage took a day."
    assert alike.reason == "words #3: says 'voyage' for 'journey'"
    assert alike.score < 0.5 * itself.score


def test_words_used_alike_alone_answer_no_question_fully(space: Space) -> None:
    """Else the best would score like one that holds every word. What may not answer does not count."""
    space.add("The voyage took a day.", tags=["sea"])
    [alone] = space.recall("journey", signals=["words"])
    space.add("The journey took a day.")
    [itself, _] = space.recall("journey", signals=["words"])
    [of_the_sea] = space.recall("journey", signals=["words"], tags=["sea"])

    assert alone.score < 0.7 * itself.score
    assert of_the_sea.score < 0.7 * itself.score


def test_a_word_used_alike_tells_no_more_than_the_word_asked_for(space: Space) -> None:
    """However rare it is; and one that was asked for itself counts once."""
    space.add_many([*(f"Day {n} of the journey." for n in range(30)), "Day one of the voyage."])

    assert texts(space.recall("journey", signals=["words"], limit=50))[-1] == "Day one of the voyage."
    by_one, by_two = (
        next(
            e.raw_score
            for hit in space.recall(asked, signals=["words"], limit=50)
            for e in hit.evidence
            if "voyag" in e.reason
        )
        for asked in ("voyage", "a journey or voyage")
    )
    assert by_one == by_two


def test_a_name_is_used_like_no_other(space: Space) -> None:
    """Whoever asks for Anna does not want Maria."""
    space.add("Maria met her brother Peter in Rome on Sunday.")

    assert not space.recall("Anna John Paris Friday", signals=["words"])


def test_time_finds_what_happened_then(town: Space) -> None:
    """The question says when, and nothing else that the memory says."""
    [hit, *_] = town.recall("What happened on 23 June 2025?", signals=["times"])

    assert hit.memory.text == "We ate grilled sardines on the quay."
    assert "2025-06-23" in hit.reason


def test_every_time_that_a_text_names_is_kept(reopen: Reopen) -> None:
    """Not only when it was true: the others too, and read from the ledger as when they were written."""
    space = reopen()
    space.add("The fair was in Porto in May 2024 and in Braga in June 2025.")
    for _ in ("as written", "as read"):
        [hit] = space.recall("Where was it in June 2025?", signals=["times"])
        assert "names 2025-06-01 to 2025-07-01" in hit.reason
        space.rebuild()


def test_a_day_with_few_memories_brings_them_forward(space: Space) -> None:
    """A hundred and fifty others share more with the question; meaning is asked about that day's too."""
    bought = "I bought a kitchen appliance, a new kettle, number {}."
    space.add_turns([_said(bought.format(n), "2026-02-01") for n in range(150)])
    space.add_turns([_said("My smoker arrived!", "2026-03-15")])

    found = space.recall("Which kitchen appliance did I buy on 15 March 2026?", limit=5)

    [hit] = [hit for hit in found if hit.memory.text == "My smoker arrived!"]
    assert {"times", "vectors"} <= {e.signal for e in hit.evidence}


def test_of_the_day_asked_for_words_put_forward_their_best_too(space: Space) -> None:
    """A hundred and fifty others say the word in fewer words."""
    space.add_turns([_said(f"Kettle number {n}.", "2026-02-01") for n in range(150)])
    space.add_turns([_said("That old kettle, and much else that I gave to my neighbours.", "2026-03-15")])

    [hit, *_] = space.recall("Which kettle was it on 15 March 2026?", signals=["words", "times"])

    assert hit.memory.text.startswith("That old kettle")
    assert {"words", "times"} == {e.signal for e in hit.evidence}


@pytest.mark.parametrize(("rows_inside", "worth"), [(1, 0.9), (10, 0.9), (160, 0.45), (None, 0.225)])
def test_the_fewer_are_from_the_time_asked_for_the_more_that_tells(rows_inside: int | None, worth: float) -> None:
    """Of a row that no other signal backs. Ten are as good as one; sixteen times as many tell half of it."""
    day = Window(datetime(2026, 3, 15, tzinfo=UTC), datetime(2026, 3, 16, tzinfo=UTC))
    times, rows = Times(), np.ones(200, np.bool_)
    times.apply(0, [Remembered(f"m{n}", "", f"m{n}", times=(day,)) for n in range(200)])
    within = None if rows_inside is None else np.arange(200) < rows_inside

    found = times.rank(Query("When?", rows, rows, times=(day,), candidate_scores={199: 1.0}, time_mask=within), 200)

    assert dict(zip(found.rows, found.scores, strict=True))[0] == pytest.approx(worth)


@pytest.mark.parametrize(
    ("first", "last", "inside"),
    [(2, 3, [1]), (1, 4, [1, 2]), (2_900, 2_950, None), (2, None, None), (None, 3, None), (0, 2_500, None)],
)
def test_a_time_with_both_ends_tells_apart_what_is_from_it(
    first: int | None, last: int | None, inside: list[int] | None
) -> None:
    """Of an empty time, of "since May", and of one that thousands are from, nothing is said."""
    day = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(3_000)]
    times, rows = Times(), np.arange(2_500) != 0
    times.apply(0, [Remembered(f"m{n}", "", "", times=(Window(day[n + 1], day[n + 2]),)) for n in range(2_500)])
    asked = Window(None if first is None else day[first], None if last is None else day[last])

    found = times.rows_within([asked], rows)

    assert (None if found is None else np.flatnonzero(found).tolist()) == inside


def test_time_speaks_though_nothing_else_is_near(clock: FakeClock) -> None:
    """The other signals found it worth nothing; the day is still the day that was asked for."""

    def contrary(texts: list[str]) -> list[list[float]]:
        return [[-1.0 if "happened" in text else 1.0, 0.0] for text in texts]

    with remanence.open(None, embedder=contrary, clock=clock) as space:
        space.add("We ate grilled sardines.", valid_from="2025-06-23", valid_until="2025-06-24")
        [hit] = space.recall("What happened on 23 June 2025?")

    assert "times" in {e.signal for e in hit.evidence}
    assert hit.score > 0


def test_the_graph_finds_what_is_two_steps_away(town: Space) -> None:
    """Alice is not named in the memory that answers; the shop she works at is."""
    found = town.recall("Which days does Alice have off from work?")
    hit = next(hit for hit in found if hit.memory.text == "Harbour Books is closed on Mondays.")

    [graph] = [e for e in hit.evidence if e.signal == "graph"]
    assert "Harbour Books" in graph.reason


def test_names_near_a_question_are_asked_for_whatever_it_names(space: Space, clock: FakeClock) -> None:
    """And what is learned later moves no score of the past."""
    space.add("The Imperial Palace opens at nine.")
    question, before = "Imperial palaces, Kyoto", clock.now()
    near_name = "about Imperial Palace, a name near the question"
    first = space.recall(question)
    clock.advance(minutes=1)
    space.add("Kyoto is old.")

    assert near_name in first.explain()
    assert near_name in space.recall(question).explain()
    assert space.as_of(before).recall(question).hits == first.hits


@pytest.mark.parametrize("question", ["What did jones sell?", "what did robert jones sell", "What did Jones sell?"])
def test_a_name_is_found_in_part_and_in_small_letters(space: Space, question: str) -> None:
    """Unless the word is in the names of three people: then it tells none of them."""
    space.add("Robert Jones parted with the yacht.")
    assert "about Robert Jones, named in the question" in space.recall(question).explain()

    space.add_many([{"text": "Tom Jones sings."}, {"text": "Ida Jones paints."}])
    named = "about Robert Jones, named in the question" in space.recall(question).explain()
    assert named == ("robert" in question)


@cases("recall")
def test_a_name_with_other_signs_than_letters_is_found(space: Space, name: str, question: str) -> None:
    """Whether it was there before the first question or came later."""
    space.recall("Who is there?")
    space.add("The bridge is closed.", entities=[name])
    [hit] = space.recall(question, signals=["graph"])

    assert hit.reason == f"graph #1: about {name}, named in the question"


def test_a_common_word_is_no_part_of_a_name(space: Space) -> None:
    """A question about bread is none about Mark Bread."""
    space.add("Mark Bread lives here.")

    assert "named in the question" not in space.recall("will there be a mark on the bread?").explain()


def test_an_alias_in_small_letters_is_found_in_texts_and_questions(space: Space) -> None:
    """A registered alias is read whatever its capitals."""
    space.entities.register("AlphaOne LLC", aliases=["ao"], kind="organization")
    space.add("had lunch with ao today")

    assert "about ao, named in the question" in space.recall("who eats at alphaone llc?").explain()


def test_the_walk_leads_on_from_what_a_first_hop_reached(space: Space) -> None:
    """The reason names both hops."""
    space.add("Ana signed with Fernwood.", entities=["Ana", "Fernwood"])
    space.add("Fernwood belongs to Quillstone.", entities=["Fernwood", "Quillstone"])
    space.add("Quillstone sits in Rotterdam.", entities=["Quillstone", "Rotterdam"])
    [far] = [
        hit for hit in space.recall("Who did Ana sign with?", signals=["graph", "words"]) if "sits" in hit.memory.text
    ]

    assert "→ Quillstone, which a memory about Fernwood names" in far.reason


def test_the_walk_follows_relations_of_the_time_asked_for(space: Space) -> None:
    """What held in 2024 leads on for a question about 2024, and what holds now for others."""
    space.add("Fernwood stores rows in MySQL.", entities=["Fernwood", "MySQL"])
    space.add("Quillstone stores rows in Cockroach.", entities=["Quillstone", "Cockroach"])
    space.graph.relate("Ana", "works_at", "Fernwood", valid_from="2023", valid_until="2025")
    space.graph.relate("Ana", "works_at", "Quillstone", valid_from="2025")

    assert space.recall("What does Ana's company use?", signals=["graph"])[0].memory.text.startswith("Quillstone")
    then = space.recall("What did Ana's company use?", during="2024", signals=["graph"])
    assert [hit.reason for hit in then] == ["graph #1: about Ana works at Fernwood"]


def test_relations_are_followed_one_after_the_other(space: Space) -> None:
    """Up to three, of those that hold. The reason names each."""
    space.add("pgvector finds neighbours.", entities=["pgvector"])
    space.add("Oracle is red.", entities=["Oracle"])
    space.graph.relate("Ana", "works_at", "Stripe")
    space.graph.relate("Stripe", "uses", "Oracle", valid_until="2020")
    space.graph.relate("Stripe", "uses", "PostgreSQL")
    space.graph.relate("PostgreSQL", "has_extension", "pgvector")
    [hit] = space.recall("Which extension does the database of Ana's company have?", signals=["graph"])

    way = "Ana works at Stripe → Stripe uses PostgreSQL → PostgreSQL has extension pgvector"
    assert hit.reason == f"graph #1: about {way}"


def test_a_name_that_only_relations_know_leads_on(space: Space) -> None:
    """No memory has to name it."""
    space.add("Acme moved to the harbour.")
    space.graph.relate("Zora", "works_at", "Acme")

    assert "about Zora works at Acme" in space.recall("Where is Zora's office?").explain()


def test_the_turn_after_the_one_that_matches_is_found(town: Space) -> None:
    """The answer to a question stands in the next turn and shares no word with it."""
    hits = {hit.memory.text: hit for hit in town.recall("Who suggested the ramen place?")}
    reply = hits["Only if they have something without pork."]

    assert any(e.signal == "words" and "follows a turn" in e.reason for e in reply.evidence)
    assert any(e.signal == "graph" for e in reply.evidence)


def test_a_signal_with_nothing_to_say_says_why(town: Space) -> None:
    """Silence is told apart from absence."""
    found = town.recall("Where does Alice work?")

    assert found.abstained["times"] == "the question names no time"
    assert found.missing == {}
    assert "stop words" in town.recall("who are you").abstained["words"]
    assert "no memory holds 'zeppelin'" in town.recall("zeppelin").abstained["words"]


def test_an_empty_space_answers_with_reasons(space: Space) -> None:
    """Nothing is remembered yet."""
    found = space.recall("Where does Alice live?")

    assert (len(found), str(found), found.to_dicts()) == (0, "", [])
    assert "nothing is remembered yet" in found.explain()


# The list


@pytest.mark.parametrize("question", ["Where does Alice work?", "harbour", "What did we eat in June 2025?", "赤い"])
def test_scores_lie_between_0_and_1_and_fall(town: Space, question: str) -> None:
    """Best first; and the shares of the signals add up to about the score."""
    found = town.recall(question, limit=100)
    scores = [hit.score for hit in found]

    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    for hit in found:
        assert len({e.signal for e in hit.evidence}) == len(hit.evidence) > 0
        assert all(e.rank >= 1 and 0 <= e.share <= 1 and e.reason for e in hit.evidence)
        assert hit.score <= sum(e.share for e in hit.evidence) + 1e-9


def test_the_same_question_has_the_same_answer(town: Space) -> None:
    """Every time, to the last digit."""
    first = town.recall("harbour", limit=100).to_dicts()

    assert all(town.recall("harbour", limit=100).to_dicts() == first for _ in range(5))


TWINS = """
import json, sys
import remanence
from remanence.testing import FakeClock

for reader in (None, "small"):
    with remanence.open(sys.argv[1], clock=FakeClock("2026-05-04"), reader=reader) as space:
        if not space.count():
            space.add_many([{"text": "The twins are alike as peas.", "key": key} for key in "fbdhacegji"])
        found = space.recall("Which twins are like peas?")
        print(json.dumps([[hit.memory.key, hit.score] for hit in found]))
"""


@pytest.mark.slow
def test_ties_are_broken_the_same_way_in_every_process(home: Path) -> None:
    """Whatever seed the hashes of a process have: without a reader, first come, first served; and with one."""
    runs = [
        run_program(TWINS, home, environment={"REMANENCE_READER": None, "PYTHONHASHSEED": seed}).splitlines()
        for seed in ("1", "2")
    ]

    assert runs[0] == runs[1]
    assert [key for key, _ in json.loads(runs[0][0])] == list("fbdhacegji")
    assert len(runs[0]) == 2


def test_the_list_is_cut_where_it_is_told_to_be(town: Space) -> None:
    """By `limit` and by `min_score`; and what is cut is the end."""
    whole = texts(town.recall("harbour books", limit=100))
    third = town.recall("harbour books", limit=100)[2].score

    assert texts(town.recall("harbour books", limit=2)) == whole[:2]
    assert texts(town.recall("harbour books", limit=100, min_score=third)) == whole[:3]
    assert not town.recall("harbour books", min_score=1.0)
    assert len(town.recall("harbour books", limit=1_000_000)) == len(whole)


def test_only_the_kinds_and_tags_asked_for(town: Space) -> None:
    """Several kinds mean any of them, several tags all of them."""
    assert {h.memory.kind for h in town.recall("the", kinds="viewpoint", limit=50)} == {"viewpoint"}
    assert {h.memory.kind for h in town.recall("quay", kinds=["viewpoint", "episode"], limit=50)} == {
        "viewpoint",
        "episode",
    }
    assert len(town.recall("harbour", tags="work")) == 2
    assert texts(town.recall("harbour", tags=["work", "hours"])) == ["Harbour Books is closed on Mondays."]
    assert not town.recall("harbour", tags=["work", "money"])
    assert not town.recall("harbour", tags="unheard of")


@pytest.mark.parametrize("signal", ["vectors", "words", "graph", "times"])
def test_only_the_signals_asked_for_speak(town: Space, signal: str) -> None:
    """An experiment with one of them."""
    found = town.recall("Where did Alice eat in June 2025?", signals=signal)

    assert {e.signal for hit in found for e in hit.evidence} <= {signal}
    assert {*found.abstained, *found.missing} <= {signal}


@pytest.mark.parametrize("length", [5, 1e300, 1e-300], ids=str)
def test_the_question_can_bring_its_vector(space: Space, length: float) -> None:
    """Then the embedder is not asked. Its length does not matter, even where float32 has no such numbers."""
    space.add("Alice lives in Porto.")
    vector = HashingEmbedder().embed_query("Alice lives in Porto.").astype(float)
    [hit] = space.recall("unrelated", signals=["vectors"], vector=vector * length)

    assert hit.evidence[0].raw_score == pytest.approx(1.0, abs=1e-3)


def shares(space: Space, question: str) -> list[float]:
    return [hit.evidence[0].share for hit in space.recall(question, signals=["vectors"])]


def test_what_is_as_near_as_anything_else_counts_for_nothing(home: Path) -> None:
    """Some embedders find any two texts near; one may say how near, and nearness counts from there."""

    class Warm(HashingEmbedder):
        similarity_floor = 0.0

        def embed(self, texts: Sequence[str]) -> Vector:
            rows = super().embed(texts) * 0.5
            return np.concatenate((rows, np.full((len(rows), 1), 3**0.5 / 2, np.float32)), axis=1)

    embedder = Warm()
    embedder.dimension = 65
    for place, similarity_floor in (("a", 0.0), ("b", 0.75), ("c", 1.1)):
        embedder.similarity_floor = similarity_floor
        space = remanence.open(home / place, embedder=embedder)
        space.add_many(["Alice drinks tea.", "Quarterly figures rose."])
        near, far = shares(space, "Alice drinks tea!")
        assert near == pytest.approx(1.0, abs=0.05)  # age and importance count too
        assert far < 0.1 if similarity_floor == 0.75 else far > 0.5
        space.close()


def test_importance_and_recency_settle_near_ties(space: Space, clock: FakeClock) -> None:
    """They are worth a few hundredths."""
    space.add("The red bicycle is in the shed.", importance=0.1)
    space.add("The red bicycle is in the barn.", importance=0.9)
    assert texts(space.recall("red bicycle"))[0].endswith("barn.")

    clock.advance(days=900)
    space.child("later").add("The red bicycle is in the shed.", now="2020-01-01")
    space.child("later").add("The red bicycle is in the barn.")
    first, second = space.child("later").recall("red bicycle")
    assert first.memory.text.endswith("barn.")
    assert first.score - second.score < 0.1


# Other scripts, long texts, chats


@cases("recall")
def test_words_of_every_script_are_found(space: Space, text: str, question: str) -> None:
    """Also where they are written without spaces."""
    space.add("Alice lives in Porto.")
    space.add(text)

    assert texts(space.recall(question, signals=["words"])) == [text]


def test_a_long_text_is_found_by_a_passage_deep_inside(reopen: Reopen) -> None:
    """Fifty kilobytes come back once, however many of their passages match."""
    space = reopen()
    filler = " ".join(f"On day {n} the ship sailed on and the harbour was far." for n in range(480))
    memory = space.add(f"{filler} The cook lost his silver thimble. {filler}")
    space.add("The ship was in the harbour.")

    assert len(memory.text) > 50_000
    for signals in (["vectors"], ["words"], None):
        found = space.recall("Who lost a silver thimble?", signals=signals)
        assert found[0].memory == memory
        assert texts(found).count(memory.text) == 1
    assert texts(space.recall("ship harbour day", limit=100)).count(memory.text) == 1


def test_turns_know_their_speaker_and_their_conversation(town: Space) -> None:
    """And their time, which is when they were said."""
    [hit, *_] = town.recall("Shall we try the ramen place?")
    memory = hit.memory

    assert (memory.turn.speaker, memory.turn.number, memory.turn.conversation) == ("Carol", 0, "default")
    assert (memory.kind, memory.observed_by, str(memory.valid)) == ("episode", "Carol", "2026-05-01 12:00")
    assert str(town.recall("ramen", limit=1)) == "- [2026-05-01 12:00] Carol: Shall we try the new ramen place?"


def test_turns_of_two_conversations_are_numbered_apart(space: Space) -> None:
    """Also when they come in one by one, in turn."""
    for number in range(3):
        for conversation in ("a", "b"):
            turn = {"role": "user", "content": f"{conversation} says {number}.", "conversation": conversation}
            [memory] = space.add_turns([turn])
            assert (memory.turn.conversation, memory.turn.number) == (conversation, number)


def test_a_turn_keeps_its_place_when_it_is_put_right(space: Space) -> None:
    """Under its key, or read in again with a tag; the next turn comes after the last one all the same."""
    said = [{"speaker": "Ann", "content": f"Number {n}.", "key": f"t{n}"} for n in range(3)]
    untold = {"speaker": "Bo", "content": "And so on."}
    space.add_turns([*said, untold])
    again = [{**said[1], "content": "Number one."}, {**said[1], "content": "Number I."}]
    put_right = space.add_turns([*again, {**untold, "tags": ["aside"]}, {"content": "The end."}])

    assert [memory.turn and memory.turn.number for memory in put_right] == [1, 1, 3, 4]
    assert [m.turn and m.turn.number for m in space.memories()] == [0, 2, 1, 3, 4]


def test_a_turn_that_was_put_right_follows_nothing_that_was_said_later(space: Space) -> None:
    """What was said last is no reason to find it."""
    said = [("Shall we meet on Monday?", "a"), ("Fine with me.", "b"), ("Who brings the ramen?", "c")]
    turns = [{"content": text, "key": key, "time": "2026-05-01T12:00"} for text, key in said]
    space.add_turns(turns)
    space.add_turns([{**turns[0], "content": "Shall we meet on Tuesday?"}])
    space.add_turns([{"content": "I do.", "time": "2026-05-01T12:01"}])

    found = space.recall("ramen", signals=["words"])
    assert texts(found) == ["I do.", "Who brings the ramen?"]


def test_i_is_whoever_speaks(space: Space) -> None:
    """In a turn its speaker, in a text whoever is said to have observed it."""
    [turn] = space.add_turns([{"speaker": "Carol", "content": "I live in Faro."}])
    note = space.add("My sister lives in Braga.", observed_by="Dan")

    assert "Carol" in {m.name for m in turn.mentions}
    assert ("Carol", "Faro") in {(t.subject, t.object) for t in turn.triples}
    assert "Dan" in {m.name for m in note.mentions}
    assert texts(space.recall("Where does Carol live?"))[0] == "I live in Faro."


def test_yesterday_is_the_day_before_it_was_said(space: Space) -> None:
    """Not the day before it was written down."""
    [turn] = space.add_turns([{"speaker": "Ann", "content": "I ran yesterday.", "time": "2024-03-02T08:00"}])
    note = space.add("I ran yesterday.", now="2024-05-02")

    assert str(turn.valid) == "2024-03-01"
    assert str(note.valid) == "2024-05-01"


# What it looks like


def test_explain_says_why_each_line_is_there(town: Space) -> None:
    """Score, text, and for each signal its share, its rank and its note."""
    lines = town.recall("Where does Alice work?", limit=2).explain().splitlines()

    assert lines[0] == "'Where does Alice work?'"
    assert re.fullmatch(r" 1\. 0\.\d\d  Alice works at Harbour Books\.", lines[1])
    assert all(re.fullmatch(r"      [+-]\d\.\d\d \w+ #\d+: .+", line) for line in lines[2:4])
    assert lines[-1] == "    times abstained: the question names no time"


def test_a_long_memory_is_shown_in_short_and_says_so(space: Space) -> None:
    """In what is for people; a prompt has all of it."""
    text = "Alice counts: " + "one two three " * 40
    kept = space.add(text).text
    found = space.recall("What does Alice count?")

    assert f"{kept[:199].rstrip()}…\n" in found.explain()
    assert f"{kept[:299].rstrip()}…<" in found._repr_html_()
    assert f"first {kept[:59].rstrip() + '…'!r}" in repr(found)
    assert str(found) == f"- {kept.strip()}"


def test_dicts_are_plain_enough_for_json(town: Space) -> None:
    """Every hit with its memory and its evidence."""
    found = town.recall("What did we eat on 23 June 2025?")
    [first, *_] = json.loads(json.dumps(found.to_dicts()))

    assert first["memory"]["text"] == found[0].memory.text
    assert first["score"] == pytest.approx(found[0].score, abs=1e-6)
    assert {"signal", "rank", "share", "raw_score", "reason"} == set(first["evidence"][0])


def test_html_is_escaped(space: Space) -> None:
    """A memory cannot put a script into a notebook; nor can a question or a name."""
    evil = "<script>alert('Mallory')</script>"
    space.add(f"Mallory wrote {evil} on the wall.", entities=[f"Mallory {evil}"])
    shown = space.recall(f"What did Mallory {evil} write?")._repr_html_()

    assert "Mallory wrote &lt;script&gt;" in shown
    assert "<script" not in shown
    assert shown.count("<tr>") == 2


def test_markup_in_a_memory_is_only_text(space: Space) -> None:
    """A rich table shows brackets as brackets."""
    space.add("Press [red]the[/red] button [/] now.")
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(space.recall("[bold]button[/]"))
    shown = console.export_text()

    assert "Press [red]the[/red] button [/] now." in shown
    assert all(header in shown for header in ("score", "memory", "when", "reason"))


def test_a_recall_is_a_sequence(town: Space) -> None:
    """It has a length, slices are recalls, and it says in short what it is."""
    found = town.recall("harbour")

    assert len(found[:2]) == 2
    assert isinstance(found[:2], Recall)
    assert next(iter(found)) is found[0]
    assert repr(found).startswith(f"<Recall of 'harbour': {len(found)} hits, first '")
    assert str(found).count("\n") == len(found) - 1


def test_fit_keeps_the_first_hits_that_fit(town: Space) -> None:
    """Counted roughly, or as the caller counts."""
    found = town.recall("harbour")

    assert len(found.fit(max_tokens=0)) == 0
    assert len(found.fit(max_tokens=100_000)) == len(found)
    assert 0 < len(found.fit(max_tokens=40)) < len(found)
    assert texts(found.fit(max_tokens=40)) == texts(found)[: len(found.fit(max_tokens=40))]
    assert len(found.fit(max_tokens=3, count_tokens=lambda line: 1)) == 3


# Many at once


async def test_async_twins_leave_the_loop_alone(clock: FakeClock) -> None:
    """The embedder runs in another thread, and the loop goes on turning meanwhile."""
    loop_thread, turns = threading.get_ident(), 0

    class Slow(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            assert threading.get_ident() != loop_thread
            threading.Event().wait(0.05)
            return super().embed(texts)

    async def turn() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.001)
            turns += 1

    turning = asyncio.create_task(turn())
    space = remanence.open(None, embedder=Slow(), clock=clock)
    memory = await space.aadd("Alice lives in Porto.")
    await space.aadd_many([{"text": "Bob lives in Faro."}])
    await space.aadd_turns([{"speaker": "Carol", "content": "I live in Braga."}])
    assert texts(await space.arecall("Where does Alice live?"))[0] == "Alice lives in Porto."
    assert await space.aget(memory.id) == memory
    await space.aforget(memory.id)
    assert await space.aget(memory.id) is None
    await space.aunforget(memory.id)
    await space.aerase(memory.id)
    await space.arebuild()
    assert (await space.averify()).entries == 6
    await space.aclose()
    turning.cancel()
    assert turns > 50


@pytest.mark.parametrize("place", ["memory", "folder"])
@pytest.mark.slow
def test_threads_adding_and_recalling_at_once_lose_nothing(home: Path, clock: FakeClock, place: str) -> None:
    """Eight of them, on one space and its children."""
    with remanence.open(home if place == "folder" else None, embedder=HashingEmbedder(), clock=clock) as space:

        def live(who: int) -> list[str]:
            child = space.child(f"user {who % 3}")
            kept = []
            for number in range(12):
                kept.append(space.add(f"Thread {who} wrote note {number}.").id)
                child.add(f"Thread {who} hid note {number}.")
                assert space.recall(f"thread {who} note {number}")[0].memory.text.startswith("Thread")
                space.add(f"The board was last wiped by {who}, {number}.", key="board")
            return kept

        with ThreadPoolExecutor(8) as pool:
            kept = [memory for lived in pool.map(live, range(8)) for memory in lived]

        assert len(set(kept)) == 96
        assert space.count() == 97
        assert sum(space.child(f"user {n}").count() for n in range(3)) == 96
        assert all(space.get(memory) for memory in kept)
        assert space.admin.check() == {}
        assert space.verify().entries == 96 * 2


@pytest.mark.parametrize("weights", ["bad", {"smell": 1}, {"words": -1}, {"words": 0}, {"words": "1"}])
def test_weights_that_are_none_are_refused(space: Space, weights: Any) -> None:
    """With the value shown."""
    with pytest.raises(remanence.InvalidInput, match="weights="):
        space.recall("harbour", weights=weights)


def test_what_words_found_is_judged_by_meaning_too() -> None:
    """Were it among the nearest or not: a row that nobody looked at is not taken for unrelated."""
    near, off = [1.0, 0.0], [0.6, 0.8]
    with remanence.open(None, embedder=lambda texts: [off if "came" in t else near for t in texts]) as space:
        space.add_many(f"Filler number {number}." for number in range(150))
        quokka = space.add("A quokka came by.")
        hit = space.recall("quokka")[0]

    assert hit.memory == quokka
    assert {e.signal: round(e.raw_score, 2) for e in hit.evidence}["vectors"] == 0.6


def test_what_lies_far_ahead_is_as_little_recent_as_what_lies_far_back(space: Space) -> None:
    """Else a plan for the next century would come before everything, with a score above one."""
    space.add("The comet is back.", valid_from="2126-01-01", importance=0.5)
    space.add("The comet is back.", valid_from="1926-01-01", importance=0.5)

    scores = [hit.score for hit in space.recall("Is the comet back?", signals=["words"])]

    assert scores == [pytest.approx(scores[0])] * 2
    assert scores[0] <= 1.0


@pytest.mark.parametrize(
    ("ranking", "scale"),
    [
        (Ranking("vectors", [1, 2], [0.5, -0.5]), [1.0, 0.0]),
        (Ranking("vectors", [1, 2], [0.6, 0.1], floor=0.2), [1.0, 0.0]),
        (Ranking("times", [1, 2], [2.0, 0.5], ceiling=1.0), [1.0, 0.5]),
        (Ranking("words", [1, 2], [0.0, 0.0]), [0.0, 0.0]),
    ],
)
def test_a_scale_goes_from_nothing_to_one(ranking: Ranking, scale: list[float]) -> None:
    """What lies below it, bent, would otherwise count for as much as what lies above."""
    assert normalize_scores(ranking).tolist() == scale


def test_equal_scores_stand_in_the_order_they_were_learned() -> None:
    """Whichever signal names them first, and however many there are."""
    rows = [*range(40)]
    backwards = Ranking("words", rows[::-1], [1.0] * 40)

    assert fuse([backwards], {"words": 1.0}).rows.tolist() == rows


def test_of_several_reasons_the_strongest_is_told_and_of_equals_the_first() -> None:
    """A row is often reached in more than one way."""
    every = np.ones(4, np.bool_)
    walk = WalkScores(Query("Who?", visible=every, allowed=every, position=1))
    walk.add_score(np.array([0, 1, 2]), 0.2, "weak")
    walk.add_score(np.array([0, 3]), 0.4, "strong")
    walk.add_scores(np.array([1, 3]), np.array([0.1, 0.4]), "late")

    assert walk.reasons([3, 1, 0]) == ["strong", "weak", "strong"]


def test_of_several_chains_to_a_vertex_the_best_counts() -> None:
    """Porto is reached over two memories. What leaves nothing leads nowhere."""
    chains, porto, oslo, rome = ChainGraph(), ("name", 0, 1), ("name", 0, 2), ("name", 0, 3)
    chains.lead(None, ("start", 0, 10), 0.9)
    chains.lead(None, ("start", 0, 11), 1.2)
    chains.lead(("start", 0, 10), porto, 0.5)
    chains.lead(("start", 0, 11), porto, 0.25)
    chains.lead(("start", 0, 11), oslo, 0.1)
    chains.lead(("start", 0, 11), rome, 0.0)

    found = chains.best([oslo, porto, rome])

    assert list(found) == [porto, oslo]
    assert found[porto] == (pytest.approx(0.45), ("start", 0, 10))
    assert found[oslo] == (pytest.approx(0.12), ("start", 0, 11))
    assert list(chains.best([oslo, porto], count=1)) == [porto]
    assert chains.best([]) == {}


def test_a_chain_goes_on_from_where_others_ended() -> None:
    """Steps may be added after the best chains were asked for."""
    chains = ChainGraph()
    chains.lead(None, ("start", 0, 10), 0.5)
    assert chains.best([("start", 0, 10)])[("start", 0, 10)] == (pytest.approx(0.5), None)

    chains.lead(("start", 0, 10), ("name", 0, 1), 0.5)

    assert chains.best([("name", 0, 1)])[("name", 0, 1)] == (pytest.approx(0.25), ("start", 0, 10))


def test_now_is_read_against_the_moment_of_the_view(space: Space, clock: FakeClock) -> None:
    """Yesterday, to a view of March, is a day in March."""
    space.add("The bakery opened.", valid_from="2026-03-09", valid_until="2026-03-10", now="2026-03-10")
    clock.advance(days=400)

    found = space.as_of("2026-03-12").recall("What opened yesterday?", now="2 days ago", signals=["times"])

    assert texts(found) == ["The bakery opened."]
    assert str(found.times[0]) == "2026-03-09"


def test_who_found_nothing_keeps_their_weight_and_who_abstained_does_not() -> None:
    """Half of those who looked found it, or all of them did."""
    found, weights = Ranking("words", [7], [4.0]), {"words": 1.0, "vectors": 1.0}

    assert fuse([found, Ranking.empty("vectors", "none is near")], weights).scores.tolist() == [0.5]
    assert fuse([found, Ranking.abstain("vectors", "no words")], weights).scores.tolist() == [1.0]
    assert fuse([found, Ranking.unavailable("vectors", "it is down")], weights).scores.tolist() == [1.0]


@pytest.mark.parametrize("reader", [None, lambda question, texts: [0.9 if "Porto" in text else 0.1 for text in texts]])
@pytest.mark.parametrize(
    "question",
    ["Where does Alice live?", "Where did Alice live in March 2024?", "Which trips did Alice make in January 2024?"],
)
def test_the_parts_add_up_to_the_score_and_show_whole_words(question: str, reader: Any) -> None:
    """Whatever time has moved; and a February is not a January."""
    with remanence.open(None, reader=reader) as space:
        space.add("Alice lives in Porto.", now="2024-01-01", importance=0.9)
        space.add("Alice lives in Lisbon.", now="2024-05-10", importance=0.2)
        space.add("Alice's voyages in February 2024 were long.", now="2024-07-01")
        space.add("Alice went on a journey in January 2024.", now="2024-07-02")
        answer = space.recall(question, now="2026-02-01")

    for hit in answer:
        assert sum(evidence.share for evidence in hit.evidence) == pytest.approx(hit.score)
        quoted = [
            word for each in hit.evidence if each.signal == "words" for word in re.findall(r"'(\w+)'", each.reason)
        ]
        assert set(quoted) <= set(re.findall(r"\w+", f"{hit.memory.text} {question}"))
        assert not any("'February' for" in evidence.reason for evidence in hit.evidence)
