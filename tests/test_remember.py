"""From a conversation to memories: the source kept, facts tied to it, done now or later, never twice."""

from __future__ import annotations

import os
import signal
import textwrap
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import remanence
from conversations import profile_after
from remanence import Memory, Space, Triple, Window
from remanence.errors import JobFailed
from remanence.events import Worked
from remanence.models.readers import READER_VARIABLE
from remanence.ports import Extraction, ExtractionResult, Fact, Utterance, Verdict
from remanence.schema import UTC
from remanence.testing import FakeClock, HashingEmbedder
from remanence.write import jobs
from warm_process import WarmProcess

Reopen = Callable[..., Space]
PORTO = Fact("Alice lives in Porto.", triples=(Triple("Alice", "lives_in", "Porto"),), source_turns=(0,))
LISBON = Fact("Alice lives in Lisbon.", triples=(Triple("Alice", "lives_in", "Lisbon"),), source_turns=(0,))
TEA = Fact("Alice likes green tea.", kind="viewpoint", importance=0.3, source_turns=(0,))
CHAT = [
    {"role": "user", "content": "Guess what, Alice finally has a flat in Porto!"},
    {"role": "assistant", "content": "How lovely."},
]


@dataclass
class Scripted:
    """An extractor that says what it is told to, and remembers what it was asked."""

    told: list[Sequence[Fact] | Exception]
    verdicts: list[Verdict] = field(default_factory=list)
    name: str = "scripted"
    model: str | None = "none"
    prompt: str | None = "1"
    problem: str | None = None
    asked: list[list[Utterance]] = field(default_factory=list)
    judged: list[tuple[list[str], list[list[str]]]] = field(default_factory=list)
    gate: threading.Event | None = None

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        return Extraction()

    def facts(self, said: Sequence[Utterance], *, now: datetime) -> ExtractionResult:
        self.asked.append(list(said))
        if self.gate is not None:
            assert self.gate.wait(20)
        told = self.told.pop(0) if len(self.told) > 1 else self.told[0]
        if isinstance(told, Exception):
            raise told
        return ExtractionResult(tuple(told), self.name, self.model, self.prompt, self.problem)

    def compare(self, new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
        self.judged.append(([m.text for m in new], [[m.text for m in beside] for beside in old]))
        by_text = {m.text: m.id for beside in old for m in beside}
        return [Verdict(v.new_index, by_text.get(v.old_id, v.old_id), v.effect, v.why) for v in self.verdicts]


def told(*facts: Fact, clock: FakeClock, **options: object) -> Space:
    extractor = Scripted([facts], **options)  # type: ignore[arg-type]
    return remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor)


def links(space: Space) -> list[tuple[str, str, str]]:
    """Every link as (text, kind, text)."""
    texts = {memory.id: memory.text for memory in space.memories()}
    with space._engine.open_index(space.name) as index:
        sight = index.snapshot(index.catalog.position, space._engine.now())
        found = {
            link.id: link for number in range(len(index.catalog.ids)) for link in index.links.links_of(number, sight)
        }
    return sorted((texts[link.source], link.kind, texts[link.target]) for link in found.values())


# Sources and facts


def test_the_source_is_kept_and_each_fact_names_it(clock: FakeClock) -> None:
    """Verbatim turns, and a fact that says which of them it comes from."""
    with told(PORTO, clock=clock) as space:
        [fact] = space.remember(CHAT)
        texts = [memory.text for memory in space.memories()]

        assert (fact.text, fact.kind, fact.triples) == (PORTO.text, "semantic", PORTO.triples)
        assert texts == [CHAT[0]["content"], CHAT[1]["content"], PORTO.text]
        assert links(space) == [(PORTO.text, "derived_from", CHAT[0]["content"])]


def test_what_the_extractor_is_given(clock: FakeClock) -> None:
    """Who said what, and when; what tools and systems say is passed over."""
    with told(clock=clock) as space:
        extractor = space._engine.extractor.inner  # type: ignore[attr-defined]
        space.remember(
            [
                {"role": "system", "content": "Be brief."},
                {"speaker": "Bob", "content": "Hello.", "time": "2026-03-01"},
                {"role": "tool", "content": "{}"},
                {"role": "assistant", "content": " "},
            ]
        )
        assert isinstance(extractor, Scripted)
        [[said]] = extractor.asked
        assert (said.text, said.speaker, said.at) == ("Hello.", "Bob", datetime.fromisoformat("2026-03-01T00:00+00:00"))


def test_a_fact_that_says_what_its_source_says_is_one_memory(clock: FakeClock) -> None:
    """No second copy: the source gets what was found in it."""
    with told(PORTO, clock=clock) as space:
        [fact] = space.remember("Alice lives in Porto.")

        assert [memory.id for memory in space.memories()] == [fact.id]
        assert fact.triples == PORTO.triples


def test_remembering_again_asks_nobody_and_writes_nothing(clock: FakeClock) -> None:
    """The same words read by the same extractor tell the same."""
    with told(PORTO, TEA, clock=clock) as space:
        first = space.remember(CHAT)
        lines = space.verify().entries
        again = space.remember(CHAT)

        assert [m.id for m in again] == [m.id for m in first]
        assert space.verify().entries == lines
        assert len(space._engine.extractor.asked) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("with_related", [False, True])
@pytest.mark.parametrize("forget", ["forget", "erase"])
@pytest.mark.parametrize("told", ["I am allergic to nuts.", [{"role": "user", "content": "I am allergic to nuts."}]])
def test_a_forgotten_fact_that_is_told_again_comes_back(
    space: Space, told: object, forget: str, with_related: bool
) -> None:
    """`remember` returns it, and it is found."""
    [fact] = space.remember(told)
    getattr(space, forget)(fact.id, with_related=with_related)
    assert fact.text not in [memory.text for memory in space.memories()]
    assert [memory.text for memory in space.remember(told)] == [fact.text]
    assert fact.text in [hit.memory.text for hit in space.recall("What is the user allergic to?")]
    assert [memory.text for memory in space.remember(told)] == [fact.text], "once more changes nothing"
    assert space.count() == 2


@pytest.mark.parametrize("as_turn", [True, False])
@pytest.mark.parametrize(
    ("old", "new"), [("I live in Porto.", "I moved from Porto to Lisbon."), ("I'm vegetarian.", "I eat meat again.")]
)
def test_a_fact_that_is_told_again_after_it_ended_is_valid_again(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch, old: str, new: str, as_turn: bool
) -> None:
    """In the same words and without a date. The same history told twice changes nothing."""
    monkeypatch.delenv(READER_VARIABLE, raising=False)
    as_told = [{"role": "user", "content": old}, {"role": "user", "content": new}] if as_turn else [old, new]
    with remanence.open(None, clock=clock, worker=False) as space:
        first = space.remember(as_told[:1] if as_turn else old)[0].text
        clock.advance(days=1)
        space.remember(as_told[1:] if as_turn else new)
        clock.advance(days=1)
        if as_turn:
            entries = space.verify().entries
            space.remember(as_told)
            assert space.verify().entries == entries, "it is the same history"
        assert first not in [hit.memory.text for hit in space.recall(old) if hit.current]
        space.remember(as_told[:1] if as_turn else old)
        assert first in [hit.memory.text for hit in space.recall(old) if hit.current]


