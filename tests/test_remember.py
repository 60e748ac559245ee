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
from typing import Literal

import pytest

import remanence
from case_tables import cases
from remanence import Memory, Policy, Space, Triple, Window
from remanence.errors import JobFailed
from remanence.events import Extracted, Linked, Worked
from remanence.ports import Extraction, ExtractionResult, Fact, FactEffect, Utterance
from remanence.remember import jobs
from remanence.remember.remember import MAX_KNOWN
from remanence.schema import UTC
from remanence.testing import FakeClock, HashingEmbedder
from warm_process import WarmProcess

Reopen = Callable[..., Space]
PORTO = Fact(
    "Alice lives in Porto.",
    triples=(Triple("Alice", "lives_in", "Porto"),),
    source_turns=(0,),
    quotation="Alice finally has a flat in Porto",
)
LISBON = Fact(
    "Alice lives in Lisbon.",
    triples=(Triple("Alice", "lives_in", "Lisbon"),),
    source_turns=(0,),
    quotation="Alice is in Lisbon now",
)
TEA = Fact("Alice likes green tea.", kind="viewpoint", importance=0.3, source_turns=(0,))
CHAT = [
    {"role": "user", "content": "Guess what, Alice finally has a flat in Porto!"},
    {"role": "assistant", "content": "How lovely."},
]


@dataclass
class Scripted:
    """An extractor that says what it is told to, and notes what it was asked."""

    told: list[Sequence[Fact] | Exception]
    name: str = "scripted"
    model: str | None = "none"
    prompt: str | None = "1"
    problem: str | None = None
    asked: list[list[Utterance]] = field(default_factory=list)
    known: list[list[str]] = field(default_factory=list)
    before: list[list[str]] = field(default_factory=list)
    gate: threading.Event | None = None

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        return Extraction()

    def facts(
        self,
        utterances: Sequence[Utterance],
        *,
        now: datetime,
        known: Sequence[Memory] = (),
        before: Sequence[Utterance] = (),
    ) -> ExtractionResult:
        self.asked.append(list(utterances))
        self.known.append([memory.text for memory in known])
        self.before.append([utterance.text for utterance in before])
        if self.gate is not None:
            assert self.gate.wait(20)
        told = self.told.pop(0) if len(self.told) > 1 else self.told[0]
        if isinstance(told, Exception):
            raise told
        return ExtractionResult(tuple(told), self.name, self.model, self.prompt, self.problem)


def opened(extractor: Scripted, clock: FakeClock, **options: object) -> Space:
    return remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor, **options)  # type: ignore[arg-type]


def told(*facts: Fact, clock: FakeClock, **options: object) -> Space:
    return opened(Scripted([facts], **options), clock)  # type: ignore[arg-type]


def with_effect(fact: Fact, effect: Literal["ends", "replaces", "confirms"], known_index: int = 0) -> Fact:
    return replace(fact, effects=(FactEffect(known_index, effect),))


def superseded(space: Space) -> list[str]:
    return [memory.text for memory in space.memories("superseded")]


def links(space: Space) -> list[tuple[str, str, str]]:
    """Every link as (text, kind, text)."""
    texts = {memory.id: memory.text for memory in space.memories()}
    with space._engine.open_index(space.name) as index:
        sight = index.snapshot(index.catalog.position, space._engine.now())
        found = {
            link.id: link for number in range(len(index.catalog.ids)) for link in index.links.links_of(number, sight)
        }
    return sorted((texts[link.source], link.kind, texts[link.target]) for link in found.values())


# Without a language model


@pytest.mark.parametrize(
    "turns",
    [
        CHAT,
        [{"role": "user", "content": "I'm vegetarian, my sister Ana isn't. I left Bosch and moved to Graz."}],
        [{"role": "user", "content": "Hi!"}, {"role": "user", "content": "お元気ですか？"}],
    ],
)
def test_without_a_model_the_turns_are_returned_as_they_were_said(space: Space, turns: list[dict[str, str]]) -> None:
    """Nothing is rewritten, and nothing else is stored."""
    remembered = space.remember(turns)

    assert [memory.text for memory in remembered] == [turn["content"] for turn in turns]
    assert all(memory.turn is not None for memory in remembered)
    assert list(space.memories()) == remembered
    assert links(space) == []


