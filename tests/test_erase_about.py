"""Erasing everything about one person: what would go and why, then what went, with one certificate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import remanence
from model_replies import USER_FACTS
from remanence import InvalidInput, NotFound, Space
from remanence.service.client.remote_space import RemoteSpace
from remanence.service.hosting.tokens import TokenStore
from remanence.testing import HashingEmbedder
from remote import connected


def filled(space: Space) -> Space:
    """A space in which Clara is named in every way."""
    space.entities.register("Clara Silva", aliases=["Clara", "Clarinha"], kind="person")
    space.add_many(
        [
            "Clara lives in Porto.",
            "Bob met clarinha in May.",
            "Bob rows.",
            {"text": "The report is due.", "source": "email from Clara"},
            {"text": "Clara's phone is 555.", "key": "phone"},
            {"text": "The phone is 556.", "key": "phone"},
            {"text": "The party is on Friday.", "tags": ["clara"], "meta": {"guests": ["Clara"]}},
        ]
    )
    space.add_turns([{"speaker": "Clara", "content": "I hate cilantro."}, {"role": "user", "content": "Bob sails."}])
    space.graph.relate("Clara Silva", "knows", "Bob")
    space.graph.relate("Bob", "owns", "boat")
    forgotten = space.add("Clarinha sings.")
    space.forget(forgotten)
    space.audit.record(space.recall("Where does Clara live?"))
    space.audit.record(space.recall("Who rows?", limit=1))
    return space


def words_in_ledger(space: Space) -> str:
    return str([entry.event for entry in space._engine.ledger.read(space.name)]).lower()


def test_a_dry_run_says_what_goes_and_why(space: Space) -> None:
    """By memory, with the reasons; nothing is written."""
    before = filled(space).verify()
    planned = space.erase_about("Clara", dry_run=True)
    why = {memory.text: memory.why for memory in planned.memories}
    assert "names Clara" in why["Clara lives in Porto."]
    assert "names it as 'Clarinha'" in why["Bob met clarinha in May."]
    assert why["The report is due."] == ("its source has the name",)
    assert "names Clara" in why["The phone is 556."]
    assert {"its tags has the name", "its meta has the name"} <= set(why["The party is on Friday."])
    assert "said by Clara" in why["I hate cilantro."]
    assert "Clarinha sings." in why
    assert not {"Bob rows.", "Bob sails."} & set(why)
    assert planned.relations == ("Clara Silva knows Bob",)
    assert (planned.recalls, planned.entity_entries, planned.certificate) == (1, 1, None)
    assert "7 memories about 'Clara' would be erased" in str(planned)
    assert space.verify() == before


def test_nothing_of_it_is_left(reopen: Callable[..., Space]) -> None:
    """Not in the ledger, an index, an entity, a relation or a recorded recall; also after a restart. The rest stays."""
    space = filled(reopen())
    done = space.erase_about("Clara")
    assert len(done.certificate.memories) == 7
    assert done.certificate.erased_entries == {"remembered": 8, "registered": 1, "related": 1, "served": 1}
    for again in (False, True):
        opened = reopen() if again else space
        assert not any(name in words_in_ledger(opened) for name in ("clara", "clarinha", "silva", "cilantro"))
        assert not any(
            "clar" in hit.memory.text.lower() for hit in opened.recall("Where does Clara live?", limit=50, history=True)
        )
        assert opened.entities.resolve("Clara Silva") is None
        assert opened.entities.resolve("Clarinha") is None
        assert [str(relation) for relation in opened.graph.when("Bob", "owns")]
        assert [each.receipt.question for each in opened.audit.recorded()] == ["Who rows?"]
        assert sorted(memory.text for memory in opened.memories()) == ["Bob rows.", "Bob sails."]
        assert opened.admin.check() == {}
        assert opened.verify().entries > 0
    assert len(reopen().erase_about("Clara", dry_run=True)) == 0


def test_two_people_of_one_name_are_told_apart_by_the_entity(space: Space) -> None:
    """The name means both; the entity only one of them."""
    for text in ("My brother Sam lives in Porto.", "My friend Sam lives in Faro.", "Sam called.", "Samantha rows."):
        space.add(text)
    both = space.erase_about("Sam", dry_run=True)
    assert {memory.text for memory in both.memories} == {
        "My brother Sam lives in Porto.",
        "My friend Sam lives in Faro.",
        "Sam called.",
    }
    assert both.others == ("my friend Sam",)

    friend = space.entities.resolve("my friend Sam")
    assert friend is not None
    assert [memory.text for memory in space.erase_about(friend.id, dry_run=True).memories] == [
        "My friend Sam lives in Faro."
    ]
    brother = space.entities.resolve("Sam")
    assert brother is not None
    space.erase_about(brother)
    assert sorted(memory.text for memory in space.memories()) == ["My friend Sam lives in Faro.", "Samantha rows."]


def test_facts_found_only_in_these_go_with_them() -> None:
    """Also those that do not say the name."""
    with remanence.open(None, embedder=HashingEmbedder(), extractor=USER_FACTS) as space:
        space.remember([{"role": "user", "content": "Clara knows that I live in Porto."}])
        facts = [memory.text for memory in space.memories() if "Clara" not in memory.text]
        planned = space.erase_about("Clara", dry_run=True)
        assert facts
        assert all(
            memory.why == ("a fact that was found only in these",)
            for memory in planned.memories
            if memory.text in facts
        )
        done = space.erase_about("Clara")
        assert done.certificate is not None
        assert len(done.certificate) == len(planned) == 1 + len(facts)
        assert space.count() == 0


def test_what_stays_is_said(space: Space) -> None:
    """Reasons of other entries, and spaces below that were not searched. Proposals are searched."""
    boat = space.add("The boat is red.")
    space.forget(boat, why="Clara asked")
    space.forget(space.add("Clara hums."), why="Clara asked for it")  # goes with the memory
    space.child("window").add("Clara rows.")
    space.proposals.add(space.child("ana").add("Clara sails."), by="ana")
    planned = space.erase_about("Clara", dry_run=True)
    assert [memory.text for memory in planned.memories] == ["Clara hums.", "Clara sails."]
    assert [boat.id in item for item in planned.stays if "forgotten" in item] == [True]
    assert "2 spaces below" in planned.stays[-1]

    done = space.erase_about("Clara", children=True)
    assert len(done.certificate.spaces) == 4
    assert "asked for it" not in words_in_ledger(space)
    assert space.child("window").count() == 0
    assert space.proposals.list(None) == []


def test_who_cannot_be_erased(space: Space) -> None:
    """The user, nobody, and an entity that is not there."""
    space.add("I live in Porto.")
    with pytest.raises(InvalidInput, match="is the user"):
        space.erase_about("me")
    with pytest.raises(InvalidInput, match="is blank"):
        space.erase_about(" ")
    with pytest.raises(NotFound, match="no entity"):
        space.erase_about("e0123456789abcdef")
    nobody = space.erase_about("Nobody")
    assert len(nobody) == 0
    assert nobody.certificate.position == 0


def test_an_ordinary_word_is_a_name_only_as_it_is_written(space: Space) -> None:
    """Rose is a person, and prices rose."""
    space.add_many(["Rose lives in Porto.", "Prices rose in May."])
    assert [memory.text for memory in space.erase_about("Rose", dry_run=True).memories] == ["Rose lives in Porto."]


def test_a_token_needs_admin(space: Space) -> None:
    """Over a connection it does the same, for those who may erase."""
    space.add("Clara lives in Porto.")
    tokens = TokenStore(None)
    writer, admin = (tokens.create(access, spaces=["default"], access=access)[0] for access in ("write", "admin"))
    with connected(space, tokens=tokens, token=writer) as remote, pytest.raises(remanence.errors.AccessDenied):
        remote.erase_about("Clara", dry_run=True)
    with connected(space, tokens=tokens, token=admin) as remote:
        assert isinstance(remote, RemoteSpace)
        assert remote.erase_about("Clara", dry_run=True) == space.erase_about("Clara", dry_run=True)
        done = remote.erase_about("Clara")
        assert done.certificate is not None
        assert len(done.certificate) == 1
        assert space.count() == 0
    tokens.close()
