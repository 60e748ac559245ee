"""Recall without a question, by when it was told, and with reminders of what is about to fade."""

from __future__ import annotations

import pytest

import remanence
from remanence import InvalidInput, Memory, Receipt, Space
from remanence.testing import FakeClock
from remanence.upkeep.steps.decay import review_priority


def texts(found: remanence.Recall) -> list[str]:
    return [hit.memory.text for hit in found]


@pytest.fixture
def month(space: Space, clock: FakeClock) -> list[Memory]:
    """A fact a week for four weeks, all tagged; the second and the last are tagged twice."""
    made = []
    for number, text in enumerate(["Tea is green.", "Milk is white.", "Coal is black.", "Blood is red."]):
        tags = ["color", "drink"] if number in (1, 3) else ["color"]
        made.append(space.add(text, tags=tags))
        clock.advance(days=7)
    return made


class TestWithoutAQuestion:
    def test_filters_list_the_newest_first(self, space: Space, month: list[Memory]) -> None:
        """With the score and the reason of each."""
        found = space.recent(tags="color")
        assert texts(found) == ["Blood is red.", "Coal is black.", "Milk is white.", "Tea is green."]
        assert texts(space.recent(tags=["color", "drink"], limit=1)) == ["Blood is red."]
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
        assert all(0 < hit.score < 1 for hit in found)
        assert found[0].reason == "recency #1: last used 2026-05-25 09:00, 0 uses, strength 1.00"
        assert found[0].score == pytest.approx(found[0].evidence[0].share)

    def test_use_and_strength_count(self, space: Space, month: list[Memory], clock: FakeClock) -> None:
        """What was used is recent again, and what is strong fades later."""
        space.touch(month[0])
        assert texts(space.recent(tags="color"))[0] == "Tea is green."
        space.add("Gold is yellow.", tags="color", strength=2)
        clock.advance(days=1)
        space.add("Silver is grey.", tags="color")
        assert texts(space.recent(tags="color", limit=3)) == ["Gold is yellow.", "Tea is green.", "Silver is grey."]

    def test_strength_is_not_missed_among_many(self, space: Space, clock: FakeClock) -> None:
        """Texts are read only as far as needed, and the best is still found."""
        strong = space.add("The anchor holds.", tags="many", strength=2)
        clock.advance(hours=1)
        space.add_many([{"text": f"Number {number} is odd.", "tags": ["many"]} for number in range(300)])
        assert [hit.memory.id for hit in space.recent(tags="many", limit=1)] == [strong.id]
        assert len(space.recent(tags="many", limit=301)) == 301

    def test_what_was_replaced_or_hidden_is_left_out(self, space: Space, month: list[Memory], clock: FakeClock) -> None:
        """Unless history is asked for."""
        space.graph.link(month[1], "supersedes", month[0])
        space.forget(month[2])
        space.add("Blood is blue.", tags="color", expires_at="2026-06-03")
        clock.advance(days=3)
        assert texts(space.recent(tags="color")) == ["Blood is red.", "Milk is white."]
        past = space.recent(tags="color", history=True)
        assert {"Tea is green.", "Blood is blue."} < set(texts(past))
        replaced = next(hit for hit in past if hit.memory.id == month[0].id)
        assert (replaced.current, replaced.superseded_by) == (False, month[1])

    def test_it_can_be_replayed_and_seen_in_the_past(self, space: Space, month: list[Memory], clock: FakeClock) -> None:
        """Uses since do not change what was listed then."""
        found = space.recent(tags="color", since="2026-05-05")
        then = clock.now()
        clock.advance(days=1)
        space.touch(month[1])
        space.add("Snow is white.", tags="color")
        receipt = Receipt.from_dict(found.receipt.to_dict())  # type: ignore[union-attr]
        assert (
            texts(space.audit.replay(receipt)) == texts(found) == ["Blood is red.", "Coal is black.", "Milk is white."]
        )
        assert texts(space.as_of(then).recent(tags="color"))[0] == "Blood is red."
        assert texts(space.recent(tags="color"))[0] == "Milk is white."

    def test_without_a_question_and_a_filter_everything_is_listed(self, space: Space, month: list[Memory]) -> None:
        """A blank message asks for no memory."""
        listed = texts(space.recent(limit=100))
        assert set(listed) == {memory.text for memory in space.memories()}
        assert listed == texts(space.recent(since="1900", limit=100))
        assert not space.for_prompt(" ").hits

    def test_recent_needs_no_filter(self, space: Space, month: list[Memory], clock: FakeClock) -> None:
        """It does not need one, and takes the filters of a recall, for a view of the past too."""
        space.touch(month[0])
        then = clock.now()
        clock.advance(days=1)
        space.forget(month[3])

        assert texts(space.recent(limit=2)) == ["Tea is green.", "Coal is black."]
        assert texts(space.recent(tags="drink", history=True)) == ["Milk is white."]
        assert texts(space.recent(during="June 2026", min_trust="user", limit=1)) == ["Tea is green."]
        assert texts(space.as_of(then).recent(since="2026-05-20")) == ["Blood is red."]


