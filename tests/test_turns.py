"""What recall makes of conversations: questions lend their words to answers, and who speaks is not a word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import remanence
from case_tables import cases
from remanence import Memory, Recall, Space
from remanence.recall.question import parse_question
from remanence.testing import FakeClock, HashingEmbedder

if TYPE_CHECKING:
    from remanence.ports import Vector

Chat = Callable[..., None]


@pytest.fixture
def chat(space: Space) -> Chat:
    """Adds a conversation given as (speaker, text)."""

    def say(*said: tuple[str, str], into: Space = space) -> None:
        into.add_turns(
            {"speaker": who, "content": text, "time": f"2026-05-01T10:{minute:02}"}
            for minute, (who, text) in enumerate(said)
        )

    return say


def texts(found: Recall) -> list[str]:
    return [hit.memory.text for hit in found]


class TestWordsOfTheTurnBefore:
    def test_an_answer_has_a_share_in_them(self, space: Space, chat: Chat) -> None:
        """It need not repeat what was asked, and comes before a turn that only asks."""
        chat(("Ann", "Did anybody find a ramen place?"), ("Bob", "By the harbour."), ("Ann", "Lovely."))

        found = space.recall("ramen", signals=["words"])

        assert texts(found) == ["By the harbour.", "Did anybody find a ramen place?"]
        assert "follows a turn that holds 'ramen'" in found[0].reason

    def test_an_answer_that_repeats_them_gets_them_once(self, space: Space, chat: Chat) -> None:
        """Its own words count in full, and the lent ones not on top."""
        chat(("Ann", "I love ramen."), ("Bob", "I love ramen!"))

        first, second = space.recall("ramen", signals=["words"])

        assert first.evidence[0].raw_score == second.evidence[0].raw_score
        assert "follows" not in first.reason + second.reason

    def test_what_was_forgotten_lends_nothing(self, space: Space, chat: Chat) -> None:
        """The answer would otherwise tell what the question was about."""
        chat(("Ann", "Did anybody find a ramen place?"), ("Bob", "By the harbour."))
        [asked, _] = space.memories()

        space.forget(asked.id)

        assert not space.recall("ramen", signals=["words"])

    def test_what_was_erased_lends_nothing(self, space: Space, chat: Chat) -> None:
        """Not even to the indexes."""
        chat(("Ann", "Did anybody find a ramen place?"), ("Bob", "By the harbour."))
        [asked, _] = space.memories()

        space.erase(asked.id)

        assert not space.recall("ramen", signals=["words"])

    def test_a_long_turn_stands_on_its_own(self, space: Space, chat: Chat) -> None:
        """It says enough to be found by itself."""
        chat(("user", "Is there a ramen place?"), ("assistant", "There are many things to eat. " * 20))

        assert texts(space.recall("ramen", signals=["words"])) == ["Is there a ramen place?"]

    def test_texts_are_no_conversation(self, space: Space) -> None:
        """Two notes in a row have nothing to do with each other."""
        space.add("The ramen place is closed.")
        space.add("Trams run until midnight.")

        assert texts(space.recall("ramen", signals=["words"])) == ["The ramen place is closed."]


class TestTheMomentOfTheQuestion:
    def ask(self, space: Space, *days: str, now: str = "2026-05-01T12:00") -> list[tuple[str, bool]]:
        """Which of two notes on bread, said on these days, come in which order, and which were too early."""
        space.add_turns(
            {"speaker": "user", "content": text, "time": day}
            for text, day in zip(("I bake bread.", "I bake white bread."), days, strict=True)
        )
        found = space.recall("What bread do I bake?", now=now, signals=["words"])
        return [(hit.memory.text, "said only after 2026-05-01 12:00" in hit.reason) for hit in found]

    def test_what_was_not_yet_said_steps_back(self, space: Space) -> None:
        """It would tell the past what only the future knows; but a wrong clock hides nothing."""
        told = self.ask(space, "2026-05-09T10:00", "2026-04-01T10:00")

        assert told == [("I bake white bread.", False), ("I bake bread.", True)]

    def test_what_was_said_at_about_that_time_stays(self, space: Space) -> None:
        """Clocks differ, and so do the hours at which days begin."""
        told = self.ask(space, "2026-05-02T11:00", "2026-04-01T10:00")

        assert told == [("I bake bread.", False), ("I bake white bread.", False)]

    def test_where_all_of_it_came_later_nothing_changes_places(self, space: Space) -> None:
        """Someone who looks from long before still sees the better one first."""
        told = self.ask(space, "2026-06-02T11:00", "2026-07-01T10:00")

        assert told == [("I bake bread.", True), ("I bake white bread.", True)]

    def test_a_plan_is_no_talk(self, space: Space) -> None:
        """What is to be next year is known today."""
        space.add("The bread fair is in June.", valid_from="2027-06-01", valid_until="2027-06-08")

        assert "said only after" not in space.recall("When is the bread fair?", now="2026-05-01")[0].reason

    def test_it_is_known_again_after_opening(self, reopen: Callable[..., Space]) -> None:
        """When a turn was said is kept with the index."""
        assert self.ask(reopen(), "2026-05-09T10:00", "2026-04-01T10:00")[1] == ("I bake bread.", True)

        found = reopen().recall("What bread do I bake?", now="2026-05-01T12:00", signals=["words"])

        assert "said only after" in found[1].reason


class TestTurnsThatOnlyAsk:
    def test_who_tells_comes_before_who_asks(self, space: Space, chat: Chat) -> None:
        """Both are hers, and the question has more of the words."""
        chat(
            ("Ann", "What hobbies do you have, and which hobbies did you give up?"),
            ("Bob", "None."),
            ("Ann", "For me the best of all hobbies is chess."),
        )

        assert texts(space.recall("What hobbies does Ann have?"))[0] == "For me the best of all hobbies is chess."

    def test_what_only_asks_is_found_after_what_tells(self, space: Space, chat: Chat) -> None:
        """The nearest question first."""
        chat(("user", "Did you see the budget?"), ("assistant", "Yes."), ("user", "Did you see my budget?"))

        found = space.recall("What was the budget I showed you?", signals=["words", "graph"])

        assert texts(found)[:2] == ["Yes.", "Did you see my budget?"]


class TestWhoSpeaks:
    def test_a_speakers_name_is_no_word_to_look_for(self, space: Space, chat: Chat) -> None:
        """Others say it more often than she does."""
        chat(("Bob", "Ann! Good to see you, Ann."), ("Ann", "I baked bread."), ("Bob", "Well done, Ann."))

        found = space.recall("What did Ann bake?", signals=["words"])

        assert texts(found) == ["I baked bread.", "Well done, Ann."]
        assert "'ann'" not in found[0].reason + found[1].reason

    def test_a_view_of_before_looks_for_it(self, space: Space, chat: Chat, clock: FakeClock) -> None:
        """Who speaks later moves nothing in the past."""
        space.add("Ann is expected at noon.")
        before = clock.now()
        clock.advance(hours=1)
        chat(("Ann", "Here is the bread."), ("Bob", "Thanks."))

        assert texts(space.as_of(before).recall("Ann", signals=["words"])) == ["Ann is expected at noon."]

    def test_a_name_alone_is_looked_for(self, space: Space, chat: Chat) -> None:
        """There is nothing else to go by."""
        chat(("Bob", "Ann is late."), ("Ann", "Not at all."))

        assert "Ann is late." in texts(space.recall("Ann?", signals=["words"]))

    def test_a_question_is_embedded_as_its_subject_would_put_it(self, home: Path, chat: Chat) -> None:
        """Others say the name; its bearer says "I". Of one who never spoke, and alone, it is the name."""
        asked: list[str] = []

        class Listening(HashingEmbedder):
            def embed_query(self, text: str) -> Vector:
                asked.append(text)
                return super().embed_query(text)

        with remanence.open(home, embedder=Listening()) as space:
            chat(("Ann", "I baked bread."), ("Bob", "For Carol?"), ("user", "For me."), into=space)
            for question in ("What did Ann bake in Ann's oven?", "Did Bob’s friend Carol tell me?", "Ann?"):
                space.recall(question)

        assert asked == ["What did I bake in my oven?", "Did my friend Carol tell me?", "Ann?"]

    def test_a_first_name_means_the_one_who_bears_it(self, space: Space, chat: Chat) -> None:
        """She signs with her full name, and hardly anybody asks by it."""
        chat(("Ann Lee", "I baked bread."), ("Bob", "Ann, I baked a bread cake."), ("Ann Lee", "Lovely."))

        found = space.recall("What did Ann bake?")

        assert texts(found)[0] == "I baked bread."
        assert "said by Ann Lee, named in the question" in found[0].reason
        assert not any("'ann'" in hit.reason for hit in found)

    @pytest.mark.parametrize("question", ["what does bob like?", "what are bob's likes", "bob likes what"])
    def test_a_speaker_is_known_in_small_letters(self, space: Space, chat: Chat, question: str) -> None:
        """As people type."""
        chat(("Ann", "I like bread, Bob."), ("Bob", "The cake is what I like."))

        found = space.recall(question)

        assert texts(found)[0] == "The cake is what I like."
        assert "said by Bob, named in the question" in found[0].reason

    def test_an_ordinary_word_in_small_letters_is_nobody(self, space: Space, chat: Chat) -> None:
        """Will is a name, and will is not."""
        chat(("Will", "I bake bread."), ("Mark", "I eat it."))

        assert "named in the question" not in space.recall("will there be a mark on the bread?").explain()

    @cases("turns")
    def test_a_first_name_of_two_means_neither(
        self, space: Space, chat: Chat, speakers: list[str], meant: str | None
    ) -> None:
        """Nor is a longer name that begins alike meant."""
        chat(*((name, "I baked bread.") for name in speakers))

        found = space.recall("What did Ann bake?", signals=["graph", "words"])

        said = {hit.memory.turn.speaker for hit in found if "named in the question" in hit.reason}
        assert said == ({meant} if meant else set())

    def test_a_first_name_means_whoever_had_spoken_by_then(self, space: Space, chat: Chat, clock: FakeClock) -> None:
        """A namesake who comes later moves nothing in the past."""
        chat(("Ann Lee", "I baked bread."), ("Bob", "Thanks."))
        before = clock.now()
        clock.advance(hours=1)
        chat(("Ann Smith", "I baked a cake."))

        first = space.as_of(before).recall("What did Ann bake?", signals=["graph", "words"])[0]

        assert "said by Ann Lee, named in the question" in first.reason

    def test_it_is_known_again_after_opening(self, reopen: Callable[..., Space], chat: Chat) -> None:
        """From the saved index as from the ledger."""
        said = ("Bob", "Hello Ann, hello Ann."), ("Ann", "What do you cook?"), ("Bob", "Ann, I bake bread.")
        space = reopen()
        chat(*said, into=space)
        fresh = [(hit.memory.text, hit.score) for hit in space.recall("What does Ann bake?", now="2026-05-04")]

        again = reopen()

        assert [(h.memory.text, h.score) for h in again.recall("What does Ann bake?", now="2026-05-04")] == fresh
        assert again.admin.check() == {}


class TestWordsThatAnotherSignalAnswers:
    def test_how_long_ago_is_read_by_the_calendar(self, space: Space) -> None:
        """A memory of then was not worded so."""
        space.add("The course takes two weeks.")
        space.add("I bought a lamp.")

        found = space.recall("Which lamp did I buy two weeks ago?", signals=["words"])

        assert texts(found) == ["I bought a lamp."]

    def test_a_month_is_looked_for_as_a_word_too(self, space: Space) -> None:
        """A memory may say it."""
        space.add("Our fair is held every September.")
        space.add("The fair closed.")

        found = space.recall("Which fair is on in September 2025?", signals=["words"])

        assert texts(found) == ["Our fair is held every September.", "The fair closed."]

    def test_a_day_that_ends_this_very_moment_is_over(self) -> None:
        """At midnight, yesterday is past."""
        midnight = datetime(2026, 5, 2, tzinfo=timezone.utc)

        assert parse_question("What held yesterday?", midnight).asks_about_past
        assert not parse_question("What holds today?", midnight).asks_about_past

    def test_how_many_is_no_word_to_look_for(self, space: Space) -> None:
        """It says what sort of answer is wanted."""
        space.add("Many things happened.")

        assert not space.recall("How many bicycles are there?", signals=["words"])


class TestWhatTheAssistantSaid:
    @pytest.mark.parametrize("assistant", ["assistant", "Travel Assistant"])
    def test_what_you_said_is_looked_for_among_its_words(self, space: Space, chat: Chat, assistant: str) -> None:
        """The user's own words match better, and are not what is asked for."""
        chat(
            ("user", "Can you recommend a hotel in Rome, a hotel with a garden?"),
            (assistant, "Hotel Aurora has a garden."),
            ("user", "I also like the hotel of my sister in Rome, which has a garden."),
        )

        assert texts(space.recall("Which hotel in Rome did you recommend?"))[0] == "Hotel Aurora has a garden."
        assert texts(space.recall("Which hotel in Rome do I like?"))[0].startswith("I also like")

    @pytest.mark.parametrize(
        "aside",
        [
            "I was going through our previous chat and was wondering,",
            "I'm going back to our last conversation about towns. Can you remind me:",
            "I wanted to follow up on our earlier discussion. Do you remember",
        ],
    )
    def test_talk_about_asking_is_not_asked_for(self, space: Space, chat: Chat, aside: str) -> None:
        """It asks neither for the past nor for a chat about chats."""
        chat(
            ("Ann", "I was wondering about our previous conversation, and going back to chat."),
            ("Bob", "The garden of the Aurora is by the river."),
        )
        found = space.recall(f"{aside} where is the garden of the Aurora?")

        assert found.history is False
        assert texts(found)[0] == "The garden of the Aurora is by the river."

    def test_what_you_said_to_me_is_not_what_i_said(self, space: Space, chat: Chat) -> None:
        """The user is named only as who asks."""
        chat(
            ("user", "I need a hotel in Rome."),
            ("assistant", "Hotel Aurora has a garden."),
            ("user", "I booked the hotel."),
        )

        found = space.recall("Which hotel did you recommend when I asked for my trip?")

        assert "said by assistant" in found[0].reason
        assert not [hit for hit in found if "said by me" in hit.reason]

    def test_what_you_said_is_nobodys_where_no_assistant_speaks(self, space: Space, chat: Chat) -> None:
        """Between people, "you" may be anyone, and "I" is still who asks."""
        chat(("Ana", "Nuts are in everything here."), ("user", "I am allergic to nuts."))

        assert "said by me" in space.recall("Did you say I am allergic to nuts?").explain()

    @cases("turns")
    def test_what_may_be_the_matter_itself_is_kept(self, question: str, kept: str) -> None:
        """An aside begins a sentence, and leaves something to ask for."""
        words = parse_question(question, datetime(2026, 5, 1, tzinfo=timezone.utc)).search_text

        assert kept in words
        assert "confirm" not in words

    def test_an_aside_alone_is_a_question_all_the_same(self, space: Space, chat: Chat) -> None:
        """There is nothing else to look for."""
        chat(("Ann", "We had a long conversation about roses."))

        assert texts(space.recall("our previous conversation")) == ["We had a long conversation about roses."]


