"""The reader: the first hits are read together with the question, then time decides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import remanence
from remanence.cli import main
from remanence.models import catalogue, readers
from remanence.models.reader_input import as_passage, excerpt
from remanence.read.rerank import MAX_READ_HITS, READ_WORDS
from remanence.testing import FakeClock, ReaderContract
from remanence.testing.fakes import HashingEmbedder

LARGER = "ms-marco-MiniLM-L-12-v2"
HARBOUR = ("The harbour of Porto is old and very beautiful indeed.", "The harbour is old.")
QUESTION = "Is the harbour of Porto old and very beautiful?"
ASKED = "In which city does Alice live?"
HOMES = ("Alice rents a flat in Porto.", "Boxes everywhere: Alice is in Lisbon.", "The van brought Alice to Faro.")
DAYS = ("2026-01-10", "2026-02-10", "2026-03-10")


class Telling:
    """Says that texts with one of these words tell it, and keeps what it was given to read."""

    fingerprint = "telling"

    def __init__(self, *words: str) -> None:
        self.words, self.texts = words, []

    def read(self, question: str, texts: Sequence[str]) -> list[float]:
        self.texts += texts
        return [0.9 if any(word in text for word in self.words) else 0.1 for text in texts]


def ask(question: str, clock: FakeClock, reader: Any = None) -> remanence.Recall:
    """The answer of a space that was told of three homes and a boat."""
    with remanence.open(
        None, embedder=HashingEmbedder(), reader=reader or Telling("Porto", "Lisbon", "Faro"), clock=clock
    ) as space:
        for text, day in zip(HOMES, DAYS, strict=True):
            space.add(text, now=day)
        space.add("Alice has a boat, an old one, and she likes it.", now="2026-04-10")
        return space.recall(question)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where does Alice live?", "Faro"),
        ("Which town is home to Alice these days?", "Faro"),
        ("Where did Alice live in January 2026?", "Porto"),
        ("Where was Alice living on 20 February 2026?", "Lisbon"),
        ("Where did Alice originally live?", "Porto"),
        ("Where did Alice live previously?", "Lisbon"),
        ("Where did Alice live before Faro?", "Lisbon"),
        ("Where did Alice live before Lisbon?", "Porto"),
        ("Where did Alice live after Porto?", "Lisbon"),
    ],
)
def test_among_what_tells_the_matter_time_decides(question: str, expected: str, clock: FakeClock) -> None:
    """Whatever the verbs are."""
    assert expected in ask(question, clock)[0].memory.text


def test_what_does_not_tell_the_matter_comes_later_however_new_it_is(clock: FakeClock) -> None:
    """The boat is the newest, and the words of the question are in it."""
    assert "boat" in ask("What does Alice like, and where does she live?", clock)[3].memory.text


def test_scores_go_down_the_list_and_reasons_add_up(clock: FakeClock) -> None:
    """Also where time has moved a hit."""
    answer = ask("Where does Alice live?", clock)

    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)
    assert "nothing told later replaces it" in answer[0].reason
    assert {e.signal for e in answer[0].evidence} >= {"reader", "time"}
    assert answer[0].score == pytest.approx(sum(e.share for e in answer[0].evidence), abs=0.06)


def test_the_best_probability_says_whether_anything_answers(clock: FakeClock) -> None:
    """None without a reader."""
    assert ask("Where does Alice live?", clock).confidence == 0.9
    assert ask("Where does Alice live?", clock, Telling("nothing")).confidence == 0.1
    with remanence.open(None, embedder=HashingEmbedder(), reader=None, clock=clock) as space:
        space.add(HARBOUR[0])
        assert space.recall(QUESTION).confidence is None


def test_a_function_is_a_reader(clock: FakeClock) -> None:
    """And the explanation says what it said."""

    def shorter(question: str, texts: Sequence[str]) -> list[float]:
        return [1 / len(text) for text in texts]

    with remanence.open(None, embedder=HashingEmbedder(), reader=shorter, clock=clock) as space:
        space.add_many(HARBOUR)
        evidence = {e.signal: e for e in space.recall(QUESTION)[0].evidence}["reader"]

    assert evidence.rank == 2
    assert evidence.raw_score == pytest.approx(1 / len(HARBOUR[0]))


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda question, texts: [2.0] * len(texts), "not probabilities from 0 to 1"),
        (lambda question, texts: [0.5], "numbers for 2 texts"),
        (lambda question, texts: [float("nan")] * len(texts), "not a number"),
        (lambda question, texts: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_a_reader_that_fails_costs_only_its_order(
    read: Callable[[str, Sequence[str]], Any], said: str, clock: FakeClock
) -> None:
    """The answer comes as if there were none, and says why."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=read, clock=clock) as space:
        space.add_many(HARBOUR)
        answer = space.recall(QUESTION)

    assert [hit.memory.text for hit in answer] == list(HARBOUR)
    assert said in answer.missing["reader"]
    assert answer.confidence is None


