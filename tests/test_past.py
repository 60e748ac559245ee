"""Questions about another time than now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import pytest

import remanence
from case_tables import cases
from remanence import Hit, Recall, Space
from remanence.index.engine.inputs import MAX_QUESTION_LENGTH
from remanence.models.readers import SmallReader
from remanence.testing import FakeClock

LIVES = (("2025-01-10", "Porto"), ("2025-05-05", "Lisbon"), ("2025-09-05", "Faro"))
WORKS = (("2025-02-01", "Google"), ("2025-07-05", "Nokia"))
NOW = "2025-12-01"


def adding(space: Space, text: str, day: str) -> None:
    space.add(text, now=day)


def keyed(space: Space, text: str, day: str) -> None:
    verb = text.split()[1]
    space.add(text, key=verb if verb in ("lives", "works") else None, now=day)


def remembering(space: Space, text: str, day: str) -> None:
    space.remember(text, now=day)


def telling(space: Space, text: str, day: str) -> None:
    said = text.replace("Alice lives", "I live").replace("Alice works", "I work").replace("Alice", "I")
    space.add_turns([{"speaker": "Alice", "content": said, "time": day, "conversation": day}])


WAYS = [adding, keyed, remembering, telling]


@pytest.fixture(scope="module", params=WAYS, ids=lambda way: way.__name__)
def moved(request: pytest.FixtureRequest) -> Iterator[Space]:
    """Alice moved twice and changed her job, and much else happened meanwhile; none of it says until when.

    The tests only ask it."""
    with remanence.open(None, clock=FakeClock("2026-05-04T09:00"), worker=False) as space:
        happened = [(day, f"Alice lives in {town}.") for day, town in LIVES]
        happened += [(day, f"Alice works at {firm}.") for day, firm in WORKS]
        happened += [(f"2025-{m:02}-20", f"Alice painted a fence on {m}/20/2025.") for m in range(1, 12)]
        happened += [(f"2025-{m:02}-21", "Bob ran a race in Braga this month.") for m in range(1, 12)]
        for day, text in sorted(happened):
            request.param(space, text, day)
        yield space


def first(answer: Recall) -> str:
    return answer[0].memory.text.rstrip(".").split()[-1]


def notes(hit: Hit) -> list[str]:
    return [evidence.reason for evidence in hit.evidence if evidence.signal in ("time", "supersession")]


@cases("past")
def test_what_held_then_comes_first(moved: Space, question: str, value: str) -> None:
    """Whichever way it was put in, and although other things are dated and this is not."""
    assert first(moved.recall(question, now=NOW)) == value


def test_the_reasons_say_when_it_held(moved: Space) -> None:
    """And that it does no longer."""
    [hit] = moved.recall("Where did Alice live in July 2025?", now=NOW, limit=1)

    assert notes(hit) == ["valid 2025-05-05 to 2025-09-05"]
    assert not hit.current
    assert "Faro" in hit.superseded_by.text


@pytest.mark.parametrize("moved", [adding, keyed, remembering], indirect=True)
def test_during_asks_the_same(moved: Space) -> None:
    """As a window of its own. (A turn is of the moment it was said.)"""
    assert first(moved.recall("Where did Alice live?", during="July 2025", now=NOW)) == "Lisbon"


@cases("past")
def test_what_is_not_asked_for_is_not_brought(moved: Space, question: str) -> None:
    """That Alice lived somewhere then is no answer to what she did, nor to where Bob lived."""
    assert not any(note.startswith("valid") for hit in moved.recall(question, now=NOW) for note in notes(hit))


@cases("past")
def test_what_is_asked_of_now_is_answered_of_now(question: str, text: str, clock: FakeClock) -> None:
    """However it is put: only the past tense asks for the past."""
    with remanence.open(None, clock=clock) as space:
        for day, value in sorted(LIVES + WORKS):
            adding(space, f"Alice {'lives in' if (day, value) in LIVES else 'works at'} {value}.", day)
        answer = space.recall(question, now=NOW)

    assert answer[0].memory.text == text
    assert answer[0].current


@cases("past")
def test_whom_and_what_it_is_about_decides(told: list[str], question: str, text: str, clock: FakeClock) -> None:
    """Somebody else's past is no answer, nor is a state to what happened. (One line a month.)"""
    with remanence.open(None, clock=clock) as space:
        for month, line in enumerate(told, 1):
            adding(space, line, f"2025-{month:02}-03")

        assert space.recall(question, now=NOW)[0].memory.text == text


