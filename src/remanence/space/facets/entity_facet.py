"""The class of `space.entities`: who or what memories are about, under all of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, overload

from remanence.errors import InvalidInput
from remanence.events import Event
from remanence.graph.assertions import RevisionPlan, plan_merge, plan_registration, plan_rename, plan_split, plan_undo
from remanence.graph.graph_at_time import EntityRef, KnownEntities
from remanence.index.engine import inputs
from remanence.index.engine.embedding import embed_descriptions
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.index.index import Index
from remanence.index.names.entity_registry import is_entity_id
from remanence.index.numbers import Position
from remanence.schema import OPEN_END, Alias, Entity
from remanence.space.facets.facet import Facet
from remanence.text.temporal import parse_moment
from remanence.text.text import normalize_name
from remanence.transfer.overview import MAX_PAGE_SIZE

MAX_ALIASES = 256


@dataclass(frozen=True, slots=True)
class Registration:
    """The result of `register`: the entity, whether it is new, and which aliases were added.

    `position` is that of the ledger entry; None if everything was known already.
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
    """The result of `rename`, `merge`, `split` or `undo`: its kind ("renamed", "merged", "split", "undone") and the
    entity after it.

    After a merge this is the merged entity, after a split the new one; None if nothing is left of it after an undo.
    `position` is that of the ledger entry, for `undo`; None if there was nothing to write.
    """

    kind: str
    entity: Entity | None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class SimilarEntity:
    """An entity with a similar name: which of its names is similar, how much (0 to 1), and why."""

    entity: Entity
    name: str
    score: float
    reason: str


@dataclass(frozen=True)
class EntityPage(Sequence[Entity]):
    """A page of entities, in the order in which they were learned. `total` counts those of all pages."""

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
    """The entities of a space at the moment of one view.

    Wherever an entity is expected, give an `Entity`, its id, or any of its names.
    """

    def resolve(self, alias: EntityRef, at: Moment | None = None) -> Entity | None:
        """The entity with this name or id, with all of its names.

        Args:
            at: Find the entity that had the name at this moment. None finds the one that has it now, or had it last.

        Returns:
            The entity, or None if there is none.
        """
        name, now = _name_or_id(alias, "alias"), self._now()
        moment = None if at is None else parse_moment(at, now, argument="at")
        with self._known() as known:
            if is_entity_id(name) and (entity := known.get(name)) is not None:
                return entity
            entity_id = known.find_id(name, now, moment)
            return None if entity_id is None else known.get(entity_id)

    def get(self, id: EntityRef) -> Entity | None:
        """The entity with this id, or the entity that it was merged into.

        Args:
            id: The id, or the entity as it was read earlier. For names use `resolve`.

        Returns:
            The entity, or None if there is none.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     alice = space.entities.register("Alice").entity
            ...     space.entities.get(alice.id) == alice
            True
        """
        entity_id = id.id if isinstance(id, Entity) else id
        if not isinstance(entity_id, str):
            raise InvalidInput(f"{id!r} is not the id of an entity. Give an entity, or what entity.id contains.")
        with self._known() as known:
            return known.get(entity_id)

    def list(self, kind: str | None = None, *, page: int = 1, page_size: int = 100) -> EntityPage:
        """The entities that are registered, or that a visible memory mentions, a page at a time.

        Args:
            kind: Only entities of this kind, such as "person".
            page: The number of the page, from 1.
            page_size: How many entities a page has, at most 1,000.
        """
        if kind is not None:
            kind = inputs.check_name(kind, "kind")
        first = (inputs.check_positive_int(page, "page") - 1) * inputs.check_positive_int(
            page_size, "page_size", MAX_PAGE_SIZE
        )
        entities, total = self._slice(kind, first, first + page_size)
        return EntityPage(entities, page, page_size, total)

    def _slice(self, kind: str | None, start: int, end: int) -> tuple[tuple[Entity, ...], int]:
        """The entities of a kind from one place up to another in the order of `list`, and how many there are."""
        with self._known() as known:
            numbers = known.list_name_numbers(kind)
            ids = [known.registry.entity_of(number, known.position) for number in numbers[start:end]]
            entities = [entity for id_ in ids if (entity := known.get(id_)) is not None]
        return tuple(entities), len(numbers)

    def find_similar(self, name: str, limit: int = 5) -> tuple[SimilarEntity, ...]:
        """Entities with a name like this one, most similar first, for a person to check and `merge`.

        Nothing that is only similar is merged automatically: Martin Smith is proposed for Marvin Smith, too. Names that
        differ in a number are not proposed.

        Args:
            name: The name to compare with.

        Returns:
            The entities, each with the similar name, the similarity from 0 to 1, and the reason.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.add("Alice Smith and Bob Smith run AlphaOne LLC.")
            ...     [(c.entity.name, c.reason) for c in space.entities.find_similar("A. Smith")]
            [('Alice Smith', "'a' may stand for 'alice'")]
        """
        name, limit = inputs.check_name(name, "name"), inputs.check_positive_int(limit, "limit")
        with self._known() as known:
            similar = islice(known.similar_entities(name), limit)
            return tuple(SimilarEntity(entity, spelling, why.score, why.reason) for entity, spelling, why in similar)

    aresolve = in_thread(resolve)
    aget = in_thread(get)
    alist = in_thread(list)
    afind_similar = in_thread(find_similar)

    @contextmanager
    def _known(self) -> Iterator[KnownEntities]:
        with self._snapshot() as (index, snapshot):
            yield KnownEntities(index, snapshot.position)


