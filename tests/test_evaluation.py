"""Measuring recall: reading sets, judging lists, and what is printed of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from remanence.cli import main
from remanence.errors import InvalidInput
from remanence.recall.evaluation import mean_scores, recall_at, reciprocal_rank
from remanence.testing import HashingEmbedder
from remanence.testing.comparison import evaluate_dataset
from remanence.testing.datasets import CorpusItem, Dataset, EvalQuestion, find_datasets, read_dataset

SAID = (
    ("1", "a1", "Alice", "I moved to Porto.", "2026-05-01T10:00:00"),
    ("2", "a1", "Bob", "Porto has six bridges.", "2026-05-01T10:01:00"),
    ("3", "a2", "Bob", "My cat is called Plum.", "2026-05-03T10:00:00"),
    ("4", "b1", "Cem", "My cat is called Rye.", "2026-05-04T10:00:00"),
)
CORPUS = [
    {"id": i, "conversation": session[0], "session": session, "speaker": who, "text": text, "time": time}
    for i, session, who, text, time in SAID
]
ASKED = (
    ("q1", "a", "What is Bob's cat called?", "pets", ["3"]),
    ("q2", "b", "What is the cat called?", "pets", ["4"]),
    ("q3", "a", "Where did Alice move?", "places", ["1"]),
    ("q4", "a", "Who won?", "trick", ["2"]),
    ("q5", "a", "Who lost?", "places", []),
)
QUESTIONS = [
    {
        "id": i,
        "conversation": conversation,
        "question": question,
        "category": category,
        "evidence": evidence,
        "answerable": category != "trick",
    }
    for i, conversation, question, category, evidence in ASKED
]

Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a set into a folder and gives back the folder."""

    def write(corpus: Sequence[Mapping[str, Any]] = CORPUS, questions: Sequence[Mapping[str, Any]] = QUESTIONS) -> Path:
        (tmp_path / "chat.corpus.jsonl").write_text("\n\n".join(map(json.dumps, corpus)))
        with gzip.open(tmp_path / "chat.questions.jsonl.gz", "wt") as file:
            file.write("\n".join(map(json.dumps, questions)))
        return tmp_path

    return write


def dataset_in(folder: Path, **options: Any) -> Dataset:
    [(name, corpus, questions)] = find_datasets([folder])
    return read_dataset(name, corpus, questions, **options)


