"""Facts in many wordings: what announces a statement, where it stands in a sentence, and what still holds after it."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

import remanence
from conversations import profile_after
from remanence.models.extractors import RuleExtractor
from remanence.schema import Fact, Utterance

NOW = datetime(2026, 5, 20, 12, tzinfo=timezone.utc)


def facts(said: str, speaker: str = "me") -> list[Fact]:
    return list(RuleExtractor().facts([Utterance(said, speaker, NOW)], now=NOW).facts)


def texts(said: str, speaker: str = "me") -> list[str]:
    return [fact.text for fact in facts(said, speaker)]


def claims(said: str) -> set[str]:
    return {str(claim) for fact in facts(said) for claim in fact.triples}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Don't forget: I prefer oat milk.", "The user prefers oat milk."),
        ("Also worth mentioning: Theo doesn't eat pork.", "Theo doesn't eat pork."),
        ("One more thing you should know about me: I'm left-handed.", "The user is left-handed."),
        ("Just so you know, I moved to Lyon.", "The user moved to Lyon."),
        ("Quick heads-up - my dentist is called Imre.", "The user's dentist is called Imre."),
        ("You may want to write this down: the wifi is called Hyggenet.", "The wifi is called Hyggenet."),
        ("I should add that my mother is deaf.", "The user's mother is deaf."),
        ("I'm so glad we sold the boat.", "The user and others sold the boat."),
        ("Did I mention that I play the harp?", "The user plays the harp."),
    ],
)
def test_what_announces_a_statement_is_no_part_of_it(said: str, expected: str) -> None:
    """A lead-in is known by its words, in any order, and is left out."""
    assert texts(said)[0] == expected


@pytest.mark.parametrize(
    "said",
    [
        "Translate this: I live in Rome.",
        "You said I live in Rome, is that so?",
        "Don't forget, every step matters!",
        "I'm glad you like it.",
    ],
)
def test_a_lead_in_makes_no_fact_by_itself(said: str) -> None:
    """A text to work on, a word of the other and a saying stay what they are."""
    assert texts(said) == []


def test_what_is_to_be_remembered_weighs_most() -> None:
    """A lead-in that asks to remember does so in any wording."""
    (fact,) = facts("Please note this down: my locker is number 12.")
    assert fact.importance == 0.9


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Since I've been vegan for years, what can I order?", "The user has been vegan for years."),
        ("What time should I leave, considering I like to walk to work?", "The user likes to walk to work."),
        ("Please stop suggesting glazes, I quit the pottery evenings.", "The user quit the pottery evenings."),
        ("I'm training for a triathlon and I was wondering if you had tips.", "The user is training for a triathlon."),
        ("Find me a stew pls, im lactose intolerant", "The user is lactose intolerant."),
        ("Knee is wrecked, the marathon is off.", "The marathon is off."),
    ],
)
def test_a_statement_is_found_beside_a_question(said: str, expected: str) -> None:
    """A reason before or after a request is told, and so is what a doubt is added to."""
    assert any(text.startswith(expected.removesuffix(".")) for text in texts(said))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Where could my partner Anselm, who uses a wheelchair, park?", "Anselm is the user's partner."),
        ("Where could my partner Anselm, who uses a wheelchair, park?", "Anselm uses a wheelchair."),
        ("Need a birthday text for Paula, my best friend.", "Paula is the user's best friend."),
        ("Any idea what my wife Solveig's parents could drink?", "Solveig is the user's wife."),
    ],
)
def test_a_question_takes_something_for_granted(said: str, expected: str) -> None:
    """Who somebody is to the speaker is told in a question too."""
    assert expected in texts(said)


def test_what_a_statement_names_is_not_told_twice() -> None:
    """A person of whom something is stated needs no fact for the relationship alone."""
    found = texts("Could you find a gift for my nephew Otis? He turns seven on Sunday.")
    assert not any(text == "Otis is the user's nephew." for text in found)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I lived in Chicago, then moved to Austin.", "me —lives_in→ Austin"),
        ("We lived in Lyon for six years and then relocated to Antwerp.", "me —lives_in→ Antwerp"),
        ("I used to live in Rome, now live in Paris.", "me —lives_in→ Paris"),
        ("My sister Olga lived in Gdansk, then moved to Oslo.", "Olga —lives_in→ Oslo"),
        ("I worked at Nokia for ten years, was laid off, and now teach at Aalto.", "me —teaches_at→ Aalto"),
    ],
)
def test_clauses_may_share_a_subject(said: str, expected: str) -> None:
    """Each clause of a chain is read with the subject of the first."""
    assert expected in claims(said)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "Noor came back for Christmas; she's playing with the Tonkünstler Orchestra these days!",
            "Noor is playing with the Tonkünstler Orchestra these days!",
        ),
        (
            "Could you find a gift for my nephew Otis? He turns seven on Sunday and is into dinosaurs.",
            "The user's nephew Otis is into dinosaurs.",
        ),
        (
            "I need a roast beef recipe, my father's coming and he's a carnivore through and through",
            "The user's father is a carnivore through and through.",
        ),
        ("Our boiler is a Vaillant ecoTEC, installed 2014.", "The user's boiler is a Vaillant ecoTEC, installed 2014."),
        ("I moved to Zagreb in 2021 and my wife Iva is a dentist.", "The user moved to Zagreb in 2021."),
        ("I moved to Zagreb in 2021 and my wife Iva is a dentist.", "The user's wife Iva is a dentist."),
        ("I started at Ubisoft in March and my brother moved to Lyon.", "The user's brother lives in Lyon."),
        ("We bought a house last year and I work for the council now.", "The user works for the council now."),
        ("We have a garden and our neighbour Ulf has a pool.", "The user's neighbour Ulf has a pool."),
        ("My sister Kaja lives in Bergen; her son Emil is four.", "Kaja's son Emil is four."),
        ("We moved to Graz, and our son Emil goes to school there.", "The user and others live in Graz."),
    ],
)
def test_a_sentence_is_split_into_statements(said: str, expected: str) -> None:
    """Where each part can be read alone, whether or not the first is in the past."""
    assert expected in texts(said)


def test_their_is_the_person_who_speaks() -> None:
    """In a statement that is read alone, "their plan" would be nobody's."""
    said = "just fyi: i'm on an iphone 12, my plan is with Vodafone, and i bank with N26"
    assert "Alice's plan is with Vodafone." in texts(said, "Alice")