class Entities(EntitiesView):
    """The entities of a space as they are now: find, register, rename, merge and split them."""

    def register(
        self, name: str, aliases: Iterable[Any] = (), kind: str | None = None, *, observed_by: str | None = None
    ) -> Registration:
        """Register an entity under a name, with aliases and a kind.

        If an entity has that name already, only what is new is added to it. If nothing is new, nothing is written.

        Args:
            aliases: Other names. (name, valid_from, valid_until) is an alias for a time; given again with another
                overlapping time, the alias gets the new time.
            kind: What it is, such as "person" or "organization".

        Returns:
            The entity, whether it is new, and which aliases were added.

        Raises:
            InvalidInput: Another registered entity has one of the names at that time.
        """
        checked, others = inputs.check_name(name, "name"), _aliases(aliases, self._now())
        kind = None if kind is None else inputs.check_name(kind, "kind")
        by, now = inputs.check_observer(observed_by), self._now()
        plan, position = self._write(lambda known: plan_registration(known, checked, others, kind, by, now))
        entity = self.get(plan.entity_id)
        assert entity is not None, "it was registered above"
        return Registration(entity, plan.created, plan.added, position)

    def rename(self, entity: EntityRef, name: str, *, observed_by: str | None = None) -> Revision:
        """Change the name of an entity. Its old name becomes an alias.

        Returns:
            The entity with its new name and the position of the ledger entry, for `undo`.

        Raises:
            NotFound: The entity is unknown.
            InvalidInput: The name is blank, or another registered entity has it.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.entities.register("Twitter")
            ...     space.entities.rename("Twitter", "X").entity.names
            ('X', 'Twitter')
        """
        entity_ref, checked = _name_or_id(entity), inputs.check_name(name, "name")
        by, now = inputs.check_observer(observed_by), self._now()
        return self._revise("renamed", lambda known: plan_rename(known, entity_ref, checked, by, now))

    def merge(
        self, entity: EntityRef, into: EntityRef, *, why: str | None = None, observed_by: str | None = None
    ) -> Revision:
        """Merge entity `entity` into entity `into`: from now on, all names of `entity` are names of `into`.

        Args:
            entity: The entity that is merged.
            into: The entity that it becomes part of.

        Returns:
            The merged entity and the position of the ledger entry, for `undo`.

        Raises:
            NotFound: One of the two is unknown.
            InvalidInput: They are one entity already.
        """
        source, target = _name_or_id(entity), _name_or_id(into)
        reason, by, now = inputs.check_reason(why), inputs.check_observer(observed_by), self._now()
        return self._revise("merged", lambda known: plan_merge(known, source, target, reason, by, now))

    def split(
        self, entity: EntityRef, names: str | Iterable[str], *, why: str | None = None, observed_by: str | None = None
    ) -> Revision:
        """Move some names of an entity to a new entity, which is called by the first of them.

        Args:
            names: One name to move, or several.

        Returns:
            The new entity and the position of the ledger entry, for `undo`.

        Raises:
            NotFound: The entity is unknown, or does not have one of the names.
            InvalidInput: No name is given, or one is the main name of the entity.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.entities.register("Alice Smith", aliases=["Ali", "A. Smythe"])
            ...     space.entities.split("Ali", ["A. Smythe"]).entity.name
            'A. Smythe'
        """
        entity_ref, moved = _name_or_id(entity), [inputs.check_name(name, "names") for name in _to_list(names, "names")]
        if not moved:
            raise InvalidInput("names is empty. Give at least one name to split off.")
        reason, by, now = inputs.check_reason(why), inputs.check_observer(observed_by), self._now()
        return self._revise("split", lambda known: plan_split(known, entity_ref, moved, reason, by, now))

    def undo(
        self, revision: Revision | Registration | int, *, why: str | None = None, observed_by: str | None = None
    ) -> Revision:
        """Undo a `register`, `rename`, `merge` or `split`. `as_of` still shows it.

        Args:
            revision: What the method returned, or its position.

        Returns:
            The entity after the undo; None if nothing of it remains.

        Raises:
            NotFound: There is no such entry about an entity of this space.
            InvalidInput: A later entry has changed the same (undo that one first), or it is an undo itself.
        """
        position = revision.position if isinstance(revision, Revision | Registration) else revision
        if position is None:
            raise InvalidInput(f"{revision!r} wrote no ledger entry, so there is nothing to undo.")
        position = inputs.check_positive_int(position, "revision", OPEN_END)
        entry = self._engine.ledger.entries_at([position]).get(position)
        reason, by = inputs.check_reason(why), inputs.check_observer(observed_by)
        return self._revise("undone", lambda known: plan_undo(known, Position(position), entry, reason, by))

    aregister = in_thread(register)
    arename = in_thread(rename)
    amerge = in_thread(merge)
    asplit = in_thread(split)
    aundo = in_thread(undo)

    def _revise(self, kind: str, plan: Callable[[KnownEntities], RevisionPlan]) -> Revision:
        revision_plan, position = self._write(plan)
        return Revision(kind, self.get(revision_plan.entity_id), position)

    def _write(self, plan: Callable[[KnownEntities], RevisionPlan]) -> tuple[RevisionPlan, int | None]:
        """Write the event of a plan; returns the plan and the position of the entry, if one was written."""
        plans: list[RevisionPlan] = []

        def decide(index: Index) -> list[Event]:
            plans.append(plan(KnownEntities(index, index.catalog.position)))
            return [] if plans[0].event is None else [plans[0].event]

        entries = self._engine.write(self._space, decide)
        if entries:
            embed_descriptions(self._engine, self._space)
        return plans[0], entries[0].position if entries else None


