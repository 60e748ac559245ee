"""The reader: the first hits are read together with the question, as dated lines, and ordered by what it says."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import remanence
from remanence import Evidence, Hit, Memory
from remanence.models import catalogue, readers
from remanence.models.readers import LINE_WORDS, MAX_LINES, as_line, excerpt
from remanence.ports import ListReading, ReaderLine
from remanence.recall.question import parse_question
from remanence.recall.reading import read_hits
from remanence.schema import UTC
from remanence.testing import FakeClock, ReaderContract
from remanence.testing.fakes import HashingEmbedder

LARGER = "ms-marco-MiniLM-L-12-v2"
HARBOUR = ("The harbour of Porto is old and very beautiful indeed.", "The harbour is old.")
QUESTION = "Is the harbour of Porto old and very beautiful?"
HOMES = ("Alice rents a flat in Porto.", "Boxes everywhere: Alice is in Lisbon.", "The van brought Alice to Faro.")
DAYS = ("2026-01-10", "2026-02-10", "2026-03-10")
NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)
Told = Mapping[str, float]


class ScriptedReader:
    """Says of each line what its script says for a word in it, and keeps the calls.

    Args:
        holds: The probability that a line holds, by a word in it; also that it answers, unless `answers` differs.
        replaced: The probability that it is replaced.
        choice: The probability that it is the best answer.
    """

    fingerprint = "scripted"

    def __init__(
        self, holds: Told, *, answers: Told | None = None, replaced: Told | None = None, choice: Told | None = None
    ) -> None:
        self.script = (holds if answers is None else answers, holds, replaced or {}, choice or {})
        self.calls = list[tuple[str, list[ReaderLine], datetime, datetime | None]]()

    @property
    def lines(self) -> list[ReaderLine]:
        """The lines of the last call."""
        return self.calls[-1][1]

    def read(
        self, question: str, lines: Sequence[ReaderLine], *, asked_at: datetime, moment: datetime | None = None
    ) -> ListReading:
        self.calls.append((question, list(lines), asked_at, moment))
        parts = [tuple(self._said(told, line.text) for line in lines) for told in self.script]
        return ListReading(parts[0], parts[1], parts[2], parts[3], 1 - sum(parts[3]))

    @staticmethod
    def _said(told: Told, text: str) -> float:
        return next((said for word, said in told.items() if word in text), 0.0)


def opened(reader: Any, clock: FakeClock) -> remanence.Space:
    return remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock, worker=False)


def ask(question: str, clock: FakeClock, its_reader: Any, **options: Any) -> remanence.Recall:
    """The answer of a space that was told of three homes and a boat."""
    with opened(its_reader, clock) as space:
        for text, day in zip(HOMES, DAYS, strict=True):
            space.add(text, now=day)
        space.add("Alice has a boat, an old one, and she likes it.", now="2026-04-10")
        return space.recall(question, **options)


def texts_of(answer: Sequence[Hit]) -> list[str]:
    return [hit.memory.text for hit in answer]


def hit(text: str, score: float) -> Hit:
    """A hit as the signals find it, without a space."""
    return Hit(Memory(text, "s", text, recorded_at=NOW), score, (Evidence("words", 1, score, 1.0, "all words"),))


# The order


@pytest.mark.parametrize("town", ["Porto", "Lisbon", "Faro"])
def test_what_the_reader_chooses_comes_first(town: str, clock: FakeClock) -> None:
    """Among memories that all answer and hold, and of which the signals like another one best."""
    everywhere = dict.fromkeys(("Porto", "Lisbon", "Faro"), 0.8)
    answer = ask("Where does Alice live?", clock, ScriptedReader(everywhere, choice={town: 0.9}))

    assert town in answer[0].memory.text


@pytest.mark.parametrize(("score", "first"), [(0.5, "Lisbon"), (0.9, "Porto")])
def test_a_high_score_of_the_signals_outweighs_the_choice(score: float, first: str) -> None:
    """Where no score is high, the reader decides, though the signals like another hit just as much better."""
    reader = ScriptedReader({"Porto": 0.3, "Lisbon": 0.8}, choice={"Porto": 0.1, "Lisbon": 0.8})
    parsed = parse_question("Where does Alice live?", NOW)
    read = read_hits((hit("Porto", score), hit("Lisbon", score - 0.4)), 0, parsed, NOW, reader)

    assert texts_of(read.hits)[0] == first


def test_a_reader_that_says_that_nothing_answers_chooses_nothing(clock: FakeClock) -> None:
    """Then the signals decide, and not which of two numbers near 0 is higher."""
    signals = ask("Where does Alice live?", clock, None)
    last = next(town for town in ("Porto", "Lisbon", "Faro", "boat") if town in signals[3].memory.text)
    answer = ask("Where does Alice live?", clock, ScriptedReader({}, choice={last: 0.001}))

    assert texts_of(answer)[0] == texts_of(signals)[0]


def test_what_hardly_tells_what_is_asked_is_not_chosen() -> None:
    """Though the reader takes the memory that does for replaced, and chooses from what is left."""
    reader = ScriptedReader(
        {"nurse": 0.1, "dairy": 0.23},
        answers={"nurse": 0.86, "dairy": 0.27},
        replaced={"nurse": 0.97},
        choice={"nurse": 0.11, "dairy": 0.43},
    )
    hits = hit("My wife is a nurse.", 0.53), hit("Her allergist says that dairy is fine.", 0.08)
    read = read_hits(hits, 0, parse_question("What's my wife's job?", NOW), NOW, reader)

    assert "nurse" in texts_of(read.hits)[0]


def test_a_choice_about_another_person_decides_nothing(clock: FakeClock) -> None:
    """Readers take what the user said of themselves for an answer to "What do I buy for him?"."""
    reader = ScriptedReader({"window": 0.5, "aisle": 0.9}, choice={"window": 0.1, "aisle": 0.9})
    with opened(reader, clock) as space:
        space.add_turns([{"role": "user", "content": "I take an aisle seat."}])
        space.add_turns([{"role": "user", "content": "Tom takes a window seat."}])
        answer = space.recall("Which seat do I reserve for him?", context=["Tom is visiting."])

    assert texts_of(answer) == ["Tom takes a window seat.", "I take an aisle seat."]


def test_what_holds_comes_before_what_only_answers(clock: FakeClock) -> None:
    """Both tell where she lives, one of them for now."""
    reader = ScriptedReader({"Faro": 0.9}, answers=dict.fromkeys(("Porto", "Lisbon", "Faro"), 0.9))
    answer = ask("Where does Alice live?", clock, reader)

    assert "Faro" in answer[0].memory.text
    assert "boat" in answer[3].memory.text, "which does not even answer"


def test_signals_and_reader_have_half_of_the_score_each(clock: FakeClock) -> None:
    """A reader that says nothing of any hit leaves the order, with half of each score."""
    without = ask("Where does Alice live?", clock, None)
    answer = ask("Where does Alice live?", clock, ScriptedReader({}))

    assert texts_of(answer) == texts_of(without)
    assert [each.score for each in answer] == pytest.approx([each.score / 2 for each in without])


@pytest.mark.parametrize("count", [4, 40])
def test_scores_go_down_the_list_and_the_evidence_adds_up(count: int, clock: FakeClock) -> None:
    """Also of hits that were not read, and of those that the reader moved."""
    with opened(ScriptedReader({"quay 3 ": 0.9, "quay 2 ": 0.4}, choice={"quay 3 ": 0.8}), clock) as space:
        space.add_many(f"The harbour has a quay {number} {'very ' * number}old." for number in range(count))
        answer = space.recall("the old harbour", limit=count)

    assert len(answer) == count
    assert [each.score for each in answer] == sorted((each.score for each in answer), reverse=True)
    for each in answer:
        assert sum(evidence.share for evidence in each.evidence) == pytest.approx(each.score)
    assert "quay 3 " in answer[0].memory.text
    [read] = [evidence for evidence in answer[0].evidence if evidence.signal == "reader"]
    assert (read.rank, read.raw_score, read.reason) == (1, 0.9, "answers the question with probability 0.90")


def test_pinned_hits_stay_first_whatever_the_reader_says() -> None:
    """They were valid at the time asked about by their claims. Their score is raised, and the evidence says so."""
    hits = (hit("Porto", 0.3), hit("Lisbon", 0.9), hit("Faro", 0.5))
    reader = ScriptedReader({"Faro": 1.0}, choice={"Faro": 1.0})
    parsed = parse_question("Where did Alice live in January?", NOW)
    free, pinned = (read_hits(hits, count, parsed, NOW, reader).hits for count in (0, 1))

    assert texts_of(free) == ["Faro", "Lisbon", "Porto"]
    assert texts_of(pinned) == ["Porto", "Faro", "Lisbon"]
    assert pinned[0].score == pinned[1].score == free[0].score
    assert sum(evidence.share for evidence in pinned[0].evidence) == pytest.approx(pinned[0].score)
    assert "valid at the time asked about" in pinned[0].reason
    assert "valid at the time asked about" not in pinned[1].reason


def test_what_was_valid_then_is_pinned(clock: FakeClock) -> None:
    """By its claims and dates; the reader prefers another one."""
    reader = ScriptedReader({"Faro": 1.0}, choice={"Faro": 1.0})
    with opened(reader, clock) as space:
        for town, day in zip(("Porto", "Lisbon", "Faro"), DAYS, strict=True):
            space.add(f"Alice lives in {town}.", now=day)
        then, now = space.recall("Where did Alice live on 20 February 2026?"), space.recall("Where does Alice live?")

    assert then[0].memory.text == "Alice lives in Lisbon."
    assert now[0].memory.text == "Alice lives in Faro."


def test_what_is_told_of_the_user_hardly_answers_a_question_about_somebody_else(clock: FakeClock) -> None:
    """The reader takes both for an answer, and the user's own for the better one."""
    reader = ScriptedReader({"peanuts": 0.9, "shellfish": 0.7}, choice={"peanuts": 0.6, "shellfish": 0.3})
    with opened(reader, clock) as space:
        space.add_many(["I must avoid peanuts.", "My sister Ana must avoid shellfish."])
        turns = [{"role": "user", "content": "Let's plan a dinner for my sister Ana."}]
        own, hers = space.recall("What must I avoid?"), space.recall("What must she avoid?", context=turns)

    assert own[0].memory.text == "I must avoid peanuts."
    assert hers[0].memory.text == "My sister Ana must avoid shellfish."


