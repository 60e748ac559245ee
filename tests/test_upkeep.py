"""Upkeep: use, decay, forgetting, and that every step can be previewed, repeated and undone."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import remanence
from examples import examples
from remanence import InvalidInput, NotFound, Receipt
from remanence.errors import LedgerUnavailable
from remanence.testing import FakeClock, HashingEmbedder
from remanence.upkeep import UpkeepSettings
from remanence.upkeep.pipeline import Schedule, parse_interval
from remanence.upkeep.runs import upkeep_lock
from remanence.upkeep.settings import DECAY_MODELS
from remanence.upkeep.steps.decay import DecayReport, retention
from warm_process import WarmProcess

if TYPE_CHECKING:
    from remanence.ports import Vector

QUESTIONS = ("Where does Alice live?", "tea", "What does Bob like?", "the bridge in Porto")


def answers(space: remanence.Space) -> list[list[tuple[str, float]]]:
    """What a space answers to the questions, to the last digit."""
    return [[(hit.memory.id, hit.score) for hit in space.recall(question)] for question in QUESTIONS]


def lines(space: remanence.Space) -> int:
    return space.verify().entries


class TestSettings:
    def test_the_environment_changes_the_defaults(self) -> None:
        """Every field has its variable, each kind its half-life."""
        told = UpkeepSettings.from_env(
            {
                "REMANENCE_DECAY": "exponential",
                "REMANENCE_PROMOTE_USES": "3",
                "REMANENCE_HALF_LIFE_DAYS_EPISODE": "7",
                "REMANENCE_VAULT": "/notes",
            }
        )

        assert (told.decay, told.promote_uses, told.vault) == ("exponential", 3, "/notes")
        assert told.half_life_by_kind["episode"] == 7
        assert UpkeepSettings.from_env({}) == UpkeepSettings()

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"decay": "linear"}, "power_law"),
            ({"half_life_days": 0}, "between"),
            ({"half_life_days": "3"}, "not a number"),
            ({"half_life_days": float("nan")}, "between"),
            ({"promote_uses": 2.5}, "whole number"),
            ({"gc": "burn"}, "archive"),
            ({"forget_below": True}, "not a number"),
            ({"half_life_by_kind": {"dream": 3}}, "episode"),
            ({"half_life_by_kind": 3}, "dict"),
        ],
    )
    def test_what_cannot_be_is_refused(self, changes: dict[str, Any], says: str) -> None:
        """With the field, the value, and what is allowed."""
        with pytest.raises(InvalidInput, match=says):
            UpkeepSettings(**changes)

    def test_a_variable_that_is_no_number_is_named(self) -> None:
        """Not a traceback from deep inside."""
        with pytest.raises(InvalidInput, match="REMANENCE_FORGET_BELOW='lots'"):
            UpkeepSettings.from_env({"REMANENCE_FORGET_BELOW": "lots"})

    def test_the_defaults_are_those_that_were_promised(self) -> None:
        """Whoever changes one changes what people's memories do overnight."""
        promised: dict[str, Any] = {
            "decay": "power_law",
            "half_life_days": 3.0,
            "forget_below": 0.05,
            "gc": "forget",
            "promote_above": 0.65,
            "promote_uses": 5,
            "use_exponent": 0.6,
            "relate_above": 0.3,
            "cluster_similarity": 0.83,
            "duplicate_similarity": 0.88,
            "merge_cohesion": 0.85,
            "vault_weight": 0.7,
        }
        told = asdict(UpkeepSettings())
        assert {name: told[name] for name in promised} == promised

    def test_every_setting_has_a_variable_and_a_place_in_the_table(self) -> None:
        """And the table names the default that holds."""
        readme = (Path(__file__).parent.parent / "docs" / "upkeep.md").read_text("utf-8")
        table = readme[readme.index("| setting (`REMANENCE_<NAME>`)") :].split("\n\n")[0]
        told: dict[str, str] = {}
        for line in table.splitlines()[2:]:
            _, names, defaults, _, _ = line.split("|")
            told |= dict(zip(re.findall(r"`(\w+)`", names), re.split(r"[,;] ", defaults.strip()), strict=False))
        fields = asdict(UpkeepSettings())
        assert told.keys() == fields.keys()
        for name in fields.keys() - {"half_life_by_kind", "vault"}:
            value = fields[name]
            assert told[name].strip("`") == (value if isinstance(value, str) else f"{value:g}"), name
            other = {"decay": "exponential", "gc": "archive"}.get(name, value)
            assert str(getattr(UpkeepSettings.from_env({f"REMANENCE_{name.upper()}": str(other)}), name)) == str(other)

    def test_one_space_may_have_its_own(self, space: remanence.Space) -> None:
        """An unknown name is refused with the known ones."""
        assert space.upkeep.with_settings(half_life_days=30).settings.half_life_days == 30
        with pytest.raises(AttributeError):
            space.upkeep.settings = UpkeepSettings()  # type: ignore[misc]
        with pytest.raises(InvalidInput, match="half_life_days"):
            space.upkeep.with_settings(halflife=30)


