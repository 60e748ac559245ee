"""What a notebook shows: data frames, HTML tables, pictures, and a comparison of settings."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import remanence
from new_interpreter import run_program
from remanence import InvalidInput, Memory, Space
from remanence.errors import MissingExtra
from remanence.index.words import Words
from remanence.testing import FakeClock, HashingEmbedder, evaluate

EVIL = "<script>alert(1)</script> & \"quotes\" 'too'"


class Cells(HTMLParser):
    """The tags of a page, and the text in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def told(space: Space, clock: FakeClock) -> list[Memory]:
    """Where Ana lived, and what somebody with bad intentions wrote."""
    first = space.add("Ana lives in Porto.", valid_from="2020-01-01", tags=["home"], source="letter", strength=1.5)
    clock.advance(days=1)
    second = space.add("Ana lives in Rome.", valid_from="2024-01-01", meta={EVIL: EVIL})
    evil = space.add(f"Mallory wrote {EVIL}.", key="evil", tags=[EVIL], observed_by=EVIL)
    [turn] = space.add_turns([{"speaker": "Bob", "content": "I like tea.", "conversation": "c1"}])
    return [first, second, evil, turn]


class TestDataFrames:
    @pytest.fixture(autouse=True)
    def pandas(self) -> Any:
        return pytest.importorskip("pandas")

    def test_of_a_recall(self, space: Space, told: list[Memory], pandas: Any) -> None:
        """A row for each hit, a column for each signal, moments as moments."""
        found = space.recall("Where does Ana live?")
        df = found.to_df()

        assert list(df["id"]) == [hit.memory.id for hit in found]
        assert list(df["rank"]) == [*range(1, len(found) + 1)]
        assert df["words"][0] == pytest.approx(next(e.share for e in found[0].evidence if e.signal == "words"))
        assert df["uses"][0] == 0
        assert str(df["told_at"].dtype).startswith("datetime64")
        assert df["told_at"].dt.tz is not None
        assert df["valid_from"][0].to_pydatetime() == told[1].valid.start
        assert df.loc[df["score"].idxmax(), "text"] == "Ana lives in Rome."

    def test_of_memories_with_filters_and_of_none(self, space: Space, told: list[Memory], pandas: Any) -> None:
        """A list of memories is a frame too, and an empty one has the same columns."""
        df = space.memories().to_df()
        none = space.memories(tags="unheard of").to_df()

        assert list(df["text"])[:2] == ["Ana lives in Porto.", "Ana lives in Rome."]
        assert (df["strength"][0], df["source"][0], df["tags"][0]) == (1.5, "letter", ("home",))
        assert df["speaker"][3] == "Bob"
        assert list(none.columns) == list(df.columns)
        assert len(none) == 0
        assert none["recorded_at"].dtype == df["recorded_at"].dtype

    def test_memories_are_still_an_iterator(self, space: Space, told: list[Memory], pandas: Any) -> None:
        """What was taken from it already is not in the frame."""
        memories = space.memories()
        assert next(memories).id == told[0].id
        assert len(memories.to_df()) == 3

    def test_of_relations_and_of_a_walk(self, space: Space, told: list[Memory]) -> None:
        """When each held, ready to be plotted."""
        df = space.graph.when("Ana", "lives_in").to_df()
        assert list(df["object"]) == ["Porto", "Rome"]
        assert df["valid_until"][0] == df["valid_from"][1]
        assert df["evidence"][0] == (told[0].id,)
        edges = space.graph.query("Ana", relations=["lives_in"]).to_df()
        assert (edges["source"][0], edges["name"][0], edges["target"][0]) == ("Ana", "lives_in", "Rome")

    def test_of_a_timeline_and_of_a_history(self, space: Space, told: list[Memory]) -> None:
        """Both are lists as before, and frames."""
        df = space.graph.timeline("Ana").to_df()
        assert list(df["kind"]) == [event.kind for event in space.graph.timeline("Ana")]
        assert df["about"][0] == told[0].id
        space.audit.record(space.recall("tea"))
        assert "served" in set(space.graph.timeline(told[3]).to_df()["kind"])

    def test_of_pages_and_plans(self, space: Space, told: list[Memory], clock: FakeClock) -> None:
        """Whatever prints as a table."""
        space.touch(told[0])
        page = space.graph.memories("all").to_df()
        assert list(page["status"]) == ["superseded", "current", "current", "current"]
        assert (page["uses"][0], page["relations"][0]) == (1, 1)
        clock.advance(days=60)
        assert space.upkeep.decay().to_df()["urgency"][0] in ("high", "medium", "low")
        assert list(space.upkeep.gc(dry_run=True).to_df().columns) == ["score", "id", "memory"]
        assert "step" in space.upkeep.run(dry_run=True).to_df().columns

    def test_years_far_away_are_no_trouble(self, space: Space) -> None:
        """Nanoseconds would end in 2262."""
        space.add("The order was founded.", valid_from="0980-01-01", valid_until="9000-01-01")
        assert space.memories().to_df()["valid_from"][0].year == 980


