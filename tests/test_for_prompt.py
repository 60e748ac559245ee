"""What reaches the prompt for a chat message."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import remanence
from case_tables import cases
from remanence import Hit, InvalidInput, Space
from remanence.adapters import check_keep, is_kept, prompt_budget
from remanence.models.message_words import need_of_memory
from remanence.models.readers import READER_VARIABLE
from remanence.testing import FakeClock, ScriptedModel
from remanence.testing.fakes import facts_reply
from remanence.text.repetition import drop_repeated

FACT = "I'm allergic to peanuts."
TOLD_FIRST = (FACT, "I moved to Porto last spring.", "My dog is called Bo.")
ASKINGS = (
    *("What am I allergic to?", "what was my allergy again", "Which foods should I stay away from?"),
    *("Remind me what I can't eat.", "do I have any allergies", "Is there something I must not eat?"),
    *("what was it again that i'm allergic to", "Tell me my allergies please.", "Am I allergic to anything?"),
    *("Which food is dangerous for me?", "Name the thing I'm allergic to.", "What allergens matter for me?"),
    *("I'm filling in a form: what are my food allergies?", "Before you suggest a recipe, what am I allergic to?"),
    *("The airline asks about allergies. What do I write?", "For the hospital form: any known allergies?"),
    "I'm having guests who cook for me, what should they leave out?",
    *("It's Monday 3 November. what am I allergic to again?", "which things am I allergic to"),
    "What am I allergic to? (3)",
)
SMALL_TALK = (
    "Hi!",
    "Thanks!",
    "hmm",
    "Goodnight",
    "lol ok",
    "What is 2+2?",
    "Tell me a joke.",
    "Good night!",
    "asdf qwer",
    "",
)
NO_NEED = ("????", "👍", "Thanks, that's all for now.", "Who are you?", "Say it again, shorter.", "Never mind, bye!")


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> Iterator[Space]:
    """A space with the reader that comes with the package, which other tests do without."""
    monkeypatch.delenv(READER_VARIABLE, raising=False)
    with remanence.open(None, worker=False) as opened:
        opened.add_turns(
            {"role": "user", "content": text, "conversation": f"told {number}"}
            for number, text in enumerate(TOLD_FIRST)
        )
        yield opened


def quoted(space: Space, message: str, **options: object) -> list[str]:
    return [hit.memory.text for hit in space.for_prompt(message, **options).hits]  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["small", "none"])
@pytest.mark.parametrize("conversations", [1, 200])
def test_askings_do_not_take_the_place_of_the_fact(reader: str, conversations: int) -> None:
    """Each of them stored two hundred times beside it, asked one after the other and fifty at once."""
    with remanence.open(None, worker=False, reader=reader) as space:
        space.add_turns({"role": "user", "content": text, "conversation": "told"} for text in TOLD_FIRST)
        for asked in ASKINGS:
            space.add_turns(
                {"role": "user", "content": asked, "conversation": f"asked {number % conversations}"}
                for number in range(200)
            )
        alone = [quoted(space, asked) for asked in ASKINGS]
        with ThreadPoolExecutor(50) as pool:
            assert list(pool.map(partial(quoted, space), (ASKINGS * 3)[:50])) == (alone * 3)[:50]
        assert [(asked, texts) for asked, texts in zip(ASKINGS, alone, strict=True) if FACT not in texts] == []
        assert {text for texts in alone for text in texts} <= {*TOLD_FIRST}
        for asked in ASKINGS:  # a plain recall has what asks after what tells
            plain = [hit.memory.text for hit in space.recall(asked, limit=20)]
            assert FACT in plain[: len(TOLD_FIRST) + 1], asked
            assert not {*plain}.isdisjoint(ASKINGS)


def test_the_only_memory_is_quoted_for_whatever_words() -> None:
    """With no other to compare it with, what the message says decides."""
    with remanence.open(None, worker=False) as space:
        space.add_turns([{"role": "user", "content": FACT}])
        assert {asked: quoted(space, asked) for asked in ASKINGS} == {asked: [FACT] for asked in ASKINGS}
        assert [message for message in (*SMALL_TALK, *NO_NEED) if quoted(space, message)] == []


@pytest.mark.parametrize("message", [*SMALL_TALK, *NO_NEED])
def test_a_message_that_needs_no_memory_gets_none(space: Space, message: str) -> None:
    assert space.for_prompt(message).text == ""


def test_thanks_in_a_chat_bring_nothing(space: Space) -> None:
    """Unless "Yes" answers a question of the assistant."""
    asked = {"role": "user", "content": "What can I not eat?"}
    told = {"role": "assistant", "content": "You avoid nuts."}
    offer = {"role": "assistant", "content": "Shall I look up your allergies?"}
    for message in ("Thanks, got it.", "Great!", "I see, thanks."):
        assert space.for_prompt(message, turns=[asked, told]).skip_reason == "it is blank or only a greeting"
    assert space.for_prompt("Yes.", turns=[asked, offer]).skip_reason == ""
    world = [
        {"role": "user", "content": "What is the capital of Mongolia?"},
        {"role": "assistant", "content": "It is Ulaanbaatar."},
    ]
    assert space.for_prompt("And of Kenya?", turns=world).hits == ()


def test_a_question_is_understood_with_the_turns_before_it(space: Space) -> None:
    """It is Ana who must avoid something, not the user."""
    space.add_turns([{"role": "user", "content": "My sister Ana can't have shellfish.", "conversation": "told 9"}])
    turns = [
        {"role": "user", "content": "Let's plan a dinner for my sister Ana."},
        {"role": "assistant", "content": "Gladly! What do you have in mind?"},
    ]
    assert quoted(space, "What should she avoid?", turns=turns)[0] == "My sister Ana can't have shellfish."
    assert space.recall("What should she avoid?", context=turns)[0].memory.text == "My sister Ana can't have shellfish."


@pytest.mark.parametrize(
    ("before", "asked", "told"),
    [
        ("Now a lunch for Tom.", "And what should he not get?", "My brother Tom hates olives."),
        ("I'm cooking for my wife tonight.", "What can't she eat?", "My wife Clara is a vegetarian."),
        ("My boss is coming over.", "What can I offer him to drink?", "My boss Henrik drinks no alcohol."),
    ],
)
def test_he_and_she_are_whom_the_turns_before_name(space: Space, before: str, asked: str, told: str) -> None:
    """What was told of them comes first, not the user's own allergy."""
    people = ("My brother Tom hates olives.", "My wife Clara is a vegetarian.", "My boss Henrik drinks no alcohol.")
    space.add_turns({"role": "user", "content": text, "conversation": text} for text in people)
    turns = [{"role": "user", "content": before}, {"role": "assistant", "content": "Sure, what do you have in mind?"}]
    assert quoted(space, asked, turns=turns)[0] == told