class TestSets:
    def test_each_conversation_is_a_world(self, written: Written) -> None:
        """A question can be answered from its own conversation and from no other."""
        worlds = dataset_in(written()).conversations

        assert [[line.id for line in world.items] for world in worlds] == [["1", "2", "3"], ["4"]]

    def test_what_cannot_be_judged_is_not_asked(self, written: Written) -> None:
        """Neither questions without an answer nor those without evidence."""
        asked = [asked.id for world in dataset_in(written()).conversations for asked in world.questions]

        assert asked == ["q1", "q3", "q2"]

    def test_a_limit_is_spread_evenly(self, written: Written) -> None:
        """Not the first few, which may all be of one kind."""
        questions = [{**QUESTIONS[0], "id": str(number)} for number in range(10)]

        [world] = dataset_in(written(questions=questions), limit=5).conversations

        assert [asked.id for asked in world.questions] == ["0", "2", "4", "6", "8"]

    def test_either_file_names_the_set(self, written: Written) -> None:
        """The folder, the corpus and the questions are one set, not three."""
        folder = written()

        found = find_datasets([folder, folder / "chat.corpus.jsonl", folder / "chat.questions.jsonl.gz"])

        assert [name for name, _, _ in found] == ["chat"]

    @pytest.mark.parametrize(
        ("corpus", "questions", "said"),
        [
            (CORPUS, [{**QUESTIONS[0], "evidence": ["4"]}], "evidence '4' is not an item of conversation 'a'"),
            ([{"id": "1"}], QUESTIONS, "chat.corpus.jsonl, line 1: text=None"),
            (CORPUS, [{"evidence": ["3"], "conversation": "a"}], "line 1: question=None"),
            (CORPUS, [{**QUESTIONS[0], "evidence": "3"}], "line 1: evidence='3' is not a list"),
            (CORPUS, [{**QUESTIONS[0], "evidence": [["3"]]}], "line 1: evidence=.* is not a list"),
            (CORPUS, [{**QUESTIONS[0], "evidence_sessions": 7}], "line 1: evidence_sessions=7"),
            (CORPUS, [{**QUESTIONS[0], "question_time": 7}], "line 1: question_time=7"),
            ([{**CORPUS[0], "time": 7}], QUESTIONS, "line 1: time=7"),
            ([*CORPUS, CORPUS[0]], QUESTIONS, "line 9: id='1' is that of an earlier item"),
        ],
    )
    def test_bad_data_is_named_with_its_line(self, written: Written, corpus: Any, questions: Any, said: str) -> None:
        """A typo in an id would otherwise count as a miss."""
        with pytest.raises(InvalidInput, match=said):
            dataset_in(written(corpus, questions))

    def test_conversations_may_count_their_lines_alike(self, written: Written) -> None:
        """The first line of each is its own."""
        corpus = [{**line, "id": "1"} for line in (CORPUS[0], CORPUS[3])]
        questions = [{**QUESTIONS[number], "evidence": ["1"]} for number in (1, 2)]

        worlds = dataset_in(written(corpus, questions)).conversations

        assert [world.items[0].text for world in worlds] == ["I moved to Porto.", "My cat is called Rye."]
        assert [world.questions[0].evidence_sessions for world in worlds] == [("a1",), ("b1",)]

    def test_a_session_may_be_a_number(self, written: Written) -> None:
        """In both files alike."""
        corpus = [{**line, "session": 7} for line in CORPUS]

        worlds = dataset_in(written(corpus, [{**QUESTIONS[0], "evidence_sessions": [7]}])).conversations

        assert (worlds[0].items[0].session, worlds[0].questions[0].evidence_sessions) == ("7", ("7",))

    def test_the_name_of_a_set_may_hold_a_dot(self, tmp_path: Path) -> None:
        """What a set is called ends where its part begins."""
        for part in ("corpus", "questions"):
            (tmp_path / f"chat.v2.{part}.jsonl").write_text("")

        assert [name for name, _, _ in find_datasets([tmp_path, tmp_path / "chat.v2"])] == ["chat.v2"]

    @pytest.mark.parametrize("limit", [0, -3])
    def test_a_limit_of_none_is_refused(self, written: Written, limit: int) -> None:
        """Rather than saying that there is nothing to judge."""
        with pytest.raises(InvalidInput, match=f"limit={limit} "):
            dataset_in(written(), limit=limit)

    @pytest.mark.parametrize(
        ("name", "held"),
        [
            ("chat.corpus.jsonl", b"\xff\xfe"),
            ("chat.corpus.jsonl.gz", b"plain"),
            ("chat.corpus.jsonl.gz", gzip.compress(b"{}", mtime=0)[:-9]),
        ],
    )
    def test_a_file_that_cannot_be_read_is_named(self, tmp_path: Path, name: str, held: bytes) -> None:
        """Not text, not gzipped, or cut short."""
        (tmp_path / name).write_bytes(held)
        (tmp_path / "chat.questions.jsonl").write_text("")

        with pytest.raises(InvalidInput, match=f"{name} cannot be read"):
            dataset_in(tmp_path)

    def test_a_set_without_questions_is_refused(self, tmp_path: Path) -> None:
        """The file that is missing is named."""
        (tmp_path / "chat.corpus.jsonl").write_text("{}")

        with pytest.raises(InvalidInput, match=r"chat\.questions"):
            find_datasets([tmp_path])


class TestMeasures:
    def test_each_measure_by_hand(self) -> None:
        """One of two answers in third place, the other in seventh."""
        ranks = (3, 7)

        assert [recall_at(depth, ranks) for depth in (1, 5, 10)] == [0.0, 0.5, 1.0]
        assert reciprocal_rank(ranks) == pytest.approx(1 / 3)
        assert (recall_at(10, (None,)), reciprocal_rank((None,))) == (0.0, 0.0)

    def test_the_interval_holds_the_mean_and_stays_the_same(self) -> None:
        """The same scores give the same interval, and more of them a narrower one."""
        few = [{"R@1": float(number % 2)} for number in range(20)]
        mean, low, high = mean_scores(few)["R@1"]
        _, lower, higher = mean_scores(few * 20)["R@1"]

        assert low < mean == 0.5 < high
        assert higher - lower < high - low
        assert mean_scores(few) == mean_scores(few)


