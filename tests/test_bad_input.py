"""Whatever is handed in gets a clear error or a sensible answer, and nothing is half written."""

from __future__ import annotations

import errno
import logging
import math
import os
import resource
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import remanence
from remanence import InvalidInput, Mention, RemanenceError, Space, Triple, Window
from remanence.index.engine.engine import Engine
from remanence.ledger import tables
from remanence.ports import Vector
from remanence.schema import UTC, Extraction
from remanence.testing import FakeClock, HashingEmbedder
from remanence.text.rule_extractor import RuleExtractor
from warm_process import WarmProcess

Reopen = Callable[..., Space]
Act = Callable[[Space], Any]
PORTO = "Alice lives in Porto."
LISBON = timezone(timedelta(hours=1))


@pytest.fixture
def lived_in(space: Space) -> Iterator[Space]:
    """A space with one memory; whatever a test does to it, it is whole afterwards."""
    space.add(PORTO, key="home")
    before = space.verify()
    yield space
    assert space.verify() == before, "a refused call wrote something"
    assert (space.count(), space.admin.check()) == (1, {})
    assert space.recall("Where does Alice live?")[0].memory.text == PORTO
    assert space.add("Bob plays the cello.").text == "Bob plays the cello."


def refused(act: Act, space: Space, *shown: str) -> str:
    """The message of the error, which shows each of these."""
    with pytest.raises(RemanenceError) as caught:
        act(space)
    message = str(caught.value)
    assert message.endswith((".", "...")), message
    assert len(message) < 600, "the value is shortened"
    assert [part for part in shown if part not in message] == []
    return message


DEEP: dict[str, Any] = {}
_inner = DEEP
for _ in range(3_000):
    _inner["a"] = _inner = {}

# Adding


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ["text=''", "is blank", "Give it at least one visible character"]),
        (" \n\t ", ["text=' \\n\\t '", "is blank"]),
        ("a\x00b", ["'a\\x00b'", "a NUL byte at character 1", "Remove it"]),
        ("a\ud800", ["'a\\ud800'", "lone surrogate", "Remove it"]),
        ("x" * 2_000_001, ["2,000,001 characters", "At most 2,000,000", "split it"]),
        (None, ["text=None", "valid string"]),
        (b"bytes", ["text=b'bytes'", "valid string"]),
        (b"a\x00b", ["text=b'a\\x00b'"]),
        (7, ["text=7"]),
        ({"text": "a"}, ["text={'text': 'a'}"]),
        (["a"], ["text=['a']"]),
    ],
)
def test_texts_that_cannot_be_kept(lived_in: Space, text: Any, shown: list[str]) -> None:
    """Blank, odd, too long or no text at all."""
    refused(lambda space: space.add(text), lived_in, *shown)
    refused(lambda space: space.add_turns([{"content": text}]), lived_in, "content", "row 1")


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"key": ""}, ["key=''", "blank"]),
        ({"key": b"k"}, ["key=b'k'"]),
        ({"key": 7}, ["key=7"]),
        ({"key": {}}, ["key={}"]),
        ({"key": "k" * 513}, ["key has 513 characters", "512"]),
        ({"key": "\x00"}, ["key='\\x00'", "NUL"]),
        ({"tags": None}, ["tags=None"]),
        ({"tags": 7}, ["tags=7"]),
        ({"tags": b"work"}, ["tags=b'work'"]),
        ({"tags": {"a": 1}}, ["tags={'a': 1}"]),
        ({"tags": ["ok", 7]}, ["tags=7"]),
        ({"tags": [b"x"]}, ["tags=b'x'"]),
        ({"tags": [""]}, ["tags=''", "blank"]),
        ({"tags": ["\ud800"]}, ["lone surrogate"]),
        ({"tags": [f"t{n}" for n in range(10_000)]}, ["tags has 10,000 entries", "At most 256"]),
        ({"kind": "rumour"}, ["kind='rumour'", "'episode', 'semantic', 'viewpoint' or 'procedure'"]),
        ({"kind": 7}, ["kind=7"]),
        ({"importance": math.nan}, ["importance=nan", "finite"]),
        ({"importance": math.inf}, ["importance=inf", "finite"]),
        ({"importance": True}, ["importance=True", "from 0 to 1"]),
        ({"importance": "0.5"}, ["importance='0.5'", "from 0 to 1"]),
        ({"importance": -0.1}, ["importance=-0.1", "0"]),
        ({"confidence": 1.5}, ["confidence=1.5", "1"]),
        ({"confidence": {}}, ["confidence={}"]),
        ({"source": 7}, ["source=7"]),
        ({"observed_by": " "}, ["observed_by=' '", "blank"]),
        ({"entities": 7}, ["entities=7", "not a list"]),
        ({"entities": [7]}, ["holds 7", "Give names as 'Alice' or ('Alice', 'person')"]),
        ({"entities": [Mention("\ud800")]}, ["lone surrogate"]),
        ({"entities": [Mention(7)]}, ["Give names as"]),  # type: ignore[arg-type]
        ({"entities": [Mention("")]}, ["Give names as"]),
        ({"triples": "abc"}, ["triples='abc'", "not a list"]),
        ({"triples": ["abc"]}, ["holds 'abc'", "Give claims as ('Alice', 'lives_in', 'Porto')"]),
        ({"triples": [("Alice", "knows")]}, ["Give claims as"]),
        ({"triples": [Triple("a", "b", "\x00")]}, ["NUL"]),
        ({"meta": 7}, ["meta=7", "dictionary"]),
        ({"meta": {"a": math.nan}}, ["cannot be written as JSON", "Use only text, numbers, lists and dicts"]),
        ({"meta": {"a": b"x"}}, ["cannot be written as JSON"]),
        ({"meta": {"a": "\ud800"}}, ["cannot be written as JSON"]),
        ({"meta": {"a": "x" * 1_100_000}}, ["1,100,0", "1,000,000"]),
        ({"meta": DEEP}, ["cannot be written as JSON"]),
        ({"valid_from": 7}, ["valid_from=7", "Give a datetime, a date, ISO text"]),
        ({"valid_from": "never"}, ["valid_from='never'", "words such as 'last May'"]),
        ({"valid_from": "0000-01-01"}, ["valid_from='0000-01-01'"]),
        ({"valid_until": "99999-01-01"}, ["valid_until='99999-01-01'"]),
        ({"valid_from": "2026-02-30"}, ["valid_from='2026-02-30'"]),
        ({"valid_from": datetime.max.replace(tzinfo=timezone(-timedelta(hours=5)))}, ["outside the calendar"]),
        (
            {"valid_from": "2027", "valid_until": "2026"},
            ["valid_until='2026' does not come after valid_from='2027'", "Swap them"],
        ),
        ({"valid_from": "2026", "valid_until": "2026"}, ["does not come after"]),
        ({"expires_at": []}, ["expires_at=[]"]),
        ({"now": "soonish"}, ["now='soonish'"]),
    ],
)
def test_fields_that_cannot_be_kept(lived_in: Space, fields: dict[str, Any], shown: list[str]) -> None:
    """Each field refuses what it cannot hold, and says what it can."""
    refused(lambda space: space.add("Carol likes figs.", **fields), lived_in, *shown)


