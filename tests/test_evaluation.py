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
from remanence.testing import HashingEmbedder
from remanence.testing.datasets import Conversation, CorpusItem, Dataset, EvalQuestion, find_datasets, read_dataset
from remanence.testing.recall_evaluation import (
    RemanenceSystem,
    evaluate,
    mean_scores,
    report_as_markdown,
    score_ranking,
)

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

    def test_a_category_can_stand_apart(self, written: Written) -> None:
        """It is asked although it has no answer, and stays out of the figures for all."""
        report = evaluate(dataset_in(written(), separate_categories=["trick"]), {"it": RemanenceSystem})

        scores = report["systems"]["it"]["scores"]
        assert scores["all"]["n"] == 3
        assert scores["trick"]["n"] == 1

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
    def test_all_the_evidence_early_is_a_perfect_list(self) -> None:
        """Nothing can be better than the two answers in the first two places."""
        assert set(score_ranking(["a", "b", "c"], ["b", "a"]).values()) == {1.0, 0.5}
        assert score_ranking(["a", "b", "c"], ["b", "a"])["R@1"] == 0.5

    def test_each_measure_by_hand(self) -> None:
        """One of two answers in third place, the other in seventh."""
        got = score_ranking([*"xxaxxxb"], ["a", "b"])

        assert got["R@1"] == 0.0
        assert got["R@5"] == 0.5
        assert got["R@10"] == 1.0
        assert (got["all@5"], got["all@10"]) == (0.0, 1.0)
        assert got["MRR"] == pytest.approx(1 / 3)
        assert got["NDCG@10"] == pytest.approx((1 / 2 + 1 / 3) / (1 + 1 / 1.5849625))

    def test_an_empty_list_is_worth_nothing(self) -> None:
        """And divides nothing by zero."""
        assert set(score_ranking([], ["a"]).values()) == {0.0}

    def test_the_interval_holds_the_mean_and_stays_the_same(self) -> None:
        """The same scores give the same interval, and more of them a narrower one."""
        few = [{"R@1": float(number % 2)} for number in range(20)]
        mean, low, high = mean_scores(few)["R@1"]
        _, lower, higher = mean_scores(few * 20)["R@1"]

        assert low < mean == 0.5 < high
        assert higher - lower < high - low
        assert mean_scores(few) == mean_scores(few)