class TestDatasets:
    def test_recall_finds_what_was_said(self, written: Written) -> None:
        """In both conversations, each from its own."""
        done: list[tuple[int, int]] = []
        groups = evaluate_dataset(
            dataset_in(written()), {}, embedder=HashingEmbedder(), progress=lambda *at: done.append(at)
        )

        assert groups["all"].scores["R@1"][0] == 1.0
        assert {name: len(group.questions) for name, group in groups.items()} == {"all": 3, "pets": 2, "places": 1}
        assert done[-1] == (3, 3)

    def test_a_category_can_stand_apart(self, written: Written) -> None:
        """It is asked although it has no answer, and stays out of the figures for all."""
        groups = evaluate_dataset(dataset_in(written(), separate_categories=["trick"]), {})

        assert (len(groups["all"].questions), len(groups["trick"].questions)) == (3, 1)

    def test_speakers_need_no_conversation(self, written: Written) -> None:
        """Who spoke may be known where nothing else is."""
        said = [{name: line[name] for name in ("id", "speaker", "text")} for line in CORPUS]
        asked = [{"question": "Where did Alice move?", "evidence": ["1"]}]

        assert evaluate_dataset(dataset_in(written(said, asked)), {})["all"].scores["R@1"][0] == 1.0

    def test_a_category_called_all_does_not_stand_for_all(self, written: Written) -> None:
        """The figures for all are of all questions."""
        questions = [{**QUESTIONS[0], "category": "all"}, QUESTIONS[1]]

        assert len(evaluate_dataset(dataset_in(written(questions=questions)), {})["all"].questions) == 2

    def test_a_question_is_asked_at_its_time_or_that_of_the_last_item(self) -> None:
        """Last year is another one then."""
        items = [
            CorpusItem("1", "The bridge was closed in 2024.", time="2024-05-01"),
            CorpusItem("2", "The bridge was closed in 2025.", time="2026-05-01"),
        ]
        asked = "What was closed last year?"
        questions = [EvalQuestion(asked, ("2",)), EvalQuestion(asked, ("1",), time="2025-05-01")]
        found = evaluate_dataset(Dataset.from_corpus("it", items, questions), {"signals": ["times"]})["all"]

        assert [each.ranks for each in found.questions] == [(1,), (1,)]


class TestTheCommand:
    def test_it_prints_the_figures(self, written: Written, capsys: pytest.CaptureFixture[str]) -> None:
        """A row for all questions and one for each category."""
        assert main(["eval", str(written()), "--signals", "words,graph"]) == 0

        printed = capsys.readouterr().out
        assert printed.splitlines()[0] == "chat"
        assert "all (3 questions)  R@1 100.0 ±0.0  R@5 100.0 ±0.0" in printed
        assert "pets (2 questions)  R@1 100.0 ±0.0" in printed

    def test_it_prints_json(self, written: Written, capsys: pytest.CaptureFixture[str]) -> None:
        """With the interval of each mean."""
        assert main(["eval", str(written()), "--json", "--limit", "1", "--weights", "words=1,vectors=0"]) == 0

        [report] = json.loads(capsys.readouterr().out)
        assert report["scores"]["all"] == {"n": 1} | {name: [1.0] * 3 for name in ("R@1", "R@5", "R@10", "MRR")}

    def test_a_bad_setting_is_named(self, written: Written, capsys: pytest.CaptureFixture[str]) -> None:
        """Before anything is measured with another."""
        assert main(["eval", str(written()), "--signals", "smell"]) == 1
        assert "smell" in capsys.readouterr().err
        with pytest.raises(SystemExit, match="2"):
            main(["eval", str(written()), "--weights", "words"])
        assert "--weights: 'words' is not of the form" in capsys.readouterr().err

    def test_nothing_to_judge_is_said(self, written: Written, capsys: pytest.CaptureFixture[str]) -> None:
        """No figures rather than figures of nothing."""
        assert main(["eval", str(written(questions=QUESTIONS[4:]))]) == 1
        assert "nothing to measure" in capsys.readouterr().err