class TestDecay:
    @pytest.mark.parametrize("model", DECAY_MODELS)
    @given(st.floats(0, 1e12), st.floats(0, 1e12))
    def test_it_only_falls_and_never_to_zero(self, model: str, one: float, other: float) -> None:
        """Whatever the age."""
        younger, older = sorted((one, other))
        assert 1 >= retention(model, younger, 3) >= retention(model, older, 3) > 0

    @pytest.mark.parametrize("model", DECAY_MODELS)
    def test_half_is_left_after_a_half_life(self, model: str) -> None:
        """In every model."""
        assert retention(model, 30, 30) == pytest.approx(0.5, abs=1e-4)

    def test_the_report_names_what_is_at_risk(self, space: remanence.Space, clock: FakeClock) -> None:
        """The weakest first; what matters lasts longer; nothing is hidden by fading alone."""
        small = space.add("Small talk about rain.", kind="episode")
        great = space.add("Alice is a doctor.", kind="episode", importance=0.9)
        some = space.add("Bob bought a car.", kind="episode", importance=0.6)
        clock.advance(days=14)

        report = space.upkeep.decay()
        assert [risk.memory for risk in report] == [small.id, some.id]
        assert [risk.action for risk in report] == ["needs review", "reinforce"]
        assert great.id not in str(report)
        assert "Small talk" in str(report)
        assert len(space.recall("rain")) >= 1

    @pytest.mark.parametrize("model", DECAY_MODELS)
    def test_scores_are_known_without_reading_texts(self, space: remanence.Space, clock: FakeClock, model: str) -> None:
        """They are those of the steps that read every memory, and a limit keeps the lowest."""
        for number in range(12):
            kind = ("episode", "semantic", "viewpoint")[number % 3]
            memory = space.add(f"Note {number}.", kind=kind, importance=number / 12)  # type: ignore[arg-type]
            if number % 4 == 0:
                space.touch(memory.id, boost=True)
            clock.advance(days=2)
        space.touch(memory.id)
        space.forget(space.add("Forgotten."))
        clock.advance(days=20)
        upkeep = space.upkeep.with_settings(decay=model)
        [expected], found, low = (
            upkeep.run(steps=["decay"], dry_run=True).reports,
            upkeep.decay(),
            upkeep.decay(limit=2),
        )
        assert isinstance(expected, DecayReport)
        assert len(expected) > 2
        assert (found.at_risk, found.left_out) == (expected.at_risk, 0)
        assert (found.examined_count, found.position) == (expected.examined_count, expected.position)
        assert found.average_score == pytest.approx(expected.average_score, rel=1e-5)
        assert found.average_uses == expected.average_uses
        assert low.at_risk == expected.at_risk[:2]
        assert (low.left_out, low.average_score) == (len(expected) - 2, found.average_score)
        assert str(low).startswith(str(expected).splitlines()[0])
        with pytest.raises(InvalidInput, match="limit=0"):
            upkeep.decay(limit=0)

    def test_the_score_is_the_formula(self, space: remanence.Space, clock: FakeClock) -> None:
        """Uses (the recording is the first) to the power of beta, what is left, and strength."""
        memory = space.add("A red car.", kind="episode")
        clock.advance(days=3)
        assert space.touch(memory.id, boost=True)[0].old_score == pytest.approx(0.5)
        clock.advance(days=3)
        told = space.touch(memory.id)[0]
        assert told.old_score == pytest.approx(2**0.6 * 0.5 * 1.1)
        assert told.new_score == pytest.approx(3**0.6 * 1.1)

    def test_each_kind_and_weight_has_its_pace(self, space: remanence.Space, clock: FakeClock) -> None:
        """Chatter halves in three days, what is so in thirty, what defines somebody in 480."""
        added = {
            3: space.add("A red car.", kind="episode"),
            30: space.add("Cars have wheels.", kind="semantic"),
            480: space.add("Ann is a nurse.", kind="semantic", importance=0.9),
        }
        start = clock.now()
        for days, memory in added.items():
            clock.advance(days=days - (clock.now() - start).days)
            assert space.touch(memory)[0].old_score == pytest.approx(0.5), days

    def test_how_urgent_it_is_and_what_to_do(self, space: remanence.Space, clock: FakeClock) -> None:
        """From gc candidates, through what was of use, to what only begins to fade."""
        upkeep = space.upkeep.with_settings(decay="exponential")
        for text in ("One.", "Two.", "Three.", "Four."):
            memory = space.add(text, kind="episode")
            clock.advance(days={"One.": 10, "Two.": 2.4, "Three.": 1.5, "Four.": 4.8}[text])
        told = [(risk.text, risk.urgency, risk.action) for risk in upkeep.decay()]
        assert told == [
            ("One.", "high", "gc candidate"),
            ("Two.", "high", "needs review"),
            ("Three.", "medium", "needs review"),
            ("Four.", "low", "needs review"),
        ]
        space.touch(memory.id)
        clock.advance(days=8)
        assert {r.action for r in upkeep.decay() if r.memory == memory.id} == {"reinforce"}

    def test_what_is_used_fades_later(self, space: remanence.Space, clock: FakeClock) -> None:
        """Importance, age and use decide together."""
        used, unused = (space.add(text, kind="episode") for text in ("A red car.", "A blue boat."))
        clock.advance(days=10)
        told = space.touch(used.id)[0]
        clock.advance(days=5)

        assert told.new_score > told.old_score
        assert [risk.memory for risk in space.upkeep.decay()] == [unused.id]


class TestUse:
    def test_a_touch_is_a_line_and_nothing_else_is(self, space: remanence.Space) -> None:
        """Recall writes nothing; touching does."""
        memory = space.add("Alice lives in Porto.")
        space.recall("Alice")
        assert lines(space) == 1

        told = space.touch(memory.id)[0]
        assert (lines(space), told.uses, told.strength) == (2, 1, 1.0)
        assert space.touch(memory.id, boost=True)[0].strength == pytest.approx(1.1)
        assert "3 uses, strength 1.10" in str(space.touch(memory.id)[0])

    def test_strength_stops_at_two(self, space: remanence.Space) -> None:
        """However often it is boosted."""
        memory = space.add("Alice lives in Porto.")
        for _ in range(15):
            told = space.touch(memory.id, boost=True)[0]
        assert told.strength == 2.0

    def test_use_in_another_domain_makes_stronger(self, space: remanence.Space) -> None:
        """Seen by tags that hardly overlap; without tags nothing is known of domains."""
        cooking = space.add("Salt lowers the freezing point.", tags=["cooking"])
        plain = space.add("Ice melts at zero degrees.")

        abroad, unknown = space.touch([cooking.id, plain.id], context_tags=["roads"])
        assert (abroad.cross_domain, abroad.strength) == (True, pytest.approx(1.1))
        assert (unknown.cross_domain, unknown.strength) == (False, 1.0)
        [at_home] = space.touch(cooking.id, context_tags=["cooking"])
        assert not at_home.cross_domain

    def test_what_is_not_there_cannot_be_used(self, space: remanence.Space) -> None:
        """Unknown or forgotten: the error says which, and nothing is written for the others."""
        memory, other = space.add("Alice lives in Porto."), space.add("Bob likes tea.")
        space.forget(memory.id)
        before = lines(space)

        with pytest.raises(NotFound, match="unforget"):
            space.touch([other.id, memory.id])
        with pytest.raises(NotFound, match="no memory"):
            space.touch("nobody")
        assert lines(space) == before

    def test_use_survives_reopening(self, reopen: Callable[..., remanence.Space]) -> None:
        """From the ledger, and from the snapshot."""
        space = reopen()
        memory = space.add("Alice lives in Porto.")
        space.touch(memory.id, boost=True)
        space.rebuild()

        assert reopen().touch(memory.id)[0].uses == 2
        assert reopen().admin.check() == {}


@pytest.fixture
def faded(space: remanence.Space, clock: FakeClock) -> remanence.Space:
    """A space where chatter has faded, and what matters has not."""
    for text in ("Small talk about rain.", "Somebody mentioned the bus.", "A dog barked twice."):
        space.add(text, kind="episode")
    space.add("Alice is a doctor in Porto.", importance=0.9)
    clock.advance(days=365)
    return space


