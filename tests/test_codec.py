"""Events are stored as the JSON of the standard library."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime, timezone

import pytest

from remanence.events import Remembered
from remanence.index.engine.identity import content_digest, turn_identity
from remanence.index.index import memory_from_entry
from remanence.ledger.codec import decode, encode
from remanence.remember.resolve_identity import _with_memory_and_turn
from remanence.schema import Entry, Memory, Mention, Triple, Turn, Window

UTC = timezone.utc


def full_version() -> Remembered:
    """A version in which no field has its default."""
    may, june = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
    return Remembered(
        memory="m1",
        text='São "José"',
        identity="i1",
        content="c1",
        key="k1",
        kind="episode",
        valid=Window(may, june),
        importance=0.9,
        confidence=0.5,
        strength=1.5,
        tags=("a", "b"),
        source="chat",
        observed_by="Bob",
        expires_at=june,
        mentions=(Mention("Alice", "person"),),
        triples=(Triple("Alice", "lives_in", "Porto"),),
        times=(Window(may, None),),
        turn=Turn("chat", 3, "Alice", may),
        passages=((0, 4),),
        meta={"n": 1.5, "x": None},
        told_at=may,
        trust=0.5,
        signature="s1",
    )


def test_copies_that_are_made_field_by_field_keep_every_field() -> None:
    """A field that is added later must be added there too."""
    version, at = full_version(), datetime(2026, 7, 1, tzinfo=UTC)
    empty = Remembered(memory="m", text="t", identity="i", content="c")
    memory = memory_from_entry(Entry(1, at, "default", "remembered", "m1", version), version, at)

    assert all(getattr(version, f.name) != getattr(empty, f.name) for f in fields(Remembered))
    assert _with_memory_and_turn(version, "m2", None) == replace(version, memory="m2", turn=None)
    for name in {f.name for f in fields(Memory)} & {f.name for f in fields(Remembered)}:
        assert getattr(memory, name) == getattr(version, name)


def test_the_text_of_a_stored_memory_never_changes() -> None:
    """Digests depend on every byte of it, also on the order of the fields."""
    version = full_version()
    body = (
        '{"memory":"m1","text":"São \\"José\\"","identity":"i1","content":"c1","kind":"episode","importance":0.9,'
        '"confidence":0.5,"strength":1.5,"key":"k1","source":"chat","observed_by":"Bob",'
        '"valid_from":1777593600000000,"valid_until":1780272000000000,"expires_at":1780272000000000,'
        '"tags":["a","b"],"mentions":[["Alice","person"]],"triples":[["Alice","lives_in","Porto"]],'
        '"times":[[1777593600000000,null]],"turn":["chat",3,"Alice",1777593600000000],"passages":[[0,4]],'
        '"meta":{"n":1.5,"x":null},"told_at":1777593600000000,"trust":0.5,"signature":"s1"}'
    )

    assert encode(version) == body
    assert decode("remembered", body) == version


def test_the_digest_of_an_input_never_changes() -> None:
    """It is compared with digests that were stored years ago."""
    assert content_digest("São", {"b": None, "a": 1.5}, ("x", 2)) == "ea3f25a902705afc97664794"


def test_the_identity_of_a_turn_is_a_digest_like_any_other() -> None:
    """It is computed without an encoder, and has to stay the same as that of stored turns."""
    assert turn_identity("ea3f25a902705afc97664794", 12) == content_digest("turn", "ea3f25a902705afc97664794", 12)


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object()])
def test_what_is_not_json_is_refused(value: object) -> None:
    """Rather than stored as something else."""
    with pytest.raises(TypeError, match="not JSON serializable"):
        encode(Remembered("m1", "text", "i1", meta={"value": value}))
