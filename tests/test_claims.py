"""The grammar of claims: what plain sentences claim, what other sentences do not, and what a later claim closes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remanence
from case_tables import cases
from remanence import Space, Triple
from remanence.testing import FakeClock
from remanence.text import claims as claims_package
from remanence.text.claims.predicates import claim_key, claim_value
from remanence.text.rule_extractor import RuleExtractor

NOW = datetime(2026, 4, 15, tzinfo=timezone.utc)
RULES = RuleExtractor()
TABLE = Path(claims_package.__path__[0]) / "claim_table.txt"
LINES = [line for line in TABLE.read_text("utf-8").splitlines() if line and not line.startswith("#")]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def space(clock: FakeClock) -> Iterator[Space]:
    with remanence.open(None, clock=clock, reader=None) as space:
        yield space


def claims(text: str, speaker: str | None = None) -> list[str]:
    return [str(claim) for claim in RULES.extract(text, now=NOW, speaker=speaker).triples]


def names(text: str) -> dict[str, str]:
    """Each name in a text, with its kind."""
    return {mention.name: mention.kind for mention in RULES.extract(text, now=NOW).mentions}


def ended_by(space: Space, clock: FakeClock, old: str, new: str, verb: str = "add") -> bool:
    """Whether the first text is superseded once the second is told."""
    getattr(space, verb)(old, now="2026-01-10")
    clock.advance(days=1)
    getattr(space, verb)(new)
    return old in [memory.text for memory in space.memories("superseded")]


# What the table says


def test_the_table_is_read() -> None:
    """Without its lines, the next test would have nothing to check."""
    assert len(LINES) > 50


@pytest.mark.parametrize("line", LINES)
def test_each_line_of_the_table_gives_the_claim_of_its_example(line: str) -> None:
    """A line has phrases, a predicate and an example with its object; of a list of objects, each makes a claim."""
    phrases, _, rest = line.partition(" = ")
    meaning, _, example = rest.partition(" : ")
    text, _, objects = example.partition(" -> ")
    predicate = meaning.split()[0]

    found = RULES.extract(text, now=NOW).triples
    assert [(claim.predicate, claim.object) for claim in found] == [(predicate, each) for each in objects.split(", ")]
    assert any(f" {phrase} " in text for phrase in phrases.split(" | ")), "the example has one of the phrases"
    assert all(text.startswith((claim.subject, f"The {claim.subject}")) for claim in found)


@cases("claims")
def test_other_persons_and_several_claims_follow_from_the_table(text: str, expected: list[str]) -> None:
    """The first person, two verbs, relatives and roles."""
    assert claims(text) == expected


def test_the_first_person_is_whoever_speaks() -> None:
    """By the name of the speaker, and "me" without one."""
    assert claims("I live in Porto.", speaker="Alice") == ["Alice —lives_in→ Porto"]
    assert claims("I live in Porto.") == ["me —lives_in→ Porto"]


# What makes no claim


@cases("claims")
def test_questions_doubts_plans_and_negations_claim_nothing(text: str) -> None:
    """A claim can end an earlier one, so a wrong claim is worse than a missing one."""
    assert claims(text) == []


@cases("claims")
def test_a_claim_that_the_words_do_not_make_is_not_made(text: str, wrong: str) -> None:
    """Leaving a building, using a service, changing tools and a former marriage are something else."""
    assert wrong not in {claim.predicate for claim in RULES.extract(text, now=NOW).triples}


@pytest.mark.parametrize("when", ["", " after ten years", " early last year", " in June", " two years ago"])
def test_a_job_is_left_in_a_year_or_after_years(when: str) -> None:
    """These are no times of the day."""
    assert claims(f"I left Bosch{when}.") == ["me —left→ Bosch"]


@cases("claims")
def test_the_grammar_claims_nothing_from_other_languages(text: str) -> None:
    """It reads English only; such a text is found by its words and its meaning."""
    assert RULES.extract(text, now=NOW, speaker="Alice").triples == ()


PIECES = st.sampled_from(
    ["I ", "my ", "left ", "Google ", "to join ", "Bob ", "'s ", ". ", "? ", "no longer ", "lives in ",
     "Porto", "! ", "actually, ", "she ", "and ", "3pm today ", "\n", "“", "🙂", "don't ", "İ"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25))
def test_whatever_is_claimed_stands_in_the_text(pieces: list[str]) -> None:
    """Fragments in any order raise nothing, and each claim has a subject and an object from the text."""
    text = "".join(pieces)
    for claim in RULES.extract(text, now=NOW, speaker="Alice").triples:
        assert claim.subject == "Alice" or claim.subject in text
        assert claim.object == "Alice" or claim.object in text


# Names


@cases("claims")
def test_a_name_ends_where_the_script_changes(text: str, expected: dict[str, str]) -> None:
    """Scripts without capitals are often written without spaces: a sentence of them is no part of a name."""
    assert names(text) == expected


@pytest.mark.parametrize(
    "text", ["🎉 Noor Garcia", "Noor Garcia 🎉", "🎉Noor Garcia!", "Noor Garcia❤️", "👩🏽‍💻 Noor Garcia"]
)
@pytest.mark.parametrize("rest", ["", "\nShe joined us today, and the whole team is happy about it."])
def test_an_emoji_is_no_part_of_a_name(text: str, rest: str) -> None:
    """Neither beside a name nor in a heading."""
    assert list(names(text + rest)) == ["Noor Garcia"]


def test_a_sentence_in_the_first_line_is_no_heading() -> None:
    """Also where its full stop is not a Latin one."""
    text = "Ana Haddadさんは毎日働いています。\n私たちは毎日一緒に働いています。とても楽しいです。"
    assert names(text) == {"Ana Haddad": "person"}


@pytest.mark.parametrize(
    "text", ["ao signed the lease.", "We met alpha one again.", "ask the alpha people", "AO rang."]
)
def test_a_registered_alias_is_found_in_any_case(space: Space, text: str) -> None:
    """Also in lower case, and of several plain words."""
    entity = space.entities.register(
        "AlphaOne LLC", aliases=["AO", "Alpha One", "the alpha people"], kind="organization"
    )
    memory = space.add(text)

    [mention] = [each for each in memory.mentions if each.kind == "organization"]
    found = space.entities.resolve(mention.name)
    assert found.id == entity.id


def test_a_memory_is_about_the_alias_that_comes_first_in_it(space: Space) -> None:
    """Not about a name after it, which the rules find by its capital."""
    space.entities.register("AlphaOne LLC", aliases=["AO"])
    memory = space.add("AO signed the lease in Porto.")

    assert [mention.name for mention in memory.mentions] == ["AO", "Porto"]
    found = space.recall("What about AlphaOne LLC?", signals=["graph"])[0]
    assert "about AO" in found.reason
    assert "named in the question" in found.reason


def test_an_alias_that_is_an_ordinary_word_needs_its_capital(space: Space) -> None:
    """ "It will rain" does not mention Will."""
    space.entities.register("William Stone", aliases=["Will"], kind="person")

    assert not space.add("it will rain").mentions
    assert "Will" in {mention.name for mention in space.add("then Will came in").mentions}


def test_names_that_the_caller_gives_are_kept_as_they_are(space: Space) -> None:
    """Nothing is looked for besides them."""
    space.entities.register("AlphaOne LLC", aliases=["AO"])
    assert [mention.name for mention in space.add("ao and Bob", entities=["Bob"]).mentions] == ["Bob"]


def test_claims_that_the_caller_gives_are_kept_as_they_are(space: Space) -> None:
    """Also where the grammar would not make them, as for a second Sam."""
    space.add("My brother Sam is a chef.")
    given_claim = Triple("Sam", "friend_of", "me")
    assert space.add("Sam is nice.", entities=["Sam"], triples=[given_claim]).triples == (given_claim,)


def test_a_text_from_before_the_alias_keeps_its_mentions_and_is_found_by_its_words(space: Space) -> None:
    """What is stored does not change; a question by the full name looks for the alias too."""
    memory = space.add("ao signed the lease.")
    space.add("The garden is green.")
    space.entities.register("AlphaOne LLC", aliases=["AO"])

    kept = space.get(memory.id)
    assert not kept.mentions
    assert space.recall("What did AlphaOne LLC do?")[0].memory.id == memory.id


# What a later claim closes


def test_two_claims_with_one_key_and_two_values_disagree() -> None:
    """Whichever side of the claim has the one value."""
    porto, lisbon = Triple("Alice", "lives_in", "Porto"), Triple("alice", "lives_in", "Lisbon")
    jobs, cook = Triple("Steve Jobs", "ceo_of", "Apple"), Triple("Tim Cook", "ceo_of", "Apple")

    for one, other in ((porto, lisbon), (jobs, cook)):
        assert claim_key(one) == claim_key(other)
        assert claim_value(one) != claim_value(other)
    assert claim_key(Triple("Alice", "favourite_colour", "green")) is not None


@pytest.mark.parametrize(
    "predicate", ["likes", "prefers", "has", "sister_of", "visited", "speaks", "vice_president_of", "member_of"]
)
def test_what_many_have_several_of_is_not_single_valued(predicate: str) -> None:
    """A second one does not replace the first."""
    assert claim_key(Triple("Alice", predicate, "Bob")) is None


@pytest.mark.parametrize("verb", ["add", "remember"])
@cases("claims")
def test_a_later_value_closes_the_earlier_one(
    space: Space, clock: FakeClock, verb: str, old: str, new: str, subject: str, predicate: str, ended: str, holds: str
) -> None:
    """Where a subject has one value at a time. The memory stays in history and is no longer current."""
    assert ended_by(space, clock, old, new, verb)
    assert all(relation.valid.end is not None for relation in space.graph.when(subject, predicate, ended))
    assert any(relation.valid.end is None for relation in space.graph.when(subject, predicate, holds))


def test_of_a_role_with_one_holder_the_later_one_counts(space: Space, clock: FakeClock) -> None:
    """Here the object is what has one value."""
    assert ended_by(space, clock, "The CEO of Apple is Steve Jobs.", "Tim Cook is the CEO of Apple.")


def test_a_given_claim_closes_an_earlier_one(space: Space, clock: FakeClock) -> None:
    """As one of the grammar does, in whatever words the memory is written."""
    old = space.add("The worker of Atlas is in Dublin.", triples=[Triple("Atlas", "based_in", "Dublin")])
    clock.advance(days=1)
    space.add("New region!", triples=[Triple("Atlas", "based_in", "Frankfurt")])

    assert [memory.id for memory in space.memories("superseded")] == [old.id]


@pytest.mark.parametrize("verb", ["add", "remember"])
@cases("claims")
def test_an_event_ends_the_state_before_it(
    space: Space, clock: FakeClock, verb: str, old: str, new: str, predicate: str
) -> None:
    """Where somebody works or lives, told as what happened."""
    assert ended_by(space, clock, old, new, verb)
    [relation] = space.graph.when(old.split()[0], predicate, old.rstrip(".").split()[-1])
    assert relation.valid.end is not None


def test_an_event_in_one_batch_ends_what_stands_before_it(space: Space) -> None:
    """As with one `add` after the other; what is said of others needs no transaction of its own."""
    texts = ["Alice works at Google.", "Bob left IBM.", "Alice left Google."]
    space.add_many([{"text": text, "now": f"2026-01-0{day}"} for day, text in enumerate(texts, 1)])

    assert [str(relation.valid) for relation in space.graph.when("Alice", "works_at")] == ["2026-01-01 to 2026-01-03"]


@pytest.mark.parametrize("verb", ["add", "remember"])
@cases("claims")
def test_an_unrelated_memory_is_left_alone(space: Space, clock: FakeClock, verb: str, old: str, new: str) -> None:
    """However alike the words are: other people, other predicates, several values, doubts."""
    assert not ended_by(space, clock, old, new, verb)
    assert [hit.current for hit in space.recall(old) if hit.memory.text == old] == [True]


def test_what_is_told_late_does_not_replace_what_came_after(space: Space, clock: FakeClock) -> None:
    """Where Alice lived in 2019 says nothing against where she has lived since 2024."""
    current = space.add("Alice lives in Porto.", valid_from="2024-01-01")
    clock.advance(days=1)
    space.add("Alice lives in Lisbon.", valid_from="2019-01-01", valid_until="2020-01-01")

    assert current.id not in [memory.id for memory in space.memories("superseded")]
