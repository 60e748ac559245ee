"""`space.evaluate`: recorded recalls asked again under other settings, as the space was known then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

import remanence
from remanence import InvalidInput, Space
from remanence.testing import HashingEmbedder

FIRST = datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
TOLD = {
    "What does Ana drink?": "Ana drinks green tea.",
    "Where does Bob live?": "Bob lives in Porto.",
    "Which code has the door?": "The door code is 4711.",
    "What is Clara allergic to?": "Clara is allergic to hazelnuts.",
    "Who repairs the boiler?": "Jonas repairs the boiler.",
    "What colour is the van?": "The van is painted orange.",
    "When does the bakery open?": "The bakery opens at seven.",
}


class Days:
    """A clock that goes on by a minute each time it is read."""

    def __init__(self) -> None:
        self.now = FIRST

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture
def space(days: Days) -> Iterator[Space]:
    with remanence.open(None, clock=days, embedder=HashingEmbedder(), reader=None) as opened:
        yield opened


def ask(space: Space, question: str, used: str | None, **options: object) -> None:
    """A recall that is recorded, and the use of the memory with this text."""
    recall = space.recall(question, **options)
    space.audit.record(recall)
    if used is not None:
        space.touch(next(hit.memory for hit in recall if hit.memory.text == used))


@pytest.fixture
def asked(space: Space) -> Space:
    """A space in which all seven questions were asked, and their answers used."""
    space.add_many(list(TOLD.values()))
    for question, used in TOLD.items():
        ask(space, question, used)
    return space


class TestEvaluate:
    def test_a_worse_setting_is_seen_and_the_usual_one_recommended(self, asked: Space) -> None:
        compared = asked.evaluate(settings={"times": {"signals": ["times"]}, "usual": {}})

        assert [(each.name, len(each.misses)) for each in compared] == [("times", 7), ("usual", 0)]
        assert compared["usual"].better_and_worse(compared["times"]) == (7, 0)
        assert compared.recommended is compared["usual"]
        assert "use usual: chance alone is as far from times in 1.6% of cases" in str(compared)
        assert "2 settings on 7 questions recorded since 2026-02-03" in str(compared)

    def test_what_chance_would_do_is_not_recommended(self, space: Space) -> None:
        space.add_many(list(TOLD.values()))
        for question in list(TOLD)[:5]:
            ask(space, question, TOLD[question])

        compared = space.evaluate(settings={"times": {"signals": ["times"]}, "usual": {}})

        assert compared.best.name == "usual"
        assert compared.recommended is None
        assert "no setting is better than times by more than chance" in str(compared)

    def test_a_recall_is_asked_of_the_space_as_it_was(self, space: Space) -> None:
        space.add("The door code is 4711.", key="door")
        ask(space, "door code", "The door code is 4711.")
        space.add("The door code is 1234.", key="door")

        [usual] = space.evaluate(settings={"usual": {}})

        assert (usual.questions[0].first, usual.questions[0].ranks) == ("The door code is 4711.", (1,))

    def test_its_own_options_hold_unless_a_setting_names_them(self, space: Space) -> None:
        space.add_many([{"text": "Ana drinks green tea.", "tags": "drink"}, {"text": "What Ana drinks is a secret."}])
        ask(space, "What does Ana drink?", "Ana drinks green tea.", tags="drink")

        compared = space.evaluate(settings={"as asked": {}, "all": {"tags": None}, "none": {"tags": "food"}})

        assert [each.questions[0].found for each in compared] == [True, True, False]
        assert compared["all"].mean_tokens > compared["as asked"].mean_tokens

    def test_a_budget_and_a_limit_cost_less_and_may_miss(self, asked: Space) -> None:
        settings = {"usual": {}, "one hit": {"limit": 1}, "no room": {"max_tokens": 0}}
        usual, one_hit, no_room = asked.evaluate(settings=settings)

        assert usual.mean_tokens > one_hit.mean_tokens > no_room.mean_tokens == 0
        assert len(no_room.misses) == 7
        assert one_hit.scores["found"] == one_hit.scores["first"]

    def test_another_embedder_is_asked_of_the_same_moments(self, asked: Space) -> None:
        asked.add("Bob lives in Rome now, no longer in Porto.")
        settings = {"usual": {}, "other": {"embedder": HashingEmbedder(32), "signals": ["vectors"]}}
        compared = asked.evaluate(settings=settings)

        assert compared["other"].scores["found"][0] > 0.5
        assert all("Rome" not in question.first for question in compared["other"].questions)

    def test_the_default_settings_leave_out_each_signal(self, asked: Space) -> None:
        compared = asked.evaluate(history=timedelta(days=2))

        assert [each.name for each in compared][:3] == ["usual", "without vectors", "without words"]

    def test_progress_is_reported(self, asked: Space) -> None:
        seen: list[tuple[int, int]] = []
        asked.evaluate(settings={"usual": {}}, recalls=3, progress=lambda *done: seen.append(done))

        assert seen[-1] == (3, 3)

    def test_a_view_of_the_past_knows_only_recalls_of_then(self, asked: Space, days: Days) -> None:
        before = days.now
        ask(asked, "Where does Bob live?", "Bob lives in Porto.")

        assert len(asked.as_of(before).evaluate(settings={"usual": {}})["usual"].questions) == 7
        assert len(asked.evaluate(settings={"usual": {}})["usual"].questions) == 8

    async def test_asyncio(self, asked: Space) -> None:
        assert (await asked.aevaluate(settings={"usual": {}}))["usual"].scores["found"][0] == 1.0


class TestWhatIsLeftOut:
    def test_recalls_that_cannot_be_judged_are_counted(self, asked: Space) -> None:
        ask(asked, "Who sings?", None)
        asked.audit.record(asked.recall("Ana", vector=[1.0] * 64))

        compared = asked.evaluate(settings={"usual": {}})

        assert len(compared["usual"].questions) == 7
        assert compared.skipped == {"with a vector of the caller's": 1, "of which nothing was used": 1}
        assert "left out: 1 recall of which nothing was used" in str(compared)

    def test_recalls_of_what_was_erased_are_gone(self, asked: Space) -> None:
        asked.erase(next(memory for memory in asked.memories() if "tea" in memory.text))

        with pytest.raises(InvalidInput, match="none was recorded"):
            asked.evaluate(settings={"usual": {}})

    def test_what_is_older_than_the_history_is_not_asked(self, asked: Space, days: Days) -> None:
        days.now += timedelta(days=100)

        with pytest.raises(InvalidInput, match=r"no recall since 2026-05-1\d can be asked again \(none was recorded"):
            asked.evaluate()
        assert len(asked.evaluate(history="200 days", settings={"usual": {}})["usual"].questions) == 7

    def test_another_space_is_not_read(self, asked: Space) -> None:
        with pytest.raises(InvalidInput, match="none was recorded"):
            asked.child("users", "bob").evaluate()

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"settings": {"a": {"depth": 3}}}, "'depth'"),
            ({"settings": {}}, "settings="),
            ({"settings": {"a": {"signals": ["smell"]}}}, "smell"),
            ({"history": "soonish"}, "history='soonish'"),
            ({"recalls": 0}, "recalls=0"),
        ],
    )
    def test_bad_input_is_named(self, asked: Space, wrong: dict[str, object], said: str) -> None:
        with pytest.raises(InvalidInput, match=said):
            asked.evaluate(**wrong)
