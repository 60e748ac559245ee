"""What people hold as `space.entities`: who or what memories are about, whatever it was called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, overload

from remanence.api.facet import Facet
from remanence.api.in_thread import in_thread
from remanence.core import inputs
from remanence.core.index import Index
from remanence.core.inputs import MAX_NAME_LENGTH, Moment
from remanence.errors import InvalidInput
from remanence.events import Event
from remanence.graph import entity_revisions
from remanence.graph.entity_revisions import RevisionPlan
from remanence.graph.known_entities import KnownEntities
from remanence.language.temporal import parse_moment
from remanence.language.text import normalize_name, truncate
from remanence.schema import OPEN_END, Alias, Entity
from remanence.state.entity_registry import is_entity_id

MAX_ALIASES = 256
MOST_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Registration:
    """What registering came to: the entity, whether it was new, and which aliases were.

    `position` is the ledger line that says so; None if all of it was known already.
    """

    entity: Entity
    created: bool
    added: tuple[str, ...] = ()
    position: int | None = None

    @property
    def id(self) -> str:
        """The id of the entity."""
        return self.entity.id


@dataclass(frozen=True, slots=True)
class Revision:
    """A line about an entity: `what` it says ("renamed", "merged", "split", "undone"), and the entity as it
    is then: after a merge the one that both are now, after a split the new one, and None where an undoing
    left nothing of it.

    `position` is where the line stands, for `undo`; None if there was nothing to write.
    """

    kind: str
    entity: Entity | None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that may be meant: which `name` of it is like the one given, how much (0..1), and why."""

    entity: Entity
    name: str
    score: float
    reason: str


@dataclass(frozen=True)
class Page(Sequence[Entity]):
    """Some of the entities, in the order in which they were first met; there are `total` in all."""

    entities: tuple[Entity, ...]
    page: int
    page_size: int
    total: int

    def __len__(self) -> int:
        return len(self.entities)

    @overload
    def __getitem__(self, index: int) -> Entity: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entity]: ...
    def __getitem__(self, index: int | slice) -> Entity | Sequence[Entity]:
        return self.entities[index]


class EntitiesView(Facet):
    """The entities of a space as one view knows them.

    Wherever an entity is asked for, its id, an `Entity` or any of its names will do.
    """

    def resolve(self, alias: str, at: Moment | None = None) -> Entity | None:
        """The entity that goes by this name, with everything it is called; None if there is none.

        With `at`, the one that went by it then. Without, the one that does so now, or did so last. An id
        will do too.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.entities.register("X", aliases=[("Twitter", None, "2023-07-24")])
        ...     space.entities.resolve("twitter").name, space.entities.resolve("Twitter", at="2024")
        ('X', None)
        """
        name = _name(alias, "alias")
        now = self._now()
        moment = None if at is None else parse_moment(at, now, argument="at")
        with self._looking() as known:
            if is_entity_id(name) and (entity := known.get(name)) is not None:
                return entity
            found = known.find_id(name, now, moment)
            return None if found is None else known.get(found)

    aresolve = in_thread(resolve)

    def get(self, id: str) -> Entity | None:
        """The entity with this id, or the one that it has become part of; None if there is none.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     alice = space.entities.register("Alice").entity
        ...     space.entities.get(alice.id) == alice
        True
        """
        if not isinstance(id, str):
            raise InvalidInput(f"{id!r} is not the id of an entity. Give what entity.id holds.")
        with self._looking() as known:
            return known.get(id)

    aget = in_thread(get)

    def list(self, kind: str | None = None, *, page: int = 1, page_size: int = 100) -> Page:
        """Everybody and everything registered, or named in a memory that this view may see.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice met Bob in Porto.")
        ...     [entity.name for entity in space.entities.list()]
        ['Alice', 'Bob', 'Porto']
        """
        if kind is not None:
            kind = _name(kind, "kind")
        first = (inputs.positive_int(page, "page") - 1) * inputs.positive_int(page_size, "page_size", MOST_PAGE)
        with self._looking() as known:
            numbers = known.list_name_numbers(kind)
            ids = [known.registry.entity_of(n, known.position) for n in numbers[first : first + page_size]]
            shown = [entity for id_ in ids if (entity := known.get(id_)) is not None]
        return Page(tuple(shown), page, page_size, len(numbers))

    alist = in_thread(list)

    def propose(self, name: str, limit: int = 5) -> tuple[Candidate, ...]:
        """Entities with a name like this one, most alike first: for a person to look at and `merge`.

        Nothing is ever merged for looking alike. People with one surname but other first names, other
        versions and other dates are not even proposed.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice Smith and Bob Smith run AlphaOne LLC.")
        ...     [(c.entity.name, c.reason) for c in space.entities.propose("A. Smith")]
        [('Alice Smith', "'a' may stand for 'alice'")]
        """
        name, limit = _name(name, "name"), inputs.positive_int(limit, "limit")
        with self._looking() as known:
            return tuple(
                Candidate(*found[:2], found[2].score, found[2].reason)
                for found in islice(known.similar_entities(name), limit)
            )

    apropose = in_thread(propose)

    @contextmanager
    def _looking(self) -> Iterator[KnownEntities]:
        with self._engine.open_index(self._space) as index, index.lock:
            yield KnownEntities(index, self._position(index))