def test_without_a_model_a_text_is_returned_as_it_was_written(space: Space) -> None:
    """Verbatim, and once."""
    [memory] = space.remember("I owe Saskia 300 euros.", source="letter", observed_by="Bob")

    assert (memory.text, memory.source, memory.observed_by) == ("I owe Saskia 300 euros.", "letter", "Bob")
    assert [each.id for each in space.remember("I owe Saskia 300 euros.", source="letter", observed_by="Bob")] == [
        memory.id
    ]
    assert list(space.memories()) == [memory]


def test_without_a_model_a_job_returns_the_turns(clock: FakeClock) -> None:
    """The job has nothing to read, and is done."""
    with remanence.open(None, clock=clock, worker=False, reader=None) as space:
        job = space.remember(CHAT, wait=False)
        assert space.jobs.run_due() == 1
        assert [memory.text for memory in job.result(1)] == [turn["content"] for turn in CHAT]
        assert space.count() == 2


@cases("remember")
def test_without_a_model_other_words_end_nothing(space: Space, clock: FakeClock, old: str, new: str) -> None:
    """Only a claim of the grammar ends one; which statement is later is seen at reading time."""
    space.remember([{"role": "user", "content": old}])
    clock.advance(days=1)
    space.remember([{"role": "user", "content": new}])

    assert superseded(space) == []
    assert links(space) == []


def test_rule_written_facts_of_an_old_ledger_are_removed_by_reading_again(space: Space, clock: FakeClock) -> None:
    """Earlier versions wrote facts by rules. Without a model `reextract` forgets them, and the source stays."""
    [turn] = space.remember([{"role": "user", "content": "My dog Rex and I moved to Graz."}])
    fact = space.add("The user lives in Graz.")
    mine = space.add("The garden is green.")
    space._engine.write(
        space.name,
        lambda _: [
            Linked("a-link", fact.id, "derived_from", turn.id, observed_by="rules"),
            Extracted(turn.id, "rules", facts=(fact.id,)),
        ],
    )
    before = clock.now()
    clock.advance(days=1)

    assert space.admin.reextract() == []
    assert [memory.id for memory in space.memories()] == [turn.id, mine.id]
    assert space.get(fact.id) is None
    assert space.as_of(before).get(fact.id) is not None, "history stays"
    entries = space.verify().entries
    space.admin.reextract(turn.id)
    assert [memory.id for memory in space.memories()] == [turn.id, mine.id], "again changes nothing"
    assert space.verify().entries > entries, "but that it was read again is recorded"
    assert space.admin.check() == {}


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


def test_the_extractor_is_given_the_turns_before(clock: FakeClock) -> None:
    """Of the same conversation, so that "there" can be understood."""
    extractor = Scripted([[]])
    with opened(extractor, clock) as space:
        space.remember([{"role": "user", "content": "I love Porto.", "conversation": "chat"}])
        space.remember([{"role": "user", "content": "I live there.", "conversation": "chat"}])
        space.remember([{"role": "user", "content": "Hello.", "conversation": "another"}])

    assert extractor.before == [[], ["I love Porto."], []]


@pytest.mark.parametrize("with_related", [False, True])
@pytest.mark.parametrize("forget", ["forget", "erase"])
@pytest.mark.parametrize("said", ["No nuts for me.", [{"role": "user", "content": "No nuts for me."}]])
def test_a_forgotten_fact_that_is_told_again_comes_back(
    clock: FakeClock, said: object, forget: str, with_related: bool
) -> None:
    """`remember` returns it, and it is found."""
    with told(Fact("The user is allergic to nuts.", source_turns=(0,)), clock=clock) as space:
        [fact] = space.remember(said)
        getattr(space, forget)(fact.id, with_related=with_related)
        assert fact.text not in [memory.text for memory in space.memories()]
        assert [memory.text for memory in space.remember(said)] == [fact.text]
        assert fact.text in [hit.memory.text for hit in space.recall("What is the user allergic to?")]
        assert [memory.text for memory in space.remember(said)] == [fact.text], "once more changes nothing"
        assert space.count() == 2


@pytest.mark.parametrize("forget", ["forget", "erase"])
def test_a_forgotten_turn_that_is_told_again_comes_back(space: Space, forget: str) -> None:
    """Also without a model."""
    [turn] = space.remember([{"role": "user", "content": "I am allergic to nuts."}])
    getattr(space, forget)(turn.id)
    assert space.count() == 0
    assert [memory.text for memory in space.remember([{"role": "user", "content": turn.text}])] == [turn.text]
    assert turn.text in [hit.memory.text for hit in space.recall("What am I allergic to?")]