def test_without_pandas_the_next_step_is_named(tmp_path: Path) -> None:
    """And nothing else needs it."""
    printed = run_program(
        "import sys; sys.modules['pandas'] = None\n"
        "import remanence\n"
        "with remanence.open(None) as space:\n"
        "    space.add('Ana lives in Porto.')\n"
        "    for each in (space.recall('Ana'), space.memories(), space.graph.timeline('Ana')):\n"
        "        try:\n            each.to_df()\n"
        "        except remanence.errors.MissingExtra as error:\n            print(error)\n"
    )
    assert (
        printed.splitlines() == ['to_df() needs the package pandas. Run: pip install "remanence-memory[notebook]"'] * 3
    )
    assert issubclass(MissingExtra, ImportError)


def test_everything_is_escaped(space: Space, told: list[Memory], clock: FakeClock) -> None:
    """Texts, keys, tags, names, metadata and reasons are data, not HTML."""
    space.remember(f"I like {EVIL}.")
    space.graph.relate(EVIL, "likes", "tea", observed_by=EVIL)
    space.forget(told[1], why=EVIL)
    space.unforget(told[1])
    clock.advance(days=90)
    shown = [
        *space.memories(),
        space.profile(),
        space.admin.stats(),
        space.graph.when(EVIL, "likes"),
        space.graph.timeline(told[1]),
        space.graph.memories("all"),
        space.upkeep.decay(),
        space.upkeep.gc(dry_run=True),
        space.upkeep.clusters(similarity=0.1),
        space.upkeep.consolidate(dry_run=True),
        space.upkeep.promote(told[2], dry_run=True),
        space.upkeep.discover(dry_run=True),
        space.upkeep.run(dry_run=True),
        space.upkeep.missed_recalls(),
        evaluate(space, {EVIL: "tea"}, {EVIL: {"signals": ["times"]}}),
    ]
    for each in shown:
        page = each._repr_html_()  # type: ignore[attr-defined]
        assert "<script" not in page, each
        assert "<table>" in page, each
    cells = Cells(told[2]._repr_html_())
    assert "script" not in cells.tags
    assert EVIL in cells.text
    assert "evil" in cells.text


def test_a_memory_shows_its_fields(told: list[Memory]) -> None:
    """Those that are set, and no others."""
    text = Cells(told[0]._repr_html_()).text
    assert "since 2020-01-01" in text
    assert "Ana —lives_in→ Porto" in text
    assert "letter" in text
    assert "expires" not in text
    assert "said by" not in text
    assert "Bob, in c1" in Cells(told[3]._repr_html_()).text


def test_memories_are_shown_and_can_still_be_read(space: Space, told: list[Memory]) -> None:
    """The first fifty in a table; nothing in them is markup."""
    space.add_many([{"text": f"Note {number}."} for number in range(60)])
    memories = space.memories()
    page = Cells(memories._repr_html_())
    assert "Ana lives in Porto." in page.text
    assert "script" not in page.tags
    assert "the first 50" in page.text
    assert "list(...)" in repr(memories)
    assert [memory.id for memory in memories] == [memory.id for memory in space.memories()]


def test_what_is_too_long_to_show_is_cut(space: Space) -> None:
    """A page stays small; a note says what is not shown."""
    memory = space.add("word " * 100_000)
    assert len(memory._repr_html_()) < 5_000
    space.add_many([f"Fact {number}." for number in range(600)])
    page = space.graph.memories(page_size=601)._repr_html_()
    assert "... and 101 more" in page
    assert page.count("<tr>") == 501