@pytest.mark.parametrize("add", ["add_many", "add_turns"])
def test_a_history_that_is_added_twice_changes_nothing(space: Space, add: str) -> None:
    """The first text ended with the second; since both are told again, it is not told anew. By itself it is."""
    texts = ["I live in Porto.", "I moved from Porto to Lisbon."]
    rows = [{"role": "user", "content": text} for text in texts] if add == "add_turns" else texts
    for _ in range(2):
        getattr(space, add)(rows)
        assert space.count() == 2
    getattr(space, add)(rows[:1])
    assert space.count() == 3


@pytest.mark.parametrize("wait", [True, False])
def test_what_is_remembered_of_the_past_was_learned_then(clock: FakeClock, wait: bool) -> None:
    """A text that tells no fact leaves the ledger in the past, so that the next one was learned then too."""
    with remanence.open(None, clock=clock, worker=False) as space:
        for text, day in (("Hello there!", "2025-01-10"), ("Alice lives in Porto.", "2025-01-11")):
            space.remember(text, now=day, wait=wait)
            space.jobs.run_due()

        assert [f"{m.recorded_at:%Y-%m-%d}" for m in space.memories()] == ["2025-01-10", "2025-01-11"]


def test_a_long_conversation_is_read_a_stretch_at_a_time(clock: FakeClock) -> None:
    """All of it, with each stretch shown when it is done."""
    shown: list[tuple[int, int]] = []
    turns = [{"role": "user", "content": f"Number {number} was called."} for number in range(450)]
    with told(clock=clock) as space:
        space.remember(turns, progress=lambda done, all_: shown.append((done, all_)))

        assert shown == [(200, 450), (400, 450), (450, 450)]
        assert [len(said) for said in space._engine.extractor.asked] == [200, 200, 50]  # type: ignore[attr-defined]


def test_an_extractor_that_raises_costs_only_its_opinion(clock: FakeClock) -> None:
    """The words are kept, and the rules read them."""
    extractor = Scripted([RuntimeError("quota")])
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor) as space:
        space.remember("Alice lives in Porto.")

        assert space.recall("Where does Alice live?")[0].memory.text == "Alice lives in Porto."


@pytest.mark.parametrize("given", ["", "  ", 7, None, [7], [{"role": "user", "content": 7}], b"hello"])
def test_what_is_no_conversation_is_refused(clock: FakeClock, given: object) -> None:
    """With the value in the message, and nothing written."""
    with told(clock=clock) as space, pytest.raises(remanence.InvalidInput):
        space.remember(given)
    with told(clock=clock) as space:
        assert space.remember([]) == []


# Evolving


def test_a_fact_that_updates_another_takes_its_place(clock: FakeClock) -> None:
    """The old one steps out of recall, stays in history, and a link says why."""
    extractor = Scripted([[PORTO], [LISBON]], verdicts=[Verdict(0, PORTO.text, "updates", "she moved")])
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor) as space:
        space.remember("Alice? In Porto, with her cats.")
        clock.advance(days=1)
        space.remember("Alice is in Lisbon now, her cats too.")

        assert (LISBON.text, "supersedes", PORTO.text) in links(space)
        texts = [hit.memory.text for hit in space.recall("Where does Alice live?")]
        assert PORTO.text not in texts
        assert LISBON.text in texts
        [old] = [h for h in space.recall("Where does Alice live?", history=True) if h.memory.text == PORTO.text]
        assert not old.current
        assert old.superseded_by is not None
        assert old.superseded_by.text == LISBON.text


def test_facts_are_held_against_facts_and_not_against_what_was_said(clock: FakeClock) -> None:
    """What was said stays said; what is near or about the same is asked about, once for all."""
    extractor = Scripted([[PORTO], [LISBON, TEA]])
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor) as space:
        space.remember("Alice? In Porto, with her cats.")
        space.remember("Alice is in Lisbon now, her cats too.")

        assert len(extractor.judged) == 1
        new, old = extractor.judged[0]
        assert new == [LISBON.text, TEA.text]
        assert old[0] == [PORTO.text]


def test_only_what_is_near_or_about_the_same_is_asked_about(clock: FakeClock) -> None:
    """The bridge beside the bridge, claim or no claim; a boat beside neither."""
    closed, boat = Fact("The old bridge is closed.", source_turns=(0,)), Fact("Bob owns a boat.", source_turns=(0,))
    opened = Fact("The old bridge is open.", source_turns=(0,))
    extractor = Scripted([[closed, boat], [opened]])
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor) as space:
        space.remember("No way across the river today, and Bob told of a boat of his.")
        space.remember("One can drive over the river again.")

        assert extractor.judged[-1] == ([opened.text], [[closed.text]])


def test_what_claims_something_of_the_same_is_asked_about_however_it_is_worded(clock: FakeClock) -> None:
    """Same subject, same predicate: no word in common is needed."""
    flat = replace(PORTO, text="Porto became home.")
    hut = replace(LISBON, text="Her new hut stands near Lisbon.")
    extractor = Scripted([[flat], [hut]])
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor) as space:
        space.remember("Alice is so glad about her flat.")
        space.remember("Alice bought a hut.")

        assert extractor.judged == [([hut.text], [[flat.text]])]


def test_a_model_retires_nothing_that_it_was_not_asked_about(clock: FakeClock) -> None:
    """Even under an id that there is."""
    extractor = Scripted([[Fact("Bob owns a boat.", source_turns=(0,))], [PORTO], [LISBON]])
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor) as space:
        [boat] = space.remember("Bob? A sailor.")
        space.remember("Alice? In Porto, with her cats.")
        extractor.verdicts = [Verdict(0, boat.id, "updates")]
        space.remember("Alice is in Lisbon now, her cats too.")

        assert not [link for link in links(space) if link[1] == "supersedes"]


