"""The rows of ../shared/references/features.tsv on extracted facts, with a scripted language model: the features of
systems that always have one. Each row has its line in that file, what is said, what the model answers, and what holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

import remanence
from remanence import Memory, Space
from remanence.schema import UTC
from remanence.testing import FakeClock, ScriptedModel
from remanence.testing.fakes import facts_reply
from remanence_server import ServerSettings, create_app

NOW = "2026-06-20"


class Chat(NamedTuple):
    """What a user says on a day, and the facts that the model answers."""

    day: str
    said: str
    facts: tuple[Mapping[str, Any], ...]


class Row(NamedTuple):
    """A feature: its lines in the table, and what must hold after the chats."""

    lines: tuple[int, ...]
    feature: str
    chats: tuple[Chat, ...]
    holds: Callable[[Space], object]


def as_moment(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


def fact(text: str, quotation: str, kind: str = "semantic", **fields: Any) -> dict[str, Any]:
    return {"text": text, "quotation": quotation, "kind": kind, **fields}


def claim(subject: str, predicate: str, object_: str) -> list[dict[str, str]]:
    return [{"subject": subject, "predicate": predicate, "object": object_}]


def stored(space: Space, text: str) -> Memory:
    """The fact with this text, current or not."""
    [found] = [each.memory for each in space.graph.memories("all") if each.memory.text == text]
    return found


def kinds(space: Space) -> dict[str, str]:
    """The kind of each current fact."""
    return {memory.text: memory.kind for memory in space.memories() if memory.turn is None}


def links(space: Space, text: str) -> set[tuple[str, str, str | None]]:
    """What a fact does to others: the kind of the link, the text of the other one, and why."""
    [details] = [each for each in space.graph.memories("all") if each.memory.text == text and not each.memory.turn]
    texts = {each.memory.id: each.memory.text for each in space.graph.memories("all")}
    return {(link.kind, texts[link.target], link.why) for link in details.links_out if link.kind != "derived_from"}


def current(space: Space, question: str, **options: Any) -> list[str]:
    """The texts of the hits that hold, the best first."""
    return [hit.memory.text for hit in space.recall(question, **options) if hit.current]


LEFT = Chat(
    "2026-05-04",
    "I left Google last May to join Anthropic as a research engineer.",
    (
        fact(
            *("The user left Google to join Anthropic.", "I left Google last May to join Anthropic", "episode"),
            when="2025-05",
            names=[{"name": "Google", "kind": "organization"}, {"name": "Anthropic", "kind": "organization"}],
            importance=0.6,
        ),
        fact(
            *("The user works at Anthropic as a research engineer.", "join Anthropic as a research engineer"),
            triples=claim("user", "works_at", "Anthropic"),
            importance=0.9,
            confidence=0.95,
        ),
    ),
)
EDITOR = Chat(
    "2026-05-05",
    "I switched from VS Code to Neovim, the modal editing is so much faster",
    (
        fact("The user switched from VS Code to Neovim.", "I switched from VS Code to Neovim", "episode"),
        fact(
            *(
                "The user prefers Neovim over VS Code for its modal editing speed.",
                "the modal editing is so much faster",
            ),
            kind="viewpoint",
        ),
    ),
)
OPINION = Chat(
    "2026-02-03",
    "VS Code feels sluggish on this laptop",
    (fact("The user finds VS Code sluggish.", "VS Code feels sluggish on this laptop", "viewpoint"),),
)
AUSTIN = Chat(
    "2026-05-06",
    "I switched from my old accounting firm in Chicago to a startup in Austin back in March. The pay cut was rough.",
    (
        fact(
            "The user switched from an accounting firm in Chicago to a startup in Austin, with a pay cut.",
            "I switched from my old accounting firm in Chicago to a startup in Austin back in March",
            "episode",
            when="2026-03",
        ),
        fact("The user works at a startup in Austin.", "a startup in Austin", when="2026-03", importance=0.9),
    ),
)
DINNER = Chat(
    "2026-05-07",
    "We had dinner at Mother's on Tuesday, the black cod was great, 140 pounds. Also I can't stand coriander.",
    (
        fact(
            "The user had dinner at Mother's: black cod, for 140 pounds.",
            "We had dinner at Mother's on Tuesday, the black cod was great, 140 pounds",
            "episode",
            when="2026-05-05",
        ),
        fact("The user can't stand coriander.", "I can't stand coriander", "viewpoint"),
    ),
)
ROSA = (
    Chat("2026-05-08", "My sister Rosa moved to Ghent.", (fact("Rosa lives in Ghent.", "Rosa moved to Ghent"),)),
    Chat(
        "2026-05-08", "She teaches chemistry there.", (fact("Rosa teaches chemistry in Ghent.", "teaches chemistry"),)
    ),
)
GOOGLE = Chat(
    "2026-05-04",
    "Alex works at Google.",
    (fact("Alex works at Google.", "Alex works at Google", "fact", triples=claim("Alex", "works_at", "Google")),),
)
STRIPE = Chat(
    "2026-06-04",
    "Had a call with Alex, now a PM at Stripe; he likes mornings.",
    (
        fact(
            *("Alex works at Stripe as a PM.", "Alex, now a PM at Stripe", "fact"),
            triples=claim("Alex", "works_at", "Stripe"),
            replaces=[0],
        ),
        fact("Alex prefers morning meetings.", "he likes mornings", "viewpoint"),
    ),
)
PHONES = (
    Chat("2026-03-04", "My phone is a Pixel 7.", (fact("The user has a Pixel 7.", "My phone is a Pixel 7"),)),
    Chat(
        "2026-05-05",
        "Picked up the iPhone 15 today",
        (fact("The user's phone is an iPhone 15.", "Picked up the iPhone 15 today", replaces=[0]),),
    ),
)
DOG = (
    Chat(
        "2026-05-04", "I have a dog called Rex.", (fact("The user has a dog called Rex.", "I have a dog called Rex"),)
    ),
    Chat("2026-05-09", "Rex is a labrador", (fact("Rex is a labrador.", "Rex is a labrador", extends=[0]),)),
    Chat("2026-05-10", "I play the cello", (fact("The user plays the cello.", "I play the cello"),)),
)
ON_CALL = (
    Chat(
        "2026-05-04",
        "I'm on call this week.",
        (fact("The user is on call.", "I'm on call this week", when="2026-05-04", until="2026-05-10"),),
    ),
    Chat(
        "2026-05-05",
        "Meeting with Tom at 3pm today",
        (fact("The user meets Tom at 3pm.", "Meeting with Tom at 3pm today", "plan", when="2026-05-05"),),
    ),
)
BUDGETS = (
    Chat("2026-05-04", "The Q2 budget is 40 thousand.", (fact("The Q2 budget is 40 thousand.", "Q2 budget is 40"),)),
    Chat(
        "2026-05-06",
        "The Q2 budget is 50 thousand.",
        (fact("The Q2 budget is 50 thousand.", "Q2 budget is 50", replaces=[0]),),
    ),
)


def transition(space: Space) -> None:
    """An event with its month, a state with its claim and importance, and a question about what was before."""
    assert kinds(space) == {
        "The user left Google to join Anthropic.": "episode",
        "The user works at Anthropic as a research engineer.": "semantic",
    }
    left, works = (stored(space, text) for text in kinds(space))
    assert left.valid.start is not None
    assert f"{left.valid.start:%Y-%m}" == "2025-05"
    assert [(each.subject, each.predicate, each.object) for each in works.triples] == [("me", "works_at", "Anthropic")]
    assert (left.importance, works.importance, works.confidence) == (0.6, 0.9, 0.95)
    assert {mention.name for mention in left.mentions} >= {"Google", "Anthropic"}
    assert any("Google" in text for text in current(space, "Where did I work before Anthropic?", limit=2))


def preference(space: Space) -> None:
    """An event and a view, found for what is liked."""
    assert sorted(kinds(space).values()) == ["episode", "viewpoint"]
    assert "Neovim" in current(space, "Which editor do I prefer?", limit=1)[0]


def opinion(space: Space) -> None:
    """What was thought before a change is found, though after what tells of the change."""
    found = space.recall("What did I think about VS Code before switching?", limit=5)
    assert any("sluggish" in hit.memory.text for hit in found)


def move(space: Space) -> None:
    """One event with both places, one state, both from March."""
    assert sorted(kinds(space).values()) == ["episode", "semantic"]
    assert {f"{stored(space, text).valid.start:%Y-%m}" for text in kinds(space)} == {"2026-03"}
    assert "Austin" in current(space, "Where do I work?", limit=1)[0]
    day = space.recall("When did I move to Austin?", limit=1)[0].memory.valid.start
    assert day is not None
    assert f"{day:%Y-%m}" == "2026-03"


def dinner(space: Space) -> None:
    """One event as one memory with its venue, and the other matter as another."""
    assert kinds(space) == {
        "The user had dinner at Mother's: black cod, for 140 pounds.": "episode",
        "The user can't stand coriander.": "viewpoint",
    }
    assert "Mother's" in current(space, "Where did I have dinner?", limit=1)[0]


def self_contained(space: Space) -> None:
    """What the model wrote stands alone, and found with the name that the turn has not."""
    assert "Rosa teaches chemistry in Ghent." in current(space, "What does Rosa teach?", limit=2)


def updated(space: Space) -> None:
    """The old fact is superseded, says why, and stays in history and in the past."""
    assert links(space, "Alex works at Stripe as a PM.") == {
        ("supersedes", "Alex works at Google.", "Alex, now a PM at Stripe")
    }
    assert {memory.text for memory in space.memories("superseded")} == {"Alex works at Google."}
    assert "Google" in space.recall("Where did Alex work before Stripe?")[0].memory.text
    found = current(space, "Where does Alex work?")
    assert found
    assert not any("Google" in text for text in found)
    assert "Google" in current(space.as_of("2026-05-30"), "Where does Alex work?", limit=1)[0]
    assert kinds(space)["Alex prefers morning meetings."] == "viewpoint"


def dropped(space: Space) -> None:
    """Neither the fact nor the words it rests on are current, without the reader either."""
    for reader in (None, "none"):
        found = current(space, "Which phone do I have?", reader=reader)
        assert found
        assert not any("Pixel" in text for text in found)
    hits = {hit.memory.text: hit for hit in space.recall("Which phone do I have?", reader="none")}
    replaced_by = hits["My phone is a Pixel 7."].superseded_by
    assert replaced_by.text == "The user's phone is an iPhone 15."
    assert "Pixel" not in str(space.profile())


def extended(space: Space) -> None:
    """Both stay current, linked; what touches nothing has no link."""
    assert links(space, "Rex is a labrador.") == {("extends", "The user has a dog called Rex.", "Rex is a labrador")}
    assert links(space, "The user plays the cello.") == set()
    assert len(kinds(space)) == 3
    assert set(kinds(space)) <= set(current(space, "Rex, dog, cello"))


def expired(space: Space) -> None:
    """What was so until a day is not current after it, nor is the turn, and neither is in the profile."""
    assert any("on call" in text for text in current(space.as_of("2026-05-06"), "Am I on call?"))
    assert not any("on call" in text for text in current(space, "Am I on call?"))
    assert not any(each in str(space.profile()) for each in ("on call", "Tom"))


def third_person(space: Space) -> None:
    """The profile states the facts in place of the turns they rest on."""
    assert "Alex works at Stripe as a PM." in str(space.profile())
    assert "Google" not in str(space.profile())


def triples(space: Space) -> None:
    """Each claim of the model is in the graph, with its end."""
    [google] = [relation for relation in space.graph.when("Alex", "works_at") if relation.object == "Google"]
    assert google.valid.end is not None


def disagreeing(space: Space) -> None:
    """The verdict of the model is a link; the old one is found among what was replaced."""
    assert links(space, "The Q2 budget is 50 thousand.") == {
        ("supersedes", "The Q2 budget is 40 thousand.", "Q2 budget is 50")
    }


ROWS = (
    Row((44, 45, 46, 47, 48, 49, 50, 52, 56, 57, 61), "a change of work", (LEFT,), transition),
    Row((51, 53, 62), "a change of taste", (EDITOR,), preference),
    Row((9,), "what was thought before a change", (OPINION, EDITOR), opinion),
    Row((8, 54), "the example of Chicago and Austin", (AUSTIN,), move),
    Row((58, 59, 60), "neither split nor merged, names verbatim", (DINNER,), dinner),
    Row((55,), "self-contained", ROSA, self_contained),
    Row((6, 119, 120, 121, 126, 129, 130, 132, 133, 143), "typed facts; updates, with why", (GOOGLE, STRIPE), updated),
    Row((125,), "updates drop the words, too", PHONES, dropped),
    Row((127, 128), "extends, and nothing", DOG, extended),
    Row((122, 123, 131, 135), "bound in time", ON_CALL, expired),
    Row((136,), "profile in the third person", (GOOGLE, STRIPE), third_person),
    Row((27,), "claims in the graph", (GOOGLE, STRIPE), triples),
    Row((70,), "a contradiction is settled by the model, not only noted", BUDGETS, disagreeing),
)


def space_with(model: ScriptedModel, **options: Any) -> Space:
    return remanence.open(None, extractor=remanence.LLMExtractor(model), worker=False, **options)


@pytest.mark.parametrize("row", ROWS, ids=[row.feature for row in ROWS])
def test_a_feature_of_systems_with_a_language_model_holds_with_a_scripted_one(row: Row) -> None:
    """One call a chat, whatever the number of facts."""
    model, clock = ScriptedModel(*(facts_reply(*chat.facts) for chat in row.chats)), FakeClock("2026-01-01")
    with space_with(model, clock=clock) as space:
        for chat in row.chats:
            clock.advance(seconds=(as_moment(chat.day) - clock.now()).total_seconds())
            space.remember([{"role": "user", "content": chat.said}])
        assert len(model.prompts) == len(row.chats)
        clock.advance(seconds=(as_moment(NOW) - clock.now()).total_seconds())
        row.holds(space)


def test_add_asks_no_model(clock: FakeClock) -> None:
    """Line 142."""
    model = ScriptedModel(facts_reply())
    with space_with(model, clock=clock) as space:
        space.add("Alex works at Google.")
        assert model.prompts == []


def test_remember_over_rest_queues_a_job_or_answers_at_once(clock: FakeClock) -> None:
    """Lines 137 to 141: 202 with an id, its state by that id, the facts at once, and the profile."""
    model = ScriptedModel(facts_reply(*GOOGLE.facts))
    with space_with(model, clock=clock) as space:
        app = create_app(space, settings=ServerSettings(sweep_seconds=0))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            paths = {path for route in app.routes if (path := getattr(route, "path", ""))}

            def url(end: str) -> str:
                path = next(path for path in sorted(paths, key=len) if path.endswith(end))
                return path.replace("{space:path}", "default").replace("{space}", "default")

            queued = client.post(url("/remember"), json={"text": GOOGLE.said})
            assert queued.status_code == 202
            job = queued.json()["id"]
            space.jobs.run_due()
            assert client.get(url("/jobs/{id}").replace("{id}", job)).json()["status"] == "done"
            inline = client.post(url("/remember/now"), json={"text": GOOGLE.said}).json()
            assert "Alex works at Google." in str(inline)
            assert "Alex works at Google." in client.get(url("/profile")).text