class Entities(EntitiesView):
    """The entities of a space as they are now: ask about them, and say what they are called."""

    def register(
        self, name: str, aliases: Iterable[Any] = (), kind: str | None = None, *, observed_by: str | None = None
    ) -> Registration:
        """Make an entity known by a name, by other names, and as of some kind.

        Whoever goes by that name already is the one that is meant: registering again adds what is new,
        and what is not new writes nothing. An alias is a name, or (name, valid_from, valid_until) where
        it was called so for a time; given again with another overlapping time, it has that one instead.
        A name that another registered entity goes by at that time is refused.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     one = space.entities.register("AlphaOne LLC", aliases=["AO"], kind="organization")
        ...     two = space.entities.register("AO", aliases=["Alpha One"])
        ...     one.created, two.created, two.added, two.entity.name
        (True, False, ('Alpha One',), 'AlphaOne LLC')
        """
        checked, others = _name(name, "name"), _aliases(aliases, self._now())
        kind = None if kind is None else _name(kind, "kind")
        by, now = _observer(observed_by), self._now()
        plan, position = self._say(
            lambda known: entity_revisions.plan_registration(known, checked, others, kind, by, now)
        )
        entity = self.get(plan.entity_id)
        assert entity is not None, "what was just registered is known"
        return Registration(entity, plan.created, plan.added, position)

    aregister = in_thread(register)

    def rename(self, entity: str | Entity, name: str, *, observed_by: str | None = None) -> Revision:
        """Call an entity something else from now on. Its old name stays an alias.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.entities.register("Twitter")
        ...     space.entities.rename("Twitter", "X").entity.names
        ('X', 'Twitter')
        """
        given, checked = _entity(entity), _name(name, "name")
        by, now = _observer(observed_by), self._now()
        return self._revise("renamed", lambda known: entity_revisions.plan_rename(known, given, checked, by, now))

    arename = in_thread(rename)

    def merge(
        self, a: str | Entity, b: str | Entity, *, why: str | None = None, observed_by: str | None = None
    ) -> Revision:
        """Say that `a` is one with `b`: from now on, all names of `a` are names of `b`.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Bob met Robert Jones.")
        ...     merged = space.entities.merge("Bob", "Robert Jones", why="he said so")
        ...     before = space.entities.resolve("Bob").name
        ...     _ = space.entities.undo(merged)
        ...     before, space.entities.resolve("Bob").name
        ('Robert Jones', 'Bob')
        """
        part, whole = _entity(a), _entity(b)
        why, by, now = inputs.reason(why), _observer(observed_by), self._now()
        return self._revise("merged", lambda known: entity_revisions.plan_merge(known, part, whole, why, by, now))

    amerge = in_thread(merge)

    def split(
        self,
        entity: str | Entity,
        names: str | Iterable[str],
        *,
        why: str | None = None,
        observed_by: str | None = None,
    ) -> Revision:
        """Say that some names of an entity are those of another one, which is called by the first of them.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.entities.register("Alice Smith", aliases=["Ali", "A. Smythe"])
        ...     space.entities.split("Ali", ["A. Smythe"]).entity.name
        'A. Smythe'
        """
        given, apart = _entity(entity), [_name(name, "names") for name in _some(names, "names")]
        if not apart:
            raise InvalidInput("names is empty. Name at least one to split off.")
        why, by, now = inputs.reason(why), _observer(observed_by), self._now()
        return self._revise("split", lambda known: entity_revisions.plan_split(known, given, apart, why, by, now))

    asplit = in_thread(split)

    def undo(
        self, revision: Revision | Registration | int, *, why: str | None = None, observed_by: str | None = None
    ) -> Revision:
        """Take back what `register`, `rename`, `merge` or `split` said; `as_of` still shows it.

        What a later line has changed since can only be undone after that one. To undo an undoing, say
        again what it took back.
        """
        position = _line(revision)
        line = self._engine.ledger.entries_at([position]).get(position)
        why, by = inputs.reason(why), _observer(observed_by)
        return self._revise("undone", lambda known: entity_revisions.plan_undo(known, position, line, why, by))

    aundo = in_thread(undo)

    def _revise(self, what: str, plan: Callable[[KnownEntities], RevisionPlan]) -> Revision:
        made, position = self._say(plan)
        return Revision(what, self.get(made.entity_id), position)

    def _say(self, plan: Callable[[KnownEntities], RevisionPlan]) -> tuple[RevisionPlan, int | None]:
        """Write what a plan comes to, all of it or nothing; gives the plan and the line."""
        while True:
            with self._looking() as known:
                made = plan(known)
            # The words are embedded before the pen is taken, so they must be the same when it is.
            with suppress(_Moved):
                entries = self._engine.write(
                    self._space, partial(_decide, plan, made), texts_to_embed=made.texts_to_embed
                )
                return made, entries[0].position if entries else None