def test_a_fact_has_all_that_was_found_of_it(clock: FakeClock) -> None:
    """Kind, importance, confidence, tags, expiry; whose it is, and where it comes from."""
    expiry = clock.now() + timedelta(days=3)
    fact = replace(TEA, confidence=0.4, tags=("food",), expires_at=expiry, valid=Window(clock.now()))
    with told(fact, clock=clock) as space:
        [memory] = space.remember("Alice? Green tea, always.", source="letter", observed_by="Bob")

    assert (memory.kind, memory.importance, memory.confidence) == ("viewpoint", 0.3, 0.4)
    assert (memory.tags, memory.expires_at, memory.valid) == (("food",), expiry, fact.valid)
    assert (memory.source, memory.observed_by) == ("letter", "Bob")


def test_a_verdict_about_something_else_is_passed_over(clock: FakeClock) -> None:
    """A model may invent ids; no memory is retired by that."""
    verdicts = [Verdict(0, "made up", "updates"), Verdict(9, PORTO.text, "updates")]
    extractor = Scripted([[PORTO], [LISBON]], verdicts=verdicts)
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor) as space:
        space.remember("Alice? In Porto, with her cats.")
        space.remember("Alice is in Lisbon now, her cats too.")

        assert not [link for link in links(space) if link[1] == "supersedes"]


# Reading again


def test_a_better_extractor_reads_again_and_history_stays(reopen: Reopen, clock: FakeClock) -> None:
    """What it no longer finds is forgotten, what both find stays, and the past knows the first reading."""
    space = reopen(extractor=Scripted([[PORTO, TEA]], model="small"))
    first = space.remember("Alice, in Porto, drinks a lot of tea.")
    before = clock.now()
    clock.advance(days=1)

    space = reopen(extractor=Scripted([[PORTO, LISBON]], model="large"))
    again = space.admin.reextract()

    assert [m.text for m in again] == [PORTO.text, LISBON.text]
    assert again[0].id == first[0].id
    assert space.get(first[1].id) is None
    assert space.as_of(before).get(first[1].id) is not None


def test_a_conversation_is_read_again_as_a_whole(clock: FakeClock) -> None:
    """Its turns together, and apart from other texts: "he" may be somebody of the turn before."""
    with told(PORTO, clock=clock) as space:
        space.remember(CHAT)
        space.remember("Something else.")
        extractor = space._engine.extractor.inner  # type: ignore[attr-defined]
        assert isinstance(extractor, Scripted)
        extractor.asked.clear()
        space.admin.reextract()

        assert [[said.text for said in asked] for asked in extractor.asked] == [
            [turn["content"] for turn in CHAT],
            ["Something else."],
        ]


def test_only_sources_can_be_read_again(space: Space) -> None:
    """An id that is none is named."""
    memory = space.add("Alice lives in Porto.")
    with pytest.raises(remanence.NotFound, match=memory.id):
        space.admin.reextract(memory.id)


def test_erasing_a_source_erases_what_was_found_in_it_alone(reopen: Reopen) -> None:
    """A fact that somebody else told too stays; the words of the other are nowhere in the ledger."""
    cats = Fact("Alice has seventeen cats.", source_turns=(0,))
    space = reopen(extractor=Scripted([[PORTO, cats], [PORTO]]))
    [porto, found] = space.remember("Alice, in Porto, has seventeen cats.")
    space.remember("Alice is still in Porto.")
    with space._engine.open_index(space.name) as index:
        [source] = [m for m in space.memories() if m.text == "Alice, in Porto, has seventeen cats."]
        assert index.links.positions_of_memory(index.catalog.number(source.id) or 0)

    assert set(space.erase(source.id)) == {source.id, found.id}
    assert space.get(porto.id) is not None
    assert space.get(found.id) is None
    space.verify()
    assert space.admin.check() == {}
    lines = space._engine.ledger.read(space.name)
    assert not [entry for entry in lines if "seventeen" in str(entry.event)]


# In the background


def test_a_job_comes_back_at_once_and_its_result_later(clock: FakeClock) -> None:
    """The words are there before the facts."""
    gate = threading.Event()
    with told(PORTO, clock=clock, gate=gate) as space:
        job = space.remember(CHAT, wait=False)

        assert CHAT[0]["content"] in [memory.text for memory in space.memories()]
        assert job.status in ("queued", "running")
        gate.set()
        assert [memory.text for memory in job.result(timeout=20)] == [PORTO.text]
        assert job.status == "done"
        assert isinstance(extractor := space._engine.extractor.inner, Scripted)  # type: ignore[attr-defined]
        assert [said.text for said in extractor.asked[0]] == [turn["content"] for turn in CHAT]
        assert [j.id for j in space.jobs.list()] == [j.id for j in space.jobs.list("done")] == [job.id]


def test_a_job_that_takes_too_long_says_so(clock: FakeClock) -> None:
    """And goes on."""
    gate = threading.Event()
    with told(PORTO, clock=clock, gate=gate) as space:
        job = space.remember(CHAT, wait=False)
        with pytest.raises(TimeoutError, match=job.id):
            job.result(timeout=0.1)
        gate.set()
        assert job.result(timeout=20)


def test_a_model_that_is_down_is_asked_again_later(clock: FakeClock) -> None:
    """Each time later; when it is up again, its answer counts."""
    extractor = Scripted([[PORTO]], problem="the model is down")
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor, worker=False) as space:
        job = space.remember(CHAT, wait=False)
        assert space.jobs.run_due() == 1
        assert (job.status, job.problem) == ("waiting", "the model is down")
        assert space.jobs.run_due() == 0, "not due yet"
        clock.advance(seconds=3)
        extractor.problem = None
        assert space.jobs.run_due() == 1
        assert (job.status, job.problem) == ("done", None)


def test_each_wait_is_longer_than_the_last(clock: FakeClock) -> None:
    """A model that stays down is asked less and less often: after 2, 8, 32 and 128 seconds."""
    extractor = Scripted([[PORTO]], problem="the model is down")
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor, worker=False) as space:
        space.remember(CHAT, wait=False)
        assert space.jobs.run_due() == 1
        for wait in (2, 8, 32, 128):
            clock.advance(seconds=wait - 1)
            assert space.jobs.run_due() == 0, f"asked again before {wait} seconds"
            clock.advance(seconds=1)
            assert space.jobs.run_due() == 1


def test_a_job_that_keeps_failing_is_given_up_and_says_so(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """After five tries, with the reason; the source is kept, and may be read again."""
    with remanence.open(
        None, embedder=HashingEmbedder(), clock=clock, extractor=Scripted([[PORTO]]), worker=False
    ) as space:
        monkeypatch.setattr("remanence.write.remember.store_facts", _full)
        job = space.remember(CHAT, wait=False)
        for _ in range(5):
            assert space.jobs.run_due() == 1
            clock.advance(days=1)
        assert (job.status, space.jobs.run_due()) == ("given up", 0)
        with pytest.raises(JobFailed, match="the disk is full"):
            job.result(timeout=1)
        monkeypatch.undo()
        assert [memory.text for memory in space.admin.reextract()] == [PORTO.text]


def _full(*_: object, **__: object) -> list[Memory]:
    raise OSError("the disk is full")


def test_a_job_that_is_over_is_not_begun_again(clock: FakeClock) -> None:
    """Whoever saw it before it was done, and comes to it after, asks nobody."""
    extractor = Scripted([[PORTO]])
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor, worker=False) as space:
        space.remember(CHAT, wait=False)
        with space._engine.open_index(space.name) as index:
            [seen] = index.journal.unfinished_jobs()
        assert space.jobs.run_due() == 1
        assert not jobs.try_job(space._engine, space.name, seen)
        assert len(extractor.asked) == 1