# What is replaced


def marked(clock: FakeClock, **script: Told) -> dict[str, Hit]:
    """The hits of a space with two homes, by town. Both answer, unless the script says otherwise."""
    with opened(ScriptedReader(**{"answers": {"Alice": 0.9}, **script}), clock) as space:
        for text, day in zip(HOMES[:2], DAYS[:2], strict=True):
            space.add(text, now=day)
        return {each.memory.text.rstrip(".").split()[-1]: each for each in space.recall("Where does Alice live?")}


def test_a_hit_that_a_later_one_replaces_is_marked(clock: FakeClock) -> None:
    """In the hit. It is still found; prompts say nothing of it."""
    hits = marked(clock, holds={"Porto": 0.1, "Lisbon": 0.9}, replaced={"Porto": 0.95}, choice={"Lisbon": 0.9})

    assert not hits["Porto"].current
    assert hits["Porto"].superseded_by == hits["Lisbon"].memory
    assert hits["Lisbon"].current


@pytest.mark.parametrize(
    ("holds", "replaced", "answers"),
    [
        ({"Porto": 0.1, "Lisbon": 0.9}, {"Porto": 0.8}, {"Alice": 0.9}),
        ({"Porto": 0.4, "Lisbon": 0.9}, {"Porto": 0.95}, {"Alice": 0.9}),
        ({"Porto": 0.1, "Lisbon": 0.4}, {"Porto": 0.95}, {"Alice": 0.9}),
        ({"Porto": 0.9, "Lisbon": 0.1}, {"Lisbon": 0.95}, {"Alice": 0.9}),
        ({"Porto": 0.1, "Lisbon": 0.9}, {"Porto": 0.95}, {"Porto": 0.6, "Lisbon": 0.9}),
        ({"Porto": 0.1, "Lisbon": 0.9}, {"Porto": 0.95}, {"Porto": 0.9, "Lisbon": 0.6}),
    ],
    ids=["not sure", "it may hold", "no other holds", "the other is older", "another matter", "the other on another"],
)
def test_a_hit_is_marked_only_if_all_of_it_is_likely(
    holds: Told, replaced: Told, answers: Told, clock: FakeClock
) -> None:
    """That it tells the matter, that it is replaced, that it does not hold, and that a later one does."""
    hits = marked(clock, holds=holds, replaced=replaced, answers=answers)

    assert all(each.current and each.superseded_by is None for each in hits.values())