class _Moved(Exception):
    """Somebody else wrote about the same entities meanwhile."""


def _decide(plan: Callable[[KnownEntities], RevisionPlan], made: RevisionPlan, index: Index) -> list[Event]:
    if plan(KnownEntities(index, index.catalog.position)) != made:
        raise _Moved
    return [] if made.event is None else [made.event]


def _name(value: object, what: str) -> str:
    """A name that can be told from others."""
    name = " ".join(inputs.storable_text(value, what).split())
    if not normalize_name(name):
        raise InvalidInput(f"{what}={value!r} is blank. Give it at least one letter.")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidInput(
            f"{what}={truncate(name, 40)!r} has {len(name):,} characters. At most {MAX_NAME_LENGTH} are kept."
        )
    return name


def _entity(given: object) -> str:
    """The id or the name of an entity."""
    return given.id if isinstance(given, Entity) else _name(given, "entity")


def _observer(observed_by: object) -> str | None:
    return None if observed_by is None else _name(observed_by, "observed_by")


def _aliases(given: object, now: datetime) -> tuple[Alias, ...]:
    out: list[Alias] = []
    for item in _some(given, "aliases"):
        alias = _alias(item, now)
        times = [other.valid for other in out if normalize_name(other.name) == normalize_name(alias.name)]
        if alias.valid in times:
            continue
        if any(valid.overlaps(alias.valid) for valid in times):
            raise InvalidInput(f"aliases holds {alias.name!r} twice, in times that overlap. Give it once.")
        out.append(alias)
    return tuple(out)


def _alias(item: object, now: datetime) -> Alias:
    if isinstance(item, Alias):
        item = (item.name, item.valid.start, item.valid.end)
    if isinstance(item, Mapping):
        if unknown := set(item) - {"name", "valid_from", "valid_until"}:
            raise InvalidInput(f"aliases holds {item!r} with {unknown.pop()!r}. {_ALIAS}")
        item = (item.get("name"), item.get("valid_from"), item.get("valid_until"))
    parts = (item,) if isinstance(item, str) else item
    if not isinstance(parts, Sequence) or not 1 <= len(parts) <= 3 or not isinstance(parts[0], str):
        raise InvalidInput(f"aliases holds {item!r}. {_ALIAS}")
    start, end = (*parts[1:], None, None)[:2]
    return Alias(_name(parts[0], "aliases"), inputs.window(start, end, now))


_ALIAS = "Give a name, or (name, valid_from, valid_until) where it was called so for a time."


def _some(given: object, what: str) -> list[object]:
    """One or several of something; never more than anybody means."""
    if isinstance(given, bytes | Mapping) or not isinstance(given, Iterable | Alias):
        raise InvalidInput(f"{what}={given!r} is not a list of names.")
    out = [given] if isinstance(given, str | Alias) else list(islice(given, MAX_ALIASES + 1))
    if len(out) > MAX_ALIASES:
        raise InvalidInput(
            f"{what} holds more than {MAX_ALIASES} names. Nobody has so many: give the ones that are used, "
            "or call again with the rest."
        )
    return out


def _line(revision: object) -> int:
    position = revision.position if isinstance(revision, Revision | Registration) else revision
    if position is None:
        raise InvalidInput(f"{revision!r} wrote no line, since nothing was new: there is nothing to undo.")
    return inputs.positive_int(position, "revision", OPEN_END)