@pytest.mark.parametrize(("limit", "returned"), [(5, 5), (40, 40)])
def test_only_the_first_are_read(limit: int, returned: int, clock: FakeClock) -> None:
    """However many are asked for."""
    reader = Telling("very")
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock) as space:
        space.add_many(f"The harbour is {'very ' * n}old." for n in range(40))
        answer = space.recall("the old harbour", limit=limit)

    assert len(reader.texts) == MAX_READ_HITS
    assert len(answer) == returned
    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)


def test_of_long_texts_fewer_are_read(clock: FakeClock) -> None:
    """So that a question about passages is answered in time too."""
    reader = Telling("harbour")
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock) as space:
        space.add_many(f"The harbour of town {n} is old. {'It has a long quay. ' * 12}" for n in range(20))
        answer = space.recall("the old harbour", limit=20)

    assert 6 < len(reader.texts) < MAX_READ_HITS
    assert sum(len(text.split()) for text in reader.texts) <= READ_WORDS
    assert len(answer) == 20
    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)


def test_nobody_waits_while_it_reads(clock: FakeClock) -> None:
    """It may take its time, and may itself ask or add from another thread."""

    def slow(question: str, texts: Sequence[str]) -> list[float]:
        found.append(other.submit(space.get, kept.id).result(timeout=10))
        found.append(other.submit(space.add, "A boat came in.").result(timeout=10))
        return [0.0] * len(texts)

    found: list[Any] = []
    with (
        remanence.open(None, embedder=HashingEmbedder(), reader=slow, clock=clock) as space,
        ThreadPoolExecutor(1) as other,
    ):
        kept = space.add(HARBOUR[0])
        answer = space.recall(QUESTION)

    assert [hit.memory for hit in answer] == [kept]
    assert [memory.text for memory in found] == [HARBOUR[0], "A boat came in."]
    assert not answer.missing


def test_it_is_not_given_what_is_no_longer_valid(clock: FakeClock) -> None:
    """It might like it best."""
    reader = Telling("Porto")
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock) as space:
        space.add("Alice lives in Porto.", now="2026-01-01")
        lisbon = space.add("Alice lives in Lisbon.", now="2026-03-01")
        answer = space.recall("Does Alice live in Lisbon?", limit=1)

    assert [hit.memory for hit in answer] == [lisbon]
    assert reader.texts == [lisbon.text]


def test_a_turn_is_read_with_its_speaker_and_a_short_answer_with_its_question(clock: FakeClock) -> None:
    """Who said "I" is half of what was said, and "Yes, peanuts." says nothing alone."""
    reader = Telling("tea")
    turns = [
        {"speaker": "Bob", "content": "I like tea."},
        {"role": "assistant", "content": "Do you drink tea, or are you allergic to anything?"},
        {"role": "user", "content": "Yes, peanuts."},
    ]
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock) as space:
        space.add_turns(turns)
        space.recall("tea and peanuts")

    assert "Bob: I like tea." in reader.texts
    assert "assistant: Do you drink tea, or are you allergic to anything? user: Yes, peanuts." in reader.texts


def test_of_a_long_text_the_part_is_read_that_shares_most_with_the_question() -> None:
    """What is cut off cannot be read."""
    text = "word " * 200 + "the boiler is serviced by Marek " + "word " * 200

    assert "serviced by Marek" in excerpt("Who services the boiler?", text)
    assert len(excerpt("Who services the boiler?", text).split()) < 70
    assert as_passage("Who?", "Marek does.", title="Boilers") == "Boilers: Marek does."


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
    texts = ["Alice moved to Porto in May.", "Alice is a plumber.", "word " * 50_000, "broken \ud83d"]
    by_name, by_folder = (readers.resolve_reader(given) for given in (LARGER, place))
    assert by_name is not None
    assert by_folder is not None
    read = by_name.read(ASKED, texts)

    assert np.argmax(read) == 0
    assert np.argmax(by_folder.read(ASKED, texts)) == 0
    with remanence.open(None, reader=by_name, clock=clock) as space:
        space.add_many(texts[:2])
        answer = space.recall(ASKED)
        assert answer[0].memory.text == texts[0]
        assert space.audit.replay(answer.receipt) == answer