def test_what_the_prompt_has_is_not_quoted_again(space: Space) -> None:
    """By its content: the same text may be another message, or be spelt otherwise."""
    assert quoted(space, "What am I allergic to?")[0] == FACT
    for copy in (FACT, "  i'm ALLERGIC to\npeanuts. "):
        assert quoted(space, "What am I allergic to?", turns=[{"role": "user", "content": copy}])[:1] != [FACT]


TOLD = "I left Google last May to join Anthropic, and I have lived in Porto since 2019."
WORKS, LIVES = "The user works at Anthropic.", "The user lives in Porto."


@pytest.fixture
def with_facts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Space]:
    """A space in which a language model wrote two facts of one turn."""
    monkeypatch.delenv(READER_VARIABLE, raising=False)
    reply = facts_reply(
        {"text": WORKS, "kind": "semantic", "turn": 0, "quotation": "I left Google last May to join Anthropic"},
        {"text": LIVES, "kind": "semantic", "turn": 0, "quotation": "I have lived in Porto since 2019"},
    )
    with remanence.open(None, worker=False, extractor=remanence.LLMExtractor(ScriptedModel(reply))) as opened:
        opened.remember([{"role": "user", "content": TOLD, "conversation": "new"}])
        yield opened


def test_a_text_and_its_facts_are_quoted_once_whatever_their_words(with_facts: Space) -> None:
    """The fact says "works at", the text "join": they belong together by how the fact was found."""
    found = with_facts.recall("Where do I work?", limit=20)
    assert sorted(hit.memory.text for hit in found) == sorted((TOLD, WORKS, LIVES))
    [source] = [hit.memory.id for hit in found if hit.memory.text == TOLD]
    assert {hit.memory.text for hit in found if source in hit.found_in} == {WORKS, LIVES}
    for lines in (quoted(with_facts, "Where do I work?"), remanence.frame(found).splitlines()):
        has_text = any(TOLD in line for line in lines)
        has_fact = any(fact in line for fact in (WORKS, LIVES) for line in lines)
        assert has_text != has_fact