@pytest.mark.parametrize(
    "said",
    [
        "I met the Millers and their son Tim is ill.",
        "I love the Hubers, their daughter Ina is a doctor.",
        "I work for the Kesslers and their house is huge.",
    ],
)
def test_their_is_not_the_speaker_who_says_so(said: str) -> None:
    """Somebody else's son is no son of the user."""
    assert len(texts(said)) == 1
    assert not any(claim.endswith("_of→ me") for claim in claims(said))


def test_a_place_before_there_is_not_cut_off() -> None:
    found = facts("We moved to Graz, and our son Emil goes to school there.")
    assert not any("Graz" not in fact.text for fact in found)


def test_a_chain_ends_only_what_it_says() -> None:
    """ "Used to" belongs to its own clause."""
    ended = {str(claim) for fact in facts("I used to live in Rome, now live in Paris.") for claim in fact.ended_claims}
    assert ended == {"me —lives_in→ Rome"}


def test_words_at_the_start_are_no_subject_by_themselves() -> None:
    """ "Backups of the database" are one thing."""
    assert len(texts("Backups of the ledger are encrypted with AES-256 and shipped to Backblaze.")) == 1


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("I moved to Stripe as a PM.", "The user works at Stripe as a PM."),
        ("I moved to Acme as a product manager in May.", "The user works at Acme as a product manager."),
        ("Ana joined Kuehne as head of logistics.", "Ana works at Kuehne as head of logistics."),
        ("My wife took a post as a radiologist at the Charité.", "The user's wife works at Charité as a radiologist."),
        ("We moved to Ghent as a family.", "The user and others live in Ghent."),
    ],
)
def test_a_role_tells_a_job_from_a_home(said: str, expected: str) -> None:
    """Who moves somewhere in a role works there; "as a family" is no role."""
    assert expected in texts(said)


def test_part_of_a_memory_ends_and_the_rest_is_kept() -> None:
    """A new employer ends the old one and not the profession; a wedding ends "girlfriend" and not her diet."""
    job = profile_after("I work at Acme as a buyer.", "I work at Bosch now.")
    assert "Acme" not in job
    assert "works as a buyer" in job
    couple = profile_after("My girlfriend Nadia is vegetarian.", "Nadia and I got married.")
    assert "girlfriend" not in couple
    assert "Nadia is vegetarian" in couple


@pytest.mark.parametrize(
    ("first", "then", "stays", "goes"),
    [
        ("I'm Dora and I live in Graz.", "I moved to Linz last week.", "user is Dora", "Graz"),
        ("My name is Dora and I live in Graz.", "I moved to Linz last week.", "name is Dora", "Graz"),
        ("I live in Graz and work at Siemens.", "I moved to Linz last week.", "works at Siemens", "Graz"),
        ("I live in Graz, work at Siemens and play chess.", "I left Siemens.", "The user plays chess.", "works at"),
        ("My wife Lena and I live in Graz.", "I moved to Linz last week.", "wife is Lena", "Graz"),
        ("I play tennis and chess.", "I stopped playing chess.", "plays tennis.", "and chess"),
    ],
)
def test_the_other_statements_of_a_sentence_are_kept(first: str, then: str, stays: str, goes: str) -> None:
    """A move ends a home, and not the name, the job or the wife that the same sentence tells."""
    profile = profile_after(first, then)
    assert stays in profile
    assert goes not in profile


def test_the_reader_says_which_statement_of_a_sentence_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new diet in other words ends "vegetarian", and not the allergy beside it."""
    monkeypatch.delenv("REMANENCE_READER")
    with remanence.open(None) as space:
        space.remember("I'm vegetarian and allergic to nuts.", now="2026-01-10")
        space.remember("I've started eating fish and chicken again, doctor's orders.", now="2026-03-10")
        profile = str(space.profile())
    assert "The user is allergic to nuts." in profile
    assert "vegetarian" not in profile


def test_two_people_of_one_name_are_told_apart() -> None:
    """A friend is not a brother: what is said of one does not end what is said of the other."""
    both = profile_after("My brother Sam is a chef.", "My friend Sam is a lawyer.")
    assert "brother Sam is a chef" in both
    assert "friend Sam is a lawyer" in both


def test_given_claims_stay_as_given() -> None:
    """Claims of a caller who names the entities are not changed."""
    with remanence.open(None, reader=None) as space:
        space.add("My brother Sam is a chef.")
        given = remanence.Triple("Sam", "friend_of", "me")
        memory = space.add("Sam is nice.", entities=["Sam"], triples=[given])
    assert memory.triples == (given,)