class TestForgetting:
    def test_gc_forgets_only_what_has_faded(self, faded: remanence.Space) -> None:
        """Hidden, not destroyed; one call brings all of it back."""
        before = answers(faded)
        plan = faded.upkeep.gc(dry_run=True)
        assert len(plan) == 3
        assert all(0 < faded.score < 0.05 for faded in plan)
        assert faded.count() == 4

        done = faded.upkeep.gc()
        assert [f.memory for f in done] == [f.memory for f in plan]
        assert [m.text for m in faded.memories()] == ["Alice is a doctor in Porto."]
        faded.upkeep.undo(done)
        assert answers(faded) == before

    def test_a_limit_takes_the_weakest(self, faded: remanence.Space) -> None:
        """And says how many are left."""
        plan = faded.upkeep.gc(limit=1, dry_run=True)
        assert len(plan) == 1
        assert "2 more are over the limit" in str(plan)
        with pytest.raises(InvalidInput, match="limit=0"):
            faded.upkeep.gc(limit=0, dry_run=True)

    def test_a_plan_is_refused_once_it_is_out_of_date(self, faded: remanence.Space) -> None:
        """A memory used since is not forgotten behind its user's back; another one does not matter."""
        plan = faded.upkeep.gc(dry_run=True)
        faded.add("Something else altogether.")
        faded.touch(plan.items[0].memory)
        before = lines(faded)

        with pytest.raises(InvalidInput, match="was used since"):
            faded.upkeep.apply(plan)
        assert lines(faded) == before
        run = faded.upkeep.apply(faded.upkeep.gc(dry_run=True))
        assert len(run.hidden) == 2

    def test_a_plan_about_what_is_gone_is_refused(self, faded: remanence.Space) -> None:
        """Forgotten meanwhile by somebody else."""
        plan = faded.upkeep.gc(dry_run=True)
        faded.forget(plan.items[0].memory)
        with pytest.raises(InvalidInput, match="Make a new plan"):
            faded.upkeep.apply(plan)

    def test_undoing_leaves_what_somebody_changed_since(self, faded: remanence.Space) -> None:
        """Restored and forgotten again by hand, or erased: that was said later, and stands."""
        done = faded.upkeep.gc()
        by_hand, erased, last = (each.memory for each in done)
        faded.unforget(by_hand)
        faded.forget(by_hand)
        faded.erase(erased)

        undo = faded.upkeep.undo(done)
        assert set(undo.skipped) == {by_hand, erased}
        assert faded.get(last) is not None
        assert faded.get(by_hand) is None
        assert faded.verify()

    def test_a_run_is_undone_once(self, faded: remanence.Space) -> None:
        """And an unknown one is named."""
        done = faded.upkeep.gc()
        faded.upkeep.undo(done)
        with pytest.raises(InvalidInput, match="already"):
            faded.upkeep.undo(done)
        with pytest.raises(NotFound, match="runs"):
            faded.upkeep.undo("nothing")
        with pytest.raises(InvalidInput, match="not applied"):
            faded.upkeep.undo(faded.upkeep.gc(dry_run=True))
        assert [run.undone for run in faded.upkeep.runs()] == [True]

    def test_missed_recalls_are_counted_in_recorded_recalls(self, faded: remanence.Space) -> None:
        """What would have been among the first ten is named, and can be brought back."""
        faded.upkeep.gc()
        faded.audit.record(faded.recall("Did a dog bark?"))

        report = faded.upkeep.missed_recalls()
        assert (report.recall_count, report.affected_count, report.rate) == (1, 1, 1.0)
        assert "A dog barked twice." in [missed.text for missed in report.missed_memories]
        assert "unforget" in str(report)
        assert faded.upkeep.restore(report) == len(report.missed_memories)
        assert faded.recall("Did a dog bark?")[0].memory.text == "A dog barked twice."
        assert not faded.upkeep.missed_recalls().missed_memories

    def test_only_the_first_ten_count_as_missed(self, space: remanence.Space, clock: FakeClock) -> None:
        """Of twelve that answered, ten would have been seen."""
        space.add_many([{"text": f"The dog barked {'again ' * n}.", "kind": "episode"} for n in range(12)])
        clock.advance(days=365)
        space.upkeep.gc()
        space.audit.record(space.recall("Did the dog bark?"))
        assert len(space.upkeep.missed_recalls().missed_memories) == 10

    def test_nothing_is_missed_without_recalls(self, faded: remanence.Space) -> None:
        """It says what is lacking."""
        faded.upkeep.gc()
        assert "record" in faded.upkeep.missed_recalls().suggestion


