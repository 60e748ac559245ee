"""Several spaces in one question: one list, read once, of what the caller holds and of nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

import remanence
from framed import recalled
from remanence import InvalidInput, Space
from remanence.errors import AccessDenied, LedgerUnavailable
from remanence.ports import ListReading
from remanence.recall.answer import Recall
from remanence.recall.union import join_recalls
from remanence.schema import Evidence, Hit, Memory, SignalScale
from remanence.service.client.remote_space import RemoteSpace
from remanence.service.hosting.tokens import TokenStore
from remanence.service.operations import OPERATIONS
from remanence.space.facets.proposal_facet import Proposal, Proposals
from remanence.testing import FakeClock, HashingEmbedder
from remote import connected

HERON = "The staging server is called heron."


@pytest.fixture
def ana(space: Space) -> Space:
    ana = space.child("users", "ana")
    ana.add_many(["I am allergic to peanuts.", "My laptop is a ThinkPad.", "The release is on the first Friday."])
    return ana


@pytest.fixture
def team(space: Space) -> Space:
    team = space.child("team")
    team.add_many([HERON, "The release is on the first Friday.", "Deploys go through Clara."])
    return team


def texts(recall: Any) -> list[str]:
    return [hit.memory.text for hit in recall]


# One list


def test_each_hit_names_its_space(ana: Space, team: Space) -> None:
    """By its full name, or by the one that the union gives it."""
    found = remanence.union(ana, team).recall("What is the staging server called?")
    assert (found[0].memory.text, found[0].space, found.receipt) == (HERON, team.name, None)
    assert {hit.space for hit in found} == {ana.name, team.name}
    assert "(in default/team)" in found.explain()
    assert "default/team: The staging" in found.show().html

    named = remanence.union(mine=ana, ours=team).recall("What is the staging server called?")
    assert [hit.space for hit in named if hit.memory.text == HERON] == ["ours"]
    assert not any(hit.space for hit in ana.recall("laptop"))


class CountingReader:
    """Says which lines it was given, and that the one with a word answers."""

    fingerprint = "counting"

    def __init__(self, word: str) -> None:
        self.word, self.read_lines = word, list[list[str]]()

    def read(self, question: str, lines: Any, *, asked_at: Any, moment: Any = None) -> ListReading:
        self.read_lines.append([line.text for line in lines])
        holds = tuple(0.9 if self.word in line.text else 0.01 for line in lines)
        return ListReading(holds, holds, (0.0,) * len(lines), holds, 0.05)


def test_the_reader_reads_the_lines_of_all_spaces_once() -> None:
    """In one call, with the best of each space, and its order decides."""
    reader = CountingReader("heron")
    with remanence.open(None, embedder=HashingEmbedder(), reader=reader) as space:
        one, two = space.child("one"), space.child("two")
        one.add_many([f"Boat {number} is in the harbour." for number in range(10)])
        two.add_many(["The boat called heron is in the harbour.", "The harbour is full of boats."])
        found = remanence.union(one, two).recall("Which boat is in the harbour?", limit=3)

        [lines] = reader.read_lines
        assert len(lines) == 12
        assert len(found) == 3
        assert "The boat called heron is in the harbour." in lines
        assert any(line.startswith("Boat") for line in lines)
        assert found[0].space == two.name
        assert found.confidence == pytest.approx(0.95)


def test_what_two_spaces_tell_is_one_hit(ana: Space, team: Space) -> None:
    """With the other space as a reason. "I" is somebody else in each space, so that is told by both."""
    team.add("I am allergic to peanuts.")
    union = remanence.union(ana, team)

    found = union.recall("When is the release?", limit=20)
    [hit] = [hit for hit in found if "release" in hit.memory.text]
    [other] = {ana.name, team.name} - {hit.space}
    assert f"also in {other}" in hit.reason
    assert texts(union.recall("peanuts", limit=20)).count("I am allergic to peanuts.") == 2


def test_scores_of_all_spaces_have_one_scale(space: Space) -> None:
    """The best match of a space that has no good one does not count as much as a good one."""
    poor, good = space.child("poor"), space.child("good")
    poor.add_many(["Ana wrote the guide.", "It rains."])
    good.add_many(["Ana is allergic to hazelnuts and shellfish.", "Ana has a boat."])
    question = "What nuts is Ana allergic to, hazelnuts?"

    def share(recall: Any, text: str, signal: str) -> float:
        hit = next(hit for hit in recall if hit.memory.text == text)
        return next(each.share for each in hit.evidence if each.signal == signal)

    alone = poor.recall(question, reader="none")
    joined = remanence.union(poor, good).recall(question, reader="none")
    assert joined[0].space == good.name
    assert share(joined, "Ana wrote the guide.", "words") < share(alone, "Ana wrote the guide.", "words") / 2
    assert share(joined, joined[0].memory.text, "words") > 2 * share(joined, "Ana wrote the guide.", "words")
    for hit in joined:
        assert sum(each.share for each in hit.evidence) == pytest.approx(hit.score, abs=1e-6)


def test_a_union_of_parts_answers_as_the_whole(space: Space) -> None:
    """The first hit of three spaces together is that of one space with all memories."""
    whole, parts = space.child("whole"), [space.child(f"part {number}") for number in range(3)]
    facts = {
        "What is the name of the dog?": "The dog is called Rex.",
        "Where is the office?": "The office is in Porto, near the river.",
        "When does the shop open?": "The shop opens at nine.",
        "Who repairs the boiler?": "Mrs Lima repairs the boiler.",
        "What colour is the boat?": "The boat is painted green.",
        "Which train goes to Faro?": "The blue train goes to Faro.",
    }
    for number, text in enumerate(facts.values()):
        whole.add(text), parts[number % 3].add(text)
    for question, text in facts.items():
        assert whole.recall(question)[0].memory.text == text
        assert remanence.union(*parts).recall(question)[0].memory.text == text


def test_a_signal_that_found_nothing_in_one_space_counts_alike_in_all() -> None:
    """The weights are those of all signals that searched: hits of the same nearness have the same score."""
    vectors = SignalScale(0.2, 0.8, 2.0, 0.4)

    def answer(name: str, share: float, **scales: SignalScale) -> Recall:
        evidence = Evidence("vectors", 1, share, 0.8, "nearness 0.80")
        hit = Hit(Memory(name, name, f"The boat is {name}."), share, (evidence,))
        return Recall("boat?", (hit,), scales={"vectors": vectors, **scales})

    found = {"one": answer("one", 1.0), "two": answer("two", 0.4, graph=SignalScale(0.0, 1.0, 1.0, 0.6))}
    joined = join_recalls("boat?", found, 10)
    assert [(hit.space, hit.score) for hit in joined] == [("one", pytest.approx(0.4)), ("two", pytest.approx(0.4))]


def test_nothing_is_marked_as_replaced_by_another_space(clock: FakeClock) -> None:
    """What one space holds decides nothing about another: both are shown, with their days."""

    class Replacing(CountingReader):
        def read(self, question: str, lines: Any, *, asked_at: Any, moment: Any = None) -> ListReading:
            newest = max(range(len(lines)), key=lambda at: lines[at].told_at)
            holds = tuple(0.95 if at == newest else 0.05 for at in range(len(lines)))
            return ListReading((0.9,) * len(lines), holds, tuple(1 - hold for hold in holds), holds, 0.05)

    with remanence.open(None, embedder=HashingEmbedder(), reader=Replacing(""), clock=clock) as space:
        one, two = space.child("one"), space.child("two")
        one.add("The limit is 300.")
        clock.advance(days=2)
        two.add("The limit is 500.")
        assert [hit.current for hit in remanence.union(one, two).recall("What is the limit?")] == [True, True]

        one.add("The limit is 400.", now=clock.now())
        clock.advance(days=1)
        one.add("The limit is 450.")
        stale = {hit.memory.text: hit.superseded_by for hit in one.recall("What is the limit?") if not hit.current}
        assert "The limit is 300." in stale  # within a space the reader marks it


def test_options_apply_to_all_spaces(ana: Space, team: Space, clock: FakeClock) -> None:
    """Limits, filters, times, scores and budgets."""
    union = remanence.union(ana, team)
    before = clock.now()
    clock.advance(days=3)
    team.add("The staging server is called stork.", tags="ops")
    assert texts(union.recall("staging server", tags="ops")) == ["The staging server is called stork."]
    assert len(union.recall("release server laptop", limit=2)) == 2
    assert texts(union.as_of(before).recall("What is the staging server called?"))[0] == HERON
    assert union.as_of(before).recall("server").as_of == before
    assert all(hit.score >= 0.4 for hit in union.recall("What is the staging server called?", min_score=0.4))
    found = union.recall("What is the staging server called?", limit=5)
    assert 0 < len(found.fit(20)) < len(found)

    team.add("The fair is in Porto.", valid_from="2026-05-02", valid_until="2026-05-04", tags="on")
    ana.add("I row in Lisbon.", valid_from="2026-08-01", valid_until="2026-08-02", tags="on")
    found = union.recall("What is on?", during="3 May 2026", tags="on")
    assert texts(found) == ["The fair is in Porto."]


def test_a_prompt_of_several_spaces_names_them(ana: Space, team: Space) -> None:
    """Each line has its space; the profile is that of the first one."""
    block = remanence.union(ana, team).for_prompt("What is our staging server called, do you remember?", min_score=0.1)
    assert {said["text"]: said["notes"] for said in recalled(block.text)}[HERON] == f"in {team.name}"

    ana.add_turns([{"role": "user", "content": "I live in Porto, near the river."}])
    team.add_turns([{"role": "user", "content": "I live in Faro, near the sea."}])
    about = remanence.union(ana, team).for_prompt("What do you know about me?").text
    assert "Porto" in about
    assert "Faro" not in about
    with pytest.raises(InvalidInput, match="cannot be written to"):
        remanence.union(ana, team).for_prompt("What is our staging server called?", min_score=0.1, record=True)


def test_a_union_reads_only(ana: Space, team: Space) -> None:
    """Nothing writes, and wrong arguments are named."""
    union = remanence.union(ana, team)
    assert not {"add", "forget", "erase"} & set(dir(union))
    for arguments, message in [
        ((), "needs a space"),
        ((ana, "team"), "'team' is no space"),
        ((ana, ana), "two spaces are called 'default/users/ana'"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            remanence.union(*arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no option 'limits'"):
        union.recall("x", limits=3)
    with pytest.raises(InvalidInput, match="for one space"):
        union.recall("x", include="review")
    assert union.spaces == {ana.name: ana, team.name: team}


def test_a_space_that_does_not_answer_is_named(ana: Space, team: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others answer; if none does, that is the error."""

    def away(*arguments: Any, **options: Any) -> Any:
        raise LedgerUnavailable("the server does not answer.")

    monkeypatch.setattr(team, "recall", away)
    found = remanence.union(ana, team).recall("Which laptop do I have?")
    assert found[0].memory.text == "My laptop is a ThinkPad."
    assert found.missing[team.name] == "LedgerUnavailable: the server does not answer."
    with pytest.raises(LedgerUnavailable):
        remanence.union(team).recall("laptop")