class TestEvaluate:
    def test_recall_finds_what_was_said(self, written: Written) -> None:
        """Turn and session, in both conversations."""
        report = evaluate(dataset_in(written()), {"it": lambda w: RemanenceSystem(w, embedder=HashingEmbedder())})

        everything = report["systems"]["it"]["scores"]["all"]
        assert everything["R@1"][0] == 1.0
        assert everything["session R@1"][0] == 1.0

    def test_speakers_need_no_conversation(self, written: Written) -> None:
        """Who spoke may be known where nothing else is."""
        said = [{name: line[name] for name in ("id", "speaker", "text")} for line in CORPUS]
        asked = [{"question": "Where did Alice move?", "evidence": ["1"]}]

        report = evaluate(dataset_in(written(said, asked)), {"it": RemanenceSystem})

        assert report["systems"]["it"]["scores"]["all"]["R@1"][0] == 1.0

    def test_a_category_called_all_does_not_stand_for_all(self, written: Written) -> None:
        """The figures for all are of all questions."""
        questions = [{**QUESTIONS[0], "category": "all"}, QUESTIONS[1]]

        report = evaluate(dataset_in(written(questions=questions)), {"it": RemanenceSystem})

        assert report["systems"]["it"]["scores"]["all"]["n"] == 2

    def test_passages_have_no_sessions(self) -> None:
        """Where each line is a session of its own, the session level would only repeat the other."""
        passages = [CorpusItem("1", "Porto has six bridges.", session="s"), CorpusItem("2", "Plums.", session="t")]
        report = evaluate(Dataset.from_corpus("it", passages, [EvalQuestion("plums", ("2",))]), {"it": RemanenceSystem})

        assert "session R@5" not in report["systems"]["it"]["scores"]["all"]

    def test_a_single_session_is_none(self) -> None:
        """It is found with whatever is found."""
        passages = [CorpusItem("1", "Porto has six bridges."), CorpusItem("2", "Plums.")]
        report = evaluate(Dataset.from_corpus("it", passages, [EvalQuestion("plums", ("2",))]), {"it": RemanenceSystem})

        assert "session R@5" not in report["systems"]["it"]["scores"]["all"]

    def test_systems_are_asked_in_the_same_worlds(self) -> None:
        """One that knows the answer beside one that never does; a session is found by its best line."""

        class Fixed:
            def __init__(self, found: list[str]) -> None:
                self.found = found
                self.asked_at: list[str | None] = []

            def ask(self, asked: EvalQuestion, now: str | None) -> list[str]:
                self.asked_at.append(now)
                return self.found

            def close(self) -> None:
                self.found = []

        lines = [
            CorpusItem("1", "…", session="s", time="2026-01-01"),
            CorpusItem("2", "…", session="s", time="2026-01-02"),
            CorpusItem("3", "…", session="t"),
        ]
        now, then = (
            EvalQuestion("?", ("2",), evidence_sessions=("s",)),
            EvalQuestion("?", ("2",), evidence_sessions=("s",), time="2026-02-01"),
        )
        data = Dataset.from_corpus("it", lines, [now, then])
        right, wrong = Fixed(["3", "2", "2"]), Fixed(["1"])

        done: list[tuple[int, int]] = []
        report = evaluate(
            data, {"right": lambda w: right, "wrong": lambda w: wrong}, progress=lambda *at: done.append(at)
        )

        scores = {name: one["scores"]["all"] for name, one in report["systems"].items()}
        assert (scores["right"]["MRR"][0], scores["wrong"]["MRR"][0]) == (0.5, 0.0)
        assert scores["right"]["R@5"][0] == 1.0
        assert (scores["right"]["session MRR"][0], scores["wrong"]["session MRR"][0]) == (0.5, 1.0)
        assert right.asked_at == ["2026-01-02", "2026-02-01"]
        assert done[-1] == (4, 4)
        assert right.found == []

    def test_lines_are_put_in_as_a_user_would(self) -> None:
        """Turns with who said them, where and when; texts with their source and when they were learned."""
        at = "2026-05-01T10:00:00"
        said = RemanenceSystem(Conversation([CorpusItem("1", "I moved.", session="s", speaker="Ann", time=at)], ()))
        read = RemanenceSystem(Conversation([CorpusItem("1", "Porto has six bridges.", session="Porto", time=at)], ()))

        [turn], [text] = ([*each.space.memories()] for each in (said, read))

        assert (turn.turn.speaker, turn.turn.conversation, turn.turn.at.day) == ("Ann", "s", 1)
        assert (text.turn, text.source, text.recorded_at.isoformat()) == (None, "Porto", f"{at}+00:00")
        said.close()
        read.close()

    def test_given_triples_take_the_place_of_found_ones(self) -> None:
        """Gold relations can be handed in with a passage."""
        line = CorpusItem("1", "Ann met him.", triples=(("Ann", "married_to", "Bob"),))
        remembering = RemanenceSystem(Conversation([line], ()))

        [memory] = remembering.space.memories()

        assert [str(claim) for claim in memory.triples] == ["Ann —married_to→ Bob"]
        remembering.close()


class TestTheCommand:
    def test_it_prints_the_figures(self, written: Written, capsys: pytest.CaptureFixture[str]) -> None:
        """A row for all questions and one for each category."""
        assert main(["eval", str(written()), "--signals", "words,graph"]) == 0

        printed = capsys.readouterr().out
        assert "### chat (3 questions)" in printed
        assert "| remanence | 100.0 ±0.0 |" in printed
        assert "| pets | 2 | remanence | 100.0 ±0.0 |" in printed

    def test_it_prints_json(self, written: Written, capsys: pytest.CaptureFixture[str]) -> None:
        """With the interval of each mean."""
        assert main(["eval", str(written()), "--json", "--limit", "1", "--weights", "words=1,vectors=0"]) == 0

        [report] = json.loads(capsys.readouterr().out)
        assert report["questions"] == 1
        assert report["systems"]["remanence"]["scores"]["all"]["R@1"] == [1.0, 1.0, 1.0]

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


def test_markdown_is_in_points_with_half_the_interval() -> None:
    """What is shown is what was measured."""
    scores = {"n": 4, "R@5": [0.5, 0.25, 0.75]}
    report = {
        "set": "it",
        "questions": 4,
        "systems": {"us": {"scores": {"all": scores}, "ingest_seconds": 1.26, "query_ms": 2.5}},
    }

    assert report_as_markdown(report).splitlines()[2:] == [
        "| system | R@5 | ingest s | query ms |",
        "| --- | --- | --- | --- |",
        "| us | 50.0 ±25.0 | 1.3 | 2.5 |",
    ]