def test_what_a_reader_says_closes_nothing(clock: FakeClock) -> None:
    """Without that reader both are current."""
    with opened(ScriptedReader({"Lisbon": 0.9}, answers={"Alice": 0.9}, replaced={"Porto": 0.95}), clock) as space:
        for text, day in zip(HOMES[:2], DAYS[:2], strict=True):
            space.add(text, now=day)
        assert not all(each.current for each in space.recall("Where does Alice live?"))
        assert [memory.text for memory in space.memories()] == list(HOMES[:2])
        assert all(memory.valid.end is None for memory in space.memories())


# What the reader is given


def test_lines_have_their_day_and_rank_and_the_question_its_moment(clock: FakeClock) -> None:
    """The end of the past time that a question names; None if it asks about now."""
    reader = ScriptedReader({})
    plain = ask("Where does Alice live?", clock, None)
    ask("Where does Alice live?", clock, reader)
    question, lines, asked_at, moment = reader.calls[-1]
    assert (question, asked_at, moment) == ("Where does Alice live?", clock.now(), None)
    assert [line.text for line in lines] == texts_of(plain)
    assert [line.rank for line in lines] == [0, 1, 2, 3]
    assert {line.text: line.told_at for line in lines}[HOMES[0]] == datetime(2026, 1, 10, tzinfo=UTC)

    ask("Where did Alice live in February 2026?", clock, reader)
    assert reader.calls[-1][3] == datetime(2026, 3, 1, tzinfo=UTC)
    ask("Where will Alice live in December 2026?", clock, reader)
    assert reader.calls[-1][3] is None