# Isolation: nothing of a space that the caller does not hold

NAMES = ["ali", "alice", "a/b", "..", "%2F", "🦊", "ali ", "ALI", "%proposals", "team/x"]


def test_a_union_sees_its_spaces_and_no_others(space: Space) -> None:
    """Not parent, child, sibling or prefix, whatever they are called."""
    spaces = [space, *(space.child(name) for name in NAMES), space.child("ali", "ce")]
    for number, each in enumerate(spaces):
        each.add(f"Secret number {number} is safe.", tags=["secret"])
    for first, second in [(0, 1), (1, 2), (3, 8), (4, 11)]:
        found = remanence.union(spaces[first], spaces[second]).recall("Secret number", limit=100, history=True)
        assert sorted(texts(found)) == sorted(f"Secret number {number} is safe." for number in (first, second))


def outcome(union: remanence.Union) -> list[Any]:
    """All that a union says: hits with scores, reasons, what is missing, prompts and profile."""
    questions = ["What is the staging server called?", "Who is allergic?", "What happened in May 2026?"]
    recalls = [union.recall(question, limit=50, history=True) for question in questions]
    said = [(found.to_dicts(), found.explain(), found.confidence, found.missing) for found in recalls]
    prompts = [union.for_prompt(question).text for question in questions]
    return [json.dumps(said, default=str), *prompts, str(union.profile()), repr(union)]


