"""Names, claims and times by rule."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_tables import cases
from remanence.errors import InvalidInput
from remanence.models.extractors import SELF, RuleExtractor, find_question_names, resolve_extractor, speaker_name
from remanence.schema import Extraction, Mention, Window
from remanence.text.named_entities.name_rules import find_names
from remanence.text.rule_extractor import MAX_MENTIONS

NOW = datetime(2026, 5, 20, 12, tzinfo=timezone.utc)


def names(text: str) -> list[str]:
    return [name.text for name in find_names(text)]


def claims(text: str, speaker: str | None = None) -> list[str]:
    return [str(claim) for claim in RuleExtractor().extract(text, now=NOW, speaker=speaker).triples]


def mentions(text: str, speaker: str | None = None) -> list[str]:
    return [mention.name for mention in RuleExtractor().extract(text, now=NOW, speaker=speaker).mentions]


# -- names ---------------------------------------------------------------------------------------------


@cases("extractors")
def test_names_of_many_words_are_one_name(text: str, expected: list[str]) -> None:
    """Particles, titles, initials and numbers belong to the name they stand in."""
    assert names(text) == expected


@cases("extractors")
def test_the_first_word_of_a_sentence_needs_more_than_its_capital(text: str, expected: list[str]) -> None:
    """A verb behind it, a possessive, a greeting before it, or a better placed appearance."""
    assert names(text) == expected


@cases("extractors")
def test_not_every_capital_is_a_name(text: str) -> None:
    """Days, languages, shouts, headings, code and family words are not names."""
    assert names(text) == []


@cases("extractors")
def test_a_name_has_a_kind(text: str, name: str, kind: str) -> None:
    """What the name seems to name, or "thing"."""
    assert [(found.text, found.kind) for found in find_names(text)] == [(name, kind)]


def test_words_in_quotes_are_not_always_a_title() -> None:
    """Speech and scare quotes are left alone."""
    assert names('She said "I will go home now" and it was "Great" and so \'cool\'.') == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where does Alice live?", ("Alice",)),
        ("What did Caroline's grandma give her?", ("Caroline",)),
        ("who is the director of film Polish-Russian War?", ("Polish-Russian War",)),
        ("when did I last see Bob", (SELF, "Bob")),
        ("Is James Bourne in both McBusted and The Auteurs?", ("James Bourne", "McBusted", "Auteurs")),
        ("Did Bob meet bob's sister, or BOB?", ("Bob",)),
        ("Who wrote the song Yesterday Once More?", ("Yesterday Once More",)),
        ("what colour is it", ()),
    ],
)
def test_a_question_names_whom_it_asks_about(question: str, expected: tuple[str, ...]) -> None:
    """Question words are not names, the first person is one, and each name comes once."""
    assert find_question_names(question) == expected


# -- mentions ------------------------------------------------------------------------------------------


def test_the_speaker_is_mentioned_first_and_is_who_i_is() -> None:
    """A chat turn is about the one who says it, even when it says only "ok"."""
    assert mentions("ok", speaker="Caroline") == ["Caroline"]
    assert mentions("Bob and I met; my dog ran.", speaker="Caroline") == ["Caroline", "Bob"]
    assert mentions("Bob gave me his.") == ["Bob", SELF]
    assert mentions("World War I was long.") == []


@pytest.mark.parametrize(
    ("speaker", "name"),
    [("user", SELF), ("Human", SELF), ("assistant", "assistant"), ("AI", "assistant"), ("bot", "assistant")],
)
def test_a_role_is_not_a_name(speaker: str, name: str) -> None:
    """Who types is the first person; what answers is the assistant."""
    assert speaker_name(speaker) == name
    assert mentions("I like tea.", speaker=speaker) == [name]


def test_each_name_is_mentioned_once_under_its_first_spelling() -> None:
    """And with the first kind that says something."""
    found = RuleExtractor().extract("We saw Zorblax. Later Zorblax said no. ZORBLAX won.", now=NOW)

    assert found.mentions == (Mention("Zorblax", "person"),)


def test_a_text_mentions_a_limited_number_of_names() -> None:
    """A telephone book is not about everybody in it."""
    assert len(mentions(", ".join(f"we met Zor{a}{b}x" for a in "abcdefghij" for b in "abcdefghij"))) == MAX_MENTIONS


# -- claims --------------------------------------------------------------------------------------------


@cases("extractors")
def test_a_plain_statement_is_a_claim(text: str, expected: list[str]) -> None:
    """A name opens the clause, the verb follows at once."""
    assert claims(text) == expected


@cases("extractors")
def test_what_we_do_i_do(text: str, expected: list[str]) -> None:
    """Whoever the others are; yet "we" is nobody's name."""
    assert claims(text) == expected
    assert SELF not in mentions(text)


@cases("extractors")
def test_what_people_tell_of_themselves_and_theirs(text: str, expected: list[str]) -> None:
    """Kin, friends, work, health and origins; what only looks like it claims nothing."""
    assert claims(text) == expected