@pytest.mark.parametrize("as_turn", [True, False])
def test_a_text_that_is_told_again_after_it_ended_is_valid_again(clock: FakeClock, as_turn: bool) -> None:
    """In the same words and without a date. The same history told twice changes nothing."""
    old, new = "I live in Porto.", "I moved from Porto to Lisbon."
    as_told = [{"role": "user", "content": old}, {"role": "user", "content": new}] if as_turn else [old, new]
    with remanence.open(None, clock=clock, worker=False, reader=None) as space:
        space.remember(as_told[:1] if as_turn else old)
        clock.advance(days=1)
        space.remember(as_told[1:] if as_turn else new)
        clock.advance(days=1)
        if as_turn:
            entries = space.verify().entries
            space.remember(as_told)
            assert space.verify().entries == entries, "it is the same history"
        assert old not in [hit.memory.text for hit in space.recall(old) if hit.current]
        space.remember(as_told[:1] if as_turn else old)
        assert old in [hit.memory.text for hit in space.recall(old) if hit.current]


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


@pytest.mark.parametrize("model", ["none", None])
def test_an_extractor_that_raises_costs_no_words(clock: FakeClock, model: str | None) -> None:
    """The source is kept without facts, and is read when it is told again."""
    extractor = Scripted([RuntimeError("quota"), [PORTO]], model=model, prompt=None)
    with opened(extractor, clock) as space:
        found = space.remember("Alice? She has a flat in Porto.")
        assert (found, found.status, found.problem) == ([], "given up", "RuntimeError: quota")
        assert space.recall("Who has a flat in Porto?")[0].memory.text == "Alice? She has a flat in Porto."
        assert [memory.text for memory in space.remember("Alice? She has a flat in Porto.")] == [PORTO.text]


def test_a_model_that_fails_later_costs_no_earlier_facts(clock: FakeClock) -> None:
    """What it found before stays."""
    with opened(Scripted([[PORTO], RuntimeError("quota")]), clock) as space:
        [fact] = space.remember(CHAT)
        space.admin.reextract()
        assert space.get(fact.id) is not None


@pytest.mark.parametrize("given", ["", "  ", 7, None, [7], [{"role": "user", "content": 7}], b"hello"])
def test_what_is_no_conversation_is_refused(clock: FakeClock, given: object) -> None:
    """With the value in the message, and nothing written."""
    with told(clock=clock) as space, pytest.raises(remanence.InvalidInput):
        space.remember(given)
    with told(clock=clock) as space:
        assert space.remember([]) == []


def test_a_fact_has_all_that_was_found_of_it(clock: FakeClock) -> None:
    """Kind, importance, confidence, tags, expiry; whose it is, and where it comes from."""
    expiry = clock.now() + timedelta(days=3)
    fact = replace(TEA, confidence=0.4, tags=("food",), expires_at=expiry, valid=Window(clock.now()))
    with told(fact, clock=clock) as space:
        [memory] = space.remember("Alice? Green tea, always.", source="letter", observed_by="Bob")

    assert (memory.kind, memory.importance, memory.confidence) == ("viewpoint", 0.3, 0.4)
    assert (memory.tags, memory.expires_at, memory.valid) == (("food",), expiry, fact.valid)
    assert (memory.source, memory.observed_by) == ("letter", "Bob")


# What a fact does to known ones


@pytest.mark.parametrize("effect", ["ends", "replaces"])
def test_a_fact_that_ends_or_replaces_another_supersedes_it(
    clock: FakeClock, effect: Literal["ends", "replaces"]
) -> None:
    """The old one leaves recall and stays in history; the link has the words that say so."""
    extractor = Scripted([[PORTO], [with_effect(LISBON, effect)]])
    with opened(extractor, clock) as space:
        [old] = space.remember("Alice? In Porto, with her cats.")
        clock.advance(days=1)
        [new] = space.remember("Alice is in Lisbon now, her cats too.")

        assert extractor.known == [[], [PORTO.text]]
        assert (LISBON.text, "supersedes", PORTO.text) in links(space)
        texts = [hit.memory.text for hit in space.recall("Where does Alice live?")]
        assert PORTO.text not in texts
        assert LISBON.text in texts
        [hit] = [h for h in space.recall("Where does Alice live?", history=True) if h.memory.id == old.id]
        assert not hit.current
        assert hit.superseded_by.id == new.id
        [event] = space.graph.timeline(old, relations="supersedes")
        assert event.why == LISBON.quotation