def test_days_are_shown_nearer_to_the_question_if_it_names_no_time(clock: FakeClock) -> None:
    """The oldest is a month old, the others as old in proportion. The true days are there as well."""
    reader = ScriptedReader({})
    ask("Where does Alice live?", clock, reader)
    lines = [line for line in reader.lines if line.told_at and line.shown_at]
    shown = {line.text: clock.now() - line.shown_at for line in lines if line.shown_at}
    told = {line.text: clock.now() - line.told_at for line in lines if line.told_at}
    assert max(shown.values()) == timedelta(days=30)
    assert shown[HOMES[2]] / shown[HOMES[0]] == pytest.approx(told[HOMES[2]] / told[HOMES[0]])

    ask("Where did Alice live in February 2026?", clock, reader)
    assert {line.shown_at for line in reader.lines} == {None}


def test_what_is_recent_is_read_with_its_own_day(clock: FakeClock) -> None:
    """Nothing is moved if all was told within a month."""
    reader = ScriptedReader({})
    with opened(reader, clock) as space:
        space.add("Alice is in Lisbon.", now=clock.now() - timedelta(days=29))
        space.recall("Where does Alice live?")
    assert [line.shown_at for line in reader.lines] == [None]


def test_a_state_counts_from_the_date_it_was_added_with(clock: FakeClock) -> None:
    """Unless its text names that date; a turn counts from when it was said."""
    reader = ScriptedReader({})
    with opened(reader, clock) as space:
        space.add("The rent is 900 euros.", valid_from="2019-01-01", now="2026-01-01")
        space.add("The rent was raised on 1 March 2020.", valid_from="2020-03-01", now="2026-01-01")
        space.add_turns([{"role": "user", "content": "The rent is 1200 euros.", "time": "2026-02-01"}])
        space.recall("How high is the rent?")

    assert {line.text: str(line.told_at.date()) for line in reader.lines if line.told_at} == {
        "The rent is 900 euros.": "2019-01-01",
        "The rent was raised on 1 March 2020.": "2026-01-01",
        "The rent is 1200 euros.": "2026-02-01",
    }


@pytest.mark.parametrize("limit", [5, 40])
def test_only_the_first_sixteen_are_read(limit: int, clock: FakeClock) -> None:
    """However many are asked for, in one call."""
    reader = ScriptedReader({"very": 0.5})
    with opened(reader, clock) as space:
        space.add_many(f"The harbour is {'very ' * number}old." for number in range(40))
        answer = space.recall("the old harbour", limit=limit)

    assert len(reader.calls) == 1
    assert len(reader.lines) == MAX_LINES == 16
    assert len(answer) == limit
    read = [any(evidence.signal == "reader" for evidence in each.evidence) for each in answer]
    assert read == [True] * min(limit, 16) + [False] * max(0, limit - 16)