class Choosing(Telling):
    """Also chooses among statements that it reads together, and keeps what it was given."""

    def __init__(self, chosen: str, *words: str) -> None:
        super().__init__(*words)
        self.chosen, self.timelines = chosen, []

    def choose(self, question: str, statements: Sequence[str], told: int) -> list[float]:
        self.timelines.append((list(statements), told))
        return [0.8 if self.chosen in statement else 0.01 for statement in statements]


def test_statements_are_read_together_in_the_order_they_were_told(clock: FakeClock) -> None:
    """Each with its day, and with how many of them were told by the time asked about."""
    reader = Choosing("Porto", "Porto", "Lisbon", "Faro")
    ask("Where did Alice live in February 2026?", clock, reader)
    ((statements, told),) = reader.timelines

    assert [statement.split(":")[0] for statement in statements] == [
        "10 January 2026",
        "10 February 2026",
        "10 March 2026",
        "10 April 2026",
    ]
    assert told == 2


def test_what_is_chosen_among_them_counts_and_says_whether_anything_answers(clock: FakeClock) -> None:
    """A question about no time is answered by the choice. The confidence is between the best probability and the sum of
    those of the choice."""
    asked = "Which towns has Alice ever called home?"
    for town in ("Porto", "Lisbon", "Faro"):
        answer = ask(asked, clock, Choosing(town, "Porto", "Lisbon", "Faro"))
        assert town in answer[0].memory.text
        assert answer.confidence == pytest.approx((0.9 + 0.83) / 2)
    nothing = ask("Where does Alice live?", clock, Choosing("nothing", "Porto", "Lisbon", "Faro"))
    assert nothing.confidence == pytest.approx((0.9 + 0.04) / 2)


def test_the_choice_decides_which_state_came_before(clock: FakeClock) -> None:
    """Where it prefers none, it is the last one before that which the question names."""
    asked, towns = "Where did Alice live before Faro?", ("Porto", "Lisbon", "Faro")
    unclear = ask(asked, clock, Choosing("nothing", *towns))[0].memory.text
    for town in ("Porto", "Lisbon"):
        assert town in ask(asked, clock, Choosing(town, *towns))[0].memory.text
    assert "Lisbon" in unclear


def test_a_hit_that_hardly_answers_is_not_what_was_before(clock: FakeClock) -> None:
    """Although it was told between the other two."""

    class Graded(Choosing):
        def read(self, question: str, texts: Sequence[str]) -> list[float]:
            return [
                0.3 if "Lisbon" in text else p for text, p in zip(texts, super().read(question, texts), strict=True)
            ]

    reader = Graded("nothing", "Porto", "Lisbon", "Faro")
    assert "Porto" in ask("Where did Alice live before Faro?", clock, reader)[0].memory.text


@pytest.mark.parametrize(
    "question", ["Alice's home before Faro?", "Alice's old town?", "Since when has Alice been at home there?"]
)
def test_the_choice_decides_for_earlier_values_and_changes_in_any_wording(question: str, clock: FakeClock) -> None:
    """Also for questions without a verb, in which no rule finds the past tense."""
    for town in ("Porto", "Lisbon"):
        assert town in ask(question, clock, Choosing(town, "Porto", "Lisbon", "Faro"))[0].memory.text


@pytest.mark.parametrize("code", ["ZX-4417", "zx-4714"])
def test_a_code_in_the_question_is_not_taken_for_another(code: str, clock: FakeClock) -> None:
    """Whatever the reader chooses: to a model like codes look the same."""
    reader = Choosing("4417" if "4714" in code else "4714", "order")
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock) as space:
        space.add_many(["The lamp is order ZX-4417.", "The boxes are order ZX-4714."])
        assert code.upper() in space.recall(f"What was order {code}?")[0].memory.text


def test_what_was_told_twice_on_a_day_is_read_once(clock: FakeClock) -> None:
    """So that the choice is not divided between the two."""
    reader = Choosing("lamp", "lamp")
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock) as space:
        space.add_many([{"text": "The lamp is blue.", "key": key} for key in "ab"])
        space.recall("Which colour has the lamp?")
    ((statements, _),) = reader.timelines

    assert len(statements) == 1


def test_of_many_answers_one_is_put_first_only_if_the_reader_is_sure(clock: FakeClock) -> None:
    """That it is a little likelier than the others says nothing."""

    class Unsure(Choosing):
        def choose(self, question: str, statements: Sequence[str], told: int) -> list[float]:
            return [choice / 4 for choice in super().choose(question, statements, told)]

    def first(reader: Any, count: int) -> str:
        with remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock) as space:
            space.add_many([f"The town of day {number} was seen by Alice." for number in range(count)])
            return space.recall("Which towns has Alice ever seen?")[0].memory.text

    few, many = 5, 12
    usual = first(Telling("town"), many)
    assert "day 3" in first(Choosing("day 3", "town"), few)
    assert "day 3" in first(Unsure("day 3", "town"), few)
    assert "day 3" in first(Choosing("day 3", "town"), many)
    assert first(Unsure("day 3", "town"), many) == usual != first(Choosing("day 3", "town"), many)


