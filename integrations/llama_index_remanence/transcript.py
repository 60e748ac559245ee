"""Chat messages on the ledger: an exact table of them that follows whatever is written, here or elsewhere.

Each message is a memory of the space, and so is each session. A session has one or more *lives*, and its
record says which one is shown: so replacing a thousand messages, or deleting them all, happens at one line of
the ledger, and a reader sees all of it or nothing. Messages are ordered by fractions: one can always be put
between two others without touching them.
"""

from __future__ import annotations

import json
import threading
from bisect import insort
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Any
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage

from llama_index_remanence.messages import message_to_json, record_text
from llama_index_remanence.sessions import MessageRow, Session, orders_after, session_label, short_hash
from remanence import Change, InvalidInput, Memory, Space, View

_RECORD, _MESSAGE = "llamaindex", "message"
_PIECE = 400_000
"""Characters of a message kept in one record: pictures are longer, and a record holds a million of JSON."""
_DELETED = "deleted from the chat store"


class Transcript:
    """The messages of every session that a space holds.

    Safe to use from many threads. One of a view of the past can only be read.
    """

    def __init__(self, space: View) -> None:
        self._space = space
        self._lock = threading.RLock()
        self._position = 0
        self._sessions: dict[str, Session] = {}
        self._order: dict[str, None] = {}
        self._names: dict[str, str] = {}
        self._rows: dict[str, MessageRow] = {}
        self._pieces: dict[str, dict[str, str]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Transcript:
        return self  # however often it is referred to, it is one table of one ledger

    # Reading

    def sessions(self) -> list[str]:
        """The sessions there are, in the order they began; one may have no messages."""
        with self._lock:
            self._catch_up()
            return list(self._order)

    def rows(self, session: str, *, archived: bool | None = False) -> list[MessageRow]:
        """The messages of a session in order: the active ones, the archived ones, or with None all."""
        with self._lock:
            known = self._known(session)
            return [row for row in known.rows() if archived in (None, known.is_archived(row))]

    def all_messages(self, session: str) -> list[ChatMessage]:
        """Every message that was ever written to a session, deleted ones too, in the order of writing."""
        with self._lock:
            return [row.message for row in self._known(session).all_rows]

    # Writing

    def append(self, session: str, messages: Sequence[ChatMessage], *, archived: bool = False) -> None:
        """Add messages at the end of a session, which begins with them if need be."""
        with self._lock:
            known = self._begun(session)
            self._write(session, known.generation, orders_after(known.last_order(), len(messages)), messages, archived)

    def insert(self, session: str, index: int, message: ChatMessage) -> None:
        """Put a message before the active one at `index`, as `list.insert` does."""
        with self._lock:
            known, active = self._begun(session), self.rows(session)
            index = max(0, index + len(active)) if index < 0 else index
            if index >= len(active):
                self.append(session, [message])
                return
            after, rows = active[index], known.rows()
            below = [row.order for row in rows[: rows.index(after)][-1:]]
            below += known.archived_to[:1] if known.archived_to else []
            middle = (max(below, default=after.order - 2) + after.order) / 2
            self._write(session, known.generation, [middle], [message], archived=False)

    def replace(self, session: str, messages: Sequence[ChatMessage], *, archived: bool = False) -> None:
        """Make these the messages of a session, in place of all it has.

        If they only go on from what it has, the rest is appended: a history that is handed over whole
        each turn costs one turn.
        """
        with self._lock:
            known = self._known(session)
            before = list(known.rows())
            kept = [row.message_json for row in before if known.is_archived(row) == archived]
            if (
                known.is_active
                and len(kept) == len(before)
                and kept == list(map(message_to_json, messages[: len(kept)]))
            ):
                self.append(session, messages[len(kept) :], archived=archived)
                return
            life = uuid4().hex  # nobody else's, where `_begun` gives one that others may begin too
            self._write(session, life, orders_after(None, len(messages)), messages, archived)
            self._show(session, life)
            self._forget(before)

    def delete(self, rows: Iterable[MessageRow]) -> None:
        """Take these messages out. Views of the past still have them."""
        with self._lock:
            self._forget(rows)

    def delete_session(self, session: str) -> None:
        """Take a session out with all its messages. Views of the past still have it."""
        with self._lock:
            known = self._known(session)
            if known.is_active:
                rows = list(known.rows())
                self._writer().forget(known.memory_id, why=_DELETED)
                self._forget(rows)

    def archive(self, session: str, last: MessageRow) -> None:
        """Archive the messages of a session up to this one."""
        with self._lock:
            self._show(session, self._begun(session).generation, last)

    def _begun(self, session: str) -> Session:
        """A session that is shown, begun if need be: two processes that begin one give it the same life."""
        known = self._known(session)
        if not known.is_active:
            self._show(session, str(known.record_count))
            known = self._known(session)
        return known

    def _show(self, session: str, life: str, archived_to: MessageRow | None = None) -> None:
        to = None if archived_to is None else [str(archived_to.order), archived_to.position]
        record = {"session": session, "life": life, "archived_to": to, "record": self._known(session).record_count}
        self._writer().add(
            f"Chat session {session_label(session)}",
            key=f"chat session {short_hash(session)}",
            kind="episode",
            entities=[],
            triples=[],
            meta={_RECORD: json.dumps(record)},
        )

    def _write(
        self, session: str, life: str, orders: Sequence[Fraction], messages: Sequence[ChatMessage], archived: bool
    ) -> None:
        turns = []
        for order, message in zip(orders, messages, strict=True):
            whole, name = message_to_json(message), uuid4().hex
            pieces = [whole[begin : begin + _PIECE] for begin in range(0, len(whole), _PIECE)]
            record = {"session": session, "life": life, "order": str(order), "archived": archived}
            record |= {"name": name, "pieces": len(pieces)}
            for number, piece in reversed(list(enumerate(pieces))):  # the first last: then all are there
                first = number == 0
                turns.append(
                    {
                        "content": record_text(message) if first else f"[part {number + 1} of a message]",
                        "role": message.role.value,
                        "conversation": session_label(session),
                        "key": f"chat message {name} {number}",
                        "meta": {
                            _RECORD: json.dumps(record if first else {"session": session, "piece_of": name}),
                            _MESSAGE: piece,
                        },
                    }
                )
        if turns:
            self._writer().add_turns(turns)

    def _forget(self, rows: Iterable[MessageRow]) -> None:
        ids = [memory_id for row in rows for memory_id in (row.memory_id, *row.extra_ids)]
        if ids:
            self._writer().forget_many(ids, why=_DELETED)

    def _writer(self) -> Space:
        if isinstance(self._space, Space):
            return self._space
        raise InvalidInput(f"{self._space!r} is a view of the past and cannot be written to. Use the space.")

    # Following the ledger

    def _known(self, session: str) -> Session:
        self._catch_up()
        return self._sessions.get(session) or Session()

    def _catch_up(self) -> None:
        for change in self._space.audit.changes(after=self._position):
            self._take_in(change)
            self._position = change.position

    def _take_in(self, change: Change) -> None:
        if change.memory is not None:
            if _RECORD in change.memory.meta:  # else it is somebody else's, in the same space
                self._remembered(change.memory, change.position)
        elif change.memory_id in self._rows:
            row = self._rows[change.memory_id]
            self._moved(row, back=change.kind == "restored")
            if change.kind == "erased":
                ever = self._sessions[row.session].all_rows
                ever[:] = [other for other in ever if other is not row]
                del self._rows[change.memory_id]
        elif change.memory_id in self._names:
            self._shown(self._names[change.memory_id], change.kind == "restored")

    def _remembered(self, memory: Memory, position: int) -> None:
        record: dict[str, Any] = json.loads(memory.meta[_RECORD])
        name: str = record["session"]
        session = self._sessions.setdefault(name, Session())
        if "piece_of" in record:
            self._pieces.setdefault(record["piece_of"], {})[memory.id] = memory.meta[_MESSAGE]
            return
        if _MESSAGE in memory.meta:
            if memory.id not in self._rows:  # else another version of it, in which the message is the same
                rest = dict(reversed(self._pieces.pop(record["name"], {}).items()))
                if len(rest) + 1 < record["pieces"]:
                    return  # some of it was erased, so that is what was wanted of all of it
                whole = "".join([memory.meta[_MESSAGE], *rest.values()])
                place = name, record["life"], Fraction(record["order"]), record["archived"]
                row = MessageRow(memory.id, position, *place, whole, tuple(rest))
                self._rows |= dict.fromkeys((memory.id, *rest), row)
                session.all_rows.append(row)
            self._moved(self._rows[memory.id], back=True)
            return
        to = record["archived_to"]
        session.memory_id, session.generation = memory.id, record["life"]
        session.archived_to = None if to is None else (Fraction(to[0]), to[1])
        session.record_count += 1
        self._names[memory.id] = name
        self._shown(name, True)

    def _moved(self, row: MessageRow, *, back: bool) -> None:
        rows = self._sessions[row.session].rows_by_generation.setdefault(row.generation, [])
        if back and row not in rows:
            insort(rows, row, key=attrgetter("sort_key"))
        elif not back and row in rows:
            rows.remove(row)

    def _shown(self, name: str, shown: bool) -> None:
        self._sessions[name].is_active = shown
        if shown:
            self._order.setdefault(name)
        else:
            self._order.pop(name, None)