def test_what_others_hold_changes_nothing(ana: Space, team: Space, space: Space) -> None:
    """No result, count, score or profile differs by what is in spaces that are not in the union, proposals too."""
    union = remanence.union(ana, team)
    before = outcome(union)
    secret = space.child("users", "bob").add("Bob's staging server zebra is allergic to shellfish in May 2026.")
    space.add("The zebra server of everybody."), team.child("inner").add("The zebra server is inner.")
    listed, numbers = team.spaces(), team.admin.stats()
    team.proposals.add(secret, by="bob")
    assert outcome(union) == before
    assert (team.spaces(), team.admin.stats().children) == (listed, numbers.children)
    assert not any("zebra" in part for part in outcome(union))


@pytest.fixture
def tokens() -> Iterator[TokenStore]:
    store = TokenStore(None)
    yield store
    store.close()


def test_a_token_joins_the_spaces_that_it_opens(ana: Space, team: Space, space: Space, tokens: TokenStore) -> None:
    """One request to the server; a space without a grant is refused in words that do not tell whether it exists."""
    space.child("users", "bob").add("Bob is allergic to shellfish.")
    secret, _ = tokens.create("ana", spaces=[ana.name, team.name], access="read")
    with connected(ana, tokens=tokens, token=secret) as mine:
        ours, bobs, nobodys = (RemoteSpace(mine._connection, f"default/{name}") for name in ("team", "users/bob", "x"))
        found = remanence.union(mine, ours).recall("What is the staging server called?")
        assert found.to_dicts() == remanence.union(ana, team).recall("What is the staging server called?").to_dicts()

        errors = []
        for name in (bobs.name, nobodys.name):
            with pytest.raises(AccessDenied) as refused:
                mine._ask(OPERATIONS["union_recall"], spaces=[team.name, name], query="allergic")
            errors.append(str(refused.value).replace(name, "NAME"))
        assert len(set(errors)) == 1

        found = remanence.union(mine, bobs).recall("Who is allergic?")
        assert texts(found)[0] == "I am allergic to peanuts."
        assert "shellfish" not in found.explain()
        assert list(found.missing) == [bobs.name]
        with pytest.raises(InvalidInput, match="not the full name of a space"):
            RemoteSpace(mine._connection, f"{team.name}/%proposals").count()