@pytest.mark.parametrize("way", ["add", "remember"])
@pytest.mark.parametrize("town", ["Porto", "Lisbon", "Faro"])
def test_when_something_happened_is_told_by_what_names_it(town: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped reader finds all three likely, as they differ in one name; together it chose another one."""
    monkeypatch.delenv("REMANENCE_READER")
    with remanence.open(None, clock=FakeClock("2026-01-05T10:00")) as space:
        for month, each in (("January", "Porto"), ("May", "Lisbon"), ("September", "Faro")):
            getattr(space, way)(f"I moved to {each} in {month} 2025")
        found = space.recall(f"When did I move to {town}?")

    assert town in found[0].memory.text


def test_a_reader_does_not_turn_time_around(clock: FakeClock) -> None:
    """What was valid at the time asked about by its claims stays first, whatever a reader likes."""

    def likes_lisbon(question: str, texts: Sequence[str]) -> list[float]:
        return [float("Lisbon" in text) for text in texts]

    with remanence.open(None, clock=clock, reader=likes_lisbon) as space:
        for day, town in LIVES:
            adding(space, f"Alice lives in {town}.", day)
        before = space.recall("Where did Alice live before Lisbon?", now=NOW)
        still = space.recall("Does Alice live in Lisbon?", now=NOW)

    assert first(before) == "Porto"
    assert [(hit.memory.text, hit.current) for hit in still[:2]] == [
        ("Alice lives in Lisbon.", False),
        ("Alice lives in Faro.", True),
    ], "the reader may put what it likes first, but that is marked as replaced"


def test_a_reader_has_its_say_where_now_is_asked_for(clock: FakeClock) -> None:
    """What holds this year is not put before it, though the question names a time."""

    def likes_boats(question: str, texts: Sequence[str]) -> list[float]:
        return [float("boat" in text) for text in texts]

    with remanence.open(None, clock=clock, reader=likes_boats) as space:
        for day, town in LIVES:
            adding(space, f"Alice lives in {town}.", day)
        adding(space, "Alice owned a boat in Sines.", "2025-10-01")
        answer = space.recall("Where has Alice lived this year?", now=NOW)

    assert answer[0].memory.text == "Alice owned a boat in Sines."


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_states_added_with_a_date_count_from_it(order: tuple[int, ...], clock: FakeClock) -> None:
    """The reader sees that all three answer, and from when on. Which was added last does not matter."""
    rents = [("900", "2019-01-01"), ("1100", "2021-01-01"), ("1200", "2024-01-01")]
    with remanence.open(None, clock=clock, reader=SmallReader()) as space:
        for number in order:
            rent, day = rents[number]
            space.add(f"Dana's rent is {rent} euros.", valid_from=day)
        now = space.recall("What is Dana's rent?")[0].memory.text
        then = space.recall("What was Dana's rent in 2022?")[0].memory.text

    assert (now, then) == ("Dana's rent is 1200 euros.", "Dana's rent is 1100 euros.")


VERSIONS = {
    "limit": ("The upload limit is 10 MB.", "The upload limit is 50 MB."),
    "base": ("The production database is Postgres 14.", "The production database is Postgres 16."),
    "dose": (
        "The doctor said to take 5 mg of prednisone before meals.",
        "The doctor said to take 10 mg of prednisone before meals.",
    ),
    "call": (
        "The person to call when the server goes down is Ana.",
        "The person to call when the server goes down is Bruno.",
    ),
    "deploy": ("Deploys happen on Fridays.", "Deploys happen on Tuesdays."),
}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("I had a problem when uploading a file, what is the upload limit?", VERSIONS["limit"][1]),
        ("Which upload limit did you say applies when I send a file?", VERSIONS["limit"][1]),
        ("What did I tell you about the upload limit before?", VERSIONS["limit"][1]),
        ("What is the upload limit, I had 10 MB before?", VERSIONS["limit"][1]),
        ("Which database is used to store production data?", VERSIONS["base"][1]),
        ("How many mg of prednisone did the doctor say to take before meals?", VERSIONS["dose"][1]),
        ("Who was the person to call when the server goes down?", VERSIONS["call"][1]),
        ("What did we eat? What is the upload limit before Friday?", VERSIONS["limit"][1]),
        ("What was the download limit in March 2025?", "The download limit is 1 GB."),
        ("What was the download limit previously?", "The download limit is 1 GB."),
        ("Why did the deploy fail in August 2025?", "The deploy failed after the database was upgraded."),
        ("What was the upload limit previously?", VERSIONS["limit"][0]),
        ("What was the upload limit in May 2025?", VERSIONS["limit"][0]),
        ("What was the production database before Postgres 16?", VERSIONS["base"][0]),
        ("What is the upload limit?", VERSIONS["limit"][1]),
    ],
)
def test_notes_of_a_project(question: str, text: str, clock: FakeClock) -> None:
    """What sounds like the past is often about now, and what says more of the matter is the answer."""
    with remanence.open(None, clock=clock) as space:
        for place, day in enumerate(("2025-01-10", "2025-06-10")):
            for key, versions in VERSIONS.items():
                space.add(versions[place], key=key, now=day)
            space.add("The download limit is 1 GB.", now=day)
        space.add("The deploy failed after the database was upgraded.", now="2025-08-10")

        assert space.recall(question, now=NOW)[0].memory.text == text


def test_what_is_kept_under_one_key_and_dated_is_no_state(clock: FakeClock) -> None:
    """Each version tells of its own day, and the day asked for decides."""
    with remanence.open(None, clock=clock) as space:
        for day in ("2025-03-03", "2025-06-04", "2025-09-05"):
            space.add(f"Our last outing was on {day}.", key="outing", now=day)
        answer = space.recall("When was our outing in June 2025?", now=NOW)

    assert answer[0].memory.text == "Our last outing was on 2025-06-04."
    assert not any(notes(hit) for hit in answer)


def test_how_long_counts_from_when_it_was_said(clock: FakeClock) -> None:
    """Nobody knows how long before; what held for most of the time that is known goes first."""
    told = (
        ("2025-01-02", "Alice lives in Porto."),
        ("2025-01-03", "Alice works at Google."),
        ("2025-02-01", "Bob works at Google."),
        ("2025-03-01", "Bob works at Bosch."),
        ("2025-09-01", "Alice lives in Lisbon."),
        ("2025-11-20", "Alice works at Nokia."),
    )
    with remanence.open(None, clock=clock) as space:
        for day, text in told:
            adding(space, text, day)
        answer = space.recall("Where did Alice live when she worked at Google?", now=NOW)

    assert [hit.memory.text for hit in answer][:2] == ["Alice lives in Porto.", "Alice lives in Lisbon."]


@pytest.mark.parametrize("text", ["before ", "did ", "did before ", "how did ", "used to ", "has Bob ever "])
@pytest.mark.slow
def test_the_longest_question_is_read(text: str, clock: FakeClock) -> None:
    """A pattern that goes back over it again and again would take minutes."""
    with remanence.open(None, clock=clock) as space:
        adding(space, "Alice lives in Porto.", "2025-01-10")

        assert len(space.recall((text * 10_000)[:MAX_QUESTION_LENGTH])) <= 1


def test_a_year_with_a_move_has_two_answers(clock: FakeClock) -> None:
    """The longer one first."""
    with remanence.open(None, clock=clock) as space:
        for day, town in (("2024-01-10", "Porto"), ("2025-10-05", "Lisbon")):
            adding(space, f"Alice lives in {town}.", day)
        answer = space.recall("Where did Alice live in 2025?", now="2026-02-01")

    assert [hit.memory.text for hit in answer] == ["Alice lives in Porto.", "Alice lives in Lisbon."]


def test_there_and_back_again(clock: FakeClock) -> None:
    """What holds again today held before as well, and each time is told apart."""
    with remanence.open(None, clock=clock) as space:
        for day, town in (("2025-01-10", "Porto"), ("2025-05-05", "Lisbon"), ("2025-09-05", "Porto")):
            keyed(space, f"Alice lives in {town}.", day)
        asked = {month: space.recall(f"Where did Alice live in {month} 2025?", now=NOW) for month in ("March", "July")}

    assert {month: first(answer) for month, answer in asked.items()} == {"March": "Porto", "July": "Lisbon"}
    assert not asked["March"][0].current


@pytest.mark.parametrize("moved", [adding, keyed, remembering], indirect=True)
def test_a_view_of_the_past_knows_no_later_end(moved: Space) -> None:
    """In June nobody knew that she would leave Lisbon. (These turns were only put in afterwards.)"""
    [hit] = moved.as_of("2025-06-15").recall("Where did Alice live in June 2025?", now="2025-06-30", limit=1)

    assert hit.memory.text.rstrip(".").endswith("Lisbon")
    assert notes(hit) == ["valid since 2025-05-05"]


def test_what_is_asked_for_by_name_stays_behind_what_took_its_place(clock: FakeClock) -> None:
    """When she moved to Lisbon is told by what says that she lived there."""
    with remanence.open(None, clock=clock) as space:
        for day, town in LIVES:
            adding(space, f"Alice lives in {town}.", day)
        answer = space.recall("When did Alice move to Lisbon?", now=NOW)

    assert [hit.memory.text for hit in answer][:2] == ["Alice lives in Faro.", "Alice lives in Lisbon."]
    assert [hit.current for hit in answer][:2] == [True, False]


def test_a_long_text_says_more_than_its_claim(clock: FakeClock) -> None:
    """So it is not brought forward by it."""
    with remanence.open(None, clock=clock) as space:
        adding(space, "Alice lives in Porto. " + "The weather there is a matter of some debate. " * 8, "2025-01-10")
        adding(space, "Alice lives in Lisbon.", "2025-05-05")
        answer = space.recall("Where did Alice live in March 2025?", now=NOW)

    assert not any(notes(hit) for hit in answer)


@pytest.mark.parametrize("way", [adding, remembering])
def test_versions_that_say_the_same_are_told_once(way: Callable[..., None], clock: FakeClock) -> None:
    """A version that only knows more than the one before is no other answer."""
    with remanence.open(None, clock=clock, worker=False) as space:
        way(space, "Alice lives in Porto.", "2025-01-10")
        memory = next(iter(space.memories()))
        space.add(memory.text, importance=0.9, now="2025-02-01")
        answer = space.recall("Where did Alice live?", history=True, now=NOW)

    assert [hit.memory.text for hit in answer] == ["Alice lives in Porto."]
    assert answer[0].current


def test_the_same_words_of_another_time_are_another_answer(clock: FakeClock) -> None:
    """A version is left out for a later one only where that one may answer as well."""
    with remanence.open(None, clock=clock) as space:
        for month in ("01", "06"):
            space.add(
                "The bridge is closed.",
                key="bridge",
                valid_from=f"2025-{month}-01",
                valid_until=f"2025-{month}-20",
                now=f"2025-{month}-01",
            )
        [hit] = space.recall("Is the bridge closed?", during="January 2025", now=NOW)

    assert str(hit.memory.valid) == "2025-01-01 to 2025-01-20"


@pytest.mark.parametrize("subject", ["Alice", "I"])
def test_several_texts_about_one_change_are_one_anchor(subject: str, clock: FakeClock) -> None:
    """The event and the state that follows it begin at the same time, so "before Anthropic" is not ambiguous."""
    with remanence.open(None, clock=clock, worker=False) as space:
        remembering(space, f"{subject} {'work' if subject == 'I' else 'works'} at Google.", "2025-03-01")
        remembering(space, f"{subject} left Google to join Anthropic.", "2025-05-03")
        answer = space.recall(f"Where did {subject} work before Anthropic?", now=NOW)

    assert first(answer) == "Google"


def test_what_is_told_late_does_not_replace_what_is_newer() -> None:
    """The ledger's time does not go back, but `now` says when it was told: an older state stays the older one."""

    def known(*told_before: str) -> tuple[str, list[str]]:
        with remanence.open(None, clock=FakeClock("2025-07-01"), worker=False) as space:
            for text in told_before:
                space.add(text, now="2025-06-01")
            remembering(space, "Alice works at Google.", "2025-01-10")
            remembering(space, "Alice works at Anthropic.", "2025-06-03")
            held = [f"{each.object} {each.valid}" for each in space.graph.when("Alice", "works_at")]
            return first(space.recall("Where does Alice work?", now=NOW)), held

    assert known("It rained.") == known()
    assert known() == ("Anthropic", ["Google 2025-01-10 to 2025-06-03", "Anthropic since 2025-06-03"])