class TestKindsOfTurns:
    """What a turn tells, by its vector: in spaces with the default embedder."""

    TOLD = "My sister Carol lives in Porto."
    PLAN = "Next week I'm flying to Oslo."
    NOTHING = "Thanks, that sounds great!"

    @pytest.fixture
    def sentences(self, clock: FakeClock) -> Iterator[Space]:
        with remanence.open(None, embedder="remanence-sentences", clock=clock, worker=False) as opened:
            yield opened

    @staticmethod
    def say(space: Space, *texts: str) -> list[Memory]:
        return space.add_turns({"role": "user", "content": text, "conversation": text} for text in texts)

    def test_a_turn_has_a_kind_and_an_importance(self, sentences: Space) -> None:
        """As `analyze_message` says them; what tells nothing is hardly important."""
        told, plan, nothing = self.say(sentences, self.TOLD, self.PLAN, self.NOTHING)

        assert [turn.kind for turn in (told, plan, nothing)] == ["semantic", "episode", "episode"]
        for turn in (told, plan):
            found = remanence.analyze_message(turn.text)
            assert (turn.kind, turn.importance) == (found.kind, found.strength)
        assert nothing.importance == 0.1

    def test_what_is_so_holds_from_when_it_was_said_on(self, sentences: Space, clock: FakeClock) -> None:
        """And is still found as such long after, by its kind."""
        told, _ = self.say(sentences, self.TOLD, self.NOTHING)
        clock.advance(days=400)

        assert told.valid.end is None
        assert texts(sentences.recall("Where does Carol live?", kinds=("semantic",))) == [self.TOLD]

    def test_what_has_a_date_in_its_text_holds_at_that_date(self, sentences: Space) -> None:
        """Whatever its kind is."""
        [dated] = self.say(sentences, "The bridge at the harbour was closed in March 2024.")
        assert str(dated.valid) == "2024-03-01 to 2024-04-01"

    def test_an_answer_is_understood_with_the_turn_before_it(self, sentences: Space) -> None:
        """Given by the caller or stored with it; alone it tells nothing."""
        asked = "How many cats do you have?"
        [alone] = self.say(sentences, "two")
        [given] = sentences.add_turns([{"role": "user", "content": "two", "before": asked, "conversation": "b"}])
        _, stored = sentences.add_turns(
            {"role": role, "content": text, "conversation": "c"}
            for role, text in (("assistant", asked), ("user", "two"))
        )

        assert alone.importance == 0.1
        assert given.importance == stored.importance > alone.importance

    def test_with_another_embedder_turns_are_episodes(self, space: Space) -> None:
        """Its vectors do not fit the table of weights."""
        turns = self.say(space, self.TOLD, self.NOTHING)
        assert {(turn.kind, turn.importance) for turn in turns} == {("episode", 0.5)}