def test_one_server_is_asked_once(ana: Space, team: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader reads; the client needs none. With names of the caller, each space is asked."""
    with connected(ana) as mine:
        ours = RemoteSpace(mine._connection, team.name)
        asked: list[str] = []
        call = mine._connection.call

        def count(operation: Any, *arguments: Any) -> Any:
            asked.append(operation.name)
            return call(operation, *arguments)

        monkeypatch.setattr(mine._connection, "call", count)
        remanence.union(mine, ours).recall("server")
        assert asked == ["union_recall"]
        local = remanence.union(mine=mine, here=team).recall("What is the staging server called?")
        assert local[0].space == "here"
        assert asked.count("recall") == 1


# Proposals


def test_a_proposal_is_a_memory_only_when_it_is_approved(ana: Space, team: Space) -> None:
    """With its origin, its days and who decided; "I" is who proposed it."""
    memory = ana.add("I moved the standup to 9:30.", tags="work", now="2026-05-04")
    offered = team.proposals.add(memory, by="ana", note="all should know")
    assert (offered.space, offered.memory, offered.by, offered.status) == (ana.name, memory.id, "ana", "open")
    assert team.proposals.add(memory, by="ana") == offered
    assert not any("standup" in text for text in texts(team.recall("When is the standup?", limit=50)))
    assert team.count() == 3
    assert team.proposals.list() == [offered]

    approved = team.proposals.approve(offered.id, by="bob")
    assert approved.meta["origin"] == {
        "space": ana.name,
        "memory": memory.id,
        "proposed_by": "ana",
        "approved_by": "bob",
    }
    assert (approved.told_at, approved.tags, approved.observed_by) == (memory.told_at, ("work",), "ana")
    assert team.recall("When is the standup?")[0].memory == approved
    [decided] = team.proposals.list("approved")
    assert (decided.approved_as, decided.decided_by, team.proposals.list()) == (approved.id, "bob", [])

    ana.erase(memory.id)  # what was approved is a memory of the team
    assert team.get(approved.id) == approved
    [copy] = team.memories(meta={"origin.memory": memory.id})
    assert copy == approved


def test_a_proposal_can_be_rejected_and_erased(ana: Space, team: Space) -> None:
    """It is decided once, and its text goes when it is erased."""
    offered = team.proposals.add(ana.add("The secret plan is zebra."), by="ana")
    rejected = team.proposals.reject(offered.id, "too early", by="bob")
    assert (rejected.status, rejected.why, rejected.decided_by) == ("rejected", "too early", "bob")
    with pytest.raises(InvalidInput, match="was rejected already"):
        team.proposals.approve(offered.id)
    with pytest.raises(remanence.NotFound, match="has no proposal 'nope'"):
        team.proposals.approve("nope")

    certificate = team.proposals.erase(offered.id)
    assert certificate.memories == (offered.id,)
    assert team.proposals.list(None) == []
    assert "zebra" not in str([entry.event for entry in team._engine.ledger.read(f"{team.name}/%proposals")])


@pytest.mark.parametrize("second", ["approve", "reject"])
def test_of_two_decisions_at_the_same_time_one_counts(
    ana: Space, team: Space, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    """Both have read that the proposal is open. The one that is written first stands, and there is one memory."""
    offered = team.proposals.add(ana.add("The standup is at half past nine."), by="ana")
    count, find, both = team.count(), Proposals._find, threading.Barrier(2)

    def found_by_both(*given: Any) -> Proposal:
        proposal = find(*given)
        both.wait(timeout=60)
        return proposal

    def decided(action: str, by: str) -> str | None:
        with suppress(InvalidInput):  # the one that is refused
            getattr(team.proposals, action)(offered.id, by=by)
            return by
        return None

    monkeypatch.setattr(Proposals, "_find", found_by_both)
    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(decided, ["approve", second], ["bob", "carl"]))
    [winner] = [by for by in done if by is not None]
    [stands] = team.proposals.list(None)
    assert stands.decided_by == winner
    memories = list(team.memories(meta={"origin.memory": offered.memory}))
    assert [memory.meta["origin"]["approved_by"] for memory in memories] == ([winner] if stands.approved_as else [])
    assert team.count() - count == len(memories) == (stands.status == "approved")


def test_an_approval_that_was_cut_short_is_finished_by_the_next(ana: Space, team: Space) -> None:
    """The decision was written, and the memory was not."""
    offered = team.proposals.add(ana.add("The standup is at half past nine."), by="ana")
    team.proposals._decide(offered.id, status="approved", decided_by="bob")
    stored = team.proposals.approve(offered.id, by="carl")
    assert stored.meta["origin"]["approved_by"] == "bob"
    assert [each.approved_as for each in team.proposals.list(None)] == [stored.id]
    with pytest.raises(InvalidInput, match="was approved already"):
        team.proposals.approve(offered.id)


def test_nobody_can_change_the_words_of_an_open_proposal(ana: Space, team: Space) -> None:
    """Other words under the same origin are another proposal: what is approved is what was read."""
    memory = ana.add("The door code is 4711.")
    offered = team.proposals.add(memory, by="ana")
    changed = team.proposals.add(ana.revise(memory, text="The door code is 0000.")[0], by="ana")
    assert changed.id != offered.id
    assert team.proposals.approve(offered.id).text == "The door code is 4711."


def test_who_may_propose_sees_no_proposals(
    ana: Space, team: Space, tokens: TokenStore, reopen: Callable[..., Space]
) -> None:
    """`propose` offers, `write` decides, `read` does neither; also over the connection."""
    memory = ana.add("The secret plan is zebra.")
    secrets = {
        access: tokens.create(access, spaces=[team.name], access=access)[0] for access in ("read", "propose", "write")
    }
    with connected(team, tokens=tokens, token=secrets["read"]) as reader, pytest.raises(AccessDenied):
        reader.proposals.add(memory, by="ana")
    with connected(team, tokens=tokens, token=secrets["propose"]) as proposer:
        offered = proposer.proposals.add(memory, by="ana")
        for refused in (proposer.proposals.list, lambda: proposer.proposals.approve(offered.id)):
            with pytest.raises(AccessDenied):
                refused()
        assert "zebra" not in str(proposer.recall("secret plan").to_dicts())
        assert not any("zebra" in str(change) for change in proposer.audit.changes())
    with connected(team, tokens=tokens, token=secrets["write"]) as approver:
        assert approver.proposals.list() == [offered]
        assert approver.proposals.approve(offered.id, by="bob").text == "The secret plan is zebra."
        assert approver.proposals.list() == []


def test_proposals_survive_a_restart(reopen: Callable[..., Space]) -> None:
    """They are in the ledger of the shared space, and go with it."""
    space = reopen()
    team = space.child("team")
    team.proposals.add(space.child("ana").add("The plan is zebra."), by="ana")
    team = reopen().child("team")
    assert [each.text for each in team.proposals.list()] == ["The plan is zebra."]
    team.erase_space()
    assert team.proposals.list() == []
