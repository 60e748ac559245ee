"""How ledger lines hold on to one another: pure functions over lines.

    content = sha256(salt + body)
    digest  = sha256(digest of the line before + position, at, space, kind, subject, content)

The chain runs over `content`, not over the words, so it still holds once `erase` has blanked a line's
body and salt. The salt is why an erased "yes" cannot be found again by hashing guesses.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from remanence.errors import InvalidInput, LedgerCorrupt, LedgerTampered, LedgerTooNew
from remanence.events import Erased, Event
from remanence.ledger.codec import decode, encode, event_kind, event_subject, json_fragment
from remanence.schema import Entry, from_micros, micros

SALT = 16


class StoredEntry(NamedTuple):
    """One line as it is stored. `body` and `salt` are None once erased."""

    position: int
    at: int
    space: str
    kind: str
    subject: str
    body: str | None
    salt: bytes | None
    content: bytes
    digest: bytes


class ChainHead(NamedTuple):
    """Where a ledger ends: its last position and the digest there."""

    position: int
    digest: bytes


EMPTY_HEAD = ChainHead(0, bytes(32))


def build_entries(tail: ChainHead, space: str, events: Sequence[Event], at: int) -> list[StoredEntry]:
    """The lines that say `events`, chained onto `tail`.

    >>> from remanence.events import Restored
    >>> [line.position for line in build_entries(EMPTY_HEAD, "home", [Restored("m1"), Restored("m2")], at=0)]
    [1, 2]
    """
    position, digest = tail
    salts = os.urandom(SALT * len(events))
    lines = []
    for number, event in enumerate(events):
        position += 1
        salt = salts[SALT * number : SALT * (number + 1)]
        kind, subject = event_kind(event), event_subject(event)
        try:
            body = encode(event)
            content = _content(salt, body)
            digest = _digest(digest, position, at, space, kind, subject, content)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{subject!r} in space {space!r} cannot be written down: {error}. "
                "Text must be valid Unicode (no lone surrogates) and `meta` must be plain JSON."
            ) from error
        lines.append(StoredEntry(position, at, space, kind, subject, body, salt, content, digest))
    return lines


def build_erased_entry(tail: ChainHead, space: str, kind: str, subject: str, at: int) -> StoredEntry:
    """A line without words, chained onto `tail`. What it said is not known here, so its content is made up.

    >>> build_erased_entry(EMPTY_HEAD, "home", "remembered", "m1", at=0).body is None
    True
    """
    content = os.urandom(32)
    try:
        digest = _digest(tail.digest, tail.position + 1, at, space, kind, subject, content)
    except ValueError as error:
        raise InvalidInput(f"{subject!r} in space {space!r} cannot be written down: {error}.") from error
    return StoredEntry(tail.position + 1, at, space, kind, subject, None, None, content, digest)


def checked_micros(at: datetime) -> int:
    """A moment as it is stored.

    >>> from datetime import timezone
    >>> checked_micros(datetime(1970, 1, 1, 0, 0, 2, tzinfo=timezone.utc))
    2000000
    """
    if at.tzinfo is None:
        raise InvalidInput(f"{at!r} has no timezone, so it names no moment. Give one, such as `tzinfo=UTC`.")
    return micros(at)


def recording_time(at: datetime, last: int) -> int:
    """When a line is recorded: at `at`, or if that lies before the `last` line, just after that line.

    Just after, not with it: a view as of the last line's moment must not change.
    """
    moment = checked_micros(at)
    return moment if moment >= last else last + 1


def to_entries(lines: Sequence[StoredEntry], events: Sequence[Event]) -> list[Entry]:
    """The lines just written, with the events they were written from."""
    return [
        Entry(line.position, from_micros(line.at), line.space, line.kind, line.subject, event, line.digest)
        for line, event in zip(lines, events, strict=True)
    ]


def decode_entry(position: int, at: int, space: str, kind: str, subject: str, body: str | None, digest: bytes) -> Entry:
    """A stored line as the rest of the library reads it.

    >>> decode_entry(7, 0, "home", "restored", "m1", '{"memory":"m1"}', b"").event
    Restored(memory='m1')
    """
    try:
        event = None if body is None else decode(kind, body)
        return Entry(position, from_micros(at), space, kind, subject, event, digest)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise LedgerCorrupt(
            f"line {position} of space {space!r} cannot be read ({type(error).__name__}: {error}). "
            "The ledger was damaged or changed from outside: run `verify()`, then restore a backup."
        ) from error


def texts_in_other_entries(
    bodies: Iterable[tuple[int, str | None]], texts: Collection[str], excluded_positions: Collection[int]
) -> set[str]:
    """Those of these texts that stand in a line other than these, given the lines' positions and bodies.

    >>> entries = [(1, '{"text":"green tea"}'), (2, '{"text":"tea"}'), (3, None)]
    >>> texts_in_other_entries(entries, ["tea", "green"], excluded_positions=[1])
    {'tea'}
    """
    # By length: most lines are far shorter than a passage of a long text, and need not be looked through.
    wanted = sorted(((json_fragment(text), text) for text in set(texts)), key=lambda pair: len(pair[0]))
    lengths = [len(written) for written, _ in wanted]
    apart, found = set(excluded_positions), set[str]()
    for position, body in bodies:
        if isinstance(body, str) and position not in apart:  # one changed from outside may be anything
            room = bisect_right(lengths, len(body))
            found.update(text for written, text in wanted[:room] if text not in found and written in body)
    return found


def verify(lines: Iterable[StoredEntry], head: ChainHead | None) -> ChainHead:
    """The end of the chain, if every line is what was written; else LedgerTampered names the first bad one.
    Where none is bad, but a later release erased something, LedgerTooNew: this one cannot tell what.

    `head` is what the writer noted as the end, so a tail that was cut off is missed. Whoever can rewrite
    the whole file can also rewrite the whole chain: compare the digest with one kept elsewhere.

    >>> verify(build_entries(EMPTY_HEAD, "home", [], at=0), head=None) == EMPTY_HEAD
    True
    """
    tail = EMPTY_HEAD
    fault: tuple[int, str] | None = None
    blank: set[int] = set()  # lines without words that no later line has accounted for yet
    unread: LedgerTooNew | None = None
    for line in lines:
        fault = fault or _fault(line, tail)
        tail = ChainHead(line.position, line.digest)
        if line.body is None:
            blank.add(line.position)
        elif line.kind == "erased":
            try:
                blank.difference_update(_erasures(line))  # past a fault too: line 7 does not make line 3 bad
            except LedgerTooNew as error:
                blank.clear()  # only a later release can tell which of them the line erased
                unread = unread or error
    if fault is None:
        fault = _end_fault(tail, head)
    if blank and (fault is None or min(blank) < fault[0]):
        also = f"; and line {fault[0]}: {fault[1]}" if fault is not None else ""
        fault = min(blank), f"its words are gone, and no sound line says that they were erased{also}"
    if fault is not None:
        position, what = fault
        raise LedgerTampered(
            f"line {position} is not what was written: {what}. The lines before it are sound"
            f"{'' if unread is None else ', as far as this release can read them'}. "
            "Restore the ledger from a backup, or keep this copy as evidence and read only up to "
            f"line {position - 1}.",
            position=position,
        )
    if unread is not None:
        raise unread
    return tail


def _fault(line: StoredEntry, before: ChainHead) -> tuple[int, str] | None:
    expected = before.position + 1
    if line.position != expected:
        return expected, f"it is missing (the next line there is {line.position!r})"
    if (line.body is None) != (line.salt is None):
        return expected, "it is half erased"
    if line.body is not None and not _content_holds(line):
        return expected, "its words do not match their hash"
    try:
        digest = _digest(before.digest, *line[:5], line.content)
    except (TypeError, ValueError, AttributeError):
        return expected, "it holds values of the wrong type"
    if digest != line.digest:
        return expected, "its time, space, kind, subject, hash or digest was changed"
    return None


def _erasures(line: StoredEntry) -> tuple[int, ...]:
    try:
        event = decode(line.kind, line.body) if line.body is not None and _content_holds(line) else None
    except (TypeError, ValueError, KeyError):
        return ()  # not a line that we wrote
    return event.positions if isinstance(event, Erased) else ()


def _end_fault(tail: ChainHead, head: ChainHead | None) -> tuple[int, str] | None:
    if head == tail or (head is None and tail == EMPTY_HEAD):
        return None
    if head is None:
        return tail.position, "the note of which line is the last is missing"
    if head.position > tail.position:
        return tail.position + 1, f"it is missing (the ledger was written up to line {head.position})"
    if head.position < tail.position:
        return (head.position + 1, f"it was added from outside (the ledger was written up to line {head.position})")
    return tail.position, "its digest is not the one noted when it was written"


def _content_holds(line: StoredEntry) -> bool:
    try:
        return line.body is not None and line.salt is not None and _content(line.salt, line.body) == line.content
    except (TypeError, ValueError, AttributeError):
        return False


def _content(salt: bytes, body: str) -> bytes:
    return sha256(salt + body.encode()).digest()


def _digest(before: bytes, position: int, at: int, space: str, kind: str, subject: str, content: bytes) -> bytes:
    # Lengths stand before the strings, so no two different lines are written the same way.
    head = f"{position},{at},{len(space)}:{space},{len(kind)}:{kind},{len(subject)}:{subject},"
    return sha256(before + head.encode() + content).digest()