def test_it_is_not_given_what_is_no_longer_valid(clock: FakeClock) -> None:
    """It might like it best."""
    reader = ScriptedReader({"Porto": 0.9})
    with opened(reader, clock) as space:
        space.add("Alice lives in Porto.", now="2026-01-01")
        lisbon = space.add("Alice lives in Lisbon.", now="2026-03-01")
        answer = space.recall("Does Alice live in Lisbon?", limit=1)

    assert [each.memory for each in answer] == [lisbon]
    assert [line.text for line in reader.lines] == [lisbon.text]


def test_a_turn_is_read_with_its_speaker_and_a_short_answer_with_its_question(clock: FakeClock) -> None:
    """Who said "I" is half of what was said, and "Yes, peanuts." says nothing alone."""
    reader = ScriptedReader({})
    turns = [
        {"speaker": "Bob", "content": "I like tea."},
        {"role": "assistant", "content": "Do you drink tea, or are you allergic to anything?"},
        {"role": "user", "content": "Yes, peanuts."},
    ]
    with opened(reader, clock) as space:
        space.add_turns(turns)
        space.recall("tea and peanuts")
    read = {line.text: (line.speaker, line.before) for line in reader.lines}

    assert read["I like tea."] == ("Bob", "")
    assert read["Yes, peanuts."] == ("user", "assistant: Do you drink tea, or are you allergic to anything?")


def test_a_turn_that_was_forgotten_is_not_read_with_the_answer_to_it(clock: FakeClock) -> None:
    """What is forgotten has no influence any more."""
    reader = ScriptedReader({})
    with opened(reader, clock) as space:
        asked, _ = space.add_turns(
            [
                {"role": "assistant", "content": "Are you allergic to anything?"},
                {"role": "user", "content": "Yes, peanuts."},
            ]
        )
        space.recall("peanuts")
        assert [line.before for line in reader.lines if "peanuts" in line.text] == [
            "assistant: Are you allergic to anything?"
        ]
        space.forget(asked)
        space.recall("peanuts")

    assert [(line.text, line.before) for line in reader.lines] == [("Yes, peanuts.", "")]


def test_of_a_long_text_the_part_is_read_that_shares_most_with_the_question() -> None:
    """What is cut off cannot be read."""
    text = "word " * 200 + "the boiler is serviced by Marek " + "word " * 200
    part = excerpt("Who services the boiler?", text, LINE_WORDS)

    assert "serviced by Marek" in part
    assert len(part.split()) == LINE_WORDS + 1, "and the dots"
    assert excerpt("Who services the boiler?", "Marek does.", LINE_WORDS) == "Marek does."


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (ReaderLine("Marek does.", title="Boilers"), "Boilers: Marek does."),
        (ReaderLine("Boilers: ask Marek.", title="Boilers"), "Boilers: ask Marek."),
        (ReaderLine("Marek.", speaker="Bob", title="Boilers"), "Bob: Marek."),
        (ReaderLine("Marek.", speaker="user", before="Bob: Who?"), "Bob: Who? user: Marek."),
        (ReaderLine("Yes.", before=f"Bob: {'so ' * 20}?"), f"... {'so ' * 11}? Yes."),
    ],
)
def test_a_line_is_read_with_what_belongs_to_it(line: ReaderLine, read: str) -> None:
    """Its title or its speaker, and the end of the turn before it."""
    assert as_line("Who services the boiler?", line) == read


def test_nobody_waits_while_it_reads(clock: FakeClock) -> None:
    """It may take its time, and may itself ask or add from another thread."""

    def slow(question: str, texts: Sequence[str]) -> list[float]:
        found.append(other.submit(space.get, kept.id).result(timeout=10))
        found.append(other.submit(space.add, "A boat came in.").result(timeout=10))
        return [0.0] * len(texts)

    found: list[Any] = []
    with opened(slow, clock) as space, ThreadPoolExecutor(1) as other:
        kept = space.add(HARBOUR[0])
        answer = space.recall(QUESTION)

    assert [each.memory for each in answer] == [kept]
    assert [memory.text for memory in found] == [HARBOUR[0], "A boat came in."]
    assert not answer.missing


# Confidence