class TestArchiving:
    def test_it_leaves_recall_and_can_be_looked_up(self, faded: remanence.Space) -> None:
        """Kept apart from the forgotten: counted, listed, searched, and back in one call."""
        before = answers(faded)
        forgotten = faded.add("Nobody needs this.")
        faded.forget(forgotten.id)
        done = faded.upkeep.gc(mode="archive")

        assert len(done) == 3
        assert str(done).startswith(f"gc: run {done.run} archived 3 memories")
        assert faded.admin.stats().memories == {"current": 1, "archived": 3, "forgotten": 1}
        assert [m.text for m in faded.memories()] == ["Alice is a doctor in Porto."]
        assert {m.id for m in faded.memories("archived")} == {f.memory for f in done}
        assert [m.id for m in faded.memories("forgotten")] == [forgotten.id]
        assert {each.status for each in faded.graph.memories("archived")} == {"archived"}
        assert faded.get_many([done.items[0].memory]).missing == {done.items[0].memory: "archived"}
        assert faded.get(done.items[0].memory) is None
        assert not [hit for hit in faded.recall("Did a dog bark?", history=True) if "dog" in hit.memory.text]

        [hit, *_] = faded.recall("Did a dog bark?", include="archive")
        assert (hit.memory.text, hit.current) == ("A dog barked twice.", False)
        assert "archived" in hit.reason
        assert "archived" not in faded.recall("Alice in Porto", include="archive")[0].reason

        assert faded.upkeep.restore(done) == 3
        assert answers(faded) == before
        assert "archived" not in faded.admin.stats().memories
        assert faded.admin.check() == {}

    def test_the_past_is_as_it_was(self, faded: remanence.Space, clock: FakeClock) -> None:
        """Before it was archived, while it was, and after it came back."""
        monday = clock.now()
        clock.advance(days=1)
        done = faded.upkeep.gc(mode="archive")
        tuesday = clock.now()
        clock.advance(days=1)
        faded.upkeep.undo(done)

        counts = [faded.as_of(when).admin.stats().memories for when in (monday, tuesday, clock.now())]
        assert counts == [{"current": 4}, {"current": 1, "archived": 3}, {"current": 4}]
        assert len(list(faded.as_of(tuesday).memories("archived"))) == 3
        assert "dog" in faded.as_of(monday).recall("Did a dog bark?")[0].memory.text

    def test_it_survives_reopening_and_another_ledger(
        self, reopen: Callable[..., remanence.Space], clock: FakeClock, tmp_path: Path
    ) -> None:
        """From the ledger, from the snapshot, and through an export."""
        space = reopen()
        space.add("A dog barked twice.", kind="episode")
        clock.advance(days=365)
        space.upkeep.gc(mode="archive")
        space.admin.export(tmp_path / "a.jsonl")
        space.rebuild()
        assert reopen().admin.stats().memories == {"archived": 1}
        assert reopen().admin.check() == {}

        with remanence.open(None, embedder=HashingEmbedder(), clock=clock) as other:
            remanence.restore(tmp_path / "a.jsonl", into=other)
            assert [m.text for m in other.memories("archived")] == ["A dog barked twice."]
            assert len(other.recall("dog", include="archive")) == 1
            assert other.upkeep.undo(other.upkeep.runs()[0]).skipped == ()
            assert other.count() == 1

    def test_said_again_forgotten_or_erased_it_leaves_the_archive(self, faded: remanence.Space) -> None:
        """Whatever is said of a memory later stands."""
        done = faded.upkeep.gc(mode="archive")
        said, forgotten, erased = done
        faded.add(said.text, kind="episode")
        faded.forget(forgotten.memory)
        faded.forget(forgotten.memory)
        faded.erase(erased.memory)

        assert faded.admin.stats().memories == {"current": 2, "forgotten": 1, "erased": 1}
        assert faded.recall(forgotten.text, include="archive")[0].memory.id != forgotten.memory
        assert [e.kind for e in faded.graph.timeline(forgotten.memory)].count("forgotten") == 2
        assert set(faded.upkeep.undo(done).skipped) == {said.memory, forgotten.memory, erased.memory}
        assert faded.admin.check() == {}

    def test_a_setting_makes_it_the_way_of_every_run(self, faded: remanence.Space) -> None:
        """Of the pipeline, and so of the scheduler."""
        upkeep = faded.upkeep.with_settings(UpkeepSettings.from_env({"REMANENCE_GC": "archive"}))
        upkeep.run(steps=("gc",))
        [run] = upkeep.runs()
        assert run.archived
        assert faded.admin.stats().memories == {"current": 1, "archived": 3}
        assert faded.upkeep.restore(run.hidden[0]) == 1
        assert faded.upkeep.restore(run) == 2

    def test_what_was_archived_can_be_missed(self, faded: remanence.Space) -> None:
        """They count as missed recalls."""
        faded.upkeep.gc(mode="archive")
        faded.audit.record(faded.recall("Did a dog bark?"))
        report = faded.upkeep.missed_recalls()
        assert report.rate == 1.0
        faded.upkeep.restore(report)
        assert faded.recall("Did a dog bark?")[0].memory.text == "A dog barked twice."

    def test_what_is_no_status_is_refused(self, faded: remanence.Space) -> None:
        """An erased memory has no words to list. It is refused at once, not when the list is read."""
        with pytest.raises(InvalidInput, match="archived"):
            faded.memories("erased")

    def test_a_hit_from_the_archive_says_so_everywhere(self, faded: remanence.Space) -> None:
        """In a prompt, in an explanation, in a notebook; it has not expired."""
        faded.upkeep.gc(mode="archive")
        found = faded.recall("Did a dog bark?", limit=1, include="archive")
        for told in (str(found), found.explain(), found._repr_html_()):
            assert "A dog barked twice.  (archived)" in told
            assert "expired" not in told

    def test_the_archive_is_asked_as_the_space_is(self, clock: FakeClock) -> None:
        """The question is embedded once, and the reader has its say."""
        asked: list[str] = []

        class Counting(HashingEmbedder):
            def embed_query(self, text: str) -> Vector:
                asked.append(text)
                return super().embed_query(text)

        def shortest(question: str, texts: Sequence[str]) -> list[float]:
            return [float(len(text) < 10) for text in texts]

        with remanence.open(None, embedder=Counting(), clock=clock, reader=shortest) as space:
            space.add("The dog barked and the dog ran and the dog slept.")
            space.add("A dog.", kind="episode")
            clock.advance(days=365)
            space.upkeep.gc(mode="archive")
            found = space.recall("The dog that barked and ran", include="archive")
            assert found[0].memory.text == "A dog."
            assert len(asked) == 1

    def test_what_the_archive_gave_can_be_given_again(self, faded: remanence.Space, clock: FakeClock) -> None:
        """Its receipt says that the archive was asked, and what was given is not missed."""
        faded.upkeep.gc(mode="archive")
        found = faded.recall("Did a dog bark?", include="archive")
        assert found.receipt is not None
        faded.audit.record(found)
        assert "A dog barked twice." not in [missed.text for missed in faded.upkeep.missed_recalls().missed_memories]

        faded.upkeep.restore(found[0].memory.id)
        kept = Receipt.from_dict(found.receipt.to_dict())
        assert faded.audit.replay(kept).hits == found.hits
        assert faded.recall("Did a dog bark?")[0].current

    def test_what_is_erased_while_the_archive_is_asked_is_not_given(self, home: Path, clock: FakeClock) -> None:
        """By another process, after the question was read: it is asked again."""
        erasing: list[Callable[[], object]] = []

        class Slow(HashingEmbedder):
            def embed_query(self, text: str) -> Vector:
                if erasing:
                    erasing.pop()()
                return super().embed_query(text)

        with remanence.open(home, embedder=HashingEmbedder(), clock=clock) as other:
            kept, gone = (other.add(f"A dog barked {n} times.", kind="episode") for n in (2, 3))
            clock.advance(days=365)
            other.upkeep.gc(mode="archive")
            with remanence.open(home, embedder=Slow(), clock=clock) as space:
                erasing.append(lambda: other.erase(gone.id))
                found = space.recall("dog", include="archive")
                assert [hit.memory.id for hit in found] == [kept.id]

    def test_a_catalog_with_its_archive_has_nothing_in_it(self, faded: remanence.Space) -> None:
        """What it is asked about the archive it answers rightly, and what is forgotten stays so."""
        away, gone = faded.upkeep.gc(mode="archive", limit=2)
        faded.forget(gone.memory)
        with faded._engine.open_index(faded.name) as index:
            whole = index.catalog.with_archive()
            assert index.catalog.archived_mask(whole.position).sum() == 1
            assert whole.archived_mask(whole.position).sum() == 0
            numbers = [index.require_unerased(each.memory) for each in (away, gone)]
            assert [whole.hidden.is_visible(number, whole.position) for number in numbers] == [True, False]
            since = [whole.hidden.hidden_since(number) for number in numbers]
            assert since == [None, index.catalog.hidden.hidden_since(numbers[1])]