@cases("extractors")
def test_what_is_not_plainly_stated_is_not_claimed(text: str) -> None:
    """Denials, questions, conditions, wishes and other people's doings."""
    assert claims(text) == []


@cases("extractors")
def test_an_encyclopaedia_is_read_whole(text: str, claim: str) -> None:
    """Titles and plain nouns too: all before the verb is the subject, all behind it the object."""
    assert claims(text) == [claim]


@cases("extractors")
def test_not_every_sentence_is_an_encyclopaedia(text: str) -> None:
    """Its subject and its object have to be written like names."""
    assert claims(text) == []


def test_the_first_person_of_a_claim_is_the_speaker() -> None:
    """ "I" in a turn is whoever says it."""
    assert claims("I live in Porto.", speaker="Alice") == ["Alice —lives_in→ Porto"]


# -- times ---------------------------------------------------------------------------------------------


def may(day: int) -> Window:
    start = datetime(2026, 5, day, tzinfo=timezone.utc)
    return Window(start, start.replace(day=day + 1))


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("Alice called yesterday.", may(19)),
        ("Alice called yesterday, and Bob came today.", may(19)),
        ("Did Alice call today? She came yesterday.", may(19)),
        ("Did Alice call yesterday?", None),
        ("Alice called.", None),
        ("Alice called yesterday. " + "It was long. " * 200, None),
    ],
)
def test_the_first_time_that_is_stated_is_when_it_happened(text: str, window: Window | None) -> None:
    """A question states no time, and a long document has no single one."""
    assert RuleExtractor().extract(text, now=NOW).valid == window


# -- any text at all -----------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["Alice", "I", "'s", " ", ".", '"', "'", "“", "”", "@", "://", "www.", "of", "**", "\n", "`", "-", "15",
     "İ", "ß", "\x00", "🙂", "שלום", "日本", "U.S.", "J.", "_", "is", "the", "lives in", "X"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)))
def test_no_text_makes_it_fail(text: str) -> None:
    """And every name found stands in the text, in order."""
    found = find_names(text)

    assert all(text[name.start : name.end] == name.text and name.text.strip() for name in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert isinstance(RuleExtractor().extract(text, now=NOW, speaker="Bob"), Extraction)
    assert isinstance(find_question_names(text), tuple)


def test_threads_share_an_extractor() -> None:
    """It holds no state, so all of them read the same."""
    extractor = RuleExtractor()
    texts = [f"Alice{n} lives in Porto." for n in range(50)] * 4
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: extractor.extract(text, now=NOW), texts))

    assert found == [extractor.extract(text, now=NOW) for text in texts]


# -- which extractor -----------------------------------------------------------------------------------


def test_an_extractor_may_be_nothing_an_object_or_a_function() -> None:
    """The rules are what you get when you ask for nothing."""
    rules = RuleExtractor()
    found = Extraction((Mention("Alice"),))

    assert resolve_extractor(None).name == "rules"
    assert resolve_extractor(rules) is rules
    assert resolve_extractor(lambda text: found).extract("…", now=NOW, speaker="Bob") is found


@pytest.mark.parametrize("wrong", [42, "rules", RuleExtractor])
def test_what_is_no_extractor_is_refused_with_the_way_out(wrong: object) -> None:
    """The message says what is accepted."""
    with pytest.raises(InvalidInput, match=r"[Pp]ass"):
        resolve_extractor(wrong)


def test_a_function_that_returns_no_extraction_is_named() -> None:
    """Rather than failing somewhere further on."""
    with pytest.raises(InvalidInput, match="has to return an Extraction"):
        resolve_extractor(lambda text: None).extract("…", now=NOW)


@cases("extractors")
def test_people_are_found_in_texts_without_capitals(text: str, expected: list[str]) -> None:
    """A first name that is not an ordinary word, or what only people have around them."""
    assert [name.text for name in find_names(text)] == expected


def test_the_user_is_who_says_i() -> None:
    """Where a claim follows; "user accounts" and a manual for users are about nobody."""
    rules, now = RuleExtractor(), datetime(2026, 5, 1, tzinfo=timezone.utc)

    def claims(text: str, speaker: str | None = None) -> list[str]:
        return [str(claim) for claim in rules.extract(text, now=now, speaker=speaker).triples]

    assert claims("The user lives in Austin.") == claims("User lives in Austin.") == claims("I live in Austin.")
    assert claims("Noted. The user's sister is Ana.") == ["Ana —sister_of→ me"]
    assert rules.extract("The user lives in Austin.", now=now).mentions[0].name == "me"
    for text in ("User accounts expire after 30 days.", "The user clicks Save.", "Ask the user where he lives."):
        assert claims(text) == []
        assert all(mention.name != "me" for mention in rules.extract(text, now=now).mentions)
    assert claims("The user lives in Austin.", speaker="assistant") == []