def test_a_reader_that_cannot_choose_is_used_without(clock: FakeClock) -> None:
    """An empty choice says so."""

    class Undecided(Telling):
        def choose(self, question: str, statements: Sequence[str], told: int) -> list[float]:
            return []

    answer = ask("Where does Alice live?", clock, Undecided("Porto", "Lisbon", "Faro"))
    assert "Faro" in answer[0].memory.text
    assert answer.confidence == 0.9


class TestDefaultReader(ReaderContract):
    """The reader that comes with the package."""

    def make(self) -> Any:
        """It, whatever the environment says."""
        return readers.OnnxReader(catalogue.DEFAULT_READER)

    def test_it_knows_what_tells_the_matter_without_a_shared_word(self) -> None:
        """Of that person, and not of another."""
        texts = ["The removal van dropped Dora's boxes in Hull.", "The removal van dropped Emil's boxes in Hull."]
        own, other = self.make().read("Where would a parcel reach Dora?", texts)

        assert own > 0.5 > other

    def test_it_knows_when_nothing_answers(self) -> None:
        """Small talk and another matter of the same person."""
        read = self.make().read("Where does Dora live?", ["Dora sings in a choir.", "Hello there!", "asdf qwer"])

        assert max(read) < 0.4

    def test_a_later_statement_replaces_or_leaves_an_earlier_one(self) -> None:
        """The second answer of the same model."""
        replaced, untouched = self.make().compare(
            [
                ("Dora lives in Leeds.", "The van has just dropped Dora's boxes at her new flat in Hull."),
                ("Dora lives in Leeds.", "Emil moved to Hull."),
            ]
        )

        assert max(replaced, key=replaced.__getitem__) == "replaces"
        assert max(untouched, key=untouched.__getitem__) == "none"

    def test_of_statements_in_the_order_they_were_told_it_chooses_the_valid_one(self) -> None:
        """The third answer of the same model: the last by now, the first by then, none where none tells it."""
        told = [
            "3 May 2024: Dora's flat in Leeds has damp walls.",
            "9 June 2024: Emil moved to York.",
            "2 March 2025: The van has just dropped Dora's boxes at her new flat in Hull.",
        ]
        reader = self.make()
        now = reader.choose("Where does Dora live?", told, 3)
        then = reader.choose("Where did Dora live in July 2024?", told, 2)
        other = reader.choose("Which instrument does Dora play?", told, 3)

        assert np.argmax(now) == 2
        assert np.argmax(then) == 0
        assert sum(other) < 0.3 < sum(now)

    def test_it_is_the_default_unless_the_environment_or_the_caller_says_otherwise(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`REMANENCE_READER=none` turns it off for a whole process."""
        monkeypatch.setenv(readers.READER_VARIABLE, "none")
        assert readers.resolve_reader() is None
        monkeypatch.delenv(readers.READER_VARIABLE)
        assert isinstance(readers.resolve_reader(), readers.OnnxReader)
        assert readers.resolve_reader(None) is None


def test_without_onnxruntime_recall_works_and_says_so(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """As without a reader, with the reason in `missing`; it is looked for only when a question is asked."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    absent = readers.OnnxReader(catalogue.DEFAULT_READER)
    with remanence.open(None, embedder=HashingEmbedder(), reader=absent, clock=clock) as space:
        space.add_many(HARBOUR)
        answer = space.recall(QUESTION)

    assert [hit.memory.text for hit in answer] == list(HARBOUR)
    assert "Run: pip install onnxruntime" in answer.missing["reader"]


def test_a_turn_that_was_forgotten_is_not_read_with_the_answer_to_it(clock: FakeClock) -> None:
    """What is forgotten has no influence any more."""
    reader = Telling("peanuts")
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader, clock=clock) as space:
        asked, _ = space.add_turns(
            [
                {"role": "assistant", "content": "Are you allergic to anything?"},
                {"role": "user", "content": "Yes, peanuts."},
            ]
        )
        space.forget(asked)
        space.recall("peanuts")

    assert reader.texts == ["user: Yes, peanuts."]


def test_the_packaged_model_needs_no_download(capsys: pytest.CaptureFixture[str]) -> None:
    """`models get` says where it is."""
    assert main(["models", "get", catalogue.DEFAULT_READER]) in (0, None)
    assert "small_reader" in capsys.readouterr().out