@pytest.mark.parametrize("how", ["forget", "archive"])
class TestRestoring:
    def test_what_was_erased_since_is_passed_over(
        self, faded: remanence.Space, how: Literal["forget", "archive"]
    ) -> None:
        """The others come back. Only who asks for the erased one by its id is told that it is gone."""
        plan = faded.upkeep.gc(mode=how)
        faded.erase(plan.items[0].memory)
        assert faded.upkeep.restore(plan) == 2
        assert faded.count() == 3
        with pytest.raises(NotFound, match="erased"):
            faded.upkeep.restore(plan.items[0].memory)

    def test_what_a_person_forgot_since_stays_forgotten(
        self, faded: remanence.Space, how: Literal["forget", "archive"]
    ) -> None:
        """For a plan, a run and a report of missed recalls alike; by its id it comes back."""
        plan = faded.upkeep.gc(mode=how)
        forgotten = next(each.memory for each in plan if "dog" in each.text)
        faded.unforget(forgotten)
        faded.forget(forgotten)
        faded.audit.record(faded.recall("Did a dog bark?"))
        report, [run] = faded.upkeep.missed_recalls(), faded.upkeep.runs()

        assert forgotten not in [missed.memory for missed in report.missed_memories]
        restored = [faded.upkeep.restore(what) for what in (report, plan, run)]
        assert (sum(restored), faded.get(forgotten)) == (2, None)
        assert faded.upkeep.restore(forgotten) == 1

    def test_a_plan_shown_first_and_applied_later_can_be_restored(
        self, faded: remanence.Space, how: Literal["forget", "archive"]
    ) -> None:
        """And what a second run hid again, too."""
        plan = faded.upkeep.gc(mode=how, dry_run=True)
        for _ in range(2):
            faded.upkeep.apply(plan)
            assert faded.upkeep.restore(plan) == 3
            plan = faded.upkeep.gc(mode=how, dry_run=True)

    def test_what_was_missed_and_then_erased(self, faded: remanence.Space, how: Literal["forget", "archive"]) -> None:
        """A report and a run pass over it."""
        faded.upkeep.gc(mode=how)
        faded.audit.record(faded.recall("Did a dog bark?"))
        report, [run] = faded.upkeep.missed_recalls(), faded.upkeep.runs()
        faded.erase(report.missed_memories[0].memory)
        assert faded.upkeep.restore(report) == len(report.missed_memories) - 1
        assert faded.upkeep.restore(run) == 3 - len(report.missed_memories)


class TestOneRunAtATime:
    def test_a_second_run_is_turned_away(self, faded: remanence.Space) -> None:
        """It changes nothing, and says why."""
        with upkeep_lock(faded._engine, faded.name), pytest.raises(LedgerUnavailable, match="another upkeep run"):
            faded.upkeep.gc()
        assert faded.count() == 4

    def test_across_processes_too(self, reopen: Callable[..., remanence.Space], clock: FakeClock) -> None:
        """Two openers of one folder hold one lock."""
        space = reopen()
        space.add("Small talk.", kind="episode")
        clock.advance(days=365)
        with (
            remanence.open(space._engine.folder, embedder=HashingEmbedder(), clock=clock) as second,
            upkeep_lock(space._engine, space.name),
            pytest.raises(LedgerUnavailable),
        ):
            second.upkeep.gc()

    @pytest.mark.slow
    def test_and_another_program_is_kept_out_while_it_lives(
        self, reopen: Callable[..., remanence.Space], clock: FakeClock
    ) -> None:
        """A real one, which is then killed: its lock dies with it."""
        space = reopen()
        space.add("Small talk.", kind="episode")
        clock.advance(days=365)
        program = (
            "import sys, remanence\n"
            "from remanence.testing import HashingEmbedder\n"
            "from remanence.upkeep.runs import upkeep_lock\n"
            "space = remanence.open(sys.argv[1], embedder=HashingEmbedder())\n"
            "with upkeep_lock(space._engine, space.name):\n"
            "    print('held', flush=True); sys.stdin.read()\n"
        )
        other = WarmProcess(program, space._engine.folder)
        assert other.stdout.readline() == "held\n"
        with pytest.raises(LedgerUnavailable, match="another upkeep run"):
            space.upkeep.gc()
        other.kill()
        other.wait()
        assert len(space.upkeep.gc()) == 1

    def test_the_schedule_works_until_it_is_stopped(self, faded: remanence.Space) -> None:
        """A run at once, then at intervals; what was done is in the ledger."""
        with faded.upkeep.start(interval="1h", steps=("gc",)) as schedule:
            for _ in range(500):
                if faded.upkeep.runs():
                    break
                threading.Event().wait(0.01)
            assert schedule.running
        assert not schedule.running
        assert len(faded.upkeep.runs()) == 1

    def test_work_that_fails_is_tried_again(self) -> None:
        """And a stop is heard at once, however long the interval."""
        tries = threading.Semaphore(0)

        def work() -> None:
            tries.release()
            raise ValueError("no")

        with Schedule(work, 0.001):
            assert all(tries.acquire(timeout=5) for _ in range(3))

    @pytest.mark.parametrize("every", ["soon", "0s", "-1h", "", 0, True, None])
    def test_what_is_no_interval_is_refused(self, every: Any) -> None:
        """With examples of one."""
        with pytest.raises(InvalidInput, match="interval="):
            parse_interval(every)


@pytest.fixture
def busy(space: remanence.Space, clock: FakeClock) -> remanence.Space:
    """A space where every step has something to do."""
    space.add("Small talk about rain.", kind="episode", importance=0.3)
    clock.advance(days=365)
    for text in ("The blue bike is in the shed.", "The blue bike is in the shed now."):
        space.touch(space.add(text).id)
    space.add("Alice met Bob in Porto.", importance=0.9)
    space.add("Bob and Alice have a boat.", importance=0.9)
    clock.advance(days=4)
    return space