@pytest.mark.parametrize("chosen", [0.0, 0.2, 0.9])
def test_the_confidence_is_the_probability_that_any_line_answers(chosen: float, clock: FakeClock) -> None:
    """It says whether the recall is confident, and which hits are relevant."""
    reader = ScriptedReader({"Faro": chosen}, choice={"Faro": chosen})
    answer = ask("Where does Alice live?", clock, reader)

    assert answer.confidence == pytest.approx(chosen)
    assert answer.confident is (chosen == 0.9)
    assert len(answer) == 4
    assert texts_of(answer.relevant) == ([HOMES[2]] if chosen == 0.9 else [])


def test_without_a_reader_there_is_no_confidence(clock: FakeClock) -> None:
    """Then every recall with a hit counts as confident."""
    answer = ask("Where does Alice live?", clock, None)

    assert answer.confidence is None
    assert answer.confident
    assert answer.relevant == answer


# Functions, and readers that fail


def test_a_function_is_a_reader(clock: FakeClock) -> None:
    """And the explanation says what it said."""
    given: list[str] = []

    def shorter(question: str, texts: Sequence[str]) -> list[float]:
        given.extend(texts)
        return [0.9 if len(text) < 30 else 0.02 for text in texts]

    with opened(shorter, clock) as space:
        space.add_many(HARBOUR)
        answer = space.recall(QUESTION)
    evidence = {e.signal: e for e in answer[0].evidence}["reader"]

    assert sorted(given) == sorted(HARBOUR)
    assert texts_of(answer) == [HARBOUR[1], HARBOUR[0]]
    assert evidence.rank == 1
    assert evidence.raw_score == pytest.approx(0.9)
    assert answer.confidence == pytest.approx(0.9)


class Failing:
    """A reader with a fixed reading, or an error."""

    fingerprint = "failing"

    def __init__(self, reading: Any) -> None:
        self.reading = reading

    def read(self, question: str, lines: Sequence[ReaderLine], **options: Any) -> Any:
        if isinstance(self.reading, Exception):
            raise self.reading
        return self.reading


PAIR = (0.5, 0.5)


@pytest.mark.parametrize(
    ("reader", "said"),
    [
        (lambda question, texts: [2.0] * len(texts), "not probabilities from 0 to 1"),
        (lambda question, texts: [0.5], r"gave [1, 1, 1, 1] numbers for 2 lines"),
        (lambda question, texts: [float("nan")] * len(texts), "not a number"),
        (lambda question, texts: 1 / 0, "ZeroDivisionError"),
        (Failing(OSError("model is gone")), "OSError: model is gone"),
        (Failing(None), "TypeError"),
        (Failing(ListReading(PAIR, PAIR, PAIR, (0.5,), 0.5)), "gave [2, 2, 2, 1] numbers for 2 lines"),
        (Failing(ListReading(PAIR, PAIR, (0.5, -0.1), PAIR, 0.0)), "or not from 0 to 1"),
        (Failing(ListReading(PAIR, PAIR, PAIR, PAIR, float("nan"))), "or not from 0 to 1"),
    ],
)
def test_a_reader_that_fails_costs_only_its_order(
    reader: Failing | Callable[[str, Sequence[str]], Any], said: str, clock: FakeClock
) -> None:
    """The answer comes as if there were none, and says why."""
    with opened(reader, clock) as space:
        space.add_many(HARBOUR)
        answer = space.recall(QUESTION)

    assert texts_of(answer) == list(HARBOUR)
    assert said in answer.missing["reader"]
    assert answer.confidence is None


@pytest.mark.parametrize("given", [7, ["a"]])
def test_what_cannot_read_is_refused(given: Any) -> None:
    """With the value and what would do."""
    with pytest.raises(remanence.InvalidInput, match=rf"The reader is {given!r}".replace("[", r"\[")):
        remanence.open(None, reader=given)


def test_a_name_or_a_folder_that_is_not_there_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is downloaded behind anybody's back, and nothing is opened before."""
    monkeypatch.setenv("REMANENCE_MODELS", str(tmp_path))
    with pytest.raises(remanence.InvalidInput, match=f"`remanence models get {LARGER}`"):
        remanence.open(tmp_path / "memory", reader=LARGER)
    with pytest.raises(remanence.InvalidInput, match=r"No reader is called 'bge-small-en-v1\.5'"):
        remanence.open(tmp_path / "memory", reader="bge-small-en-v1.5")
    with pytest.raises(remanence.InvalidInput, match=r"lacks model\.onnx and tokenizer\.json"):
        remanence.open(tmp_path / "memory", reader=tmp_path)
    assert not (tmp_path / "memory").exists()