def test_a_fact_that_ends_another_closes_its_claims(clock: FakeClock) -> None:
    """From when it was told, whether or not the predicate has one value at a time."""
    chess = Fact("Alice plays chess.", triples=(Triple("Alice", "plays", "chess"),), source_turns=(0,))
    stopped = with_effect(Fact("Alice has given up chess.", source_turns=(0,)), "ends")
    with opened(Scripted([[chess], [stopped]]), clock) as space:
        space.remember("Chess again for Alice.", now="2026-01-05")
        space.remember("The chess board is sold.", now="2026-03-01")

        assert [str(relation) for relation in space.graph.when("Alice", "plays")] == [
            "Alice —plays→ chess (2026-01-05 to 2026-03-01)"
        ]


def test_a_claim_that_another_memory_makes_too_goes_on(clock: FakeClock) -> None:
    """Only the claim of the known fact is ended."""
    claim = Triple("Alice", "plays", "chess")
    chess = Fact("Alice plays chess.", triples=(claim,), source_turns=(0,))
    stopped = with_effect(Fact("Alice has given up chess at school.", source_turns=(0,)), "ends")
    with opened(Scripted([[chess], [stopped]]), clock) as space:
        space.remember("Chess again for Alice.", now="2026-01-05")
        space.add("The club has her as a member.", triples=[claim], now="2026-01-06")
        space.remember("The chess board at school is sold.", now="2026-03-01")

        assert (stopped.text, "supersedes", chess.text) in links(space)
        assert any(relation.valid.end is None for relation in space.graph.when("Alice", "plays"))


def test_a_fact_that_confirms_another_supports_it(clock: FakeClock) -> None:
    """Both are current."""
    still = with_effect(Fact("Alice is still in Porto.", source_turns=(0,)), "confirms")
    with opened(Scripted([[PORTO], [still]]), clock) as space:
        space.remember("Alice? In Porto, with her cats.")
        clock.advance(days=1)
        space.remember("Porto it is, as ever.")

        assert (still.text, "supports", PORTO.text) in links(space)
        assert superseded(space) == []


@pytest.mark.parametrize("effect", ["ends", "replaces"])
def test_a_fact_of_lower_trust_contradicts_in_place_of_ending(
    clock: FakeClock, effect: Literal["ends", "replaces"]
) -> None:
    """A web page closes nothing that the user said."""
    chess = Fact("Alice plays chess.", triples=(Triple("Alice", "plays", "chess"),), source_turns=(0,))
    stopped = with_effect(Fact("Alice has given up chess.", source_turns=(0,)), effect)
    with opened(Scripted([[chess], [stopped]]), clock, policy=Policy(trust={"web": "web"})) as space:
        space.remember("Chess again for Alice.")
        clock.advance(days=1)
        space.remember("The chess board is sold.", source="web")

        assert (stopped.text, "contradicts", chess.text) in links(space)
        assert superseded(space) == []
        assert all(relation.valid.end is None for relation in space.graph.when("Alice", "plays"))


def test_without_an_effect_a_fact_closes_nothing_in_other_words(clock: FakeClock) -> None:
    """The model was shown the known fact and said nothing about it."""
    bowl = Fact("Alice eats olives by the bowl.", source_turns=(0,))
    extractor = Scripted([[Fact("Alice hates olives.", source_turns=(0,))], [bowl]])
    with opened(extractor, clock) as space:
        space.remember("No olives for Alice.")
        space.remember("Olives, a whole bowl of them!")

        assert extractor.known[1] == ["Alice hates olives."]
        assert superseded(space) == []


@pytest.mark.parametrize("index", [-1, 1, 99])
def test_an_effect_on_a_fact_that_was_not_shown_is_ignored(clock: FakeClock, index: int) -> None:
    """A model may invent an index; no memory is closed by that, and the fact is kept."""
    bridge = Fact("The old bridge is closed.", source_turns=(0,))
    opened_again = with_effect(Fact("The old bridge is open.", source_turns=(0,)), "replaces", index)
    with opened(Scripted([[bridge], [opened_again]]), clock) as space:
        space.remember("No way across the river today.")
        assert [fact.text for fact in space.remember("One can drive over the old bridge again.")] == [opened_again.text]
        assert superseded(space) == []