def test_a_bad_row_is_named_and_keeps_out_the_good_ones(lived_in: Space) -> None:
    """All rows are checked before any is kept."""
    good = {"text": "Carol likes figs."}

    refused(lambda s: s.add_many([good, good, {"text": ""}]), lived_in, "row 3: text=''")
    refused(lambda s: s.add_many([good, {"text": "a", "colour": 1}]), lived_in, "row 2", "'colour'", "fields are")
    refused(lambda s: s.add_many([good, {**good, "valid_from": "blursday"}]), lived_in, "row 2: valid_from='blursday'")
    refused(lambda s: s.add_many([good, {"txt": "a"}]), lived_in, "row 2: text is missing from {'txt': 'a'}")
    refused(lambda s: s.add_many([good, 7]), lived_in, "row 2: 7 is of type int, neither a text nor a dict")
    turns = [{"content": "Hello."}, {"content": "Bye.", "time": "blursday"}]
    refused(lambda s: s.add_turns(turns), lived_in, "row 2: time='blursday'", "ISO text")
    refused(lambda s: s.add_many([{7: "a"}]), lived_in, "row 1", "field names must be text")
    refused(lambda s: s.add_turns([{"content": "a", "mood": 1}]), lived_in, "row 1", "'mood'")
    refused(lambda s: s.add_turns([{"content": "a", "time": "never"}]), lived_in, "time='never'")


@pytest.mark.parametrize("rows", [None, 7, "text", b"text", {"text": "a"}])
def test_what_is_no_list_of_rows(lived_in: Space, rows: Any) -> None:
    """A single dict or text is the usual slip."""
    refused(lambda s: s.add_many(rows), lived_in, type(rows).__name__, "not a list of texts or dicts")
    refused(lambda s: s.add_turns(rows), lived_in, type(rows).__name__, "not a list of dicts")


def test_rows_that_raise_midway_leave_nothing(lived_in: Space) -> None:
    """The caller's own error comes through, and no row is kept."""

    def rows() -> Iterator[dict[str, str]]:
        yield {"text": "Carol likes figs."}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lived_in.add_many(rows())


def test_no_rows_are_no_memories(lived_in: Space) -> None:
    """An empty list is a sensible thing to add."""
    assert lived_in.add_many([]) == lived_in.add_many(iter(())) == lived_in.add_turns([]) == []


def test_a_megabyte_is_kept_whole(space: Space) -> None:
    """And found by a sentence in its middle."""
    filler = "The tide came in and the tide went out again. " * 11_000
    memory = space.add(f"{filler}Zebulon hid the astrolabe. {filler}")

    assert len(memory.text) > 1_000_000
    [hit] = space.recall("Who hid the astrolabe?", limit=5)
    assert hit.memory == memory
    assert space.admin.check() == {}


@pytest.mark.parametrize(
    ("start", "end", "valid"),
    [
        (datetime(2026, 1, 1), datetime(2026, 1, 2, tzinfo=UTC), "2026-01-01"),
        (datetime(2026, 1, 1, 1, tzinfo=LISBON), datetime(2026, 1, 2), "2026-01-01"),
        (date(2026, 1, 1), "2026-01-02", "2026-01-01"),
        (datetime.min, None, "since 0001-01-01"),
        ("yesterday", "tomorrow", "2026-05-03 to 2026-05-05"),
    ],
)
def test_times_of_every_make_are_read_as_utc(space: Space, start: Any, end: Any, valid: str) -> None:
    """A naive datetime is UTC, an aware one is converted, and the two can be mixed."""
    assert str(space.add("The fair is on.", valid_from=start, valid_until=end).valid) == valid


@pytest.mark.parametrize("edge", [datetime.min, datetime.max, date.min, date.max, "0001-01-01", "9999-12-31"])
def test_the_ends_of_the_calendar_are_times_like_any(space: Space, edge: Any) -> None:
    """They can be kept, asked for, and looked back from."""
    space.add("The stars shine.", valid_from=edge, expires_at=datetime.max)
    space.add_turns([{"content": "The stars shine on us.", "time": edge}])

    assert space.recall("stars", during=edge)
    assert space.recall("stars yesterday", now=edge, history=True)
    assert isinstance(space.as_of(edge).count(), int)
    assert space.admin.check() == {}


@pytest.mark.parametrize("message", [{"role": "user", "text": "I am allergic to nuts."}, {"role": "user"}, {"a": 1}])
def test_a_message_without_content_is_refused(lived_in: Space, message: dict[str, object]) -> None:
    """A wrong key does not lose what was said."""
    good = {"role": "user", "content": "I live in Porto."}
    refused(lambda s: s.remember([good, message]), lived_in, "row 2: content is missing from")