@pytest.mark.slow
def test_a_stock_cross_encoder_by_name_or_folder(clock: FakeClock) -> None:
    """On a text of any length, and replayed as it was."""
    place = catalogue.installed_folder(LARGER)
    if place is None:
        pytest.skip(f"{LARGER} is not in {catalogue.models_folder()}: run `remanence models get {LARGER}`")
    asked = "In which city does Alice live?"
    texts = ["Alice moved to Porto in May.", "Alice is a plumber.", "word " * 50_000, "broken \ud83d"]
    by_name, by_folder = (readers.resolve_reader(given) for given in (LARGER, place))
    assert by_name is not None
    assert by_folder is not None
    for reader in (by_name, by_folder):
        assert np.argmax(reader.read(asked, [ReaderLine(text) for text in texts], asked_at=NOW).answers) == 0
    with remanence.open(None, reader=by_name, clock=clock) as space:
        space.add_many(texts[:2])
        answer = space.recall(asked)
        assert answer[0].memory.text == texts[0]
        assert answer.receipt is not None
        assert space.audit.replay(answer.receipt) == answer


# The reader that comes with the package


class TestScriptedReader(ReaderContract):
    """The reader of these tests keeps the contract."""

    def make(self) -> ScriptedReader:
        """One that knows where Alice lives."""
        return ScriptedReader({"Porto": 0.9}, choice={"Porto": 0.8})


class TestSmallReader(ReaderContract):
    """The reader that comes with the package."""

    def make(self) -> readers.SmallReader:
        """It, whatever the environment says."""
        return readers.SmallReader()

    def test_after_a_move_the_new_home_comes_first(self, clock: FakeClock) -> None:
        """Told in words without a verb of living, and asked again with the same answer; what nobody told, it does
        not know."""
        with remanence.open(None, embedder="fast", reader=self.make(), clock=clock, worker=False) as space:
            for day, told in (
                ("2026-01-10", "We live in Leeds, in a flat with damp walls."),
                ("2026-02-10", "My sister Ana plays the cello."),
                ("2026-04-02", "The van has just dropped our boxes at the new house in Hull."),
            ):
                space.add_turns([{"role": "user", "content": told, "time": day, "conversation": day}])
            home, unknown = space.recall("Where do I live?"), space.recall("What is my blood type?")
            assert home.receipt is not None
            assert space.audit.replay(home.receipt) == home

        assert "Hull" in home[0].memory.text
        assert home.confident
        assert home.confidence is not None
        assert unknown.confidence is not None
        assert unknown.confidence < 0.3 < home.confidence

    def test_what_is_about_another_matter_is_not_marked(self, clock: FakeClock) -> None:
        """The reader says that the code was told since: but not by the memory that answers this question."""
        with remanence.open(None, embedder="fast", reader=self.make(), clock=clock, worker=False) as space:
            for day, told in (
                ("2026-02-03", "I need the code for the garage."),
                ("2026-03-05", "The code for the garage is 4471."),
                ("2026-04-04", "I work at CERN."),
            ):
                space.add_turns([{"role": "user", "content": told, "time": day, "conversation": day}])
            answer = space.recall("Where do I work?")

        assert answer[0].memory.text == "I work at CERN."
        assert [each.superseded_by for each in answer] == [None] * 3

    def test_which_line_holds_depends_on_the_moment(self) -> None:
        """The last one by now, the first one by then."""
        lines = [
            ReaderLine("I live in Leeds.", datetime(2024, 5, 3, tzinfo=UTC), "user"),
            ReaderLine("Emil moved to York.", datetime(2024, 6, 9, tzinfo=UTC), "user"),
            ReaderLine("I live in Hull now.", datetime(2025, 3, 2, tzinfo=UTC), "user"),
        ]
        reader, summer = self.make(), datetime(2024, 8, 1, tzinfo=UTC)
        now = reader.read("Where do I live?", lines, asked_at=NOW)
        then = reader.read("Where did I live in July 2024?", lines, asked_at=NOW, moment=summer)

        assert (np.argmax(now.choice), np.argmax(then.choice)) == (2, 0)
        assert now.replaced[0] > 0.5 > now.replaced[2]

    def test_what_nothing_replaced_holds_however_old_it_is(self, clock: FakeClock) -> None:
        """An allergy that was told eleven months ago is nearly as probable as one that was told two weeks ago."""
        confidences = []
        for told in ("2025-06-06", "2026-04-20"):
            with remanence.open(None, embedder="fast", reader=self.make(), clock=clock, worker=False) as space:
                space.add("Jonas is allergic to hazelnuts, so no praline at dinner.", now=told)
                space.add("I will bring the cards and the cheese.", now="2026-04-30")
                confidences.append(space.recall("Is anybody allergic?").confidence or 0.0)
        old, recent = confidences
        assert old > 0.8 * recent > 0.4

    def test_a_reading_is_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Asking again runs no model; after `clear` it does."""
        reader, lines = self.make(), [ReaderLine("I live in Leeds.", NOW, "user")]
        first = reader.read("Where do I live?", lines, asked_at=NOW)
        runs: list[object] = []
        run = reader._model.run
        monkeypatch.setattr(reader._model, "run", lambda *given, **more: runs.append(given) or run(*given, **more))
        assert reader.read("Where do I live?", lines, asked_at=NOW) == first
        assert not runs
        reader.clear()
        assert reader.read("Where do I live?", lines, asked_at=NOW) == first
        assert len(runs) == 1

    def test_it_is_the_default_unless_the_environment_or_the_caller_says_otherwise(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`REMANENCE_READER=none` turns it off for a whole process."""
        monkeypatch.setenv(readers.READER_VARIABLE, "none")
        assert readers.resolve_reader() is None
        monkeypatch.delenv(readers.READER_VARIABLE)
        assert isinstance(readers.resolve_reader(), readers.SmallReader)
        assert readers.resolve_reader() is readers.resolve_reader("small")
        assert readers.resolve_reader(None) is None