def test_known_facts_are_facts_and_not_what_was_said(clock: FakeClock) -> None:
    """What was said stays said. All turns are read in one call."""
    extractor = Scripted([[PORTO], [LISBON, TEA]])
    with opened(extractor, clock) as space:
        space.remember(CHAT)
        space.remember([{"role": "user", "content": "Alice is in Lisbon now."}, {"role": "user", "content": "Tea!"}])

    assert extractor.known == [[], [PORTO.text]]
    assert [len(said) for said in extractor.asked] == [2, 2]


@pytest.mark.parametrize("status", ["queued", "cancelled"])
def test_a_text_that_was_not_read_yet_is_not_a_known_fact(clock: FakeClock, status: str) -> None:
    """A text on which the model fails for ever would be in the prompts of others, too."""
    extractor = Scripted([[]])
    with opened(extractor, clock, worker=False) as space:
        job = space.remember("Alice finally has a flat in Porto.", wait=False)
        if status == "cancelled":
            job.cancel()
        space.remember("Alice finally has a flat in Lisbon.")

    assert extractor.known == [[]]


def test_a_memory_that_was_added_is_a_known_fact(clock: FakeClock) -> None:
    """Not only facts of earlier conversations."""
    extractor = Scripted([[with_effect(LISBON, "replaces")]])
    with opened(extractor, clock) as space:
        space.add(PORTO.text, triples=PORTO.triples)
        clock.advance(days=1)
        space.remember("Alice lives in Lisbon now, her cats too.")

        assert extractor.known == [[PORTO.text]]
        assert superseded(space) == [PORTO.text]


def test_what_claims_something_of_the_same_is_shown_however_it_is_worded(clock: FakeClock) -> None:
    """Same subject, same predicate: no word in common is needed."""

    class Claiming(Scripted):
        def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
            return Extraction(triples=LISBON.triples if "hut" in text else ())

    extractor = Claiming([[replace(PORTO, text="Porto became home.")], []])
    with opened(extractor, clock) as space:
        space.remember("So glad about the flat.")
        space.remember("She bought a hut.")

    assert extractor.known[1] == ["Porto became home."]


def test_of_many_facts_the_nearest_are_shown(clock: FakeClock) -> None:
    """Not all of them, and none that was superseded."""
    extractor = Scripted([[]])
    with opened(extractor, clock) as space:
        space.add_many([f"Boat {number} is in the harbour." for number in range(60)])
        old = space.add("The old bridge is closed.")
        space.graph.link(space.add("The old bridge is open."), "supersedes", old)
        space.remember("What a lot of boats in the harbour, and the old bridge!")

    [shown] = extractor.known
    assert 0 < len(shown) <= MAX_KNOWN
    assert old.text not in shown


def test_while_facts_are_few_all_are_shown(clock: FakeClock) -> None:
    """However little they have in common with what is said."""
    extractor = Scripted([[]])
    with opened(extractor, clock) as space:
        space.add_many([f"Boat {number} is in the harbour." for number in range(MAX_KNOWN)])
        space.remember("It rains.")
        space.add("The bridge is open.")
        space.remember("Boat 7 has sunk, it rains.")

    few, many = extractor.known
    assert len(few) == MAX_KNOWN
    assert "Boat 7 is in the harbour." in many
    assert len(many) < MAX_KNOWN


def test_of_many_facts_what_is_past_is_not_shown_and_plans_are(clock: FakeClock) -> None:
    extractor = Scripted([[]])
    with opened(extractor, clock) as space:
        space.add_many([f"Boat {number} is in the harbour." for number in range(MAX_KNOWN)])
        space.add("Boat 7 sailed on 2 March 2020.", kind="episode", valid_from="2020-03-02", valid_until="2020-03-03")
        space.add("The dentist is on Friday.", tags=["plan"])
        space.remember("Boat 7 has sunk.")

    [known] = extractor.known
    assert "Boat 7 is in the harbour." in known
    assert "The dentist is on Friday." in known
    assert "Boat 7 sailed on 2 March 2020." not in known


def test_a_plan_replaces_what_holds_only_when_it_comes_true() -> None:
    """Until then both are current, as the plan names its time."""
    clock = FakeClock("2026-01-05")
    move = Fact(
        "The user is moving to Oslo in June 2026.",
        kind="episode",
        tags=("plan",),
        valid=Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)),
        source_turns=(0,),
    )
    rome = Fact("The user lives in Rome.", source_turns=(0,))
    with opened(Scripted([[rome], [with_effect(move, "replaces")]]), clock) as space:
        space.remember("Rome, as ever.", now=clock.now())
        space.remember("Rome is over: Oslo in June!", now=clock.now())
        assert superseded(space) == []
        clock.advance(days=160)
        assert superseded(space) == [rome.text]