def _name_or_id(entity: object, what: str = "entity") -> str:
    return entity.id if isinstance(entity, Entity) else inputs.check_name(entity, what)


def _aliases(values: object, now: datetime) -> tuple[Alias, ...]:
    aliases: list[Alias] = []
    for item in _to_list(values, "aliases"):
        alias = _parse_alias(item, now)
        windows = [other.valid for other in aliases if normalize_name(other.name) == normalize_name(alias.name)]
        if alias.valid in windows:
            continue
        if any(valid.overlaps(alias.valid) for valid in windows):
            raise InvalidInput(f"aliases contains {alias.name!r} twice, in times that overlap. Give it once.")
        aliases.append(alias)
    return tuple(aliases)


def _parse_alias(item: object, now: datetime) -> Alias:
    hint = "Give a name, or (name, valid_from, valid_until) for a name that was used for a time."
    if isinstance(item, Alias):
        item = (item.name, item.valid.start, item.valid.end)
    if isinstance(item, Mapping):
        if unknown := set(item) - {"name", "valid_from", "valid_until"}:
            raise InvalidInput(f"aliases contains {item!r} with {unknown.pop()!r}. {hint}")
        item = (item.get("name"), item.get("valid_from"), item.get("valid_until"))
    parts = (item,) if isinstance(item, str) else item
    if not isinstance(parts, Sequence) or not 1 <= len(parts) <= 3 or not isinstance(parts[0], str):
        raise InvalidInput(f"aliases contains {item!r}. {hint}")
    start, end = (*parts[1:], None, None)[:2]
    return Alias(inputs.check_name(parts[0], "aliases"), inputs.check_window(start, end, now))


def _to_list(values: object, what: str) -> list[object]:
    """One or several names or aliases as a list, up to `MAX_ALIASES`."""
    if isinstance(values, bytes | Mapping) or not isinstance(values, Iterable | Alias):
        raise InvalidInput(f"{what}={values!r} is not a list of names.")
    items = [values] if isinstance(values, str | Alias) else list(islice(values, MAX_ALIASES + 1))
    if len(items) > MAX_ALIASES:
        raise InvalidInput(f"{what} contains more than {MAX_ALIASES} names. Call again with the rest.")
    return items