def test_a_fact_of_a_text_in_the_prompt_is_not_quoted(with_facts: Space) -> None:
    """The prompt has it already, in other words."""
    assert [text for text in quoted(with_facts, "Where do I work?") if "Anthropic" in text]
    assert quoted(with_facts, "Where do I work?", turns=[{"role": "user", "content": TOLD}]) == []
    assert not with_facts.recall("Where do I work?", exclude_texts=[TOLD])


def test_facts_only_and_tags(with_facts: Space) -> None:
    """As filters of the recall."""
    found = with_facts.for_prompt("Where do I work?", kinds=("semantic", "viewpoint")).hits
    assert {hit.memory.kind for hit in found} == {"semantic"}
    assert quoted(with_facts, "Where do I work?", tags=["none"]) == []


def test_what_another_says_or_denies_is_no_repetition(space: Space) -> None:
    """Nor is the same of another person or another time."""
    texts = ["I live in Braga.", "I don't live in Braga.", "She lives in Braga."]
    space.add_turns({"role": "user", "content": text, "conversation": "a"} for text in texts)
    space.add_turns([{"speaker": "Ana", "content": "I live in Braga.", "conversation": "b"}])
    space.add("The user lives in Braga.")
    for start, end in (("2001", "2003"), ("2011", "2013")):
        space.add("The user had a flat in Braga.", valid_from=start, valid_until=end, key=start)
    texts = [hit.memory.text for hit in drop_repeated(Hit(memory, 1.0) for memory in space.memories())]
    assert [text for text in texts if "Braga" in text] == [
        *("I live in Braga.", "I don't live in Braga.", "She lives in Braga.", "I live in Braga."),
        *("The user had a flat in Braga.", "The user had a flat in Braga."),
    ]


def test_what_the_assistant_only_repeats_is_left_out(space: Space) -> None:
    space.add_turns([{"role": "assistant", "content": "You told me: peanuts, allergic.", "conversation": "x"}])
    found = quoted(space, "What am I allergic to?")
    assert found[0] == FACT
    assert "You told me: peanuts, allergic." not in found


def test_the_budget_is_kept(space: Space) -> None:
    """By what ranks highest, and a long text takes no more than its sentences on the matter. In a small window the
    memories take a quarter."""
    space.add("I'm also allergic to pollen. " + "It was a long spring. " * 200)
    space.add_many(f"I own book number {number}." for number in range(60))
    found = space.for_prompt("What am I allergic to?", max_tokens=300)
    assert 4 * 250 < len(found.text) <= 4 * 300
    assert "I'm also allergic to pollen." in found.text
    assert FACT in [hit.memory.text for hit in found.hits[:2]]
    assert {each.reason for each in found.left_out} == {"it does not fit into the token budget"}
    assert prompt_budget(2_000, 1_536) == 384
    assert prompt_budget(100, 1_536) == 100
    assert prompt_budget(100, -5) == 0