def test_a_plan_whose_day_has_passed_is_replaced_at_once() -> None:
    """It did not happen: what it would have replaced holds until the new day."""
    clock = FakeClock("2026-01-05")

    def move(month: int) -> Fact:
        window = Window(datetime(2026, month, 1, tzinfo=UTC), datetime(2026, month, 2, tzinfo=UTC))
        text = f"The user moves to Oslo on 2026-0{month}-01."
        return Fact(text, kind="episode", tags=("plan",), valid=window, source_turns=(0,))

    rome = Fact("The user lives in Rome.", source_turns=(0,))
    put_off = replace(move(4), effects=(FactEffect(0, "replaces"),))
    with opened(Scripted([[rome], [with_effect(move(2), "replaces")], [put_off]]), clock) as space:
        for said in ("Rome, as ever.", "Rome is over: Oslo on the first of February!"):
            space.remember(said, now=clock.now())
        clock.advance(days=30)
        assert superseded(space) == [rome.text]
        extractor = space._engine.extractor
        known = [memory.text for memory in space.memories() if memory.text == move(2).text]
        assert known, "the plan is shown"
        space.remember("The movers were ill, so it is Oslo on the first of April.", now=clock.now())
        assert extractor.known[-1][0] == move(2).text  # type: ignore[attr-defined]
        assert superseded(space) == [move(2).text]
        clock.advance(days=90)
        assert set(superseded(space)) == {move(2).text, rome.text}


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
    with opened(extractor, clock, worker=False) as space:
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
    with opened(extractor, clock, worker=False) as space:
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
        monkeypatch.setattr("remanence.remember.remember.store_facts", _full)
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
        extractor.gate.set()
        slow.join(20)
        assert PORTO.text not in [memory.text for memory in space.memories()]


def test_after_the_last_try_the_words_are_kept(clock: FakeClock) -> None:
    """A model that stays down costs the facts and not the conversation, which can be read again later."""
    extractor = Scripted([[]], problem="the model is down")
    with opened(extractor, clock, worker=False) as space:
        job = space.remember(CHAT, wait=False)
        for _ in range(5):
            assert space.jobs.run_due() == 1
            clock.advance(days=1)
        assert (job.status, job.problem) == ("given up", "the model is down")
        with pytest.raises(JobFailed, match="the model is down"):
            job.result(timeout=1)
        assert [memory.text for memory in space.memories()] == [turn["content"] for turn in CHAT]
        extractor.problem, extractor.told = None, [[PORTO]]
        assert [memory.text for memory in space.admin.reextract()] == [PORTO.text]


@pytest.mark.parametrize("wait", [True, False, "quiet"])
def test_what_was_not_read_is_read_with_the_next_call_of_its_chat(
    clock: FakeClock, wait: bool | Literal["quiet"]
) -> None:
    """In every mode; the turns of other chats are not."""
    extractor = Scripted([PermissionDenied()])
    with opened(extractor, clock, worker=False) as space:
        for chat in ("monday", "tuesday"):
            space.remember([turn | {"conversation": chat} for turn in CHAT], wait=wait)
            clock.advance(minutes=10)
            space.jobs.run_due()
        assert [job.status for job in space.jobs.list()] == ["given up"] * 2
        extractor.told = [[PORTO]]
        space.remember([{"role": "user", "content": "Now to lunch.", "conversation": "monday"}], wait=wait)
        clock.advance(minutes=10)
        space.jobs.run_due()
        assert [turn.text for turn in extractor.asked[-1]] == [*(turn["content"] for turn in CHAT), "Now to lunch."]
        extractor.told = [[]]
        space.remember([{"role": "user", "content": "Soup, please.", "conversation": "monday"}], wait=wait)
        clock.advance(minutes=10)
        space.jobs.run_due()
        assert [turn.text for turn in extractor.asked[-1]] == ["Soup, please."]


class PermissionDenied(Exception):
    """As clients of models raise it for a key that is not valid."""

    status_code = 403