class TestBars:
    def test_bars_show_what_each_signal_adds(self, space: Space, told: list[Memory]) -> None:
        """A column for each signal, with the share as a bar and a number."""
        found = space.recall("Where does Ana live?", limit=2)
        page = found.show()._repr_html_()
        for evidence in (evidence for hit in found for evidence in hit.evidence if evidence.share > 0):
            assert f"width: {100 * evidence.share:.1f}%" in page
            assert f">{evidence.signal}</th>" in page
        assert "&lt;span" not in page
        assert repr(found.show()) == "<What each signal adds: Where does Ana live?. A notebook shows it>"
        assert "nothing found" in space.recall("tea", tags="unheard of").show().html

    def test_settings_side_by_side(self, space: Space, told: list[Memory]) -> None:
        """A row for each setting, a column for each measure."""
        compared = evaluate(space, {"Where does Ana live?": told[1]}, {"usual": {}, EVIL: {"signals": ["times"]}})
        page = Cells(compared.show().html)
        assert page.text.startswith("2 settings on 1 questionsettingR@1R@5R@10MRRusual 100.0 (100.0 to 100.0)")
        assert "script" not in page.tags

    def test_a_timeline_of_the_whole_space(self, space: Space, told: list[Memory]) -> None:
        """The relations learned last, and how many more there are."""
        drawn = space.graph.show_timeline()
        assert drawn.title == "A timeline of 3 relations"
        assert "Ana lives_in Porto" in drawn.html
        assert space.graph.show_timeline("Ana").title == "A timeline of 2 relations"
        for number in range(70):
            space.graph.relate(f"Person {number}", "likes", "tea")
        assert (
            space.graph.show_timeline().title == "A timeline of 60 relations, the last learned; 13 more are not shown"
        )