class TestSince:
    def test_only_what_was_told_since(self, space: Space, month: list[Memory]) -> None:
        """In recall and in lists, by words too; of a turn, when it was said."""
        space.add_turns([{"speaker": "Bob", "content": "Rust is red.", "time": "2026-05-01"}])
        assert texts(space.recall("red", since="10 days ago")) == ["Blood is red."]
        assert [memory.text for memory in space.memories(since="2026-05-12")] == ["Coal is black.", "Blood is red."]
        assert "Rust is red." in texts(space.recall("red", since="2026-04-30"))
        with pytest.raises(InvalidInput, match="since="):
            space.recall("red", since="whenever")


class TestReview:
    @pytest.fixture
    def fading(self, space: Space, clock: FakeClock) -> Memory:
        """A memory in the middle of the zone of risk, below nine better hits."""
        faded = space.add("A bridge was mentioned once, in passing, by somebody on the train.", kind="episode")
        clock.advance(days=9)
        space.add_many([f"The bridge number {number} is a bridge." for number in range(9)])
        return faded

    def test_what_fades_comes_up_and_says_so(self, space: Space, fading: Memory) -> None:
        """In one of the last places, only when asked for."""
        assert fading.text not in texts(space.recall("bridge", limit=5))
        found = space.recall("bridge", limit=5, include="review")
        assert len(found) == 5
        assert texts(found)[:4] == texts(space.recall("bridge", limit=5))[:4]
        assert found[-1].memory.id == fading.id
        assert "review #1: about to fade: decay score 0.2" in found[-1].reason
        assert found[-1].usage.review_priority > 0.5  # type: ignore[union-attr]
        assert texts(space.audit.replay(found.receipt)) == texts(space.recall("bridge", limit=5))  # type: ignore[arg-type]

    def test_once_used_it_is_safe(self, space: Space, fading: Memory) -> None:
        """And the report says that a reminder was due."""
        assert space.touch(fading)[0].review > 0.5
        assert fading.text not in texts(space.recall("bridge", limit=5, include="review"))

    def test_a_single_hit_is_never_given_away(self, space: Space, fading: Memory) -> None:
        """The best answer comes first."""
        assert texts(space.recall("bridge", limit=1, include="review")) == texts(space.recall("bridge", limit=1))

    def test_priority_is_highest_in_the_middle(self) -> None:
        """Neither what is gone nor what is fresh needs a reminder."""
        assert review_priority(0.25) == 1.0
        assert review_priority(0.15) == pytest.approx(0, abs=1e-9)
        assert review_priority(0.35) == pytest.approx(0, abs=1e-9)
        assert review_priority(0.01) == review_priority(2.0) == 0.0


class TestStrength:
    def test_it_is_stored_and_counts(self, space: Space, clock: FakeClock) -> None:
        """In the decay score, in results, and in uses, up to 2."""
        weak, strong = space.add("Ana likes tea."), space.add("Ana likes milk.", strength=1.5)
        assert (weak.strength, strong.strength) == (1.0, 1.5)
        clock.advance(days=30)
        usage = {hit.memory.id: hit.usage for hit in space.recall("Ana")}
        assert usage[strong.id].decay_score == pytest.approx(1.5 * usage[weak.id].decay_score)  # type: ignore[union-attr]
        assert usage[strong.id].strength == 1.5  # type: ignore[union-attr]
        assert space.touch(strong, boost=True)[0].strength == pytest.approx(1.6)
        assert space.recall("milk").to_dicts()[0]["usage"]["strength"] == pytest.approx(1.6)

    def test_the_same_text_with_another_strength_is_a_new_version(self, space: Space) -> None:
        """As with importance; without one it stays as it was before there was a strength."""
        memory = space.add("Ana likes tea.")
        assert space.add("Ana likes tea.", strength=2).strength == 2
        assert space.get(memory).strength == 2  # type: ignore[union-attr]
        assert space.count() == 1

    @pytest.mark.parametrize("wrong", [0.5, 2.1, -1, float("nan"), True, "1.5"])
    def test_what_is_no_strength_is_refused(self, space: Space, wrong: object) -> None:
        """From 1 to 2."""
        with pytest.raises(InvalidInput, match="strength="):
            space.add("Ana likes tea.", strength=wrong)  # type: ignore[arg-type]
        assert space.count() == 0


class TestDetails:
    def test_use_and_promotion_are_in_the_details(self, space: Space, porto: Memory, clock: FakeClock) -> None:
        """Of pages and of memories by id; a view of the past has no use."""
        before = clock.now()
        clock.advance(days=2)
        space.touch(porto)
        space.upkeep.promote(porto)
        [details] = space.graph.memories()
        assert details.usage.uses == 2  # type: ignore[union-attr]
        assert (details.status, details.promoted_at, details.note) == ("current", clock.now(), None)
        assert space.get_many(porto)[0].usage.age_days == pytest.approx(2)  # type: ignore[union-attr]
        assert space.as_of(before).get_many(porto)[0].usage is None
        assert space.as_of(before).get_many(porto)[0].promoted_at is None

    def test_promoted_is_a_status_to_list_by(self, space: Space, porto: Memory, nuts: Memory) -> None:
        """Promoted ones are current too, until the run is undone."""
        plan = space.upkeep.promote([nuts.id])
        assert [memory.id for memory in space.memories("promoted")] == [nuts.id]
        assert [each.id for each in space.graph.memories("promoted")] == [nuts.id]
        assert len(space.graph.memories("current")) == 2
        space.upkeep.undo(plan)
        assert list(space.memories("promoted")) == []
        with pytest.raises(InvalidInput, match="promoted"):
            space.memories("famous")  # type: ignore[arg-type]
