"""Writes the records of a source to a space, in batches.

A record is known by its key. One that was imported before is skipped, also if its memory was changed or forgotten here
since; one that has changed in its source becomes a new version. So an import that was interrupted is run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from remanence.errors import InvalidInput
from remanence.index.engine.identity import content_digest, key_identity
from remanence.index.engine.inputs import child_name
from remanence.remember.add_options import parse_draft, parse_turn
from remanence.remember.append import append
from remanence.remember.prepare import PreparedVersion, prepare, prepare_turns
from remanence.text.text import truncate
from remanence.transfer.imports.records import Record, SkippedItem, Source

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.index.index import Index
    from remanence.ports import Progress

IMPORTED_FIELD = "imported"
_BATCH = 500
_EXAMPLES, _REASONS, _LISTED = 3, 100, 10
"""Examples of each reason, reasons, and names in a line that a report of an import has at most."""


@dataclass(frozen=True, slots=True)
class SkippedGroup:
    """Things of a source that were not imported for one reason, with some of them as examples."""

    reason: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.examples) else ""
        return f"{self.count:>7,}  {self.reason}: {', '.join(self.examples)}{more}"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. Printed, it says what was not imported, and why.

    `added`, `changed` and `unchanged` count memories: new ones, those with a new version, and those imported before.
    `spaces` counts the first two by space. `complete` is False if a part of the source could not be read. `kinds` and
    `speakers` count all of them, "turn" for the turns of chats; `first` and `last` are the oldest and newest time.
    `undated` counts those for which the source has no time: they are told at the moment of the import. With `dry_run`,
    nothing was written.
    """

    path: str
    kind: str
    added: int
    changed: int
    unchanged: int
    spaces: Mapping[str, int]
    skipped: tuple[SkippedGroup, ...]
    complete: bool = True
    dry_run: bool = False
    kinds: Mapping[str, int] = field(default_factory=dict)
    speakers: Mapping[str, int] = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None
    undated: int = 0

    @property
    def skipped_count(self) -> int:
        """How many things were not imported."""
        return sum(group.count for group in self.skipped)

    def __str__(self) -> str:
        would_be = "would be " if self.dry_run else ""
        numbers = [f"{self.added:,} {'memory' if self.added == 1 else 'memories'} {would_be}added"]
        numbers += [f"{self.changed:,} {would_be}changed"] if self.changed else []
        numbers += [f"{self.unchanged:,} imported before"] if self.unchanged else []
        lines = [f"{self.path} ({self.kind}): {', '.join(numbers)}"]
        if self.dry_run:
            counted = {"kinds": self.kinds, "speakers": self.speakers}
            lines += [f"{name}: {_listed(counts)}" for name, counts in counted.items() if counts]
            lines += [f"dates: {self.first:%Y-%m-%d} to {self.last:%Y-%m-%d}"] if self.first and self.last else []
        if self.undated:
            lines += [f"no time is given for {self.undated:,}: told at the moment of the import"]
        if len(self.spaces) > 1:
            lines += [f"{count:>7,}  in {space}" for space, count in self.spaces.items()]
        if self.skipped:
            lines += [f"not imported: {self.skipped_count:,}", *map(str, self.skipped)]
        return "\n".join(lines)