class TestEvaluate:
    @pytest.fixture
    def facts(self, space: Space) -> list[Memory]:
        texts = ["Ana drinks green tea.", "Bob lives in Porto.", "Bob works at Brightwater.", "The code is 4711."]
        return [*space.add_many(texts), space.add("Dana plays chess.", key="dana")]

    def test_settings_are_compared_on_the_same_questions(self, space: Space, facts: list[Memory]) -> None:
        """Expected are memories, ids, keys or a part of a text."""
        compared = evaluate(
            space,
            [
                ("What does Ana drink?", facts[0]),
                ("Where does Bob live?", "lives in PORTO"),
                {"question": "What does Dana play?", "expected": ["dana", facts[2].id], "now": "2026-05-04"},
            ],
            {"usual": {}, "only times": {"signals": ["times"]}},
        )

        usual, times = compared
        assert (usual.name, compared.best.name) == ("usual", "usual")
        assert usual.scores["R@1"][0] == pytest.approx((1 + 1 + 0.5) / 3)
        assert (times.scores["R@10"][0], times.scores["MRR"][0]) == (0.0, 0.0)
        assert [miss.question for miss in times.misses] == [each.question for each in usual.questions]
        assert usual.questions[2].ranks[0] == 1
        assert compared["only times"] is times
        assert usual.mean_ms > 0
        lines = str(compared).splitlines()
        assert lines[0] == "2 settings on 3 questions"
        assert lines[1].split() == ["setting", "R@1", "R@5", "R@10", "MRR", "ms", "tokens", "misses", "better", "worse"]
        assert lines[3].split()[-2:] == ["0", "3"]
        assert "only times" in Cells(compared._repr_html_()).text

    def test_without_settings_each_part_is_left_out_in_turn(self, facts: list[Memory], space: Space) -> None:
        """So that what a signal is worth shows."""
        compared = evaluate(space, {"Where does Bob live?": facts[1]}, limit=3)
        assert [each.name for each in compared] == [
            *("usual", "without vectors", "without words", "without graph", "without times")
        ]
        assert list(compared[0].scores) == ["R@1", "R@3", "MRR"]

    def test_a_setting_may_have_its_own_limit_and_budget(self, facts: list[Memory], space: Space) -> None:
        """In place of that of all."""
        settings: dict[str, Any] = {"usual": {}, "one": {"limit": 1}, "no room": {"max_tokens": 0}}
        usual, one, no_room = evaluate(space, {"Where does Bob live?": facts[1]}, settings)
        assert usual.mean_tokens > one.mean_tokens > no_room.mean_tokens == 0

    def test_a_reader_is_a_setting_too(self, clock: FakeClock) -> None:
        """One of the space, none, or another."""

        def likes_tea(question: str, texts: Any) -> list[float]:
            return [0.99 if "tea" in text else 0.01 for text in texts]

        with remanence.open(None, embedder=HashingEmbedder(), clock=clock) as space:
            space.add_many(["Bob lives in Porto.", "Ana drinks tea."])
            compared = evaluate(space, {"Where does Bob live?": "Porto"}, {"a": {}, "b": {"reader": likes_tea}})
            assert compared["a"].questions[0].ranks == (1,)
            assert compared["b"].questions[0].ranks == (2,)
            assert space.recall("Where does Bob live?").confidence is None

    def test_an_embedder_is_a_setting_too(self, space: Space, clock: FakeClock) -> None:
        """Tried on a copy; the space itself is as it was, also one below another and of the past."""

        def about_tea(texts: Any) -> list[list[float]]:
            return [[1.0, 0.1] if "tea" in text or "Porto" in text else [0.1, 1.0] for text in texts]

        below = space.child("users", "bob")
        below.add_many(["Bob lives in Rome.", "Ana drinks tea.", "Ana owns a boat."])
        known = clock.now()
        clock.advance(days=1)
        below.add("Bob drinks tea, too.")
        compared = evaluate(
            below.as_of(known),
            {"What is known about Porto?": "drinks tea"},
            {"usual": {"signals": ["vectors"]}, "tea": {"signals": ["vectors"], "embedder": about_tea}},
        )
        assert compared["tea"].questions[0].ranks == (1,)
        assert compared["tea"].questions[0].first == "Ana drinks tea."
        assert below.count() == 4
        with pytest.raises(InvalidInput, match="cannot embed: 7"):
            evaluate(below, {"Porto?": "Ana drinks"}, {"bad": {"embedder": 7}})

    def test_the_copy_for_another_embedder_has_the_other_settings_of_the_space(self) -> None:
        """Its order of days and months, and signals of the caller's own."""

        class MoreWords(Words):
            name = "more words"

        with remanence.open(None, embedder=HashingEmbedder(), signals=[MoreWords()], day_first=True) as space:
            space.add_many(["Ana was in Rome on 03/04/2025.", "Ana was in Porto on 04/03/2025."])
            compared = evaluate(
                space,
                [{"question": "Where was Ana?", "expected": "Rome", "during": "03/04/2025"}],
                {"other": {"embedder": HashingEmbedder(32), "signals": ["more words"]}},
            )
        assert compared["other"].questions[0].first == "Ana was in Rome on 03/04/2025."

    def test_a_view_of_the_past_is_evaluated_as_it_was(self, space: Space, clock: FakeClock) -> None:
        """With what was known then."""
        space.add("Ana lives in Porto.")
        monday = clock.now()
        clock.advance(days=1)
        space.add("Ana lives in Rome.")
        assert evaluate(space.as_of(monday), {"Where does Ana live?": "Porto"})[0].questions[0].ranks == (1,)
        with pytest.raises(InvalidInput, match="'Rome'"):
            evaluate(space.as_of(monday), {"Where does Ana live?": "Rome"})

    def test_with_progress(self, space: Space, facts: list[Memory]) -> None:
        """As everything else."""
        done: list[tuple[int, int]] = []
        evaluate(space, {"Bob?": "Porto", "Ana?": "tea"}, {"a": {}}, progress=lambda *each: done.append(each))
        assert done == [(1, 2), (2, 2)]

    def test_a_data_frame(self, space: Space, facts: list[Memory]) -> None:
        """A row for each setting."""
        pytest.importorskip("pandas")
        compared = evaluate(space, {"Where does Bob live?": "Porto", "Code?": "4711"}, {"a": {}})
        assert list(compared.to_df()["setting"]) == ["a"]

    @pytest.mark.parametrize(
        ("questions", "settings", "says"),
        [
            ([], None, "no questions"),
            ("Where?", None, "is not a list"),
            ([("Where?",)], None, "question 0"),
            ([("Where?", [])], None, "expects nothing"),
            ([("Where?", 7)], None, "not an id"),
            ([("Bob?", "Porto"), ("Bob?", "Atlantis")], None, "question 1 expects 'Atlantis'"),
            ([{"question": "Bob?", "expected": "Porto", "answer": "x"}], None, "fields question, expected"),
            ({"Bob?": "Porto"}, {}, "not a dict"),
            ({"Bob?": "Porto"}, {"a": {"wieghts": {}}}, "option 'wieghts'"),
            ({"Bob?": "Porto"}, {"a": 3}, "dict of options"),
            ({"Bob?": "Porto"}, {"a": {"signals": ["smell"]}}, "smell"),
        ],
    )
    def test_what_cannot_be_measured_is_refused(
        self, space: Space, facts: list[Memory], questions: Any, settings: Any, says: str
    ) -> None:
        """With the number of the question, or the setting."""
        with pytest.raises(InvalidInput, match=says):
            evaluate(space, questions, settings)