def test_of_two_who_did_a_job_one_writes(clock: FakeClock) -> None:
    """Where a lock did not hold, as on some network folders, the ledger decides."""
    extractor = Scripted([[PORTO]], gate=threading.Event())
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor, worker=False) as space:
        job = space.remember(CHAT, wait=False)
        slow = threading.Thread(target=space.jobs.run_due)
        slow.start()
        while not extractor.asked:
            slow.join(0.01)
        space._engine.write(space.name, lambda _: [Worked(job.id, "done")])
        assert extractor.gate is not None
        extractor.gate.set()
        slow.join(20)
        assert PORTO.text not in [memory.text for memory in space.memories()]


def test_after_the_last_try_the_rules_have_it(clock: FakeClock) -> None:
    """A model that stays down never costs the conversation: what was found without it is kept."""
    extractor = Scripted([[PORTO]], problem="the model is down")
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor, worker=False) as space:
        job = space.remember(CHAT, wait=False)
        for _ in range(5):
            assert space.jobs.run_due() == 1
            clock.advance(days=1)
        assert (job.status, job.problem) == ("done", "the model is down")
        assert [memory.text for memory in job.result()] == [PORTO.text]


def test_a_job_is_never_done_twice(reopen: Reopen, home: Path, clock: FakeClock) -> None:
    """Two at it at once: one finds it taken."""
    gate = threading.Event()
    extractor = Scripted([[PORTO]], gate=gate)
    space = reopen(extractor=extractor, worker=False)
    job = space.remember(CHAT, wait=False)
    other = remanence.open(home, embedder=HashingEmbedder(), clock=clock, extractor=Scripted([[LISBON]]), worker=False)
    try:
        first = threading.Thread(target=space.jobs.run_due)
        first.start()
        while not extractor.asked:
            first.join(0.01)
        assert other.jobs.list()[0].status == "running"
        assert other.jobs.run_due() == 0
        gate.set()
        first.join(20)
        assert other.jobs.run_due() == 0
        assert [memory.text for memory in job.result(1)] == [PORTO.text]
    finally:
        other.close()


@pytest.mark.slow
def test_a_job_outlives_a_killed_process(home: Path, reopen: Reopen) -> None:
    """Queued, killed in the middle of reading, taken up at the next opening."""
    program = textwrap.dedent(
        """
        import sys, time
        import remanence
        from remanence.ports import Extraction, ExtractionResult
        from remanence.testing import HashingEmbedder

        class Slow:
            name = "slow"
            def extract(self, text, *, now, speaker=None): return Extraction()
            def facts(self, said, *, now):
                print("reading", flush=True)
                time.sleep(60)
            def judge(self, new, old): return []

        space = remanence.open(sys.argv[1], embedder=HashingEmbedder(), extractor=Slow())
        space.remember([{"role": "user", "content": "Alice has a flat in Porto."}], wait=False)
        time.sleep(60)
        """
    )
    child = WarmProcess(program, home)
    assert child.stdout.readline() == "reading\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()

    space = reopen(extractor=Scripted([[PORTO]]))
    [job] = space.jobs.list()
    assert [memory.text for memory in job.result(timeout=20)] == [PORTO.text]


# Expiry


def test_an_expired_memory_leaves_recall_at_once_and_a_sweep_records_it(space: Space, clock: FakeClock) -> None:
    """Once, and nothing is deleted."""
    memory = space.add("The meeting is at three.", expires_at="2026-05-04T15:00")
    assert space.recall("meeting")
    clock.advance(hours=7)

    assert not space.recall("meeting")
    assert [expired.id for expired in space.upkeep.expire()] == [memory.id]
    assert space.upkeep.expire() == []
    assert space.recall("meeting", history=True)[0].current is False
    assert space.admin.check() == {}


# What holds no longer


def test_what_a_fact_ends_holds_no_longer_whoever_said_it(space: Space, clock: FakeClock) -> None:
    """The relation ends where the fact begins, and the line that said it stays."""
    space.remember([{"role": "user", "content": "I use Emacs."}], now="2026-01-05")
    space.remember([{"role": "user", "content": "I switched from Emacs to Neovim."}], now="2026-03-01")

    used = {str(relation) for relation in space.graph.when("me", "uses")}
    assert "me —uses→ Emacs (2026-01-05 to 2026-03-01)" in used
    assert "me —uses→ Neovim (since 2026-03-01)" in used


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I'm married to Bob.", "I got divorced."),
        ("My wife is Ana.", "We got divorced."),
        ("I work at Google.", "I got laid off."),
        ("I am the wife of Bob.", "I got divorced."),
    ],
)
def test_what_is_over_is_over_whoever_it_was(space: Space, clock: FakeClock, before: str, after: str) -> None:
    """Nobody says the name of whom they left; the fact steps back all the same, and no other does."""
    [fact] = space.remember([{"role": "user", "content": before}])
    [other] = space.remember([{"role": "user", "content": "Carol is married to Dan."}])
    clock.advance(days=1)
    space.remember([{"role": "user", "content": after}])

    hits = {hit.memory.id: hit.current for hit in space.recall(before)}
    assert fact.id not in hits
    assert hits[other.id]
    assert fact.text not in str(space.profile())
    assert space.recall(before, history=True)[0].memory.text in (before, fact.text)


@pytest.mark.parametrize(
    ("ended", "holding"),
    [
        (Triple("Alice", "reports_to", ""), "Bob —reports_to→ Ali"),
        (Triple("", "reports_to", "Alice"), "Ali —reports_to→ Carol"),
    ],
)
def test_an_end_left_open_is_the_end_on_that_side_only(clock: FakeClock, ended: Triple, holding: str) -> None:
    """Who has no boss any longer may still be one, under whatever name that was said."""
    with told(Fact("That is over.", ended_claims=(ended,), source_turns=(0,)), clock=clock) as space:
        space.entities.register("Alice", aliases=["Ali"])
        space.graph.relate("Bob", "reports_to", "Ali")
        space.graph.relate("Ali", "reports_to", "Carol")
        clock.advance(days=1)
        space.remember(CHAT)

        held = [*space.graph.when("Bob", "reports_to"), *space.graph.when("Alice", "reports_to")]
        assert [str(replace(r, valid=Window())) for r in held if r.valid.end is None] == [holding]