PLANS: dict[str, Callable[[Any], Any]] = {
    "gc": lambda upkeep: upkeep.gc(dry_run=True),
    "consolidate": lambda upkeep: upkeep.consolidate(dry_run=True),
    "link": lambda upkeep: upkeep.consolidate("link", dry_run=True),
    "promote": lambda upkeep: upkeep.promote(dry_run=True),
    "discover": lambda upkeep: upkeep.discover(dry_run=True),
    "run": lambda upkeep: upkeep.run(dry_run=True),
    "all of them": lambda upkeep: upkeep.run(steps=EVERY, dry_run=True),
}


class TestPlansThatAreOutOfDate:
    @pytest.mark.parametrize("step", PLANS)
    def test_a_plan_is_applied_once(self, busy: remanence.Space, step: str) -> None:
        """The second time it is refused, and nothing is written; undone it is as before."""
        upkeep = busy.upkeep.with_settings(cluster_similarity=0.7, merge_cohesion=0.7)
        before, plan = answers(busy), PLANS[step](upkeep)
        assert len(plan) > 0
        run = upkeep.apply(plan)
        after = answers(busy), lines(busy)

        with pytest.raises(InvalidInput, match=r"since\. Nothing was done\. Make a new plan\."):
            upkeep.apply(plan)
        assert (answers(busy), lines(busy)) == after
        assert upkeep.runs() == [run]
        upkeep.undo(run)
        assert answers(busy) == before

    def test_that_there_was_nothing_is_written_down_once(self, space: remanence.Space) -> None:
        """A plan that only says what it has looked at is a plan like any other."""
        space.add_many(["Bob repairs old clocks.", "The bridge was painted red."])
        plan = space.upkeep.consolidate(dry_run=True)
        space.upkeep.apply(plan)
        with pytest.raises(InvalidInput, match="has compared the same memories since"):
            space.upkeep.apply(plan)
        assert lines(space) == 3

    def test_two_who_plan_the_same_do_it_once(self, reopen: Callable[..., remanence.Space], clock: FakeClock) -> None:
        """Two openers of one folder: the one who comes second is told so."""
        mine = reopen()
        for text in ("Alice met Bob in Porto.", "Bob and Alice have a boat."):
            mine.add(text)
        with remanence.open(mine._engine.folder, embedder=HashingEmbedder(), clock=clock) as theirs:
            one, other = mine.upkeep.discover(dry_run=True), theirs.upkeep.discover(dry_run=True)
            mine.upkeep.apply(one)
            with pytest.raises(InvalidInput, match="were linked since"):
                theirs.upkeep.apply(other)
        assert sum(len(each.links_out) for each in mine.graph.memories()) == 1

    def test_what_is_planned_to_be_done_is_planned_alone(
        self, reopen: Callable[..., remanence.Space], clock: FakeClock
    ) -> None:
        """Another run that begins while this one looks is turned away, and this one does its work."""
        mine = reopen()
        mine.add("Small talk about rain.", kind="episode")
        clock.advance(days=365)
        turned_away: list[str] = []
        with remanence.open(mine._engine.folder, embedder=HashingEmbedder(), clock=clock) as theirs:

            def meanwhile(done: int, total: int) -> None:
                try:
                    theirs.upkeep.gc()
                except LedgerUnavailable as error:
                    turned_away.append(str(error))

            assert mine.upkeep.gc(progress=meanwhile).run is not None
        assert "another upkeep run" in turned_away[0]
        assert len(mine.upkeep.runs()) == 1

    def test_of_several_steps_all_are_checked_before_the_first_is_done(self, busy: remanence.Space) -> None:
        """What the last one needs is gone, so the first one does not begin."""
        plan = busy.upkeep.run(steps=("gc", "discover"), dry_run=True)
        assert all(len(step) > 0 for step in plan.plans)
        busy.forget(next(memory.id for memory in busy.memories() if "boat" in memory.text))
        before = lines(busy)

        with pytest.raises(InvalidInput, match="Nothing was done"):
            busy.upkeep.apply(plan)
        assert (lines(busy), busy.upkeep.runs()) == (before, [])

    def test_a_part_that_was_done_is_told_of(self, faded: remanence.Space, monkeypatch: pytest.MonkeyPatch) -> None:
        """Somebody forgets a memory while the run is writing: the error names the run, to undo it."""
        monkeypatch.setattr("remanence.upkeep.plans.CHUNK", 1)
        plan, before = faded.upkeep.gc(dry_run=True), faded.count()

        def meanwhile(done: int, total: int) -> None:
            if done == 1:
                faded.forget(plan.items[1].memory)

        with pytest.raises(InvalidInput, match="A part was done already") as error:
            faded.upkeep.apply(plan, progress=meanwhile)
        [run] = faded.upkeep.runs()
        assert run.hidden == (plan.items[0].memory,)
        assert f"space.upkeep.undo({run.id!r})" in str(error.value)
        faded.upkeep.undo(run.id)
        assert faded.count() == before - 1

    def test_a_step_that_builds_on_another_is_not_done_without_it(self, space: remanence.Space) -> None:
        """A relation to a memory that the same run was to make leads nowhere."""
        space.add_many([ALIKE[0], ALIKE[1], "Bob wrote Alice a letter."])
        _, related = space.upkeep.run(steps=("consolidate", "discover"), dry_run=True).plans
        assert len(related) == 1

        with pytest.raises(InvalidInput, match="was to make, has not been made"):
            space.upkeep.apply(related)
        assert lines(space) == 3


class TestNothingToDo:
    def test_what_was_not_done_needs_no_undoing(self, space: remanence.Space) -> None:
        """The two lines of the README, in an empty space."""
        assert space.upkeep.undo(space.upkeep.apply(space.upkeep.run(dry_run=True))) is None
        assert space.upkeep.undo(space.upkeep.gc()) is None

    @pytest.mark.parametrize("given", ["decay", "clusters", "missed_recalls"])
    def test_a_report_is_no_plan_and_no_run(self, faded: remanence.Space, given: str) -> None:
        """It is named, and what to give instead."""
        report = getattr(faded.upkeep, given)()
        with pytest.raises(InvalidInput, match=rf"{type(report).__name__}, which is not a plan.*gc\(\)"):
            faded.upkeep.apply(report)
        with pytest.raises(InvalidInput, match=rf"{type(report).__name__}, which is not a run.*runs\(\)"):
            faded.upkeep.undo(report)

    @pytest.mark.parametrize("given", [None, "gc", 3])
    def test_what_is_no_plan_is_not_applied(self, space: remanence.Space, given: Any) -> None:
        """None neither: there is nothing that it could say."""
        with pytest.raises(InvalidInput, match=rf"apply\({given!r}\)"):
            space.upkeep.apply(given)


