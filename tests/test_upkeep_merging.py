"""Upkeep: memories that say the same become one, and memories about the same are related."""

from __future__ import annotations

import math
import re
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import remanence
from case_tables import cases
from examples import examples
from remanence import InvalidInput
from remanence.testing import FakeClock
from remanence.text.text import split_sentences
from remanence.upkeep.steps import clusters, discovery
from remanence.upkeep.steps.merged_text import merge_sentences, sentence_key

TEA = (
    "Alice drinks green tea in the morning.",
    "Alice drinks green tea every morning.",
    "Alice drinks green tea in the mornings.",
)


@pytest.fixture
def repetitive(space: remanence.Space) -> remanence.Space:
    """Three memories that say one thing, and two others."""
    for number, text in enumerate(TEA):
        space.add(text, tags=[f"tea-{number}"], importance=0.4 + number / 10)
    space.add("The harbour bridge was painted red.")
    space.add("Bob repairs old clocks.")
    return space


def recalled(space: remanence.Space, question: str) -> list[tuple[str, float]]:
    return [(hit.memory.text, hit.score) for hit in space.recall(question)]


class TestClusters:
    def test_what_says_the_same_is_found(self, repetitive: remanence.Space) -> None:
        """One group, tight enough to merge; the others stand alone."""
        found = repetitive.upkeep.clusters(similarity=0.7)
        assert [set(cluster.texts) for cluster in found] == [set(TEA)]
        [cluster] = found
        assert 0.7 < cluster.cohesion <= 1
        assert "Alice drinks" in str(found)

    def test_cohesion_decides_what_is_suggested(
        self, repetitive: remanence.Space, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Merge, have a look, or leave alone."""
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7)
        [cluster] = upkeep.clusters()
        for merge, review, action in ((0.7, 0.6, "merge"), (0.99, 0.6, "review"), (0.99, 0.98, "keep")):
            monkeypatch.setattr(clusters, "_REVIEW_COHESION", review)
            [found] = upkeep.with_settings(merge_cohesion=merge).clusters()
            assert (found.id, found.action) == (cluster.id, action)

    def test_duplicates_mode_is_stricter(self, repetitive: remanence.Space) -> None:
        """Its own threshold."""
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.5, duplicate_similarity=1.0)
        assert len(upkeep.clusters()) >= 1
        assert len(upkeep.clusters(duplicates=True)) == 0
        with pytest.raises(InvalidInput, match=r"similarity=0\.7 and duplicates=True"):
            upkeep.clusters(similarity=0.7, duplicates=True)

    def test_no_cluster_is_larger_than_allowed(self, space: remanence.Space) -> None:
        """And every memory is in one at most."""
        space.add_many([{"text": f"Alice drinks green tea in the morning{'!' * n}"} for n in range(30)])
        found = space.upkeep.clusters()
        sizes = [len(cluster.memories) for cluster in found]
        assert max(sizes) == 12
        assert sum(sizes) == len({memory for cluster in found for memory in cluster.memory_ids})

    @cases("upkeep_merging")
    def test_what_differs_in_what_matters_is_for_a_person(
        self, space: remanence.Space, one: dict[str, str], other: dict[str, str], why: str
    ) -> None:
        """Near in meaning is not the same thing."""
        space.add_many([one, other])
        upkeep = space.upkeep.with_settings(cluster_similarity=0.3, merge_cohesion=0.3)

        [cluster] = upkeep.clusters()
        assert cluster.action == "review"
        assert why in cluster.why
        assert len(upkeep.consolidate(dry_run=True)) == 0

    def test_what_was_replaced_is_nobodys_likeness(self, space: remanence.Space) -> None:
        """The new value is not merged with the old one that it took the place of."""
        space.add_many(["Alice lives in Porto.", "Alice lives in Porta."])
        assert len(space.upkeep.clusters(similarity=0.1)) == 0

    def test_what_was_said_stays_said(self, space: remanence.Space) -> None:
        """Chat turns are not merged, and neither is a document."""
        space.add_turns([{"speaker": "Ann", "content": "I like tea.", "time": f"2026-01-0{n}"} for n in (1, 2)])
        space.add("Long. " * 300)
        space.add("Long. " * 301)
        assert len(space.upkeep.clusters(similarity=0.1)) == 0


class TestConsolidating:
    def test_one_memory_says_what_all_of_them_said(self, repetitive: remanence.Space, clock: FakeClock) -> None:
        """Every sentence once; tags, importance and strength of all; sources step back and are reachable."""
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        plan = upkeep.consolidate(dry_run=True)
        run = upkeep.apply(plan)

        memory = repetitive.get(run.made[0])
        assert memory.text == " ".join(TEA) == plan.items[0].result.text
        assert memory.tags == ("tea-0", "tea-1", "tea-2")
        assert memory.importance == pytest.approx(0.6)
        assert memory.strength == pytest.approx(1 + plan.items[0].cluster.cohesion / 2, abs=1e-3)
        assert {mention.name for mention in memory.mentions} >= {"Alice"}
        assert repetitive.recall("green tea")[0].memory.id == memory.id
        assert not {hit.memory.text for hit in repetitive.recall("green tea")} & set(TEA)
        history = {hit.memory.text: hit for hit in repetitive.recall("green tea", history=True)}
        assert set(TEA) <= set(history)
        superseded = history[TEA[0]].superseded_by
        assert superseded.id == memory.id
        with repetitive._engine.open_index(repetitive.name) as index:
            sight = index.snapshot(index.catalog.position, clock.now())
            number = index.catalog.number(memory.id)
            assert number is not None
            links = index.links.links_of(number, sight, kinds=["derived_from"], direction="out")
        assert {link.target for link in links} == set(plan.memories)

    def test_what_is_known_of_any_is_known_of_the_new_one(self, space: remanence.Space) -> None:
        """Names and claims of all, the earliest time, the latest expiry, and of whoever said it."""
        told = [
            {"entities": ["Ann"], "valid_from": "2024-03-01", "expires_at": "2027-01-01"},
            {"entities": ["tea"], "expires_at": "2028-01-01", "source": "chat"},
            {"entities": ["Ann", "Porto"], "expires_at": "2026-12-01", "source": "chat"},
        ]
        rows = [{"text": f"Ann drinks tea in Porto{'!' * n}", **row} for n, row in enumerate(told)]
        space.add_many(rows)
        plan = space.upkeep.consolidate()
        memory = space.get(plan.items[0].result.memory)

        assert memory is not None
        assert [mention.name for mention in memory.mentions] == ["Ann", "tea", "Porto"]
        assert str(memory.valid.start)[:10] == "2024-03-01"
        assert str(memory.expires_at)[:10] == "2028-01-01"
        assert memory.source is None, "not all of them came from the chat"

    def test_of_two_times_it_is_the_earliest(self, space: remanence.Space) -> None:
        """Where a person merges what upkeep would leave for review."""
        for n, start in enumerate(("2024-03-01", "2023-01-01", "2025-01-01")):
            space.add(f"Ann drinks tea{'!' * n}", valid_from=start)
        found = space.upkeep.clusters().items
        assert [(cluster.action, cluster.why) for cluster in found] == [("review", "they are about different times")]
        plan = space.upkeep.consolidate(clusters=found)
        memory = space.get(plan.items[0].result.memory)
        assert str(memory.valid.start)[:10] == "2023-01-01"

    def test_merged_and_undone_is_as_before(self, repetitive: remanence.Space) -> None:
        """To the last digit; and merged again it is the same memory."""
        before = recalled(repetitive, "green tea")
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        first = upkeep.consolidate()
        after = recalled(repetitive, "green tea")
        upkeep.undo(first)
        assert recalled(repetitive, "green tea") == before

        again = upkeep.consolidate()
        assert again.items[0].result.memory == first.items[0].result.memory
        assert recalled(repetitive, "green tea") == after

    def test_a_run_that_others_built_on_is_undone_last(self, repetitive: remanence.Space, clock: FakeClock) -> None:
        """Something new near what was merged is merged with it; then the first run waits for the second."""
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.6, merge_cohesion=0.6)
        first = upkeep.consolidate()
        repetitive.add("Alice drinks her green tea in the morning.")
        second = upkeep.consolidate()
        assert first.items[0].result.memory in second.memories

        with pytest.raises(InvalidInput, match="First undo that one"):
            upkeep.undo(first)
        upkeep.undo(second)
        upkeep.undo(first)
        assert {memory.text for memory in repetitive.memories()} >= set(TEA)

    def test_what_was_let_be_is_let_be_again(self, space: remanence.Space) -> None:
        """Merging twelve of twenty makes the rest no business of the next run."""
        space.add_many([{"text": f"Alice drinks green tea in the morning{'!' * n}"} for n in range(20)])
        assert len(space.upkeep.consolidate()) > 0
        assert len(space.upkeep.consolidate(dry_run=True)) == 0

    def test_that_nothing_was_alike_is_written_down_once(self, space: remanence.Space) -> None:
        """So that a run every hour compares only what is new."""
        space.add_many([{"text": "Bob repairs old clocks."}, {"text": "The bridge was painted red."}])
        done = space.upkeep.consolidate()
        assert (len(done), done.is_recorded, space.verify().entries) == (0, True, 3)
        assert "nothing to do" in str(space.upkeep.runs()[0])
        again = space.upkeep.consolidate()
        assert (again.is_recorded, again.run, space.verify().entries) == (False, None, 3)
        space.add("Bob repairs old clocks!!")
        assert space.upkeep.consolidate(dry_run=True).is_recorded

    def test_link_mode_only_ties_together(self, repetitive: remanence.Space) -> None:
        """Every two of a cluster, also of one that a person should look at first. Nothing steps back."""
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        before = repetitive.count()
        assert len(upkeep.consolidate("link", dry_run=True)) == 3
        assert len(upkeep.with_settings(merge_cohesion=1.0).consolidate("link", dry_run=True)) == 3
        done = upkeep.consolidate("link")
        run = upkeep.runs()[-1]
        assert (run.id, run.links, run.made) == (done.run, 3, ())
        assert repetitive.count() == before
        assert len(upkeep.consolidate("link", dry_run=True)) == 0

    def test_similar_pairs_are_listed_with_their_similarity(self, repetitive: remanence.Space) -> None:
        """The most similar first; none below the threshold."""
        found = repetitive.upkeep.clusters(similarity=0.7)
        scores = [pair.similarity for pair in found.pairs]
        assert scores == sorted(scores, reverse=True)
        assert min(scores) >= 0.7
        assert {memory.id for pair in found.pairs for memory in pair[:2]} >= set(found.items[0].memory_ids)
        assert repetitive.upkeep.clusters(similarity=1.0).pairs == []

    @pytest.mark.parametrize("used", [False, True])
    def test_a_merged_memory_was_last_used_when_its_sources_were(
        self, space: remanence.Space, clock: FakeClock, used: bool
    ) -> None:
        """It has faded as they have, and is as much at risk. When it is used itself, that counts."""
        sources = space.add_many(["The printer is on floor two.", "The printer is on floor two!"])
        clock.advance(days=5)
        if used:
            space.touch(sources[0])
        expected = clock.now() if used else sources[1].recorded_at
        clock.advance(days=200)
        before = max(item.usage.decay_score for item in space.get_many(sources) if item.usage)
        merged = space.upkeep.consolidate().items[0].result.memory

        [usage] = [details.usage for details in space.get_many(merged) if details.usage]
        assert (usage.last_used, usage.uses) == (expected, int(used))
        assert usage.decay_score <= 2 * before  # by its strength alone
        assert [risk.memory for risk in space.upkeep.decay()] == [merged]
        space.touch(merged)
        [usage] = [details.usage for details in space.get_many(merged) if details.usage]
        assert usage.last_used == clock.now()

    def test_a_merged_memory_keeps_the_dates_of_its_sources(self, space: remanence.Space, clock: FakeClock) -> None:
        """It was told when the last of them was, not when upkeep ran; the first date is kept beside."""
        first = space.add("The printer is on floor two.")
        clock.advance(days=10)
        last = space.add("The printer is on floor two!")
        clock.advance(days=100)
        plan = space.upkeep.consolidate()
        merged = space.get(plan.items[0].result.memory)
        assert merged.told_at == last.told_at
        assert merged.meta["merged"]["first_told"] == first.told_at.isoformat()
        assert merged.recorded_at == clock.now()

    def test_a_person_may_choose_the_clusters(self, repetitive: remanence.Space) -> None:
        """Whatever was suggested for them; but no memory twice."""
        chosen = repetitive.upkeep.clusters(similarity=0.7).items
        plan = repetitive.upkeep.with_settings(merge_cohesion=1.0).consolidate(clusters=chosen, dry_run=True)
        assert set(plan.memories) == set(chosen[0].memory_ids)
        with pytest.raises(InvalidInput, match="two of the clusters"):
            repetitive.upkeep.consolidate(clusters=[*chosen, *chosen], dry_run=True)
        with pytest.raises(InvalidInput, match="preview"):
            repetitive.upkeep.consolidate("merge", dry_run=True)  # type: ignore[arg-type]

    def test_uses_are_carried_over(self, repetitive: remanence.Space) -> None:
        """What was of use is not forgotten sooner for having been merged."""
        for memory in list(repetitive.memories())[:3]:
            repetitive.touch(memory.id)
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        plan = upkeep.consolidate()
        assert repetitive.touch(plan.items[0].result.memory)[0].uses == 4

    def test_uses_are_carried_over_once(self, repetitive: remanence.Space) -> None:
        """Also where the merge was undone, and the same memory comes back."""
        for memory in list(repetitive.memories())[:3]:
            repetitive.touch(memory.id)
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        upkeep.undo(upkeep.consolidate())
        repetitive.touch(next(memory.id for memory in repetitive.memories() if memory.text == TEA[0]))
        plan = upkeep.consolidate()
        assert repetitive.touch(plan.items[0].result.memory)[0].uses == 5

    def test_a_use_after_the_plan_is_carried_too(self, repetitive: remanence.Space) -> None:
        """It is of the same memory, and was of the same use."""
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        plan = upkeep.consolidate(dry_run=True)
        repetitive.touch(plan.memories[0])
        upkeep.apply(plan)
        assert repetitive.touch(plan.items[0].result.memory)[0].uses == 2

    def test_what_was_merged_since_is_not_merged_again(self, repetitive: remanence.Space) -> None:
        """A plan for three is refused once two of them are one; and so is a cluster of them."""
        whole = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        plan, found = whole.consolidate(dry_run=True), whole.clusters().items
        assert len(plan.memories) == 3
        two = next(c for c in whole.clusters(max_size=2) if set(c.memory_ids) < set(plan.memories))
        whole.consolidate(clusters=[two])
        before = repetitive.verify().entries

        with pytest.raises(InvalidInput, match=r"was replaced or has expired since\. Nothing was done"):
            whole.apply(plan)
        with pytest.raises(InvalidInput, match="Look for clusters again"):
            whole.consolidate(clusters=found)
        assert repetitive.verify().entries == before
        assert len([hit for hit in repetitive.recall("green tea") if "Alice" in hit.memory.text]) == 2

    def test_link_mode_leaves_what_is_tied_already(self, repetitive: remanence.Space) -> None:
        """However it came to be tied."""
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        first, *others = upkeep.consolidate("link", dry_run=True)
        repetitive.graph.link(first.target, "extends", first.source)
        left = [(pair.source, pair.target) for pair in upkeep.consolidate("link", dry_run=True)]
        assert left == [(pair.source, pair.target) for pair in others]

    def test_erasing_a_source_erases_what_was_merged_of_it(self, repetitive: remanence.Space) -> None:
        """Its words stand there too. What the others said comes forward again."""
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        plan = upkeep.consolidate()
        repetitive.erase(plan.memories[0])

        texts = [memory.text for memory in repetitive.memories()]
        assert not any(TEA[0] in text for text in texts)
        found = {hit.memory.text for hit in repetitive.recall("green tea")}
        assert found & set(TEA) == set(TEA[1:])


class TestWording:
    @settings(max_examples=examples(30), deadline=None)
    @given(st.lists(st.text(alphabet="ab .!?\n'\"DrSt。", max_size=40), min_size=1, max_size=5))
    def test_no_sentence_is_lost(self, texts: list[str]) -> None:
        """Every sentence of every text is in the merged one, once."""
        joined = re.findall(r"\w+", merge_sentences(texts).casefold())
        for text in texts:
            for sentence in split_sentences(text):
                assert set(re.findall(r"\w+", sentence_key(sentence))) <= set(joined)

    def test_spellings_of_one_sentence_are_kept_once(self) -> None:
        """A question is another sentence."""
        assert merge_sentences(["Ana rows.", "“Ana rows!”", "Ana rows", "Ana rows…"]) == "Ana rows."
        assert merge_sentences(["Ana rows.", "Ana rows?", "'Ana rows?!'"]) == "Ana rows. Ana rows?"

    def test_abbreviations_do_not_end_a_sentence(self) -> None:
        """Or half of one would be lost as a repetition."""
        both = ["I went to see Dr. Smith.", "I went to see Dr. Jones."]
        assert merge_sentences(both) == " ".join(both)


class TestDiscovering:
    def test_memories_about_the_same_are_related(self, space: remanence.Space) -> None:
        """Two shared names are needed, and the reason can be read."""
        one = space.add("Alice met Bob in Porto.", tags=["travel"])
        other = space.add("Bob and Alice have a boat.", tags=["travel"])
        space.add("Alice has a cat.")

        plan = space.upkeep.discover(dry_run=True)
        assert [(found.source, found.target) for found in plan] == [(one.id, other.id)]
        assert plan.items[0].why == "both name Alice and Bob, and are tagged travel"
        assert "both name" in str(plan)

    def test_entities_count_for_seven_tenths_and_tags_for_three(self, space: remanence.Space) -> None:
        """What is shared of all that is named, rare names counting more."""
        space.add("One.", entities=["Ann", "Bob", "Eve"], tags=["a", "b"])
        space.add("Two.", entities=["Ann", "Bob"], tags=["a"])
        for n in range(8):
            space.add(f"Note {n}.", entities=["Eve", f"Nobody {n}"])
        [found] = space.upkeep.discover(dry_run=True)

        rare, common = math.log(1 + 10 / 2), math.log(1 + 10 / 9)
        assert found.score == pytest.approx(0.7 * 2 * rare / (2 * rare + common) + 0.3 / 2, abs=1e-3)

    def test_one_shared_name_is_not_enough(self, space: remanence.Space, monkeypatch: pytest.MonkeyPatch) -> None:
        """However rare it is, and whatever tags there are besides."""
        space.add("One.", entities=["Ann", "Bob"], tags=["a"])
        space.add("Two.", entities=["Ann"], tags=["a"])
        assert len(space.upkeep.discover(dry_run=True)) == 0
        space.add("Three.", entities=["Ann", "Bob"])
        assert len(space.upkeep.discover(dry_run=True)) == 1
        monkeypatch.setattr(discovery, "_MIN_SHARED_ENTITIES", 3)
        assert len(space.upkeep.discover(dry_run=True)) == 0

    def test_the_smallest_score_is_a_setting(self, space: remanence.Space) -> None:
        """And the score of a pair is the confidence of its link."""
        one = space.add("One.", entities=["Ann", "Bob", "Eve"])
        space.add("Two.", entities=["Ann", "Bob"])
        [found] = space.upkeep.discover(dry_run=True)
        assert 0.3 < found.score < 0.7
        assert len(space.upkeep.with_settings(relate_above=found.score + 0.01).discover(dry_run=True)) == 0
        space.upkeep.with_settings(relate_above=found.score - 0.01).discover()
        [edge] = [edge for edge in space.graph.query(one).edges if edge.name == "related_to"]
        assert edge.confidence == pytest.approx(found.score)

    def test_drawn_once_and_undone(self, space: remanence.Space) -> None:
        """A second run finds it drawn; after an undo it is found again."""
        for text in ("Alice met Bob in Porto.", "Bob and Alice have a boat."):
            space.add(text)
        done = space.upkeep.discover()
        assert len(space.upkeep.discover(dry_run=True)) == 0
        space.upkeep.undo(done)
        assert len(space.upkeep.discover(dry_run=True)) == 1

    def test_other_names_of_one_entity_count_as_one(self, space: remanence.Space) -> None:
        """What is known about names is used."""
        space.entities.register("Robert", aliases=["Bob"])
        space.add("Alice met Bob.", entities=["Alice", "Bob"])
        space.add("Alice wrote to Robert.", entities=["Alice", "Robert"])
        assert len(space.upkeep.discover(dry_run=True)) == 1

    def test_a_hub_is_not_looked_through(self, space: remanence.Space, monkeypatch: pytest.MonkeyPatch) -> None:
        """Everything names Alice and Bob: that says nothing about any two of them. A third name does."""
        space.add_many([{"text": f"Note {n}.", "entities": ["Alice", "Bob"]} for n in range(10)])
        for text in ("One.", "Two."):
            space.add(text, entities=["Alice", "Bob", "Porto"])
        monkeypatch.setattr(discovery, "_MAX_GROUP", 5)
        plan = space.upkeep.discover(dry_run=True)
        assert [found.why for found in plan] == ["both name Alice, Bob and Porto"]

    def test_each_memory_gets_a_few(self, space: remanence.Space, monkeypatch: pytest.MonkeyPatch) -> None:
        """The best ones; and the next run does not add the next best."""
        space.add_many([{"text": f"Note {n}.", "entities": ["Alice", "Bob"]} for n in range(12)])
        monkeypatch.setattr(discovery, "_MAX_LINKS", 2)
        plan = space.upkeep.discover()
        assert 0 < len(plan) < len(list(combinations(range(12), 2)))
        assert len(space.upkeep.discover(dry_run=True)) == 0

    def test_what_is_about_to_be_merged_is_related_as_one(self, repetitive: remanence.Space) -> None:
        """In one run, relations are drawn from the new memory, not from those that step back."""
        repetitive.add("Alice brings Bob green tea.", entities=["Alice", "Bob", "green tea"])
        for memory in list(repetitive.memories())[:3]:
            repetitive.add(memory.text, entities=["Alice", "green tea"])
        upkeep = repetitive.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7, relate_above=0.1)
        done = upkeep.run()
        assert done.run is not None
        [run] = upkeep.runs()
        [links] = [plan for plan in done.plans if plan.step == "discover"]
        assert {end for found in links for end in (found.source, found.target)} >= set(run.made)