def test_an_empty_message_and_a_call_of_a_tool_are_left_out(lived_in: Space) -> None:
    """Chats of OpenAI have both."""
    empty = [{"role": "user", "content": ""}, {"role": "assistant", "content": None, "tool_calls": []}]
    assert lived_in.remember([*empty, {"role": "assistant", "tool_calls": [{"id": "1"}]}, {"role": "system"}]) == []


def test_a_now_in_the_future_does_not_move_what_is_added_later(
    space: Space, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It is recorded when it is added, and the next memory as well."""
    before, future = clock.now(), datetime(2062, 1, 1, tzinfo=UTC)
    rome = space.add("Zoe lives in Rome.", now=future)
    assert "now=2062-01-01 is later than the system clock" in caplog.text
    space.remember([{"role": "user", "content": "I live in Bonn."}], now=future)
    clock.advance(hours=1)
    oslo = space.add("Zoe lives in Oslo.")

    assert (rome.recorded_at, rome.told_at) == (before, future)
    assert (oslo.recorded_at, oslo.told_at) == (clock.now(), clock.now())
    assert space.as_of(clock.now()).count() == space.count()
    assert space.recall("Where does Zoe live?")[0].memory == oslo


# Asking


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"limit": 0}, ["limit=0", "from 1 on"]),
        ({"limit": -3}, ["limit=-3"]),
        ({"limit": 1.5}, ["limit=1.5"]),
        ({"limit": True}, ["limit=True"]),
        ({"limit": "3"}, ["limit='3'"]),
        ({"min_score": -0.1}, ["min_score=-0.1", "from 0 to 1"]),
        ({"min_score": 1.01}, ["min_score=1.01"]),
        ({"min_score": math.nan}, ["min_score=nan"]),
        ({"min_score": "high"}, ["min_score='high'"]),
        ({"kinds": "rumour"}, ["'rumour'", "episode, semantic, viewpoint"]),
        ({"kinds": 7}, ["kinds=7"]),
        ({"tags": 7}, ["tags=7"]),
        ({"tags": b"x"}, ["tags=b'x'"]),
        ({"tags": [None]}, ["tags=[None]"]),
        ({"signals": ["smell"]}, ["'smell'", "vectors, words, graph, times"]),
        ({"signals": 7}, ["signals=7"]),
        ({"signals": ["words"], "weights": {"graph": 1}}, ["weights={'graph': 1}", "words", "weight"]),
        ({"history": "maybe"}, ["history='maybe'", "True, False nor 'auto'"]),
        ({"history": None}, ["history=None"]),
        ({"during": ("2027", "2026")}, ["('2027', '2026')", "ends before it starts", "Swap"]),
        ({"during": Window(datetime(2027, 1, 1), datetime(2026, 1, 1, tzinfo=UTC))}, ["ends before it starts"]),
        ({"during": ("2026",)}, ["during=('2026',)"]),
        ({"during": 7}, ["during=7"]),
        ({"during": "never"}, ["during='never'", "'last May'"]),
        ({"now": b"now"}, ["now=b'now'"]),
        ({"vector": "near"}, ["vector='near'"]),
        ({"vector": [10**400]}, ["vector=", "too large"]),
        ({"vector": [float("inf"), 1.0]}, ["not finite"]),
        ({"vector": [1.0, 2.0]}, ["64 numbers", "(2,)"]),
        ({"vector": [math.nan] * 64}, ["finite"]),
        ({"vector": [[1.0] * 64]}, ["(1, 64)", "flat"]),
    ],
)
def test_questions_that_cannot_be_asked(lived_in: Space, options: dict[str, Any], shown: list[str]) -> None:
    """Each option says what it takes."""
    refused(lambda space: space.recall("Where does Alice live?", **options), lived_in, *shown)


@pytest.mark.parametrize(
    ("query", "shown"),
    [(None, "query=None"), (b"x", "query=b'x'"), (7, "query=7"), ({}, "query={}"), ("x" * 2_000_001, "2,000,001")],
)
def test_questions_that_are_no_text(lived_in: Space, query: Any, shown: str) -> None:
    """A question is a string."""
    refused(lambda space: space.recall(query), lived_in, shown)


def test_a_question_that_is_too_long(lived_in: Space) -> None:
    """It would be read while somebody waits. A message that is a document is searched for by its beginning."""
    long = "Where does Alice live? " + "x" * 10_000
    refused(lambda space: space.recall(long), lived_in, "10,023 characters", "At most 10,000", "for_prompt()")
    refused(lambda space: remanence.union(space).recall(long), lived_in, "10,023 characters")
    assert lived_in.recall(long[:10_000])[0].memory.text == lived_in.for_prompt(long).hits[0].memory.text
    assert lived_in.recall("And where?", context=["x" * 2_000_000, "Alice moved."])


@pytest.mark.parametrize("query", ["", "  ", "\x00", "\ud800"])
def test_a_question_of_nothing_is_refused(lived_in: Space, query: str) -> None:
    """The error names `recent`, which needs no question. A union says the same."""
    refused(lambda space: space.recall(query), lived_in, "is blank", "recent()")
    refused(lambda space: space.recall(query, tags="a", limit=3), lived_in, f"query={query!a}")
    refused(lambda space: remanence.union(space).recall(query), lived_in, "is blank", "recent()")


@pytest.mark.parametrize("query", ["the of and to", "?!…—", "🦊🦊", "a" * 10_000])
def test_questions_that_say_little_find_little(lived_in: Space, query: str) -> None:
    """No error; and what was silent says why."""
    found = lived_in.recall(query)

    assert len(found) <= 1
    assert found.abstained
    assert found.missing == {}
    assert found.explain()


def test_numbers_of_numpy_are_numbers(lived_in: Space) -> None:
    """They come out of every notebook, and a receipt holds them as plain ones."""
    found = lived_in.recall("Alice", limit=np.int64(3), min_score=np.float32(0.0), weights={"words": np.float32(1)})
    assert len(found) == 1
    assert type(found.receipt.limit) is int
    assert lived_in.audit.replay(found.receipt).hits == found.hits


@pytest.mark.parametrize("limit", [1_000_000, 10**30])
def test_a_limit_beyond_all_memories_gives_all_of_them(lived_in: Space, limit: int) -> None:
    """A million is only another way to say everything."""
    assert len(lived_in.recall("Alice", limit=limit)) == 1


def test_naive_and_aware_ends_of_a_window_mix(lived_in: Space) -> None:
    """A naive end is UTC here as everywhere."""
    asked = Window(datetime(2026, 1, 1), datetime(2026, 6, 1, tzinfo=LISBON))

    assert "2026-01-01 to 2026-05-31 23:00" in lived_in.recall("Alice", during=asked).explain()


@pytest.mark.parametrize("verb", ["get", "forget", "unforget", "erase"])
@pytest.mark.parametrize("given", [None, 7, b"id", {}, []])
def test_ids_that_are_no_ids(lived_in: Space, verb: str, given: Any) -> None:
    """The message names the type that was given, and what to give."""
    refused(lambda space: getattr(space, verb)(given), lived_in, type(given).__name__, "memory.id")


def test_an_id_that_nothing_has(lived_in: Space) -> None:
    """`get` knows of none; the verbs that change something refuse."""
    assert lived_in.get("no-such-id") is None
    for verb in ("forget", "unforget", "erase"):
        refused(lambda space, verb=verb: getattr(space, verb)("no-such-id"), lived_in, "'no-such-id'", "Ids are those")


def test_a_reason_that_is_no_text(lived_in: Space) -> None:
    """Nothing is forgotten for a reason that cannot be written down."""
    memory = next(lived_in.memories()).id
    refused(lambda space: space.forget(memory, why=7), lived_in, "why=7")  # type: ignore[arg-type]
    refused(lambda space: space.forget(memory, why="\ud800"), lived_in, "why=", "surrogate")


@pytest.mark.parametrize("tokens", [-1, 1.5, True, None, "many"])
def test_a_budget_that_is_none(lived_in: Space, tokens: Any) -> None:
    """`fit` counts in whole tokens."""
    refused(lambda space: space.recall("Alice").fit(tokens), lived_in, f"max_tokens={tokens!r}")


# Names and places


@pytest.mark.parametrize("name", ["", "  ", None, 7, b"bob", "\x00", "\ud800", "x" * 256, "x" * 500])
def test_names_no_space_can_have(lived_in: Space, name: Any) -> None:
    """The same for children and for `open`."""
    refused(lambda space: space.child(name), lived_in)
    refused(lambda space: space.child("users", name), lived_in)
    if name is not None:
        refused(lambda _: remanence.open(None, space=name), lived_in)


@pytest.mark.parametrize("name", ["../../etc", "..", "/", "a/b", "🦊", "C:\\x", "x" * 255, "con", "é"])
def test_names_any_space_can_have(reopen: Reopen, home: Path, name: str) -> None:
    """Nothing lands outside the folder."""
    child = reopen().child(name)
    child.add(PORTO)
    reopen()

    assert [path.name for path in home.parent.iterdir()] == [home.name]


def test_a_child_without_a_name(lived_in: Space) -> None:
    """An example says how it is done."""
    refused(lambda space: space.child(), lived_in, "space.child('users', 'bob')")


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("", "not a folder name"),
        ("a\x00b", "not a folder name"),
        (7, "7 is not a folder"),
        (b"x", "not a folder"),
        ("mysql://me:secret@host/db", "'mysql://…' is not an address"),
        (":memory:", "Give None"),
        ("~nobody-known-here/memory", "home of an unknown user"),
    ],
)
def test_places_no_space_can_be_in(lived_in: Space, location: Any, shown: str) -> None:
    """And a password in one is not repeated."""
    assert "secret" not in refused(lambda _: remanence.open(location), lived_in, shown)


@pytest.mark.parametrize("clock", [7, "noon", lambda: "noon"])
def test_clocks_that_tell_no_time(clock: Any) -> None:
    """Said before anything is written."""
    with pytest.raises(InvalidInput, match=r"noon|clock=7"):
        remanence.open(None, clock=clock, embedder=HashingEmbedder()).add(PORTO)


# Embedders


class Moody(HashingEmbedder):
    """An embedder whose mood can be set: well, down, of another length, or not a number."""

    mood = "well"

    def embed(self, texts: Sequence[str]) -> Any:
        if self.mood == "down":
            raise ConnectionError("no route to host")
        rows = super().embed(texts)
        return rows[:, :7] if self.mood == "short" else rows * math.nan if self.mood == "nan" else rows


@pytest.mark.parametrize("place", ["memory", "folder"])
def test_an_embedder_that_is_down_costs_no_memory(clock: FakeClock, home: Path, place: str) -> None:
    """The text is kept and found by its words; the answer names what is missing; `rebuild` mends it."""
    embedder = Moody()
    with remanence.open(home if place == "folder" else None, embedder=embedder, clock=clock) as space:
        space.add(PORTO)
        embedder.mood = "down"
        kept = space.add("Bob plays the cello.")
        answer = space.recall("cello")
        assert answer[0].memory == kept
        assert "no route to host" in answer.missing["vectors"]
        assert "vectors is MISSING" in answer.explain()

        embedder.mood = "well"
        answer = space.recall("cello")
        assert answer[0].memory == kept
        assert "1 passages have no vector yet" in answer.missing["vectors"]

        space.rebuild()
        answer = space.recall("cello", signals=["vectors"])
        assert (answer[0].memory, answer.missing, space.admin.check()) == (kept, {}, {})
        space.verify()


def test_an_embedder_that_was_never_up_is_asked_once_a_call(clock: FakeClock) -> None:
    """One that answers late, with a timeout, must not be waited for again and again."""
    calls = []

    def down(texts: Sequence[str]) -> Any:
        calls.append(list(texts))
        if up:
            return HashingEmbedder().embed(texts)
        raise TimeoutError("no answer in 30 s")

    up: list[str] = []
    with remanence.open(None, embedder=down, clock=clock) as space:
        space.add(PORTO)
        assert len(calls) <= 2  # once for the space, once for the text
        calls.clear()
        space.add("Bob plays the cello.")
        assert len(calls) == 1
        calls.clear()
        assert "vectors" in space.recall("cello").missing
        assert len(calls) == 1

        up.append("again")
        space.recall("cello")
        space.rebuild()
        assert space.recall("cello", signals=["vectors"]).missing == {}


@pytest.mark.parametrize(("mood", "shown"), [("short", "7 dimensions where 64"), ("nan", "NaN or infinity")])
def test_an_embedder_that_answers_nonsense_is_refused(space: Space, mood: str, shown: str) -> None:
    """At `add` nothing is written; at `recall` the signal is named and the others answer."""
    embedder = Moody()
    with remanence.open(None, embedder=embedder) as space:
        space.add(PORTO)
        embedder.mood = mood
        with pytest.raises(remanence.errors.InvalidEmbedding, match=shown):
            space.add("Bob plays the cello.")
        assert (space.count(), space.verify().entries) == (1, 1)
        assert shown in space.recall("Porto").missing["vectors"]
        assert space.recall("Porto")[0].memory.text == PORTO

        embedder.mood = "well"
        assert space.add("Bob plays the cello.")
        assert space.admin.check() == {}


def test_an_embedder_that_was_down_catches_up_with_the_next_memory() -> None:
    """Nobody has to ask for it, and an exact repeat is enough."""
    embedder = Moody()
    with remanence.open(None, embedder=embedder) as space:
        space.add(PORTO)
        embedder.mood = "down"
        kept = space.add("Bob plays the cello.")
        assert not space.recall("cello", signals=["vectors"])

        embedder.mood = "well"
        space.add(PORTO)
        assert space.recall("cello", signals=["vectors"])[0].memory == kept
        assert space.admin.check() == {}


def test_an_embedder_that_was_never_up(home: Path, clock: FakeClock) -> None:
    """Not even its dimension is known; everything else works, and it joins when it comes up."""
    up = False

    def embed(texts: list[str]) -> Any:
        if not up:
            raise ConnectionError("no route to host")
        return HashingEmbedder(8).embed(texts)

    with remanence.open(home, embedder=embed, clock=clock) as space:
        kept = space.add(PORTO)
        answer = space.recall("Porto")
        assert (answer[0].memory, list(answer.missing)) == (kept, ["vectors"])
        up = True
        space.add("Bob plays the cello.")
        space.rebuild()
        assert space.recall("Porto").missing == {}
        assert space.admin.check() == {}
    with remanence.open(home, embedder=embed, clock=clock) as space:
        assert space.recall("Porto", signals=["vectors"])[0].memory == kept


def test_another_embedder_is_refused_with_the_way_out(reopen: Reopen, home: Path) -> None:
    """Both names are said; `reembed` makes the other one the right one."""
    space = reopen()
    memory = space.add(PORTO)
    space.child("bob").add("I play the cello.")
    space.close()

    with pytest.raises(remanence.errors.ProjectionStale) as caught:
        reopen(embedder=HashingEmbedder(32))
    for part in ("'hashing-64'", "'hashing-32'", "remanence.reembed", str(home)):
        assert part in str(caught.value)

    remanence.reembed(home, embedder=HashingEmbedder(32))
    with remanence.open(home, embedder=HashingEmbedder(32)) as space:
        assert space.recall("Porto", signals=["vectors"])[0].memory == memory
        assert len(space.child("bob").recall("cello", signals=["vectors"])) == 1
        assert (space.admin.check(), space.child("bob").admin.check()) == ({}, {})
        space.verify()
    with pytest.raises(remanence.errors.ProjectionStale):
        reopen(embedder=HashingEmbedder(64))


def test_a_function_of_another_dimension_is_another_embedder(home: Path) -> None:
    """Though it is called the same: its first answer tells, whatever is asked, and nothing is written."""

    def told(dimension: int) -> Space:
        return remanence.open(home, embedder=lambda texts: HashingEmbedder(dimension).embed(texts))

    with told(8) as space:
        space.add(PORTO)
        before = space.verify()
    acts: list[Act] = [lambda space: space.add("Bob plays the cello."), lambda space: space.recall("Porto")]
    for act in acts:
        with told(4) as space:
            for _ in range(2):
                with pytest.raises(remanence.errors.ProjectionStale, match=r"function@8.*function@4.*reembed"):
                    act(space)
            assert space.verify() == before
    with told(8) as space:
        assert space.recall("Porto", signals=["vectors"])[0].memory.text == PORTO


def test_a_function_can_take_over_as_the_embedder(reopen: Reopen, home: Path) -> None:
    """One that does not say its dimension is asked first, so that it is known again next time."""
    reopen().add(PORTO)
    reopen().close()

    def embed(texts: list[str]) -> Any:
        return HashingEmbedder(8).embed(texts)

    remanence.reembed(home, embedder=embed)
    with remanence.open(home, embedder=embed) as space:
        assert space.recall("Porto", signals=["vectors"])[0].memory.text == PORTO


# Damage


def damaged(path: Path, how: str) -> None:
    size = path.stat().st_size
    if how == "flipped":
        with path.open("r+b") as file:
            file.seek(size // 2)
            held = file.read(9)
            file.seek(size // 2)
            file.write(bytes(byte ^ 255 for byte in held))
    elif how == "cut short":
        os.truncate(path, size // 2)
    else:
        path.write_bytes(os.urandom(size) if how == "garbage" else {"empty": b"", "text": b"not what you think"}[how])


@pytest.mark.parametrize("how", ["empty", "garbage", "cut short", "flipped", "text"])
@pytest.mark.usefixtures("with_files")
def test_a_damaged_snapshot_is_built_anew(reopen: Reopen, home: Path, how: str) -> None:
    """It was only a head start."""
    memory = reopen().add(PORTO)
    reopen().close()
    [snapshot] = (home / "index").glob("*/*.idx")
    damaged(snapshot, how)

    space = reopen()
    assert space.recall("Where does Alice live?")[0].memory == memory
    assert space.admin.check() == {}


@pytest.mark.usefixtures("with_files")
def test_a_snapshot_of_another_ledger_is_built_anew(tmp_path: Path) -> None:
    """As after a backup was put back and written on: it is as long, and says something else."""
    for name, text in (("old", PORTO), ("new", "Bob plays the cello.")):
        with remanence.open(tmp_path / name, embedder=HashingEmbedder()) as space:
            space.add(text)
    shutil.rmtree(tmp_path / "new" / "index")
    shutil.copytree(tmp_path / "old" / "index", tmp_path / "new" / "index")

    with remanence.open(tmp_path / "new", embedder=HashingEmbedder()) as space:
        assert not space.recall("Porto", signals=["words"])
        assert space.recall("cello", signals=["words"])[0].memory.text == "Bob plays the cello."
        assert space.admin.check() == {}


@pytest.mark.parametrize("how", ["empty", "garbage", "cut short"])
@pytest.mark.usefixtures("with_files")
def test_damaged_vectors_are_built_anew(reopen: Reopen, home: Path, how: str) -> None:
    """The ledger holds every one."""
    memory = reopen().add(PORTO)
    reopen().close()
    for path in (home / "vectors").rglob("*"):
        if path.is_file() and path.stat().st_size:
            damaged(path, how)

    found = reopen().recall("Porto", signals=["vectors"])
    assert (found[0].memory, found.missing) == (memory, {})
    assert reopen().admin.check() == {}


@pytest.mark.parametrize("lost", [["index"], ["vectors"], ["index", "vectors"]])
@pytest.mark.usefixtures("with_files")
def test_lost_folders_heal(reopen: Reopen, home: Path, lost: list[str]) -> None:
    """All but the ledger can be thrown away."""
    space = reopen()
    memory = space.add(PORTO)
    before = space.recall("Porto").to_dicts()
    space.close()
    for name in lost:
        shutil.rmtree(home / name)

    space = reopen()
    assert space.recall("Porto").to_dicts() == before
    assert (space.recall("Porto")[0].memory, space.admin.check()) == (memory, {})


@pytest.mark.parametrize("name", ["index", "vectors"])
@pytest.mark.usefixtures("with_files")
def test_a_file_where_a_folder_belongs_is_only_in_the_way(reopen: Reopen, home: Path, name: str) -> None:
    """The space works without it, and leaves it alone."""
    home.mkdir()
    (home / name).write_text("mine")

    space = reopen()
    memory = space.add(PORTO)
    space.rebuild()
    assert space.recall("Porto")[0].memory == memory
    assert reopen().recall("Porto")[0].memory == memory
    reopen().close()
    assert (home / name).read_text() == "mine"


@pytest.mark.parametrize(
    "act",
    [
        lambda space: space.recall("Where does Alice live?"),
        lambda space: space.find("home"),
        lambda space: list(space.memories()),
        lambda space: space.graph.memories(),
    ],
    ids=["recall", "find", "memories", "graph.memories"],
)
def test_words_that_were_taken_out_of_the_ledger_are_missed(reopen: Reopen, home: Path, act: Act) -> None:
    """A blank line that no line accounts for is named, and is not taken for one that was just erased."""
    reopen().add(PORTO, key="home")
    space = reopen()
    with sqlite3.connect(home / "ledger.db", isolation_level=None) as database:
        database.execute("UPDATE entry SET body = NULL, salt = NULL")
    database.close()

    assert "verify()" in refused(act, space, "entry 1 ", "erased")


@pytest.mark.parametrize("how", ["garbage", "text", "cut short", "empty"])
def test_a_damaged_ledger_is_refused(reopen: Reopen, home: Path, how: str) -> None:
    """By name, with the next step, and it is left as it is for whoever can save it."""
    reopen().add_many([{"text": f"Note {n} about the harbour."} for n in range(200)])
    reopen().close()
    damaged(home / "ledger.db", how)
    held = (home / "ledger.db").read_bytes()

    with pytest.raises(remanence.errors.LedgerError, match=r"ledger\.db") as caught:
        reopen().recall("harbour")
    assert "backup" in str(caught.value)
    assert (home / "ledger.db").read_bytes() == held


@pytest.mark.parametrize("how", ["taken away", "replaced"])
def test_a_ledger_that_goes_while_it_is_open(reopen: Reopen, home: Path, tmp_path: Path, how: str) -> None:
    """No memory is taken in that the folder would not have; once the file is back, it goes on."""
    space = reopen()
    space.add(PORTO)
    (home / "ledger.db").rename(tmp_path / "aside.db")
    if how == "replaced":
        shutil.copy(tmp_path / "aside.db", home / "ledger.db")

    refused(lambda space: space.add("Bob plays the cello."), space, str(home / "ledger.db"), "open it again")
    (tmp_path / "aside.db").replace(home / "ledger.db")
    space.add("Bob plays the cello.")
    assert {memory.text for memory in reopen().memories()} == {PORTO, "Bob plays the cello."}


def test_a_place_that_is_a_file(tmp_path: Path) -> None:
    """It is not taken for a folder, nor changed."""
    place = tmp_path / "notes.txt"
    place.write_text("mine")

    with pytest.raises(remanence.errors.LedgerUnavailable, match=r"notes\.txt is a file.*Give another path"):
        remanence.open(place, embedder=HashingEmbedder())
    assert place.read_text() == "mine"


def test_a_folder_with_somebody_elses_database(home: Path) -> None:
    """It is left as it is."""
    home.mkdir()
    other = sqlite3.connect(home / "ledger.db")
    other.execute("CREATE TABLE cooking (recipe TEXT)")
    other.commit()
    other.close()
    held = (home / "ledger.db").read_bytes()

    with pytest.raises(remanence.errors.LedgerCorrupt, match=r"not a Remanence ledger.*give another folder"):
        remanence.open(home, embedder=HashingEmbedder())
    assert (home / "ledger.db").read_bytes() == held


FULL = """
import resource, sys
import remanence
from remanence.testing import HashingEmbedder

space = remanence.open(sys.argv[1], embedder=HashingEmbedder())
kept = [space.add("Alice lives in Porto.").text]
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
try:
    for number in range(10_000):
        kept.append(space.add(f"Note {number}. " + "The harbour was full of ships. " * 30).text)
except remanence.errors.LedgerError as error:
    print(error)
else:
    print("never full")
assert space.count() == len(kept), "what is there can still be read"
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
kept.append(space.add("There is room again.").text)
space.rebuild()
assert [memory.text for memory in space.memories()] == kept
assert space.admin.check() == {}
space.verify()
space.close()
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="this system has no limit to set")
def test_a_disk_that_is_full(home: Path) -> None:
    """Nothing acknowledged is lost, nothing is half written, and once there is room it goes on."""
    process = WarmProcess(FULL, home)
    printed, failed = process.communicate()

    assert process.returncode == 0, failed[-2000:]
    assert "ledger.db" in printed