WORDS = ("Alice", "Bob", "Porto", "Lisbon", "lives in", "likes", "tea", "a bridge", "never", "met", "42")
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=2, max_size=5).map(lambda words: " ".join(words) + ".")
ALIKE = (
    "Alice met Bob on the old bridge in Porto.",
    "Alice met Bob on the old bridge in Porto again.",
    "Alice met Bob on the very old bridge in Porto.",
    "Alice and Bob like tea.",
    "Alice and Bob like the tea.",
    "Bob wrote Alice a letter.",
)
"""Some say nearly the same, and all of them name the same two: there is something to merge and to relate."""


def rows_saying(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "text": text,
            "kind": st.sampled_from(["episode", "semantic"]),
            "importance": st.sampled_from([0.3, 0.5, 0.9]),
            "tags": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
        }
    )


MEMORIES = st.builds(
    lambda alike, others: [*alike, *others],
    st.lists(rows_saying(st.sampled_from(ALIKE)), min_size=4, max_size=6, unique_by=lambda row: row["text"]),
    st.lists(rows_saying(SENTENCE), max_size=8),
)
EVERY = ("decay", "gc", "clusters", "consolidate", "promote", "discover")
QUIET = settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def lived(rows: list[dict[str, Any]], days: int) -> Iterator[remanence.Space]:
    clock = FakeClock("2026-05-04")
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock) as space:
        memories = space.add_many(rows)
        clock.advance(days=days)
        space.touch(memories[0].id)
        yield space


def written(space: remanence.Space) -> list[tuple[int, str]]:
    """Every line of the ledger, by what cannot change unless its words do."""
    ledger = space._engine.ledger
    return sorted((line.position, line.digest) for name in ledger.spaces() for line in ledger.read(name))


class TestProperties:
    def test_their_world_has_something_to_do(self) -> None:
        """Or they would say nothing: the sentences that are alike are merged, and others related."""
        for space in lived([{"text": text} for text in ALIKE], 20):
            _, merged, _, related = space.upkeep.run(steps=EVERY, dry_run=True).plans
            assert len(merged) == 2
            assert len(related) > 0

    @QUIET
    @given(MEMORIES, st.sampled_from([1, 20, 400]))
    @pytest.mark.slow
    def test_a_dry_run_changes_nothing(self, rows: list[dict[str, Any]], days: int) -> None:
        """Not one line, and not one digit of an answer."""
        for space in lived(rows, days):
            before = answers(space), lines(space)
            space.upkeep.run(steps=EVERY, dry_run=True)
            for step in ("gc", "consolidate", "promote", "discover"):
                getattr(space.upkeep, step)(dry_run=True)
            space.upkeep.decay()
            space.upkeep.clusters()
            assert (answers(space), lines(space)) == before

    @QUIET
    @given(MEMORIES, st.sampled_from([1, 20, 400]), st.sampled_from(["forget", "archive"]))
    @pytest.mark.slow
    def test_applied_and_undone_is_as_before(self, rows: list[dict[str, Any]], days: int, how: str) -> None:
        """The same answers with the same scores; and the ledger only grew."""
        for space in lived(rows, days):
            before, length = answers(space), lines(space)
            done = space.upkeep.with_settings(gc=how).run(steps=EVERY)
            grown = lines(space)
            assert grown >= length
            if done.run is not None:
                space.upkeep.undo(done)
                assert lines(space) > grown
            assert answers(space) == before
            assert space.admin.check() == {}

    @QUIET
    @given(MEMORIES, st.sampled_from([1, 20, 400]), st.sampled_from([*PLANS, "index_vault"]))
    @pytest.mark.slow
    def test_no_step_ever_takes_a_line_away(
        self, tmp_path: Path, rows: list[dict[str, Any]], days: int, step: str
    ) -> None:
        """Nor does its undoing: every line that was there is there, as it was written."""
        (tmp_path / "own.md").write_text("Alice has a boat.", "utf-8")
        makers = {**PLANS, "index_vault": lambda upkeep: upkeep.import_vault(tmp_path, dry_run=True)}
        for space in lived(rows, days):
            before = written(space)
            run = space.upkeep.apply(makers[step](space.upkeep))
            after = written(space)
            assert after[: len(before)] == before
            space.upkeep.undo(run)
            assert written(space)[: len(after)] == after

    @QUIET
    @given(MEMORIES, st.sampled_from([1, 20, 400]))
    @pytest.mark.slow
    def test_two_runs_in_a_row_equal_one(self, rows: list[dict[str, Any]], days: int) -> None:
        """The second finds nothing to do."""
        for space in lived(rows, days):
            space.upkeep.run(steps=EVERY)
            once = answers(space), lines(space)
            again = space.upkeep.run(steps=EVERY)
            assert (len(again), again.run) == (0, None)
            assert (answers(space), lines(space)) == once

    @QUIET
    @given(MEMORIES)
    @pytest.mark.slow
    def test_what_was_planned_is_what_is_done(self, rows: list[dict[str, Any]]) -> None:
        """A plan applied later does what it said."""
        for space in lived(rows, 20):
            plan = space.upkeep.run(steps=EVERY, dry_run=True)
            run = space.upkeep.apply(plan)
            made = [merge.result.memory for p in plan.plans if p.step == "consolidate" for merge in p]
            assert (() if run is None else run.made) == tuple(made)
            assert all(space.get(memory) is not None for memory in made)