def test_without_onnxruntime_recall_works_and_says_so(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """As without a reader, with the reason in `missing`; it is looked for only when a question is asked."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with opened(readers.SmallReader(), clock) as space:
        space.add_many(HARBOUR)
        answer = space.recall(QUESTION)

    assert texts_of(answer) == list(HARBOUR)
    assert "Run: pip install onnxruntime" in answer.missing["reader"]


# Switches of one recall


class Slow(ScriptedReader):
    """A reader that waits until it is told to go on."""

    def __init__(self) -> None:
        super().__init__({"Faro": 0.9}, choice={"Faro": 0.9})
        self.go = threading.Event()

    def read(self, *args: Any, **options: Any) -> ListReading:
        self.go.wait(10)
        return super().read(*args, **options)


def test_what_is_not_read_by_the_deadline_is_ranked_by_the_signals(clock: FakeClock) -> None:
    """And the answer says so."""
    reader = Slow()
    late = ask("Where does Alice live?", clock, reader, deadline=0.05)
    reader.go.set()

    assert texts_of(late) == texts_of(ask("Where does Alice live?", clock, None))
    assert (late.missing, late.confidence) == ({"reader": "the hits were not read by the deadline"}, None)
    assert "Faro" in ask("Where does Alice live?", clock, reader, deadline=10)[0].memory.text


def test_the_environment_may_have_a_deadline_for_all(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a server. A recall with its own has that one."""
    reader = Slow()
    monkeypatch.setenv("REMANENCE_DEADLINE", "0.05")
    assert "reader" in ask("Where does Alice live?", clock, reader).missing
    reader.go.set()
    assert not ask("Where does Alice live?", clock, reader, deadline=10).missing


@pytest.mark.parametrize("name", ["none", "small"])
def test_one_recall_may_have_another_reader_or_none(name: str, clock: FakeClock) -> None:
    """Its receipt says which, so that it can be repeated."""
    answer = ask("Where does Alice live?", clock, ScriptedReader({"boat": 0.9}, choice={"boat": 1.0}), reader=name)

    assert "boat" not in answer[0].memory.text
    assert (answer.confidence is None) == (name == "none")
    assert answer.receipt.to_dict()["reader"] == name


@pytest.mark.parametrize("option", [{"reader": "large"}, {"deadline": 0}, {"deadline": "soon"}, {"deadline": True}])
def test_a_switch_that_is_none_is_refused(option: dict[str, Any], clock: FakeClock) -> None:
    """With its value."""
    with pytest.raises(remanence.InvalidInput, match=r"reader='large'|deadline="):
        ask("Where?", clock, None, **option)