def test_a_space_is_read_on_a_full_disk(home: Path, reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other processes are told has to wait until there is room; recall has not."""
    first = reopen()
    first.add(PORTO)
    first.close()

    def no_room(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", no_room)
        space = reopen()
        assert space.recall("Where does Alice live?")[0].memory.text == PORTO
    space._engine.erasure_cleaner.run_pending()
    assert [path.read_text() for path in home.rglob("processes/*.lock")] == [f"{0:020}"]


def test_a_new_space_on_a_full_disk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite has rolled back by itself, and the error names the reason."""

    def no_room(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(tables, "_migrate", no_room)
    with pytest.raises(remanence.errors.LedgerUnavailable, match="the disk is full"):
        remanence.open(home / "new", embedder=HashingEmbedder())


@pytest.mark.parametrize("rows", [600, 1_200])
def test_of_many_rows_the_stored_ones_are_counted(
    home: Path, reopen: Reopen, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """Rows are stored 250 at a time, so that a full disk may be met with some of them stored."""
    monkeypatch.setattr("remanence.remember.bulk.can_extract_in_parallel", lambda extractor, count: count > 1_000)
    space = reopen()
    append, calls = Engine.append, list[Any]()

    def no_room(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) > rows // 250:
            raise remanence.errors.LedgerUnavailable("the disk is full.")
        return append(*arguments)

    monkeypatch.setattr(Engine, "append", no_room)
    stored = rows // 250 * 250
    with pytest.raises(remanence.errors.LedgerUnavailable, match=f"first {stored} rows were stored") as caught:
        space.add_many([f"Boat {number} lies in the harbour." for number in range(rows)])
    assert caught.value.stored_rows == space.count() == stored


def test_a_disk_without_a_free_block_is_named(home: Path, reopen: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite only says that it cannot read or write."""
    reopen().close()

    def no_room(path: Path, **_: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("remanence.ledger.sqlite_backend.sqlite.connect", no_room)
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=0))
    with pytest.raises(remanence.errors.LedgerUnavailable, match="the disk is full"):
        reopen()


def test_a_closed_space_says_so(reopen: Reopen) -> None:
    """Every verb, and closing again is fine."""
    space = reopen()
    memory = space.add(PORTO)
    space.close()
    space.close()

    for act in (
        lambda: space.add(PORTO),
        lambda: space.recall("Porto"),
        lambda: space.get(memory.id),
        lambda: space.count(),
        lambda: list(space.memories()),
        lambda: space.forget(memory.id),
        lambda: space.verify(),
        lambda: space.rebuild(),
        lambda: space.admin.check(),
        lambda: space.spaces(),
        lambda: space.child("bob").add("I am Bob."),
    ):
        with pytest.raises(remanence.Closed, match="closed"):
            act()


def test_a_broken_projection_is_named_and_mended(space: Space, caplog: pytest.LogCaptureFixture) -> None:
    """The memory is safe, the other signals answer, `check` and `recall` say so, `rebuild` mends it."""
    space.add(PORTO)
    with space._engine.open_index(space.name) as index:
        healthy, index.words.apply = index.words.apply, None  # type: ignore[assignment,method-assign]
        with caplog.at_level(logging.CRITICAL, logger="remanence"):
            kept = space.add("Bob plays the cello.")
        index.words.apply = healthy  # type: ignore[method-assign]

    answer = space.recall("Bob cello")
    assert answer[0].memory == kept
    assert "`rebuild` repairs it" in answer.missing["words"]
    assert "words" in space.admin.check()
    space.rebuild()
    assert (space.recall("Bob cello").missing, space.admin.check()) == ({}, {})


def test_a_folder_without_memories_is_not_embedded_anew(home: Path) -> None:
    """A slip of the pen makes no empty folder."""
    with pytest.raises(remanence.InvalidInput, match="contains no memories"):
        remanence.reembed(home / "mispelt", embedder=HashingEmbedder())
    assert not (home / "mispelt").exists()


def test_two_ledgers_on_one_server_keep_apart(home: Path) -> None:
    """The same space name, the same memories' numbers, one Qdrant: neither sees or undoes the other."""
    from qdrant_client import QdrantClient

    client = QdrantClient(":memory:")
    with (
        remanence.open(home / "a", embedder=HashingEmbedder(), qdrant=client) as mine,
        remanence.open(home / "b", embedder=HashingEmbedder(), qdrant=client) as theirs,
    ):
        mine.add("The harbour is closed.")
        theirs.add("The bakery is open.")
        assert [hit.memory.text for hit in mine.recall("harbour", signals=["vectors"])] == ["The harbour is closed."]
        assert mine.admin.check() == theirs.admin.check() == {}


def test_a_server_that_goes_down_costs_one_signal(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Recall names it and answers with the others; adding, erasing and a rebuild that fails lose nothing."""
    from qdrant_client import QdrantClient

    caplog.set_level(logging.CRITICAL, logger="remanence")
    client = QdrantClient(":memory:")
    with remanence.open(home, embedder=HashingEmbedder(), qdrant=client) as space:
        harbour, secret = space.add("The harbour is closed."), space.add("The harbour hides a secret.")
        client.close()

        for act in (lambda: None, lambda: space.add("The bakery has bread."), lambda: space.erase(secret.id)):
            act()
            answer = space.recall("Is the harbour closed?")
            assert answer[0].memory == harbour
            assert "Qdrant" in answer.missing["vectors"]
        with pytest.raises(remanence.errors.ProjectionError, match="Qdrant"):
            space.rebuild()
        answer = space.recall("Is the harbour closed?")
        assert [hit.memory for hit in answer] == [harbour]
        assert "Qdrant" in answer.missing["vectors"]

    with remanence.open(home, embedder=HashingEmbedder(), qdrant=QdrantClient(":memory:")) as space:
        assert (space.count(), space.recall("harbour").missing, space.admin.check()) == (2, {}, {})


@pytest.mark.parametrize("down_from", ["the start", "later"])
def test_a_server_that_comes_back_is_used_again(home: Path, monkeypatch: pytest.MonkeyPatch, down_from: str) -> None:
    """Opening, adding and recalling work without it; what was added meanwhile is found by meaning afterwards."""
    from qdrant_client import QdrantClient
    from qdrant_client.http.exceptions import ResponseHandlingException

    class Server(QdrantClient):
        down = down_from == "the start"

        def __getattribute__(self, name: str) -> Any:
            if name in ("upsert", "query_points", "scroll", "delete", "get_collection") and self.down:
                raise ResponseHandlingException(OSError("connection refused"))
            return super().__getattribute__(name)

    monkeypatch.setattr("remanence.index.vectors.store_sync._MIN_RETRY_SECONDS", 0.0)
    server = Server(":memory:")
    with remanence.open(home, embedder=HashingEmbedder(), qdrant=server) as space:
        harbour = space.add("The harbour is closed.")
        secret = space.add("The harbour hides a secret.")
        server.down = True
        bread = space.add("The bakery has bread.")
        [pending] = space.erase(secret).pending
        assert "vector server" in pending.location
        answer = space.recall("Is the harbour closed?")
        assert answer[0].memory == harbour
        assert "does not answer" in answer.missing["vectors"]
        assert "does not answer" in space.admin.check()["vectors"]
        server.down = False
        time.sleep(0.5)  # it is asked again after ten times as long as it took to refuse
        answer = space.recall("bakery bread", signals=["vectors"])
        assert (answer[0].memory, answer.missing) == (bread, {})
        assert space.admin.check() == {}
        assert space.audit.pending_erasures() == []


def test_an_embedder_that_hangs_has_a_time_limit(home: Path) -> None:
    """The text is stored, the vector is made later; another space goes on meanwhile."""
    hanging, inner = threading.Event(), HashingEmbedder()

    def embed(texts: Sequence[str]) -> Vector:
        if hanging.is_set():
            over.wait(30)
        return inner.embed(texts)

    over = threading.Event()
    with remanence.open(home, embedder=embed, timeout=0.2) as space:
        space.add(PORTO)
        hanging.set()
        cello = space.add("Bob plays the cello.")
        answer = space.recall("Who plays the cello?")
        assert answer[0].memory == cello
        assert "gave no answer in 0.2 seconds" in answer.missing["vectors"]
        hanging.clear()
        over.set()


@pytest.mark.parametrize("timeout", [0, -1, "long"])
def test_a_time_limit_is_a_number_of_seconds(timeout: Any) -> None:
    with pytest.raises(remanence.InvalidInput, match="timeout"):
        remanence.open(None, embedder=HashingEmbedder(), timeout=timeout)


def test_an_extractor_that_hangs_has_a_time_limit(home: Path) -> None:
    """Nothing is stored, and the error names it."""
    over = threading.Event()

    class Slow:
        name = "slow"

        def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
            over.wait(30)
            return Extraction()

    with remanence.open(home, embedder=HashingEmbedder(), extractor=Slow(), timeout=0.2) as space:
        with pytest.raises(remanence.RemanenceError, match=r"extractor 'slow' gave no answer in 0\.2 seconds"):
            space.add(PORTO)
        assert space.count() == 0
        over.set()
        assert space.add(PORTO).text == PORTO


@pytest.mark.parametrize(("day_first", "month"), [(True, 4), (False, 3)])
def test_an_extractor_with_a_time_limit_reads_dates_in_the_given_order(day_first: bool, month: int) -> None:
    """It is called in a thread of its own, which has to know the order."""
    rules = RuleExtractor()

    class Own:
        name = "own"

        def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
            return rules.extract(text, now=now, speaker=speaker)

    with remanence.open(None, embedder=HashingEmbedder(), extractor=Own(), day_first=day_first) as space:
        memory = space.add("We met in Porto on 03/04/2025.")
        assert memory.valid.start.month == month


@pytest.mark.parametrize("mark", ["?", ".", " \n", "!?", "A. "])
def test_a_text_of_nothing_but_marks_is_read_in_one_go(space: Space, mark: str) -> None:
    """Were each mark tried with all those behind it, this would take the better part of an hour."""
    text = f"x{mark * (200_000 // len(mark))}y"
    [turn] = space.add_turns([{"speaker": "Ann", "content": text}])

    assert space.get(turn.id) == turn


@pytest.mark.parametrize("verb", ["add_many", "add_turns", "remember"])
def test_a_progress_that_is_no_function_is_refused_before_anything_is_stored(lived_in: Space, verb: str) -> None:
    """The message names the value, and nothing is written."""
    given = [{"content": "Bob drinks water."}] if verb == "add_turns" else ["Bob drinks water."]
    given = given[0] if verb == "remember" else given  # type: ignore[assignment]
    refused(lambda space: getattr(space, verb)(given, progress=5), lived_in, "progress=5")


def test_a_number_of_many_digits_in_meta_is_refused(space: Space) -> None:
    """Python writes no number of more than 4,300 digits, also not into the error."""
    with pytest.raises(InvalidInput, match="meta=a very deep or large dict cannot be written as JSON"):
        space.add("x", meta={"a": 10**5000})
