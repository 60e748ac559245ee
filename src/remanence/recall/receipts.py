"""The request of a recall; its receipt, by which the same list can be returned again later; and the recalls that were
recorded: what was asked, which memories were given, and which of them were used then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from remanence.errors import InvalidInput
from remanence.events import Served, Used
from remanence.index.engine.parameters import described_by
from remanence.index.numbers import Position
from remanence.ledger.codec import kinds_of
from remanence.ports import Ledger
from remanence.recall.filters import RowFilter, option_values
from remanence.recall.options import RecallOptions
from remanence.schema import Entry, Memory, Window, from_micros, micros
from remanence.text.text import truncate

if TYPE_CHECKING:
    from remanence.ports import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOptions(RowFilter):
    """The options of a recall that decide its list, checked."""

    limit: int = 10
    during: Window | None = None
    history: bool | None = None
    """None: the wording of the question decides."""
    min_score: float | None = None
    signals: tuple[str, ...] | None = None
    """None: all signals."""
    weights: Mapping[str, float] | None = None
    context: tuple[str, ...] = ()
    """The turns before the question."""
    reader: str | None = None
    """The reader in place of that of the space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest(CheckedOptions):
    """The arguments of a recall, checked, with their defaults filled in."""

    text: str
    now: datetime
    position: Position
    vector: Vector | None = None
    deadline: float | None = None
    """How many seconds the recall may take."""

    def to_receipt(self, space: str, settings: str, *, include_archive: bool) -> Receipt:
        own_vector = self.vector is not None
        request = (space, self.position, settings, self.text, self.now)
        return Receipt(*request, own_vector=own_vector, archive=include_archive, **option_values(self, CheckedOptions))

    @classmethod
    def from_receipt(cls, receipt: Receipt, vector: Vector | None) -> RecallRequest:
        position, now = receipt.position, receipt.now
        return cls(
            text=receipt.question,
            now=now,
            position=Position(position),
            vector=vector,
            **option_values(receipt, CheckedOptions),
        )


@described_by(RecallOptions)
@dataclass(frozen=True, slots=True)
class Receipt(CheckedOptions):
    """A recall as a small value: the question, its options, and the ledger position that was read.

    Store it as JSON with `to_dict`, read it with `Receipt.from_dict`, and repeat the recall with
    `space.audit.replay(receipt)`. It has the options of `space.recall`, checked; None is no condition.

    Attributes:
        **options: The fields of `RecallOptions` that decide the list; None is no condition.
        space: The name of the space.
        position: The last ledger position that was read.
        settings: A hash of what else decides the list: release, embedder, reader and signals of your own.
        question: The question.
        now: The moment of the recall.
        own_vector: Whether the caller gave the question's embedding; a replay needs it again.
        archive: Whether archived memories were searched too.
        vault: Whether the notes of the vault were searched too.
        prompt: Whether the recall was made by `for_prompt`.
    """

    space: str
    position: int
    settings: str
    question: str
    now: datetime
    own_vector: bool = False
    archive: bool = False
    vault: bool = False
    prompt: bool = False

    @property
    def id(self) -> str:
        """Equal for the same question to the same ledger at the same moment."""
        written = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(written.encode(), digest_size=12).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """This receipt as a dict of JSON types. Optional values that are not set are omitted.

        Example:
            >>> from remanence.schema import EPOCH
            >>> receipt = Receipt("default", 7, "s", "Where is Alice?", EPOCH, kinds=("episode",))
            >>> Receipt.from_dict(receipt.to_dict()) == receipt
            True
        """
        record: dict[str, Any] = {name: getattr(self, name) for name in ("space", "position", "settings", "question")}
        record |= {"now": micros(self.now), "limit": self.limit}
        for field in fields(CheckedOptions):
            value = getattr(self, field.name)
            if value != field.default:
                record[_STORED_NAMES.get(field.name, field.name)] = _to_json(value)
        return record | {name: True for name in _FLAGS if getattr(self, name)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Receipt:
        """The receipt that `to_dict` wrote.

        Raises:
            InvalidInput: The dict is not a receipt.
        """
        try:
            values = dict(record)
            values["now"] = from_micros(values["now"])
            for name, kind in _KINDS.items():
                stored = values.pop(_STORED_NAMES.get(name, name), None)
                if stored is not None:
                    values[name] = _from_json(stored, kind)
            return cls(**values)
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise InvalidInput(
                f"{truncate(str(record), 80)!r} is not a receipt ({error}). Give `recall(...).receipt`."
            ) from None


_FLAGS = ("own_vector", "archive", "vault", "prompt")
_STORED_NAMES = {"informative_only": "telling"}
_KINDS = get_type_hints(CheckedOptions)


def _to_json(value: Any) -> Any:
    if isinstance(value, Window):
        return [end and micros(end) for end in (value.start, value.end)]
    if isinstance(value, datetime):
        return micros(value)
    return list(value) if isinstance(value, tuple) else value


def _from_json(stored: Any, kind: Any) -> Any:
    """The value of an option of this type."""
    kinds = {get_origin(part) or part for part in (kind, *get_args(kind))}
    if Window in kinds:
        return Window(*(None if end is None else from_micros(end) for end in stored))
    if datetime in kinds:
        return from_micros(stored)
    return tuple(stored) if tuple in kinds else stored


@dataclass(frozen=True, slots=True)
class Exposure:
    """A recorded recall that returned a memory which has been superseded, forgotten or expired since.

    `memory` is the version that was returned; `superseded_by` is the memory that replaced it, None if it
    was forgotten or has expired.
    """

    receipt: Receipt
    at: datetime
    memory: Memory
    superseded_by: Memory | None = None


_RECORDED_KINDS = kinds_of(Served, Used)


@dataclass(frozen=True, slots=True)
class RecordedRecall:
    """What a user or a model was given.

    Attributes:
        position: The ledger position of the record.
        at: When it was recorded.
        receipt: The question with its options, for `space.audit.replay`.
        memories: The ids of the memories that were given, best first.
        used: Those of them that `touch` recorded as used, before they were given again.
    """

    position: int
    at: datetime
    receipt: Receipt
    memories: tuple[str, ...] = ()
    used: tuple[str, ...] = ()


def recorded_recalls(
    ledger: Ledger, space: str, head: int, *, limit: int, before: int | None, memory: str | None
) -> list[RecordedRecall]:
    """The last recorded recalls up to a position, the newest first."""
    found: list[RecordedRecall] = []
    used: set[str] = set()
    for entry in _backwards(ledger, space, head):
        event = entry.event
        if isinstance(event, Used):
            used.add(event.memory)
        elif isinstance(event, Served):
            its = tuple(memory_id for memory_id in event.memories if memory_id in used)
            used.difference_update(event.memories)
            wanted = (before is None or entry.position < before) and (memory is None or memory in event.memories)
            if wanted:
                receipt = Receipt.from_dict(event.asked)
                found.append(RecordedRecall(entry.position, entry.at, receipt, event.memories, its))
        if len(found) == limit:
            break
    return found


def _backwards(ledger: Ledger, space: str, head: int) -> Iterator[Entry]:
    """The records of recalls and uses, the newest first. The ledger is read from its end, more and more at a time."""
    end, size = head, 2_000  # ledger positions
    while end > 0:
        start = max(0, end - size)
        entries = [entry for entry in ledger.read(space, after=start, kinds=_RECORDED_KINDS) if entry.position <= end]
        yield from reversed(entries)
        end, size = start, size * 4
