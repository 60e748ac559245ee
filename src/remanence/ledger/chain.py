"""How ledger entries are chained by digest, and the part of a transaction that all ledgers share.

    content = sha256(salt + body)
    digest  = sha256(digest of the entry before + position, at, space, kind, subject, content)

The chain covers `content`, not the text, so it stays valid after `erase` has removed the body and the salt
of an entry. Without the salt, an erased short text ("yes") could be found by hashing guesses.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from hashlib import blake2b, sha256
from operator import xor
from typing import Any, NamedTuple

from remanence.errors import InvalidInput, LedgerCorrupt, LedgerError, LedgerTampered, LedgerTooNew
from remanence.events import Emptied, Erased, Event
from remanence.ledger.codec import decode, encode, event_kind, event_subject
from remanence.schema import Entry, from_micros, micros
from remanence.schema.entries import Position

EXPLAINS = ("erased", "emptied")
"""The kinds of entries that have no text of anybody, and say of which earlier ones the text was removed."""
SALT_SIZE = 16
"""Bytes of the random part of a digest, without which an erased text could be guessed."""


class StoredEntry(NamedTuple):
    """One entry as it is stored. `body` and `salt` are None once erased."""

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
    """The end of a ledger: its last position and the digest there."""

    position: int
    digest: bytes


EMPTY_HEAD = ChainHead(0, bytes(32))


class ChainedTransaction(ABC):
    """A transaction that builds chained entries; a subclass stores them."""

    def __init__(self, head: ChainHead) -> None:
        self.chain_head = head
        self.ended = False

    @property
    def head(self) -> int:
        return self.chain_head.position

    def append(self, space: str, events: Sequence[Event], *, at: datetime) -> list[Entry]:
        self._check_open()
        moment = self._recording_time(space, at)
        stored = build_entries(self.chain_head, space, events, moment)
        self.append_stored(stored)
        return [
            Entry(
                Position(entry.position),
                from_micros(entry.at),
                entry.space,
                entry.kind,
                entry.subject,
                event,
                entry.digest,
            )
            for entry, event in zip(stored, events, strict=True)
        ]

    def append_erased(self, space: str, kind: str, subject: str, *, at: datetime) -> Entry:
        self._check_open()
        moment = self._recording_time(space, at)
        content = os.urandom(32)  # the text is not known here
        position = self.head + 1
        try:
            digest = _digest(self.chain_head.digest, position, moment, space, kind, subject, content)
        except ValueError as error:
            raise InvalidInput(f"{subject!r} in space {space!r} cannot be stored: {error}.") from error
        self.append_stored([StoredEntry(position, moment, space, kind, subject, None, None, content, digest)])
        return Entry(Position(position), from_micros(moment), space, kind, subject, None, digest)

    def erase_space(self, space: str, *, at: datetime, signature: str | None = None) -> Entry:
        self._check_open()
        self._blank_space(space)
        [entry] = self.append(space, [Emptied(space, signature)], at=at)
        self._mark_emptied(entry)
        return entry

    def append_stored(self, entries: Sequence[StoredEntry]) -> None:
        """Add entries that are chained already: to the end of this ledger, or in one that is being copied."""
        if entries:
            self._store(entries)
            self.chain_head = ChainHead(entries[-1].position, entries[-1].digest)

    def _recording_time(self, space: str, at: datetime) -> int:
        """`at`, or just after the last entry of the space if that is later.

        Not the same moment: a view as of the last entry's moment must not change.
        """
        moment = checked_micros(at)
        last = self._last_time(space)
        return moment if last is None or moment >= last else last + 1

    def _check_open(self) -> None:
        if self.ended:
            raise LedgerError("this transaction has ended; start another with `ledger.transaction()`.")

    @abstractmethod
    def _store(self, entries: Sequence[StoredEntry]) -> None: ...

    @abstractmethod
    def _blank_space(self, space: str) -> None:
        """Remove the text of every entry of a space."""

    @abstractmethod
    def _mark_emptied(self, entry: Entry) -> None:
        """Leave the space of this entry out of `spaces` as long as this is its last entry."""

    @abstractmethod
    def _last_time(self, space: str) -> int | None: ...


def build_entries(head: ChainHead, space: str, events: Sequence[Event], at: int) -> list[StoredEntry]:
    """Entries for `events`, chained onto `head`."""
    position, digest = head
    salts = os.urandom(SALT_SIZE * len(events))
    entries = []
    for number, event in enumerate(events):
        position += 1
        salt = salts[SALT_SIZE * number : SALT_SIZE * (number + 1)]
        kind, subject = event_kind(event), event_subject(event)
        try:
            body = encode(event)
            content = _content_hash(salt, body)
            digest = _digest(digest, position, at, space, kind, subject, content)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{subject!r} in space {space!r} cannot be stored: {error}. "
                "Text must be valid Unicode (no lone surrogates) and `meta` must be plain JSON."
            ) from error
        entries.append(StoredEntry(position, at, space, kind, subject, body, salt, content, digest))
    return entries


def checked_micros(at: datetime) -> int:
    """A moment as it is stored; InvalidInput if it has no timezone."""
    if at.tzinfo is None:
        raise InvalidInput(f"{at!r} has no timezone. Give one, such as `tzinfo=UTC`.")
    return micros(at)


def decode_entry(position: int, at: int, space: str, kind: str, subject: str, body: str | None, digest: bytes) -> Entry:
    """A stored entry as the rest of the library reads it."""
    try:
        if type(subject) is not str:
            raise TypeError(f"its subject is {subject!r}")
        event = None if body is None else decode(kind, body)
        return Entry(Position(position), from_micros(at), space, kind, subject, event, digest)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise LedgerCorrupt(
            f"entry {position} of space {space!r} cannot be read ({type(error).__name__}: {error}). "
            "The ledger was damaged or changed from outside: run `verify()`, then restore a backup."
        ) from error


def verify(
    entries: Iterable[StoredEntry], recorded_head: ChainHead | None, space: str | None = None
) -> tuple[int, bytes]:
    """How many entries there are and the last digest, of one space or of all, if every entry is as it was written.

    LedgerTampered names the first entry that is not. LedgerTooNew: none was changed, but an erasure by a
    later release cannot be read. Whoever can rewrite the whole file can also rewrite the whole chain:
    compare the digest with one that is stored elsewhere.
    """
    head, counted = EMPTY_HEAD, EMPTY_HEAD
    fault: tuple[int, str] | None = None
    # Entries without text that no later entry has recorded as erased yet, each with its space.
    unexplained: dict[int, object] = {}
    texts = _Texts()
    unreadable: LedgerTooNew | None = None
    for entry in entries:
        fault = fault or _entry_error(entry, head)
        head = ChainHead(entry.position, entry.digest)
        if space is None or entry.space == space:
            counted = ChainHead(counted.position + 1, entry.digest)
        texts.note(entry)
        if entry.body is None:
            unexplained[entry.position] = entry.space
        elif entry.kind in EXPLAINS:
            try:
                for position in _erased_positions(entry, unexplained):  # also after a fault
                    unexplained.pop(position, None)
                restored = texts.restored(entry)
                if fault is None and restored is not None:
                    fault = restored, f"its text is there again, although entry {entry.position} records its erasure"
            except LedgerTooNew as error:
                unexplained.clear()  # only a later release knows which of them this entry erased
                unreadable = unreadable or error
    fault = fault or _head_error(head, recorded_head)
    if unexplained and (fault is None or min(unexplained) < fault[0]):
        also = f"; and entry {fault[0]}: {fault[1]}" if fault is not None else ""
        fault = min(unexplained), f"its text is missing, and no valid entry records that it was erased{also}"
    if fault is not None:
        position, problem = fault
        raise LedgerTampered(
            f"entry {position} is not what was written: {problem}. The entries before it are valid"
            f"{'' if unreadable is None else ', as far as this release can read them'}. "
            "Restore the ledger from a backup, or keep this copy as evidence and read only up to "
            f"entry {position - 1}.",
            position=position,
        )
    if unreadable is not None:
        raise unreadable
    return counted


def vector_digest(space: str, text_hash: bytes, model: str, vector: bytes) -> int:
    """A number of 62 bits for a vector and the text, space and model that it belongs to."""
    header = f"{len(space)}:{space},{len(model)}:{model},{len(text_hash)}:".encode()
    return int.from_bytes(blake2b(header + text_hash + vector, digest_size=8).digest(), "big") >> 2


def combined_digest(vectors: Iterable[Sequence[Any]]) -> int:
    """The digests of these vectors, given as for `vector_digest`, in any order. Each is in it once: adding it a second
    time removes it."""
    return reduce(xor, (vector_digest(*vector) for vector in vectors), 0)


def verify_vectors(name: str, vectors: Iterable[Sequence[Any]], recorded: str | None) -> None:
    """LedgerTampered if these are not all vectors that were written and not erased."""
    try:
        unchanged = str(combined_digest(vectors)) == recorded
    except (TypeError, AttributeError):  # a value of the wrong type
        unchanged = False
    if not unchanged:
        raise LedgerTampered(
            f"the vectors in {name} are not those that were written: some were changed, deleted or added from outside. "
            "The entries are valid. Restore a backup; or export the spaces without vectors and import them into a new "
            "ledger, which makes the vectors again.",
            position=0,
        )


def _entry_error(entry: StoredEntry, before: ChainHead) -> tuple[int, str] | None:
    expected = before.position + 1
    if entry.position != expected:
        return expected, f"it is missing (the next entry is {entry.position!r})"
    if (entry.body is None) != (entry.salt is None):
        return expected, "it is only partly erased"
    try:
        if entry.body is not None and not _matches_content(entry):
            return expected, "its text does not match its hash"
        digest = _digest(before.digest, *entry[:5], entry.content)
    except (TypeError, ValueError, AttributeError):
        return expected, "it contains values of the wrong type"
    if digest != entry.digest:
        return expected, "its time, space, kind, subject, hash or digest was changed"
    return None


class _Texts:
    """Which of the entries so far have a text that may be erased, each with its space."""

    def __init__(self) -> None:
        self._spaces: list[str | None] = [None]  # by position; None for those without such a text
        self._last: dict[str, int] = {}  # by space
        self._names: dict[str, str] = {}  # each name is kept once

    def note(self, entry: StoredEntry) -> None:
        has_text = entry.body is not None and entry.kind not in EXPLAINS and isinstance(entry.space, str)
        space = self._names.setdefault(entry.space, entry.space) if has_text else None
        self._spaces.append(space)
        if space is not None:
            self._last[space] = len(self._spaces) - 1

    def restored(self, entry: StoredEntry) -> int | None:
        """The first of the entries that this one says were erased which has a text all the same."""
        event = _erasure(entry)
        if isinstance(event, Emptied):
            return self._last.get(entry.space)
        positions = sorted(event.positions) if isinstance(event, Erased) else ()
        known = (position for position in positions if 0 < position < len(self._spaces))
        return next((position for position in known if self._spaces[position] == entry.space), None)


def _erased_positions(entry: StoredEntry, blank: Mapping[int, object]) -> Sequence[int]:
    """Which of the entries without text, given with their spaces, this entry says were erased."""
    event = _erasure(entry)
    if isinstance(event, Emptied):
        return [position for position, space in blank.items() if space == entry.space]
    return event.positions if isinstance(event, Erased) else ()


def _erasure(entry: StoredEntry) -> Event | None:
    """What an entry says was erased; None if this library did not write it."""
    try:
        return decode(entry.kind, entry.body) if entry.body is not None and _matches_content(entry) else None
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _head_error(head: ChainHead, recorded: ChainHead | None) -> tuple[int, str] | None:
    if (recorded or EMPTY_HEAD) == head:
        return None
    if recorded is None:
        return head.position, "the record of the last position is missing"
    if recorded.position > head.position:
        return head.position + 1, f"it is missing (the ledger was written up to entry {recorded.position})"
    if recorded.position < head.position:
        return recorded.position + 1, f"it was added from outside (the last written entry is {recorded.position})"
    return head.position, "its digest is not the one recorded when it was written"


def _matches_content(entry: StoredEntry) -> bool:
    return entry.salt is not None and _content_hash(entry.salt, entry.body or "") == entry.content


def _content_hash(salt: bytes, body: str) -> bytes:
    return sha256(salt + body.encode()).digest()


def _digest(before: bytes, position: int, at: int, space: str, kind: str, subject: str, content: bytes) -> bytes:
    # Lengths precede the strings, so no two different entries are hashed as the same bytes.
    header = f"{position},{at},{len(space)}:{space},{len(kind)}:{kind},{len(subject)}:{subject},"
    return sha256(before + header.encode() + content).digest()
