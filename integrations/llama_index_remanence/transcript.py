"""The messages of chat sessions, stored in a space: an exact table that also follows what other processes write.

Each message is a memory of the space, and so is each session. A session has one or more generations of messages, and
its record says which one is active. So replacing or deleting a thousand messages takes effect with one ledger entry,
and a reader sees all of it or nothing. Messages are ordered by fractions: one can be inserted between two others
without changing them.
"""

from __future__ import annotations

import json
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from hashlib import blake2b
from itertools import groupby
from math import floor
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage

from llama_index_remanence.messages import message_from_json, message_to_json, record_text
from remanence import Change, Memory, View
from remanence.adapters import (
    ChangeFollower,
    ChatSession,
    check_rename,
    current_moment,
    is_space,
    require_space,
    storable_text,
)

if TYPE_CHECKING:
    from remanence.adapters import ErasureCertificate

_RECORD, _MESSAGE = "llamaindex", "message"
_MAX_PIECE_LENGTH = 400_000
"""Characters of a message in one record: images are longer, and the meta of a memory has a maximum."""
_DELETED = "deleted from the chat store"


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One message of a session. `position` is that of its ledger entry, and identifies it."""

    memory_id: str
    position: int
    session: str
    generation: str
    order: Fraction
    archived: bool
    message_json: str
    at: datetime
    expires_at: datetime | None
    extra_ids: tuple[str, ...] = ()
    """The ids of further records, if one could not hold the message."""

    @property
    def sort_key(self) -> tuple[Fraction, int]:
        """What rows are sorted by: two that were added at the same time have the same order."""
        return self.order, self.position

    @property
    def message(self) -> ChatMessage:
        """The message, as a new object each time."""
        return message_from_json(self.message_json)


@dataclass(slots=True)
class _Session:
    """The state of a session: its active generation, what is archived of it, and the rows of each generation."""

    is_active: bool = False
    memory_id: str = ""
    generation: str = ""
    archived_to: tuple[Fraction, int] | None = None
    record_count: int = 0
    renamed_from: tuple[tuple[str, int], ...] = ()
    """The names that the session had before, the latest first, each with the position of its last message under it."""
    rows_by_generation: dict[str, list[MessageRow]] = field(default_factory=dict)
    all_rows: list[MessageRow] = field(default_factory=list)

    def rows(self) -> list[MessageRow]:
        return self.rows_by_generation.get(self.generation, []) if self.is_active else []

    def expires_at(self) -> datetime | None:
        """When the session expires: its last message says it."""
        last = max(self.rows(), key=attrgetter("position"), default=None)
        return None if last is None else last.expires_at

    def is_archived(self, row: MessageRow) -> bool:
        return row.archived or (self.archived_to is not None and row.sort_key <= self.archived_to)

    def next_orders(self, count: int) -> list[Fraction]:
        """The orders of new messages at the end."""
        orders = [row.order for row in self.rows()[-1:]]
        orders += self.archived_to[:1] if self.archived_to else []
        return _orders_from(floor(max(orders)) + 1 if orders else 0, count)


class Transcript(ChangeFollower):
    """The messages of all sessions in a space, or in a view of it to read only. It is thread-safe.

    With `ttl`, a session expires so long after its last message. Then it has no messages any more, and is erased when
    it is next used.
    """

    def __init__(self, space: View, ttl: timedelta | None = None) -> None:
        super().__init__()
        self._space = space
        self._ttl = ttl
        self._sessions: dict[str, _Session] = {}
        self._active_sessions: dict[str, None] = {}  # in the order they began
        self._session_names: dict[str, str] = {}  # by memory id
        self._rows: dict[str, MessageRow] = {}  # by memory id
        self._pieces: dict[str, dict[str, str]] = {}

    # Reading

    def sessions(self) -> list[str]:
        """Return the sessions in the order they began; one may have no messages."""
        with self.lock:
            self.catch_up(self._space)
            return [name for name in self._active_sessions if not self._is_expired(name)]

    def list_sessions(self) -> list[ChatSession]:
        """Return the sessions that have messages of any status, in the order they began."""
        with self.lock:
            out = []
            for name in self.sessions():
                rows = self._sessions[name].rows()
                if rows:
                    times = [row.at for row in rows]
                    expires_at = self._sessions[name].expires_at()
                    out.append(ChatSession(name, len(rows), min(times), max(times), expires_at))
            return sorted(out, key=attrgetter("first_message_at"))

    def rows(self, session: str, *, archived: bool | None = False) -> list[MessageRow]:
        """Return the messages of a session in order: the unarchived, the archived, or with None all."""
        with self.lock:
            state = self._session(session)
            return [row for row in state.rows() if archived in (None, state.is_archived(row))]

    def all_messages(self, session: str) -> list[ChatMessage]:
        """Return every message that was ever written to a session, deleted ones too, in the order of writing."""
        with self.lock:
            return [row.message for row in self._session(session).all_rows]

    # Writing

    def append(self, session: str, messages: Sequence[ChatMessage], *, archived: bool = False) -> None:
        """Add messages at the end of a session, which is created if it does not exist."""
        with self.lock:
            state = self._active_session(session)
            self._write(session, state.generation, state.next_orders(len(messages)), messages, archived)

    def insert(self, session: str, index: int, message: ChatMessage) -> None:
        """Insert a message before the unarchived one at `index`, as `list.insert` does."""
        with self.lock:
            state, active = self._active_session(session), self.rows(session)
            index = max(0, index + len(active)) if index < 0 else index
            if index >= len(active):
                self.append(session, [message])
                return
            following, rows = active[index], state.rows()
            lower = [row.order for row in rows[: rows.index(following)][-1:]]
            lower += state.archived_to[:1] if state.archived_to else []
            middle = (max(lower, default=following.order - 2) + following.order) / 2
            self._write(session, state.generation, [middle], [message], archived=False)

    def replace(self, session: str, messages: Sequence[ChatMessage], *, archived: bool = False) -> None:
        """Make these the messages of a session, in place of all others.

        If they begin with the current messages, only the rest is appended: callers that pass the entire history
        each turn then write one turn.
        """
        with self.lock:
            state = self._session(session)
            current = list(state.rows())
            stored = [row.message_json for row in current if state.is_archived(row) == archived]
            is_prefix = stored == list(map(message_to_json, messages[: len(stored)]))
            if state.is_active and len(stored) == len(current) and is_prefix:
                self.append(session, messages[len(stored) :], archived=archived)
                return
            # A new one, as `_active_session` uses a generation that other processes may use too.
            generation = uuid4().hex
            self._write(session, generation, _orders_from(0, len(messages)), messages, archived)
            self._activate(session, generation)
            self.delete(current)

    def delete(self, rows: Iterable[MessageRow]) -> None:
        """Delete messages. Views of the past still have them."""
        with self.lock:
            ids = [memory_id for row in rows for memory_id in (row.memory_id, *row.extra_ids)]
            if ids:
                require_space(self._space).forget_many(ids, why=_DELETED)

    def delete_session(self, session: str) -> None:
        """Delete a session with all its messages. Views of the past still have it."""
        with self.lock:
            state = self._session(session)
            if state.is_active:
                rows = list(state.rows())
                require_space(self._space).forget(state.memory_id, why=_DELETED)
                self.delete(rows)

    def erase_session(self, session: str) -> ErasureCertificate:
        """Erase a session for good: its record, and every message that was ever written to it, also under the names
        that it had before it was renamed."""
        with self.lock:
            self.catch_up(self._space)
            ids, records = [], []
            for name, last in self._names_of(session).items():
                state = self._sessions[name]
                rows = [row for row in state.all_rows if last is None or row.position <= last]
                ids += [memory_id for row in rows for memory_id in (row.memory_id, *row.extra_ids)]
                # Another session may have had an earlier name since: its record stays.
                is_other = name != session and (state.is_active or len(rows) < len(state.all_rows))
                records += [state.memory_id] if state.memory_id and not is_other else []
            # The records last: with them, the table forgets the sessions.
            certificate = require_space(self._space).erase_many([*ids, *records])
            self.catch_up(self._space)
            return certificate

    def rename_session(self, session: str, new_name: str) -> None:
        """Give a session another name: its messages are written again. Views of the past have the old one."""
        with self.lock:
            check_rename(session, new_name, {known_session.name for known_session in self.list_sessions()})
            state, generation = self._session(session), uuid4().hex
            for (archived, expires_at), run in groupby(
                list(state.rows()), key=lambda row: (state.is_archived(row), row.expires_at)
            ):
                rows = list(run)
                orders, messages = [row.order for row in rows], [row.message for row in rows]
                times = [row.at for row in rows]
                self._write(new_name, generation, orders, messages, archived, expires_at=expires_at, times=times)
            last = max((row.position for row in state.all_rows), default=0)
            self._activate(new_name, generation, renamed_from=((session, last), *state.renamed_from))
            self.delete_session(session)

    def _names_of(self, session: str) -> dict[str, int | None]:
        """The names that a session has had, each with the position of its last message under it; None for today's."""
        state = self._sessions.get(session)
        names = () if state is None else ((session, None), *state.renamed_from)
        return {name: last for name, last in reversed(names) if name in self._sessions}

    def sweep_ttl(self) -> int:
        """Erase the sessions that have expired. Returns how many there were."""
        with self.lock:
            self.catch_up(self._space)
            expired = [name for name in self._active_sessions if self._is_expired(name)]
            for name in expired:
                self.erase_session(name)
            return len(expired)

    def archive(self, session: str, last: MessageRow) -> None:
        """Archive the messages of a session up to this one."""
        with self.lock:
            self._activate(session, self._active_session(session).generation, last)

    def _active_session(self, session: str) -> _Session:
        """A session, created if needed. Two processes that create one use the same generation."""
        state = self._session(session)
        if not state.is_active:
            self._activate(session, str(state.record_count))
            state = self._session(session)
        return state

    def _activate(
        self,
        session: str,
        generation: str,
        archived_to: MessageRow | None = None,
        *,
        renamed_from: tuple[tuple[str, int], ...] = (),
    ) -> None:
        """Write the record of a session. One that is new under a name has had no other name."""
        state = self._session(session)
        record = {
            "session": session,
            "life": generation,
            "archived_to": None if archived_to is None else [str(archived_to.order), archived_to.position],
            "record": state.record_count,
            "renamed_from": renamed_from or (state.renamed_from if state.is_active else ()),
        }
        require_space(self._space).add(
            f"Chat session {session_label(session)}",
            key=f"chat session {short_hash(session)}",
            kind="episode",
            entities=[],
            triples=[],
            meta={_RECORD: json.dumps(record)},
        )

    def _write(
        self,
        session: str,
        generation: str,
        orders: Sequence[Fraction],
        messages: Sequence[ChatMessage],
        archived: bool,
        *,
        expires_at: datetime | None = None,
        times: Sequence[datetime] | None = None,
    ) -> None:
        turns = []
        if expires_at is None and self._ttl is not None:
            expires_at = current_moment(self._space) + self._ttl
        moments: list[datetime | None] = [*times] if times is not None else [None] * len(messages)
        for order, message, at in zip(orders, messages, moments, strict=True):
            text, name = message_to_json(message), uuid4().hex
            pieces = [text[start : start + _MAX_PIECE_LENGTH] for start in range(0, len(text), _MAX_PIECE_LENGTH)]
            record = {"session": session, "life": generation, "order": str(order), "archived": archived}
            record |= {"name": name, "pieces": len(pieces)}
            # The first piece is written last: when a reader sees it, it has all the others.
            for number, piece in reversed(list(enumerate(pieces))):
                is_first = number == 0
                turns.append(
                    {
                        "content": record_text(message) if is_first else f"[part {number + 1} of a message]",
                        "role": message.role.value,
                        "conversation": session_label(session),
                        "key": f"chat message {name} {number}",
                        "expires_at": expires_at,
                        "time": at,
                        "meta": {
                            _RECORD: json.dumps(record if is_first else {"session": session, "piece_of": name}),
                            _MESSAGE: piece,
                        },
                    }
                )
        if turns:
            require_space(self._space).add_turns(turns)

    # Following the ledger

    def _session(self, session: str) -> _Session:
        self.catch_up(self._space)
        if self._is_expired(session):
            if not is_space(self._space):
                return _Session()
            self.erase_session(session)
        return self._sessions.get(session) or _Session()

    def _is_expired(self, session: str) -> bool:
        state = self._sessions.get(session)
        expires_at = None if state is None else state.expires_at()
        return expires_at is not None and expires_at <= current_moment(self._space)

    def apply_change(self, change: Change) -> None:
        """Update the table with one change."""
        if change.memory is not None:
            if _RECORD in change.memory.meta:  # the space may have other memories too
                self._apply_record(change.memory, change)
        elif change.memory_id in self._rows:
            row = self._rows[change.memory_id]
            self._set_listed(row, change.kind == "restored")
            if change.kind == "erased":
                all_rows = self._sessions[row.session].all_rows
                all_rows[:] = [other for other in all_rows if other is not row]
                del self._rows[change.memory_id]
        elif change.memory_id in self._session_names:
            name = self._session_names[change.memory_id]
            self._set_active(name, change.kind == "restored")
            if change.kind == "erased":
                del self._session_names[change.memory_id]
                self._sessions[name].memory_id, self._sessions[name].record_count = "", 0
                if not self._sessions[name].all_rows:
                    del self._sessions[name]

    def _apply_record(self, memory: Memory, change: Change) -> None:
        record: dict[str, Any] = json.loads(memory.meta[_RECORD])
        session = self._sessions.setdefault(record["session"], _Session())
        if "piece_of" in record:
            self._pieces.setdefault(record["piece_of"], {})[memory.id] = memory.meta[_MESSAGE]
        elif _MESSAGE in memory.meta:
            self._apply_message(memory, change, record, session)
        else:
            end = record["archived_to"]
            session.memory_id, session.generation = memory.id, record["life"]
            session.archived_to = None if end is None else (Fraction(end[0]), end[1])
            session.record_count += 1
            session.renamed_from = tuple((name, last) for name, last in record.get("renamed_from") or ())
            self._session_names[memory.id] = record["session"]
            self._set_active(record["session"], True)

    def _apply_message(self, memory: Memory, change: Change, record: dict[str, Any], session: _Session) -> None:
        if memory.id not in self._rows:  # else it is another version of the memory, with the same message
            rest = dict(reversed(self._pieces.pop(record["name"], {}).items()))
            if len(rest) + 1 < record["pieces"]:
                return  # a piece was erased, so the message is treated as erased
            row = MessageRow(
                memory_id=memory.id,
                position=change.position,
                at=change.at if memory.turn is None else memory.turn.at or change.at,
                expires_at=memory.expires_at,
                session=record["session"],
                generation=record["life"],
                order=Fraction(record["order"]),
                archived=record["archived"],
                message_json="".join([memory.meta[_MESSAGE], *rest.values()]),
                extra_ids=tuple(rest),
            )
            self._rows |= dict.fromkeys((memory.id, *rest), row)
            session.all_rows.append(row)
        self._set_listed(self._rows[memory.id], True)

    def _set_listed(self, row: MessageRow, listed: bool) -> None:
        rows = self._sessions[row.session].rows_by_generation.setdefault(row.generation, [])
        if listed and row not in rows:
            insort(rows, row, key=attrgetter("sort_key"))
        elif not listed and row in rows:
            rows.remove(row)

    def _set_active(self, session: str, active: bool) -> None:
        self._sessions[session].is_active = active
        if active:
            self._active_sessions.setdefault(session)
        else:
            self._active_sessions.pop(session, None)


def session_label(session: str) -> str:
    """Return the name of a session as a memory can have it; different sessions have different labels.

    >>> session_label("monday"), session_label(" monday ")
    ('monday', 'monday… 6fc8e45fbf4f5e81')
    """
    name = storable_text(session).strip()[:200]
    return name if name == session and name else f"{name}… {short_hash(session)}"


def short_hash(text: str) -> str:
    """Return a short name for a long text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _orders_from(first: int, count: int) -> list[Fraction]:
    return [Fraction(first + step) for step in range(count)]