def test_a_refused_key_is_given_up_at_once_and_seen(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    """In the result, among the jobs and in the log: it never looks as if nothing was worth keeping."""
    extractor = Scripted([PermissionDenied("Incorrect API key")])
    with opened(extractor, clock, worker=False) as space:
        found = space.remember(CHAT)
        assert (list(found), found.status) == ([], "given up")
        assert "Incorrect API key" in str(found.problem)
        assert "Incorrect API key" in repr(found)
        job = space.remember(CHAT, wait=False)
        space.jobs.run_due()
        assert [job.status for job in space.jobs.list()] == ["given up"] * 2
        assert "Incorrect API key" in str(job.problem)
        assert caplog.text.count("were given up: PermissionDenied: Incorrect API key") == 2
        assert len(extractor.asked) == 2


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
            def facts(self, said, *, now, known=(), before=()):
                print("reading", flush=True)
                time.sleep(60)

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


@pytest.mark.usefixtures("frequent_switches")
@pytest.mark.parametrize("with_model", [False, True])
def test_remembering_while_another_thread_adds_raises_nothing(clock: FakeClock, with_model: bool) -> None:
    """Memories are added between the steps of `remember`, after one was forgotten: each is stored."""
    finished = threading.Event()
    extractor = Scripted([[PORTO]]) if with_model else None
    with remanence.open(None, embedder=HashingEmbedder(), clock=clock, extractor=extractor, reader=None) as space:
        space.forget(space.add("Something to forget.").id)
        space.add_many([f"Base {number}." for number in range(30)])
        added: list[str] = []
        errors: list[BaseException] = []

        def add() -> None:
            try:
                while not finished.is_set():
                    text = f"Added {len(added)}."
                    space.add(text)
                    added.append(text)
            except BaseException as error:  # noqa: BLE001  -- shown by the assertion below
                errors.append(error)

        adding = threading.Thread(target=add)
        adding.start()
        said = [f"My dog is called Rex{number}. I live in Town{number}." for number in range(150)]
        try:
            for text in said:
                [remembered] = space.remember([{"role": "user", "content": text}])
                assert remembered.text == (PORTO.text if with_model else text)
        finally:
            finished.set()
            adding.join(20)
        assert errors == []
        assert added
        assert {*said, *added} <= {memory.text for memory in space.memories()}
        assert space.admin.check() == {}


# Time


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


def test_a_fact_expires_and_its_source_stays(clock: FakeClock) -> None:
    """When the appointment is over, the fact is no longer recalled."""
    expiry = clock.now() + timedelta(days=2)
    fact = Fact("The user has a dentist appointment.", expires_at=expiry, source_turns=(0,))
    with told(fact, clock=clock) as space:
        [memory] = space.remember([{"role": "user", "content": "Dentist tomorrow at 9am."}])
        assert memory.id in [hit.memory.id for hit in space.recall("Which dentist appointment?")]
        clock.advance(days=10)
        assert memory.id not in [hit.memory.id for hit in space.recall("Which dentist appointment?")]
        assert "Dentist tomorrow at 9am." in [memory.text for memory in space.memories()]


def test_what_is_remembered_with_a_now_is_recorded_then(space: Space) -> None:
    """So that a chat of last year can be brought in turn by turn."""
    space.remember([{"role": "user", "content": "I live in Porto."}], now="2025-01-05")
    space.remember([{"role": "user", "content": "I moved to Lisbon."}], now="2025-06-05")

    assert {memory.revised_at.year for memory in space.memories()} == {2025}
    believed = space.as_of("2025-03-01").recall("Where do I live?")
    assert [hit.memory.text for hit in believed] == ["I live in Porto."]


@cases("remember")
def test_the_same_words_are_the_same_time_by_every_way_in(text: str) -> None:
    """`add`, `add_turns` and `remember` read the times of a text alike."""
    at = datetime(2026, 3, 11, 9, 30, tzinfo=UTC)
    with remanence.open(None, clock=lambda: at, reader=None) as space:
        added = space.add(text).valid
        [turn] = space.add_turns([{"speaker": "Kim", "content": text, "time": at}])
    with remanence.open(None, clock=lambda: at, reader=None) as space:
        [remembered] = space.remember(text)
    assert added.start is not None
    assert added == turn.valid == remembered.valid


@pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "together"])
@pytest.mark.parametrize(
    ("earlier", "later", "question", "current"),
    [
        (("2026-05-01", "I live in Ghent."), ("2026-05-11", "I live in Bruges."), "Where do I live?", "Bruges"),
        (("2026-05-01", "I live in Rome."), ("2020-01-01", "I live in Oslo."), "Where do I live?", "Rome"),
        (("2026-06-02", "I work at Google."), ("2026-06-03", "I work at Stripe."), "Where do I work?", "Stripe"),
    ],
)
def test_of_two_homes_or_jobs_the_later_one_is_current(
    earlier: tuple[str, str], later: tuple[str, str], question: str, current: str, at_once: bool
) -> None:
    """In the order of the times at which they were told, whichever is stored first."""
    messages = [{"role": "user", "content": text, "time": day} for day, text in (earlier, later)]
    with remanence.open(None, reader=None) as space:
        for batch in [messages] if at_once else [[message] for message in messages]:
            space.remember(batch, now=batch[-1]["time"])

        [old] = [message["content"] for message in messages if current not in message["content"]]
        assert superseded(space) == [old]
        assert current in space.recall(question, now="2026-06-15")[0].memory.text


@pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "together"])
@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (("2026-05-01", "I live in Ghent."), ("2026-05-11", "I moved to Lisbon last month.")),
        (("2026-06-02", "I work at Google."), ("2026-06-03", "I started at Stripe two weeks ago.")),
    ],
)
def test_a_change_that_began_before_the_old_value_was_told_ends_it(
    earlier: tuple[str, str], later: tuple[str, str], at_once: bool
) -> None:
    """What is told last counts, although it began before the other was told."""
    messages = [{"role": "user", "content": text, "time": day} for day, text in (earlier, later)]
    with remanence.open(None, reader=None) as space:
        for batch in [messages] if at_once else [[message] for message in messages]:
            space.remember(batch, now=batch[-1]["time"])
        assert superseded(space) == [earlier[1]]


def test_a_move_of_long_ago_ends_no_home_of_today() -> None:
    """It was told later, but years passed in between."""
    with remanence.open(None, reader=None) as space:
        space.remember("I live in Lisbon.", now="2026-05-01")
        space.remember("I moved to Porto in 2019.", now="2026-05-11")
        assert superseded(space) == []


def test_an_event_of_last_year_ends_the_job_that_was_told_since() -> None:
    """Who says that a job was left has left it, and the text that says so is current."""
    with remanence.open(None, reader=None) as space:
        space.remember([{"role": "user", "content": "I work at Google."}], now="2026-01-10")
        space.remember([{"role": "user", "content": "I left Google last May to join Anthropic."}], now="2026-06-03")
        assert superseded(space) == ["I work at Google."]


def test_a_home_ends_when_the_move_was_and_not_when_it_was_told() -> None:
    """The graph shows one home after the other."""
    with remanence.open(None, reader=None) as space:
        space.remember("I live in Ghent.", now="2026-03-01")
        space.remember("I moved to Lisbon last month.", now="2026-05-11")

        homes = [(str(each.object), str(each.valid)) for each in space.graph.when("me", "lives_in")]
        assert homes == [("Ghent", "2026-03-01 to 2026-04-01"), ("Lisbon", "since 2026-04-01")]
        assert superseded(space) == ["I live in Ghent."]


# Names


@pytest.mark.parametrize("wait", [True, False])
def test_names_are_joined_now_and_in_the_background(clock: FakeClock, wait: bool) -> None:
    """With and without a job."""
    with remanence.open(None, clock=clock, reader=None, worker=False) as space:
        space.remember("Katherine Holm, whom everyone calls Katie, runs the desk.", wait=wait)
        space.jobs.run_due()
        katie, katherine = space.entities.resolve("Katie"), space.entities.resolve("Katherine Holm")
    assert katie is not None
    assert katie == katherine


@cases("remember")
def test_names_of_one_person_are_joined(told: list[str], one: str, other: str) -> None:
    """What is told about a name makes it a name of that entity; it can be undone."""
    with remanence.open(None, reader=None) as space:
        for text in told:
            space.remember(text)
        first, second = space.entities.resolve(one), space.entities.resolve(other)
    assert first.id == second.id


@cases("remember")
def test_names_of_two_are_not_joined(told: list[str], one: str, other: str) -> None:
    """A shared word is not evidence."""
    with remanence.open(None, reader=None) as space:
        for text in told:
            space.remember(text)
        first, second = space.entities.resolve(one), space.entities.resolve(other)
    assert first is None or second is None or first.id != second.id