def test_a_budget_too_small_for_any_memory_is_logged(space: Space, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is quoted; it would look as if nothing were remembered."""
    assert quoted(space, "What am I allergic to?", max_tokens=100)[0] == FACT
    assert caplog.records == []
    found = space.for_prompt("What am I allergic to?", max_tokens=20)
    assert (found.text, found.hits) == ("", ())
    assert found.skip_reason == "3 memories found, but none fits into max_tokens=20"
    assert [record.getMessage() for record in caplog.records] == [
        f"nothing is quoted in the prompt: {found.skip_reason}"
    ]
    assert space.for_prompt("What am I allergic to?", max_tokens=0).skip_reason == "max_tokens is 0"


def test_keep_chooses_what_is_stored() -> None:
    told, asked = "I live in Porto.", "Where do I live?"
    assert is_kept("all", "assistant", asked)
    assert [is_kept("user", role, told) for role in ("user", "assistant")] == [True, False]
    assert [is_kept("facts", "user", text) for text in (told, asked, "Thanks!")] == [True, False, False]
    assert [is_kept(lambda role, text: "Porto" in text, "user", text) for text in (told, asked)] == [True, False]
    assert not is_kept(None, "user", told)
    with pytest.raises(InvalidInput, match="keep='some' is none of 'all', 'user', 'facts'"):
        check_keep("some")


def test_without_a_reader_the_words_of_a_message_decide() -> None:
    with remanence.open(None, worker=False, reader=None) as space:
        space.add(FACT)
        assert quoted(space, "What am I allergic to?") == [FACT]
        assert quoted(space, "What is 2+2?") == []


def test_thanks_are_not_quoted_for_the_turn_before_them(space: Space) -> None:
    """The turn itself is; "Yes." after a question is an answer."""
    chats = (("I can't have gluten.", "thanks!"), ("Are you allergic to dust?", "Yes."))
    for conversation, (first, second) in enumerate(chats):
        for role, text in (("user" if conversation == 0 else "assistant", first), ("user", second)):
            space.remember([{"role": role, "content": text, "conversation": str(conversation)}])
    for asked, text in (("May I have gluten?", "I can't have gluten."), ("Am I allergic to dust?", "Yes.")):
        texts = quoted(space, asked)
        assert text in texts
        assert "thanks!" not in texts


def test_a_question_beside_a_statement_is_no_answer(space: Space) -> None:
    """The reader is given what a turn states, and the signals count no more than that."""
    space.add_turns({"role": "user", "content": text, "conversation": text} for text in ASKINGS[-5:])
    found = space.recall("What am I allergic to?", informative_only=True)
    assert found[0].memory.text == FACT
    for hit in found:
        assert sum(evidence.share for evidence in hit.evidence) == pytest.approx(hit.score)


def test_what_only_tells_comes_before_a_turn_that_also_asks(space: Space) -> None:
    """Such a turn says why somebody asks. One that tells the matter keeps its place."""
    dog = "My dog Bo is terrified of thunder."
    for text in (
        dog,
        "Bo is shaking and it's raining hard outside, why might that be?",
        "I live in Graz now, where can I ski?",
    ):
        space.add_turns([{"role": "user", "content": text, "conversation": text}])
    found = quoted(space, "Is there something that scares Bo?")
    assert dog in found
    assert not any("raining" in text for text in found)
    assert quoted(space, "Where do I live?")[0] == "I live in Graz now, where can I ski?"


@pytest.mark.parametrize(
    "lacks", ["I need the code for the garage.", "I can't get the garage open, I forgot the code."]
)
def test_what_only_tells_comes_before_a_turn_that_lacks_it(space: Space, lacks: str) -> None:
    """Such a turn has the words of the answer, and not the answer."""
    code = "The code for the garage door is 4471."
    for text in (code, lacks):
        space.add_turns([{"role": "user", "content": text, "conversation": text}])
    found = space.recall("What is the code for the garage door?", informative_only=True)
    assert found[0].memory.text == code


@pytest.mark.parametrize("asked", ["My sitter wants to know when Bo is scared.", "The vet asks what Bo is afraid of."])
def test_a_question_of_somebody_else_is_answered(space: Space, asked: str) -> None:
    dog = "My dog Bo is terrified of thunder."
    space.add_turns([{"role": "user", "content": dog, "conversation": "dog"}])
    assert dog in quoted(space, asked)


@pytest.mark.parametrize(
    ("turns", "question", "answer"),
    [
        (("What does our shop run on?", "On Oracle 19c."), "And the blog?", "The blog runs on a Postgres 16 instance."),
        (
            ("I'm making the charlotte.", "With Bramleys."),
            "and how long does it bake?",
            "The charlotte bakes 50 minutes.",
        ),
    ],
)
def test_a_follow_up_is_not_answered_by_what_was_spoken_of(
    space: Space, turns: tuple[str, str], question: str, answer: str
) -> None:
    """Of memories that were told together, the reader chooses with the turns before the question in mind."""
    told = ("The shop runs on Oracle 19c.", "The blog runs on a Postgres 16 instance.")
    space.add_many((*told, "I use Bramley apples for the charlotte.", "The charlotte bakes 50 minutes."))
    context = [{"role": "user", "content": turns[0]}, {"role": "assistant", "content": turns[1]}]
    assert space.recall(question, context=context)[0].memory.text == answer


def test_recall_can_leave_out_turns_that_tell_nothing(space: Space) -> None:
    """As a filter of its own, also after the index was loaded from its file; notes are never left out."""
    space.add_turns([{"role": "user", "content": "What am I allergic to?", "conversation": "x"}])
    space.add("Allergic to what?")
    texts = {hit.memory.text for hit in space.recall("allergic")}
    assert {"What am I allergic to?", "Allergic to what?"} <= texts
    assert texts - {hit.memory.text for hit in space.recall("allergic", informative_only=True)} == {
        "What am I allergic to?"
    }
    assert FACT not in {hit.memory.text for hit in space.recall("allergic", exclude_texts=[FACT])}


def test_a_recall_with_context_can_be_repeated(space: Space) -> None:
    asked = space.recall("And him?", context=["user: My dog Bo is ill."], informative_only=True, exclude_texts=["x"])
    stored = asked.receipt.to_dict()
    assert stored["context"] == ["user: My dog Bo is ill."]
    assert [hit.memory for hit in space.audit.replay(stored)] == [hit.memory for hit in asked]


@pytest.mark.parametrize("context", ["text", 7, [7], [{"role": 7, "content": "x"}], [{"role": "user"}]])
def test_context_that_is_no_list_of_turns_is_refused(space: Space, context: object) -> None:
    with pytest.raises(InvalidInput, match="context"):
        space.recall("And him?", context=context)  # type: ignore[arg-type]


def test_need_of_memory_ignores_what_is_quoted() -> None:
    """ "My" in a text to translate is not the speaker's."""
    asked = 'Translate into French: "Where did I leave my keys and what did my sister say about our trip?"'
    assert need_of_memory(asked) < 0.5 < need_of_memory("Where did I leave my keys?")


LIFE = (
    ("2026-02-02", "My husband Tomas is coeliac, so there is no gluten in the house."),
    ("2026-04-15", "I sold the van and bought an electric one."),
    ("2026-05-05", "The doctor says that my wrist pain is tendinitis."),
    ("2026-05-17", "Tomas ran the 20 km of Brussels!"),
    ("2026-09-14", "My sister Hanne expects twins in December."),
)


@pytest.fixture
def life(monkeypatch: pytest.MonkeyPatch) -> Iterator[Space]:
    """Some months of somebody's life, each told in a chat of its own."""
    monkeypatch.delenv(READER_VARIABLE, raising=False)
    clock = FakeClock("2026-11-18T09:00")
    with remanence.open(None, worker=False, clock=clock) as opened:
        for day, text in LIFE:
            turn = {"role": "user", "content": text, "time": day, "conversation": day}
            opened.add_turns([turn, {"role": "assistant", "content": "I see.", "conversation": day}], now=day)
        yield opened


def test_who_asks_for_everything_gets_the_profile(life: Space) -> None:
    """Within the budget, and not more than that; for another matter, what is about it comes first."""
    told = {text for _, text in LIFE}
    for message in ("What do you know about me?", "so tell me, who am I to you", "Sum me up in two sentences!"):
        assert {hit.memory.text for hit in life.for_prompt(message).hits} <= told
        assert len(life.for_prompt(message).hits) >= 4
        assert len(life.for_prompt(message, max_tokens=90).hits) < 4
    assert quoted(life, "What do you know about my van?")[0] == LIFE[1][1]


@cases("for_prompt")
def test_who_asks_for_a_time_gets_all_of_it(life: Space, message: str, days: list[str]) -> None:
    """In its order: what was told then, and what is about it."""
    found = life.for_prompt(message)
    assert [hit.memory.text for hit in found.hits] == [text for day, text in LIFE if day in days]
    assert found.text.count("Today is Wednesday, 2026-11-18.") == 1


def test_a_dinner_for_two_brings_what_one_of_them_must_not_eat(life: Space) -> None:
    assert life.for_prompt("Valentine's dinner for Tomas and me?").hits[0].memory.text == LIFE[0][1]


def test_what_answers_in_other_words_is_quoted(life: Space) -> None:
    """That the accountant is who Mr Peeters is; and general knowledge brings nothing."""
    life.add_turns(
        [{"role": "user", "content": "The accountant, Mr Peeters, wants all receipts.", "conversation": "x"}]
    )
    assert quoted(life, "Who is Mr Peeters?")[0] == "The accountant, Mr Peeters, wants all receipts."
    assert life.for_prompt("What is the boiling point of lead?").hits == ()


def test_what_memory_knows_is_quoted_for_a_question_that_sounds_impersonal(space: Space) -> None:
    """That one memory is much nearer to it than the others says that it is about the user's life. General knowledge
    brings nothing."""
    space.add_turns(
        [{"role": "user", "content": "the headmistress said no to the six months, only three", "conversation": "a"}]
    )
    asked = "why did the headmistress refuse the six months?"
    assert need_of_memory(asked) < 0.1
    assert quoted(space, asked)[0] == "the headmistress said no to the six months, only three"
    assert quoted(space, "how tall is the Eiffel Tower") == []


def test_a_coming_december_is_not_the_last_one() -> None:
    with remanence.open(None, clock=FakeClock("2026-11-18")) as space:
        space.add_turns([{"role": "user", "content": "we won the quiz", "time": "2025-12-13"}], now="2025-12-13")
        space.add_turns(
            [{"role": "user", "content": "Kamen moves to Sofia in December", "time": "2026-10-06"}], now="2026-10-06"
        )
        assert quoted(space, "What's coming up for me in December?") == ["Kamen moves to Sofia in December"]