@pytest.mark.parametrize("after", ["Alice is single again.", "Alice broke up with Bob.", "Bob left Alice."])
@pytest.mark.parametrize(
    ("who", "bond", "before"),
    [
        ("Bob", "dating", "Bob is dating Alice."),
        ("Alice", "dating", "Alice is dating Bob."),
        ("Bob", "married_to", "Bob is married to Alice."),
        ("Alice", "wife_of", "Alice is the wife of Bob."),
        ("Bob", "husband_of", "Bob is the husband of Alice."),
    ],
)
def test_a_couple_parts_from_whichever_side_it_was_told(
    space: Space, clock: FakeClock, who: str, bond: str, before: str, after: str
) -> None:
    """He was with her, and she with him."""
    space.remember([{"role": "user", "content": before}])
    clock.advance(days=1)
    space.remember([{"role": "user", "content": after}])

    [was] = space.graph.when(who, bond)
    assert was.valid.end is not None


def test_what_is_remembered_with_a_now_is_recorded_then(space: Space) -> None:
    """Its links and opinions too, so that a chat of last year can be brought in turn by turn."""
    space.remember([{"role": "user", "content": "I live in Porto."}], now="2025-01-05")
    space.remember([{"role": "user", "content": "I moved to Lisbon."}], now="2025-06-05")

    assert {memory.revised_at.year for memory in space.memories()} == {2025}
    believed = space.as_of("2025-03-01").recall("Where do I live?")
    assert {hit.memory.text for hit in believed} == {"I live in Porto.", "The user lives in Porto."}


def test_the_last_word_goes_before_the_turn_that_said_otherwise(space: Space) -> None:
    """What somebody said stays said, but the newer fact is the answer, and says in whose place it stands."""
    space.remember([{"role": "user", "content": "I work at Google."}], now="2026-01-10")
    space.remember([{"role": "user", "content": "I left Google last May to join Anthropic."}], now="2026-06-03")
    first, second, *_ = space.recall("Where do I work?")

    assert (first.memory.text, first.current) == ("The user works at Anthropic.", True)
    assert (second.memory.text, second.current) == ("I work at Google.", False)
    assert "supersedes 'I work at Google.'" in first.reason