def _listed(counts: Mapping[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda item: -item[1])
    more = ", ..." if len(shown) > _LISTED else ""
    return ", ".join(f"{name} {count:,}" for name, count in shown[:_LISTED]) + more


def import_source(
    engine: Engine,
    source: Source,
    space: str,
    *,
    user: str | None,
    users: Literal["separate", "together"] | None,
    progress: Progress | None,
    dry_run: bool = False,
) -> ImportReport:
    """Import a source into a space, or into one below it for each user; or only say what would be imported.

    Raises:
        InvalidInput: The source has the memories of several users, and it is not said which to take; or it has a line
            that cannot be read, and is not one that is read as far as it goes.
    """
    check_source(source, user, users)
    run = _Import(engine, engine.now(), dry_run)
    batch: dict[str, Record] = {}
    group: tuple[str, bool] = ("", False)
    for number, item in enumerate(source.read()):
        if progress is not None and number % _BATCH == 0:
            progress(*source.progress())
        if isinstance(item, SkippedItem):
            run.skip(item)
        elif user is not None and user != item.user:
            run.skip(SkippedItem(item.user or item.key, "it belongs to another user"))
        else:
            try:
                name = child_name(space, ("users", item.user)) if users == "separate" and item.user else space
            except InvalidInput as error:
                run.skip(SkippedItem(item.key, str(error)))
                continue
            if (name, item.is_turn) != group or len(batch) >= _BATCH or item.key in batch:
                run.write([*batch.values()], *group)
                batch, group = {}, (name, item.is_turn)
            batch[item.key] = item
    run.write([*batch.values()], *group)
    if progress is not None:
        _, total = source.progress()
        progress(total, total)
    return run.report(source)


def check_source(source: Source, user: str | None, users: str | None) -> None:
    """Refuse a source with a bad line, or with the memories of several users unless it is said which to take."""
    source.check()
    if users not in (None, "separate", "together") or (user is not None and users is not None):
        raise InvalidInput(f"users={users!r} is not 'separate' or 'together', or user={user!r} is given as well.")
    if users is not None:
        return
    known = list(source.users())
    names = ", ".join(map(repr, known[:_LISTED])) + (", ..." if len(known) > _LISTED else "")
    if user is not None and user not in known:
        raise InvalidInput(f"{source.path} has nothing of the user {user!r}. It has memories of {names or 'no user'}.")
    if user is None and len(known) > 1:
        raise InvalidInput(
            f"{source.path} has the memories of {len(known):,} users ({names}), and who may read a space reads all of "
            "it. Give user= (--user) to import one of them, users='separate' (--users separate) for a space of its own "
            "for each, or 'together' for one space."
        )


class _Import:
    """One import: what it has written and left out so far."""

    def __init__(self, engine: Engine, now: datetime, dry_run: bool) -> None:
        self._engine, self._now, self._dry_run = engine, now, dry_run
        self._planned: set[tuple[str, str]] = set()
        self._counts: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._speakers: Counter[str] = Counter()
        self._spaces: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._complete = True

    def skip(self, item: SkippedItem) -> None:
        self._complete = self._complete and not item.is_damage
        is_listed = item.reason in self._skipped or len(self._skipped) < _REASONS
        reason = item.reason if is_listed else "other reasons"
        self._skipped[reason] += 1
        examples = self._examples.setdefault(reason, [])
        where = truncate(" ".join(item.location.split()), 60)
        if len(examples) < _EXAMPLES and where not in examples:
            examples.append(where)

    def write(self, records: Sequence[Record], space: str, is_turn: bool) -> None:
        """Write those of the records that are new or have changed."""
        if not records:
            return
        prepared: list[PreparedVersion] = []
        with self._engine.open_index(space) as index:
            for record in records:
                fields = _with_origin(record)
                try:
                    change = self._change(record, fields, index)
                    made = self._prepared(record.key, fields, is_turn) if change in ("added", "changed") else None
                except InvalidInput as error:
                    self.skip(SkippedItem(record.key, str(error)))
                    continue
                if (space, record.key) not in self._planned:
                    self._count(record, space, change)
                if made is not None:
                    prepared.append(made)
                if self._dry_run:
                    self._planned.add((space, record.key))
        if prepared:
            append(self._engine, space, prepared)

    def _change(self, record: Record, fields: Mapping[str, Any], index: Index) -> str:
        """What the import of a record does: "added", "changed" or "unchanged".

        Raises:
            InvalidInput: Its memory was forgotten here.
        """
        number = index.catalog.find_by_identity(key_identity(record.key))
        if number is None:
            return "added"
        known = index.latest_version(index.catalog.ids[number])
        if known is not None and known.meta.get(IMPORTED_FIELD) == fields["meta"][IMPORTED_FIELD]:
            return "unchanged"
        if not index.catalog.hidden.is_visible(number, index.catalog.position):
            raise InvalidInput("a memory that was imported before and forgotten here since")
        return "changed"

    def _prepared(self, key: str, fields: Mapping[str, Any], is_turn: bool) -> PreparedVersion | None:
        """A version that is ready to be written; in a dry run it is checked only."""
        given = {**fields, "key": key}
        if is_turn:
            turn = parse_turn(given)
            return None if self._dry_run else prepare_turns(self._engine, [turn], self._now)[0]
        draft = parse_draft(given)
        return None if self._dry_run else prepare(self._engine, draft, self._now)

    def _count(self, record: Record, space: str, change: str) -> None:
        self._counts[change] += 1
        if change == "unchanged":
            return
        self._spaces[space] += 1
        self._kinds["turn" if record.is_turn else str(record.fields.get("kind") or "memory")] += 1
        named = (record.fields.get(name) for name in ("speaker", "role", "observed_by"))
        self._speakers.update([name for name in named if name][:1])
        at = record.fields.get("time") or record.fields.get("now")
        if at is None:
            self._counts["undated"] += 1
        else:
            self._first, self._last = min(self._first or at, at), max(self._last or at, at)

    def report(self, source: Source) -> ImportReport:
        return ImportReport(
            path=source.path,
            kind=source.kind,
            added=self._counts["added"],
            changed=self._counts["changed"],
            unchanged=self._counts["unchanged"],
            spaces=dict(self._spaces),
            skipped=tuple(
                SkippedGroup(reason, count, tuple(self._examples[reason]))
                for reason, count in self._skipped.most_common()
            ),
            complete=self._complete,
            dry_run=self._dry_run,
            kinds=dict(self._kinds),
            speakers=dict(self._speakers),
            first=self._first,
            last=self._last,
            undated=self._counts["undated"],
        )


def _with_origin(record: Record) -> dict[str, Any]:
    """The fields with their digest. The time of a note is not part of it, as copying a file changes its time."""
    given = {name: value for name, value in record.fields.items() if value is not None}
    content = content_digest(*(_plain(given[name]) for name in sorted(given) if name != "now"))
    origin = {"from": record.key.partition(":")[0], "digest": content}
    return {**given, "meta": {**given.get("meta", {}), IMPORTED_FIELD: origin}}


def _plain(value: Any) -> Any:
    """A value that a digest can be made of."""
    return value.isoformat() if isinstance(value, datetime) else value