class TestCommands:
    def test_a_touch_says_old_and_new_score(self, run: Callable[..., str]) -> None:
        """And an unknown memory is an error."""
        memory = run("add", "Alice lives in Porto.")
        assert re.search(r"score 1\.00 -> 1\.6\d \(1 use, strength 1\.10\)", run("touch", memory, "--boost"))
        assert "no memory" in run("touch", "nothing", code=1)

    def test_a_preview_changes_nothing_and_a_run_can_be_undone(self, run: Callable[..., str]) -> None:
        """From typing to typing."""
        run("add", "Alice met Bob in Porto.")
        run("add", "Bob and Alice have a boat.")
        assert "Leave out --dry-run" in run("upkeep", "--dry-run")
        assert run("upkeep", "--runs") == ""

        shown = run("upkeep", "--step", "discover")
        assert "both name Alice and Bob" in shown
        run_id = shown.split()[-1]
        assert run_id in run("upkeep", "--runs")
        assert "was undone" in run("upkeep", "--undo", run_id)
        assert "undone since" in run("upkeep", "--runs")

    def test_an_interval_is_checked_before_anything_is_done(self, run: Callable[..., str]) -> None:
        """And an error is an error, not something to try again in an hour."""
        run("add", "Alice lives in Porto.")
        assert "'soon'" in run("upkeep", "--every", "soon", code=1)
        assert run("upkeep", "--runs") == ""

    def test_what_has_faded_can_be_archived_and_listed(self, run: Callable[..., str]) -> None:
        """`--archive` says how gc lets go, `--status` where it went, and unforget brings it back."""
        memory = run("add", "A dog barked.", "--kind", "episode", "--now", "2020-01-01")
        assert "would archive 1 memory" in run("upkeep", "--step", "gc", "--archive", "--dry-run")
        assert "archived 1 memory" in run("upkeep", "--step", "gc", "--archive")
        assert "1 archived" in run("upkeep", "--runs")
        assert "1 (1 archived)" in run("stats")
        assert "A dog barked." in run("memories", "--status", "archived")
        assert "A dog barked." not in run("memories")
        assert run("recall", "Which dog barked?") == ""
        assert "A dog barked." in run("recall", "Which dog barked?", "--include", "archive")
        run("unforget", memory)
        assert "A dog barked." in run("memories")

    def test_it_goes_on_until_it_is_interrupted(self, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
        """Twice, and then somebody presses Ctrl-C."""
        waits: list[float] = []
        wait = threading.Event.wait

        def wait_or_interrupt(event: threading.Event, timeout: float | None = None) -> bool:
            if timeout != 3600:
                return wait(event, timeout)
            waits.append(timeout)
            if len(waits) == 2:
                raise KeyboardInterrupt
            return False

        run("add", "Alice lives in Porto.")
        monkeypatch.setattr(threading.Event, "wait", wait_or_interrupt)
        run("upkeep", "--every", "1h", code=130)
        assert waits == [3600.0, 3600.0]
        assert "nothing to do" in run("upkeep", "--runs"), "what it looked at is in the ledger"


def test_what_a_later_fact_replaced_is_not_promoted(space: remanence.Space, clock: FakeClock) -> None:
    """No link says so: the two claims do."""
    old = space.add("Alice lives in Porto.", importance=0.9)
    clock.advance(days=1)
    new = space.add("Alice lives in Lisbon.", importance=0.9)
    clock.advance(days=4)

    promoted = str(space.upkeep.promote(dry_run=True))
    assert new.text in promoted
    assert old.text not in promoted


def test_what_was_never_used_is_not_promoted_and_fades(space: remanence.Space, clock: FakeClock) -> None:
    """However high everything new scores; one use is enough to prove itself."""
    memories = [space.add(f"The shed has lamp number {number}.") for number in range(20)]
    clock.advance(days=3)
    space.touch(memories[0])

    plan = space.upkeep.promote()
    clock.advance(days=3_000)

    assert [promotion.memory for promotion in plan] == [memories[0].id]
    assert {candidate.memory for candidate in space.upkeep.gc(dry_run=True)} == {memory.id for memory in memories[1:]}


@pytest.mark.parametrize(("days", "urgency"), [(4.6, "low"), (6.1, "medium"), (8.1, "medium"), (8.3, "high")])
def test_urgency_goes_by_fixed_scores(space: remanence.Space, clock: FakeClock, days: float, urgency: str) -> None:
    """High below 0.15, medium below 0.25, low below 0.35, with half of the score left after three days."""
    space.add("A red car.", kind="episode")
    clock.advance(days=days)

    assert [risk.urgency for risk in space.upkeep.with_settings(decay="exponential").decay()] == [urgency]


def test_hits_have_relevance_and_decay(space: remanence.Space, clock: FakeClock) -> None:
    """How well it answers, and how far it has faded: neither counts for the other."""
    car = space.add("A red car.", kind="episode")
    clock.advance(days=3)
    [before] = space.recall("red car")
    space.touch(car)
    [after] = space.recall("red car")

    assert before.usage is not None
    assert after.usage is not None
    assert (before.usage.decay_score, before.usage.uses) == (pytest.approx(0.5), 0)
    assert (after.usage.decay_score, after.usage.uses, after.usage.age_days) == (pytest.approx(2**0.6), 1, 3.0)
    assert after.score == before.score
    assert space.recall("red car").to_dicts()[0]["usage"]["uses"] == 1
    assert space.as_of(clock.now()).recall("red car")[0].usage is None


def test_a_memory_is_promoted_by_name(space: remanence.Space, porto: remanence.Memory, clock: FakeClock) -> None:
    """Whatever its score: `gc` spares it from then on. One that is not there, or not current, is refused."""
    clock.advance(days=3000)
    assert [c.memory for c in space.upkeep.gc(dry_run=True)] == [porto.id]
    plan = space.upkeep.promote(porto, dry_run=True)
    [promotion] = plan
    assert (promotion.memory, promotion.why, promotion.uses) == (porto.id, "named by the caller", 0)
    assert promotion.age_days == pytest.approx(3000)
    assert "named by the caller" in str(plan)
    space.upkeep.apply(plan)
    clock.advance(days=3000)
    assert len(space.upkeep.gc(dry_run=True)) == 0
    assert len(space.upkeep.promote(porto, dry_run=True)) == 0
    forgotten = space.add("Ana likes tea.")
    space.forget(forgotten)
    for wrong in ("01998c2f", forgotten):
        with pytest.raises(NotFound):
            space.upkeep.promote([wrong], dry_run=True)


def test_a_schedule_records_what_has_expired(space: remanence.Space, clock: FakeClock) -> None:
    """Nobody has to call `expire`."""
    memory = space.add("The dentist is at three.", expires_at="2026-05-05")
    clock.advance(days=2)
    done = threading.Event()
    with space.upkeep.start(interval=3600):
        for _ in range(200):
            if space.upkeep.runs() or "expired" in [event.kind for event in space.graph.timeline(memory)]:
                break
            done.wait(0.05)
    assert "expired" in [event.kind for event in space.graph.timeline(memory)]


def test_the_report_of_decay_has_averages(space: remanence.Space, porto: remanence.Memory) -> None:
    """Of all memories, not only of those at risk."""
    space.add("Ana likes tea.")
    space.touch(porto)
    report = space.upkeep.decay()
    assert report.average_uses == 0.5
    assert report.average_score == pytest.approx((1 + 2**0.6) / 2)


@pytest.mark.parametrize("exponent", [0.0, 0.6, 1.0])
def test_how_much_uses_count_is_a_setting(space: remanence.Space, exponent: float) -> None:
    """At 0 they count nothing, and at 1 twice as many count twice as much."""
    tea = space.add("Alice drinks jasmine tea.")
    space.touch(tea.id)
    report = space.upkeep.with_settings(use_exponent=exponent).decay()
    assert report.average_score == pytest.approx(2**exponent)