def test_a_worker_that_meets_with_an_error_goes_on(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One look that failed does not leave later jobs waiting for ever."""
    looked: list[str] = []
    look = jobs.run_due_jobs

    def troubled(engine: object, name: str) -> int:
        looked.append(name)
        if len(looked) == 1:
            raise remanence.errors.LedgerUnavailable("the disk is full")
        return look(engine, name)  # type: ignore[arg-type]

    monkeypatch.setattr(jobs, "run_due_jobs", troubled)
    monkeypatch.setattr(jobs, "_RETRY_SECONDS", 0.01)
    with told(PORTO, clock=clock) as space:
        job = space.remember(CHAT, wait=False)
        assert [memory.text for memory in job.result(timeout=20)] == [PORTO.text]
    assert "the disk is full" in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        "We'll launch the beta on December 15th, so marketing needs the copy well before that.",
        "Our wedding is on February 21st and I still don't have shoes.",
        "I quit smoking in 2019 and never looked back.",
        "Our daughter was born on November 30.",
        "Right now I'm reading Middlemarch.",
        "On Halloween we're hosting all the kids from the street.",
        "Letzte Woche lag ich mit Grippe im Bett.",
    ],
)
def test_the_same_words_are_the_same_time_by_every_way_in(text: str) -> None:
    at = datetime(2026, 3, 11, 9, 30, tzinfo=UTC)
    with remanence.open(None, clock=lambda: at) as space:
        added = space.add(text).valid
        (turn,) = space.add_turns([{"speaker": "Kim", "content": text, "time": at}])
    with remanence.open(None, clock=lambda: at) as space:
        facts = space.remember(text)
        remembered = facts[0] if facts else next(space.memories())
    assert added.start is not None
    assert added == turn.valid == remembered.valid


def test_no_doubtful_year_is_written_into_a_fact() -> None:
    now = datetime(2025, 11, 4, tzinfo=UTC)
    with remanence.open(None, clock=lambda: now) as space:
        (certain,) = space.remember("Alice flies to Rome on 7 February.")
        (doubtful,) = space.remember("Remember this: trip to Rome with Alice, 7 February.")
    assert certain.text == "Alice flies to Rome on 7 February (2026-02-07)."
    assert "2026" not in doubtful.text


# -- what a new fact means for older ones ----------------------------------------------------------------


class Comparing:
    """A reader that takes every pair it is asked about for a replacement, and notes the pairs."""

    fingerprint = "comparing"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def read(self, question: str, texts: Sequence[str]) -> list[float]:
        return [0.5] * len(texts)

    def compare(self, pairs: Sequence[tuple[str, str]], question: str = "") -> list[dict[str, float]]:
        self.asked += pairs
        return [{"replaces": 0.97, "extends": 0.01, "ends": 0.01, "none": 0.01} for _ in pairs]


def test_the_reader_relates_what_the_rules_cannot() -> None:
    """A change in other words replaces the older fact."""
    reader = Comparing()
    assert "hates olives" not in profile_after("I hate olives", "I eat olives by the bowl now", reader=reader)
    assert any("olives" in earlier and "bowl" in later for earlier, later in reader.asked)


@pytest.mark.parametrize(
    ("earlier", "later", "kept"),
    [
        ("I have a dog, Pepper", "We're looking after my aunt's dog Sancho this week", "Pepper"),
        ("My sister Carla is a pilot", "My other sister Renata is a vet now", "Carla"),
        ("I'm a test engineer at Bosch", "I left Bosch at 5 pm and walked home", "Bosch"),
        ("I'm a test engineer at Bosch", "I left Bosch around six", "Bosch"),
        ("I'm a test engineer at Bosch", "I left Bosch at half past six and took the bus", "Bosch"),
        ("I'm a test engineer at Bosch", "Left Bosch late again, shortly before nine", "Bosch"),
        ("I drive a Skoda", "I need a new roast beef recipe", "Skoda"),
    ],
)
def test_the_reader_is_not_asked_where_the_rules_know_better(earlier: str, later: str, kept: str) -> None:
    """What is temporary, about somebody else, or no change closes nothing, whatever a reader says."""
    assert kept in profile_after(earlier, later, reader=Comparing())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I like jazz", "I like rock"),
        ("I'm allergic to nuts", "I'm allergic to penicillin"),
        ("I speak French", "I speak German"),
        ("I'm Portuguese but live in Luxembourg", "I bought a boat"),
    ],
)
def test_a_second_value_of_a_predicate_with_many_replaces_nothing(first: str, second: str) -> None:
    """Claims of one predicate are compared by rule, so the reader is not asked."""
    profile = profile_after(first, second, reader=Comparing())
    assert first.split()[-1] in profile or "Portuguese" in profile
    assert second.split()[-1] in profile


def test_a_turn_without_facts_may_end_an_older_fact() -> None:
    """The rules find no fact in it. The reader compares the turn as a whole, and it is kept as the new fact."""
    profile = profile_after("I owe Saskia 300 euros", "paid Saskia back. all of it.", reader=Comparing())
    assert "owes" not in profile
    assert "Paid Saskia back" in profile


@pytest.mark.parametrize("later", ["lovely and sunny again", "paid Saskia back?", "what did you pay Saskia"])
def test_a_turn_on_another_topic_or_a_question_ends_nothing(later: str) -> None:
    """Such a turn is not compared, whatever the reader would say, and is not kept as a fact."""
    assert profile_after("I owe Saskia 300 euros", later, reader=Comparing()) == "The user owes Saskia 300 euros."


def test_without_a_reader_turns_without_facts_are_not_kept() -> None:
    """Only a reader can tell that they change something."""
    assert "owes" in profile_after("I owe Saskia 300 euros", "paid Saskia back. all of it.", reader=None)


def test_what_still_holds_of_a_fact_is_kept() -> None:
    """One flatmate of two leaves, one of two brothers is none, a midwife works elsewhere."""
    shared = profile_after(
        "I share a flat with Bojan and Terese in Leeds", "Terese moved out in January", reader=Comparing()
    )
    assert "shares a flat with Bojan in Leeds" in shared
    brothers = profile_after(
        "I have two brothers, Karel and Jan", "I don't have a brother called Jan", reader=Comparing()
    )
    assert "has one brother, Karel" in brothers
    moved = profile_after("My sister Hanne works as a midwife in Odense", "Hanne is in Esbjerg now", reader=Comparing())
    assert "works as a midwife" in moved or "Esbjerg" in moved


def test_without_a_reader_the_rules_decide_alone() -> None:
    """A space that was opened without one compares nothing."""
    assert "hates olives" in profile_after("I hate olives", "I eat olives by the bowl now")


@pytest.mark.parametrize(
    ("earlier", "later", "gone"),
    [
        ("I'm single", "Moritz and I got married on Saturday", "single"),
        ("I live with my girlfriend Rosa", "Rosa and I split up before Christmas", "lives with"),
        ("My dog Bella is 12", "We had to put Bella down last week", "is 12"),
        ("I have two cats", "I have three cats", "two cats"),
        ("I'm vegetarian", "I'm vegan now", "vegetarian"),
        ("User works at Siemens.", "The user works at Bosch.", "Siemens"),
    ],
)
def test_a_profile_states_nothing_that_has_ended(earlier: str, later: str, gone: str) -> None:
    """What cannot hold together is not stated together."""
    assert gone not in profile_after(earlier, later)


def test_a_fact_that_equals_its_text_is_related_too() -> None:
    """A note that is one fact by itself replaces the earlier note."""
    with remanence.open(None, reader=None) as space:
        space.remember("Alice lives in Porto.", now="2026-01-01")
        space.remember("Alice lives in Lisbon.", now="2026-02-01")
        assert str(space.profile()) == "Alice lives in Lisbon."


def test_an_expired_fact_takes_its_words_with_it() -> None:
    """When the appointment is over, nothing says that it is coming."""
    clock = FakeClock("2026-05-04")
    with remanence.open(None, clock=clock, reader=None) as space:
        space.remember([{"role": "user", "content": "I have a dentist appointment tomorrow at 9am."}], now=clock.now())
        assert space.recall("What appointment do I have now?")
        clock.advance(days=10)
        assert not space.recall("What appointment do I have now?")


@pytest.mark.parametrize(
    ("texts", "same"),
    [
        (["Katherine Holm, whom everyone calls Katie, runs the desk.", "Ask Katie."], ("Katie", "Katherine Holm")),
        (["Prof. Ingrid Solheim is chairing.", "Solheim wants the slides."], ("Solheim", "Prof. Ingrid Solheim")),
        (["Elizabeth Nwosu won!", "Liz Nwosu is head of sales."], ("Liz Nwosu", "Elizabeth Nwosu")),
        (["Our neighbour is Giuseppe Riva. He says call me Beppe."], ("Beppe", "Giuseppe Riva")),
        (["Dr. Okafor saw the scan.", "Chidi Okafor is the radiologist."], ("Dr. Okafor", "Chidi Okafor")),
        (["Peter Lang and Petra Lang are twins.", "Petra is the loud one."], ("Petra", "Petra Lang")),
        (["JP is what we call Jean-Pierre Morel at home."], ("JP", "Jean-Pierre Morel")),
        (["My brother's name is Maximilian but he's been Mäxle since he was two."], ("Mäxle", "Maximilian")),
        (["My sister Ana is a nurse.", "Ana called."], ("my sister Ana", "Ana")),
        (["Chidi Okafor is here.", "Ask c.okafor@clinic.org about it."], ("c.okafor@clinic.org", "Chidi Okafor")),
        (["Robert Jones signed the lease.", "Bob said the keys are ready."], ("Bob", "Robert Jones")),
        (["My wife Josephine is a judge.", "Jo has a hearing."], ("Jo", "Josephine")),
        (["Siddharth Rao plays tabla.", "Sid is on tour."], ("Sid", "Siddharth Rao")),
        (["Met J. Alvarez today.", "Julia Alvarez sent the minutes."], ("J. Alvarez", "Julia Alvarez")),
        (["Maria Costa is the vet.", "Maria Teresa Costa signed it."], ("Maria Costa", "Maria Teresa Costa")),
        (["Our CTO, Ingeborg Dahl, answers to Inge."], ("Inge", "Ingeborg Dahl")),
        (["Sunniva Berg used to be Sunniva Lie."], ("Sunniva Lie", "Sunniva Berg")),
        (["My mum is called Gudrun.", "Mum sent a parcel."], ("Mum", "Gudrun")),
        (["My grandmother Ilse turned ninety.", "Granny wants no party."], ("Granny", "Ilse")),
        (["The Free University of Brussels (VUB) wrote."], ("VUB", "Free University of Brussels")),
    ],
)
def test_names_of_one_person_are_joined(texts: list[str], same: tuple[str, str]) -> None:
    """What is told about a name makes it a name of that entity; it can be undone."""
    with remanence.open(None, reader=None) as space:
        for text in texts:
            space.remember(text)
        first, second = (space.entities.resolve(name) for name in same)
    assert first is not None
    assert second is not None
    assert first.id == second.id


@pytest.mark.parametrize(
    ("texts", "different"),
    [
        (["My sister Ana is here.", "Anna Weber sent the forms."], ("Ana", "Anna Weber")),
        (["I met Jordan Pike.", "Jordan Blake is my landlord."], ("Jordan Pike", "Jordan Blake")),
        (["Washington was freezing.", "Denise Washington is my doctor."], ("Washington", "Denise Washington")),
        (["Mrs. Weber rang.", "Tom Weber is my plumber."], ("Mrs. Weber", "Tom Weber")),
        (["Our cat is called Winston.", "Winston Adeleke rang."], ("Winston", "Winston Adeleke")),
        (["Hannah Brandt is my boss.", "Hannah, my cousin, called."], ("Hannah", "Hannah Brandt")),
        (["My daughter Mia and her friend Mia S. are here."], ("my daughter Mia", "Mia S.")),
        (["Thomas Beck rang.", "My brother Tom is here.", "Tom forgot his keys."], ("Tom", "Thomas Beck")),
        (["William Carter called.", "William Doyle too.", "Bill was in."], ("Bill", "William Carter")),
        (["Samantha Reed rang.", "I met a guy called Sam.", "Sam paid."], ("Sam", "Samantha Reed")),
        (["Dr. Okafor will operate.", "Ngozi Okafor is his daughter."], ("Dr. Okafor", "Ngozi Okafor")),
        (["Dr. Shah fixed my tooth.", "Priya Shah is my neighbour."], ("Dr. Shah", "Priya Shah")),
        (["Daniela is known as the loud one, Daniel is not."], ("Daniel", "Daniela")),
        (["Her mum is called Gudrun.", "Mum called."], ("Mum", "Gudrun")),
        (["Maggie Lund and Margaret Lund sing together.", "Maggie Lund sings alto."], ("Maggie Lund", "Margaret Lund")),
    ],
)
def test_names_of_two_are_not_joined(texts: list[str], different: tuple[str, str]) -> None:
    """A shared word is not evidence."""
    with remanence.open(None, reader=None) as space:
        for text in texts:
            space.remember(text)
        first, second = (space.entities.resolve(name) for name in different)
    assert first is None or second is None or first.id != second.id


@pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "together"])
@pytest.mark.parametrize(
    ("earlier", "later", "current"),
    [
        (
            ("2026-05-01", "I live in Ghent."),
            ("2026-05-11", "I moved to Bruges last month."),
            "The user lives in Bruges.",
        ),
        (
            ("2026-06-02", "I work at Google."),
            ("2026-06-03", "I started at Anthropic two weeks ago."),
            "The user works at Anthropic.",
        ),
        (("2026-05-01", "I live in Rome."), ("2020-01-01", "I live in Oslo."), "The user lives in Rome."),
        (("2026-05-01", "I live in Lisbon."), ("2026-05-11", "I moved to Porto in 2019."), "The user lives in Lisbon."),
    ],
)
def test_of_two_homes_or_jobs_one_is_current(
    earlier: tuple[str, str], later: tuple[str, str], current: str, at_once: bool
) -> None:
    """A change that began before the old value was told does not end both values."""
    messages = [{"role": "user", "content": text, "time": day} for day, text in (earlier, later)]
    with remanence.open(None, reader=None) as space:
        for batch in [messages] if at_once else [[message] for message in messages]:
            space.remember(batch, now=batch[-1]["time"])

        assert str(space.profile()) == current
        assert current not in [memory.text for memory in space.memories("superseded")]
        question = "Where do I live?" if "live" in current else "Where do I work?"
        place = current.split()[-1]
        assert place in space.recall(question, now="2026-06-15")[0].memory.text


def test_a_home_that_had_been_left_when_it_was_told_has_an_end() -> None:
    """The graph shows one home after the other, not the old one again."""
    with remanence.open(None, reader=None) as space:
        space.remember("I live in Ghent.", now="2026-05-01")
        space.remember("I moved to Bruges last month.", now="2026-05-11")

        homes = [(str(each.object), str(each.valid)) for each in space.graph.when("me", "lives_in")]
        assert homes == [("Ghent", "until 2026-04-01"), ("Bruges", "since 2026-04-01")]


def test_the_reason_of_a_replacement_names_the_user() -> None:
    with remanence.open(None, reader=None) as space:
        [old] = space.remember("I work at Google.", now="2026-01-10")
        space.remember("I work at Stripe now.", now="2026-02-10")
        [event] = space.graph.timeline(old, relations="supersedes")

    assert event.why == "the user works at Stripe now, not Google"


@pytest.mark.parametrize(
    ("before", "after", "ended", "stated"),
    [
        ("My sister Ana is pregnant.", "Ana gave birth to a girl.", "pregnant", "gave birth"),
        ("I'm unemployed.", "I got a job at Siemens.", "unemployed", "Siemens"),
        ("I'm between jobs.", "I found a new job!", "between jobs", "new job"),
        ("My son Leo can't swim.", "Leo has learned to swim.", "can't swim", "learned to swim"),
        ("I'm pregnant.", "Our son Malik was born.", "pregnant", "Malik"),
        ("My wife is pregnant.", "Our daughter Lia was born.", "pregnant", "Lia"),
        ("My sister is pregnant.", "My niece Fia was born.", "pregnant", "Fia"),
        ("I study medicine in Graz.", "I have graduated now.", "studies", "graduated"),
        ("I'm a nursing student.", "I passed my finals.", "student", "finals"),
        ("I smoke about ten a day.", "I quit smoking last week.", "smokes", "quit smoking"),
        ("I go to the gym every day.", "I have stopped going to the gym.", "goes to", "stopped going"),
        ("My brother Al is studying Welsh.", "Al gave up studying Welsh.", "is studying", "gave up"),
        ("I rent a flat in Leith.", "We bought the flat in the end.", "rents", "bought"),
        ("Georgina runs our team.", "Aurel took over from Georgina.", "runs", "Aurel"),
        ("Georgina runs our team.", "Georgina handed over to Aurel.", "runs", "Aurel"),
    ],
)
def test_a_state_ends_with_what_ends_it_in_other_words(before: str, after: str, ended: str, stated: str) -> None:
    profile = profile_after(before, after)
    assert stated in profile
    assert ended not in profile


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("I'm pregnant.", "I was born in Turin.", "pregnant"),
        ("I'm pregnant.", "My nephew Ben was born.", "pregnant"),
        ("My sister is pregnant.", "Our daughter Lia was born.", "pregnant"),
        ("I'm studying Spanish.", "I have graduated now.", "Spanish"),
        ("I study medicine in Graz.", "My cousin Bo has graduated now.", "medicine"),
        ("I smoke about ten a day.", "My brother Al quit smoking.", "user smokes"),
        ("I smoke about ten a day.", "I want to quit smoking.", "user smokes"),
        ("I smoke about ten a day.", "I quit smoking in 2019.", "user smokes"),
        ("I run a bakery.", "I stopped running.", "bakery"),
        ("I play tennis.", "I stopped playing chess.", "tennis"),
        ("I rent a flat in Leith.", "We bought the flat in Paris.", "rents"),
        ("Georgina lives in Rome.", "Aurel took over from Georgina.", "Rome"),
        ("My sister lives in Rome.", "My other sister moved to Oslo.", "Rome"),
        ("My older brother is a vet.", "My younger brother is a plumber.", "vet"),
    ],
)
def test_what_ends_another_state_ends_nothing(before: str, after: str, kept: str) -> None:
    """A birth ends the pregnancy of the parents; a degree ends studies, not a language course."""
    assert kept in profile_after(before, after)


@pytest.mark.parametrize(
    ("later", "read"),
    [
        ("I quit smoking in March.", "user: I quit smoking."),
        ("Last week I quit smoking.", "user: I quit smoking."),
        ("I quit smoking in 2019.", "user: I quit smoking in 2019."),
        ("I don't smoke these days.", "user: I don't smoke these days."),
    ],
)
def test_the_reader_sees_no_times_since_the_older_fact(later: str, read: str) -> None:
    """It would take the statement for one about the past. Which of the two is later is known."""
    reader = Comparing()
    with remanence.open(None, reader=reader) as space:
        space.remember("I like my ten cigarettes a day.", now="2026-01-10")
        space.remember(later, now="2026-04-10")
    assert read in {text for _, text in reader.asked}


@pytest.mark.parametrize("later", ["Lindqvist took a chair in Oslo.", "I have been handed to Dr. Banerjee."])
def test_a_fact_about_a_role_is_about_both_people(later: str) -> None:
    """The one who has the role, by a part of the name, and the one for whom."""
    assert "Lindqvist is" not in profile_after("My tutor is Prof. Lindqvist.", later, reader=Comparing())


def test_a_plan_replaces_what_holds_only_when_it_comes_true() -> None:
    """Until then both are stated, as the plan names its time."""
    clock = FakeClock("2026-01-05")
    with remanence.open(None, clock=clock, reader=Comparing()) as space:
        space.remember("I live in Rome.", now=clock.now())
        space.remember("I'm moving to Oslo in June 2026.", now=clock.now())
        before = str(space.profile())
        clock.advance(days=160)
        after = str(space.profile())

    assert "lives in Rome" in before
    assert "moving to Oslo in June 2026" in before
    assert after == "The user is moving to Oslo in June 2026."


class Ending(Comparing):
    """A reader for which a later text ends whatever has one of some words."""

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words = words

    def compare(self, pairs: Sequence[tuple[str, str]], question: str = "") -> list[dict[str, float]]:
        odds = super().compare(pairs)
        ended = [any(word in earlier for word in self.words) for earlier, _ in pairs]
        return [each if is_ended else {"none": 1.0} for each, is_ended in zip(odds, ended, strict=True)]


@pytest.mark.parametrize(
    ("earlier", "later", "kept"),
    [
        ("I go by Sasha", "I'm Aleksandra at work now, friends still say Sasha", "Sasha"),
        ("I'm at Airbus in Varel", "It's official, so I stay at Airbus", "Varel"),
        ("I have two cats, Salt and Pepper", "and now a third cat, Cumin!", "Pepper"),
        ("I met Ana in Rome", "I never see Ana in Rome any more", ""),
        ("I subscribe to the Guardian", "I almost cancelled the Guardian. It stays.", "subscribes"),
        ("I work at the town library", "I started doing Saturdays at the garden centre on top", "library"),
    ],
)
def test_what_goes_on_is_added_or_has_happened_is_not_replaced(earlier: str, later: str, kept: str) -> None:
    """Whatever a reader says."""
    clock = FakeClock("2026-01-05")
    with remanence.open(None, clock=clock, reader=Comparing()) as space:
        for message in (earlier, later):
            space.remember([{"role": "user", "content": message, "time": clock.now()}], now=clock.now())
            clock.advance(days=30)
        assert kept in str(space.profile())
        assert not list(space.memories("superseded"))


@pytest.mark.parametrize(
    ("earlier", "later", "gone", "stated"),
    [
        ("my dad's in hospital with his heart", "Dad's home! Stent and a new diet", "hospital", "home"),
        ("I take the 7:12 to Basingstoke every morning", "No more 7:12", "takes", "No more 7:12"),
        ("My mate Callum lives round the corner", "waved callum off, Inverness of all places", "corner", "Inverness"),
        ("My daughter Lumi wants to be a vet", "Lumi wants to be an astronaut now", "vet", "astronaut"),
    ],
)
def test_short_messages_and_loose_names_are_compared(earlier: str, later: str, gone: str, stated: str) -> None:
    """A reader is asked about sentences of two words, names without "my" or a capital, and two wishes."""
    profile = profile_after(earlier, later, reader=Comparing())
    assert gone not in profile
    assert stated in profile


def test_of_a_list_the_part_that_changed_is_left_out() -> None:
    """The reader says which parts these are."""
    plot = profile_after("Plot notes: number 17, clay soil, no shade.", "plot 4 is mine now", reader=Ending("17"))
    assert "Plot notes: clay soil, no shade." in plot
    calendar = profile_after("My calendar is in CET, and always Zoom.", "We got rid of Zoom", reader=Ending("Zoom"))
    assert "The user's calendar is in CET." in calendar
    assert "always Zoom" not in calendar


def test_the_fact_that_ends_the_older_one_is_linked_to_it() -> None:
    """Of two facts of a message, not the one about a plan, which would end it later."""
    profile = profile_after(
        "I'm a barista at Blackbird.",
        "I handed back my apron at Blackbird. On Monday I start at the fire station.",
        reader=Comparing(),
    )
    assert "barista" not in profile


def test_messages_without_facts_are_counted_apart_from_those_that_end_something() -> None:
    """The second message ends an older fact and is kept, the first does not and is not: the indexes of both differ."""
    with remanence.open(None, reader=Ending("owes")) as space:
        space.remember("I owe Saskia 300 euros", now="2026-01-05")
        later = ["lovely and sunny again", "paid Saskia back. all of it."]
        kept = space.remember([{"role": "user", "content": text} for text in later], now="2026-02-05")
        assert [fact.text for fact in kept if "back" in fact.text] == ["Paid Saskia back. all of it."]
        assert "owes" not in str(space.profile())
