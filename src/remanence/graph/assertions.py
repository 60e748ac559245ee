"""What somebody says outright: that two entities are related, two memories linked, how a predicate behaves,
and that something holds no longer.

Everything is checked before the pen is taken, as far as it can be; the rest with the pen in hand, so that
two who say the same at once say it once. The very same again writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from remanence import drafts
from remanence.drafts import Moment
from remanence.engine import Engine, known
from remanence.errors import InvalidInput, NotFound
from remanence.events import Declared, Event, Invalidated, Linked, Related
from remanence.index import Index
from remanence.knowledge.intervals import ALWAYS
from remanence.knowledge.predicates import read_predicate
from remanence.knowledge.registry import is_entity_id
from remanence.model import (
    LINKS,
    Entity,
    Link,
    LinkKind,
    Memory,
    Relation,
    Sight,
    Triple,
    Window,
    from_micros,
    micros,
    short,
)
from remanence.remember import new_id
from remanence.timewords import read_moment

Named: TypeAlias = str | Entity
"""An entity, its id, or any of its names."""
Kept: TypeAlias = str | Memory
"""A memory or its id."""


@dataclass(frozen=True, slots=True)
class Assertions:
    """Says things about one space."""

    engine: Engine
    space: str

    def relate(
        self,
        subject: Named,
        predicate: str,
        object: Named,
        *,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        confidence: float = 1.0,
        observed_by: str | None = None,
        evidence: Kept | Iterable[Kept] = (),
    ) -> Relation:
        """Say that two entities are related, and what follows from it: the relation as it now holds."""
        now = self.engine.now()
        name, window = read_predicate(predicate), drafts.window(valid_from, valid_until, now)
        sure, observer = _sure(confidence), _observer(observed_by)
        ids = tuple(dict.fromkeys(_memory_id(m) for m in _several(evidence)))
        ends = _named(subject, "subject"), _named(object, "object")
        said: list[str] = []

        def decide(index: Index) -> list[Event]:
            for memory_id in ids:
                _shown(index, memory_id)
            a, b = (_name(index, end) for end in ends)
            made = Related(new_id(), a, name, b, window, sure, observer, ids)
            there = index.relations.repeated(made, _sight(index, now))
            said.append(there or made.relation)
            return [] if there else [made]

        self._write(decide)
        return self._relations(said, now)[0]

    def link(
        self,
        a: Kept,
        kind: str,
        b: Kept,
        *,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        confidence: float = 1.0,
        observed_by: str | None = None,
        why: str | None = None,
    ) -> Link:
        """Say that memory `a` stands to memory `b` as `kind` says."""
        now = self.engine.now()
        window = drafts.window(valid_from, valid_until, now)
        source, target, reads = _memory_id(a), _memory_id(b), _kind(kind)
        sure, observer, reason = _sure(confidence), _observer(observed_by), drafts.reason(why)
        if source == target:
            raise InvalidInput(f"memory {source!r} cannot be linked to itself. Give two memories.")
        drawn: list[str] = []

        def decide(index: Index) -> list[Event]:
            _shown(index, source)
            _shown(index, target)
            made = Linked(new_id(), source, reads, target, window, sure, observer, reason)
            there = index.links.repeated(made, _sight(index, now))
            drawn.append(there or made.link)
            return [] if there else [made]

        self._write(decide)
        return self._links(drawn, now)[0]

    def declare(
        self, predicate: str, *, single_valued: bool | None = None, inverse: str | None = None
    ) -> None:
        """Say how a predicate behaves from now on: one value at a time or many, and its inverse.

        What is left out stays as it is. A predicate may be its own inverse.
        """
        name = read_predicate(predicate)
        other = None if inverse is None else read_predicate(inverse, "inverse")
        if single_valued is not None and not isinstance(single_valued, bool):
            raise InvalidInput(f"single_valued={single_valued!r} is neither True nor False.")
        if single_valued is None and other is None:
            raise InvalidInput(f"nothing is said about {name!r}. Give single_valued=True or an inverse.")

        def decide(index: Index) -> list[Event]:
            position = index.catalog.position
            known_single = single_valued in (None, index.relations.declared(name, position))
            known_inverse = other in (None, index.relations.inverse(name, position))
            return [] if known_single and known_inverse else [Declared(name, single_valued, other)]

        self._write(decide)

    def invalidate(
        self,
        edge: Relation | Link | Named,
        predicate: str | None = None,
        object: Named | None = None,
        *,
        until: Moment | None = None,
        why: str | None = None,
        by: str | None = None,
    ) -> list[Relation | Link]:
        """Say that a relation or a link holds no longer than `until` (now): those it is about, as they are.

        Give a relation, a link, the id of one; or a subject, a predicate and perhaps an object, for what
        holds of these at `until`. Every memory that says the same is taken to be out of date with it.
        """
        now = self.engine.now()
        end = now if until is None else read_moment(until, now, what="until")
        reason, who = drafts.reason(why), _observer(by, "by")
        name = None if predicate is None else read_predicate(predicate)
        ended: list[str] = []

        def decide(index: Index) -> list[Event]:
            sight = _sight(index, now)
            if isinstance(edge, Relation | Link):
                ended[:] = [edge.id]
            elif name is None:
                ended[:] = [_edge_id(edge)]
            else:
                ended[:] = _holding(index, sight, _named(edge, "subject"), name, object, end)
            edges = dict.fromkeys(one for each in ended for one in _to_end(index, sight, each, end))
            return [Invalidated(one, end, reason, who) for one in edges]

        self._write(decide)
        return [*self._relations(ended, now), *self._links(ended, now)]

    def _write(self, decide: Callable[[Index], list[Event]]) -> None:
        def locked(index: Index) -> list[Event]:
            with index.lock:  # others may be reading meanwhile
                return decide(index)

        self.engine.write(self.space, locked)

    def _relations(self, ids: Iterable[str], now: datetime) -> list[Relation]:
        with self.engine.using(self.space) as index, index.lock:
            sight = _sight(index, now)
            return [found for one in ids if (found := index.relations.get(one, sight)) is not None]

    def _links(self, ids: Iterable[str], now: datetime) -> list[Link]:
        with self.engine.using(self.space) as index, index.lock:
            sight = _sight(index, now)
            return [found for one in ids if (found := index.links.get(one, sight)) is not None]


# With the pen in hand


def _sight(index: Index, now: datetime) -> Sight:
    return index.sight(index.catalog.position, now)


def _shown(index: Index, memory_id: str) -> None:
    """Refuse a memory that there is not, or that is forgotten: what is said of it could not be seen."""
    if not index.catalog.shown(known(index, memory_id), index.catalog.position):
        raise NotFound(f"memory {memory_id!r} is forgotten. Bring it back first: unforget({memory_id!r}).")


def _name(index: Index, given: str) -> str:
    """The name to write down for an entity: what was given, or what the id given stands for."""
    if not is_entity_id(given) or index.names.number(given) is not None:
        return given
    entity = index.registry.get(given, index.catalog.position)
    if entity is None:
        raise NotFound(f"space {index.space!r} has no entity {given!r}. Give a name, or an id from it.")
    return entity.name


def _holding(
    index: Index, sight: Sight, subject: str, predicate: str, object: Named | None, end: datetime
) -> list[str]:
    """The ids of what holds of a subject under a predicate at a moment, or was ended at that moment."""
    number = index.names.number(_name(index, subject))
    found = [] if number is None else index.relations.line(number, predicate, sight)
    if object is not None:
        wanted = index.names.number(_name(index, _named(object, "object")))
        same = () if wanted is None else index.registry.same(wanted, sight.position)
        found = [
            r for r in found if {index.names.number(r.object), index.names.number(r.subject)} & set(same)
        ]
    # Up to that moment, rather than from it on: at the very moment of a move it is the old home that ends.
    there = [r.id for r in found if (r.valid.start is None or r.valid.start < end) and _reaches(r.valid, end)]
    there = there or [r.id for r in found if end in r.valid]
    if not there:
        what = f"{subject} {predicate} {'anything' if object is None else _named(object, 'object')}"
        instead = "; ".join(map(str, found[:3])) or "nothing of that kind"
        raise NotFound(f"{what!r} does not hold at {short(end)}, so it cannot end then. Known is: {instead}.")
    return list(dict.fromkeys(there))


def _reaches(window: Window, moment: datetime) -> bool:
    return window.end is None or moment <= window.end


def _to_end(index: Index, sight: Sight, edge: str, end: datetime) -> list[str]:
    """The ids under which a relation or link has to be ended, so that it holds no longer than `end`."""
    link = index.links.get(edge, sight)
    if link is not None:
        _check_end(edge, link.valid.start, end)
        return [edge] if link.valid.end is None or end < link.valid.end else []
    saying = index.relations.saying(edge, sight)
    if not saying:
        raise NotFound(
            f"space {index.space!r} knows no relation or link {edge!r}. "
            "Ids come from relate(), link() and graph.query(); a forgotten memory's are hidden with it."
        )
    own = saying[0][1]
    _check_end(edge, None if own.start == ALWAYS else from_micros(own.start), end)
    moment = micros(end)
    return [one for one, claim in saying if claim.start <= moment < claim.over]


def _check_end(edge: str, start: datetime | None, end: datetime) -> None:
    if start is not None and end < start:
        raise InvalidInput(
            f"until={short(end)} is before {edge!r} begins ({short(start)}). "
            "Give a later one, or its beginning to say that it never held."
        )


def ending(
    index: Index, sight: Sight, claim: Triple, until: datetime, why: str, by: str
) -> list[Invalidated]:
    """The lines that end a claim wherever it stands and reaches that moment; none where it does not."""
    subject, object_ = index.names.number(claim.subject), index.names.number(claim.object)
    if subject is None or object_ is None:
        return []
    same = {index.names.spelled[number] for number in index.registry.same(object_, sight.position)}
    moment = micros(until)
    edges = [
        edge
        for relation in index.relations.line(subject, claim.predicate, sight)
        if relation.object in same and _reaches(relation.valid, until)
        for edge, each in index.relations.saying(relation.id, sight)
        if each.since <= moment < each.over
    ]
    return [Invalidated(edge, until, why, by) for edge in dict.fromkeys(edges)]


# At the door


def _named(given: object, what: str) -> str:
    name = given.name if isinstance(given, Entity) else given
    checked = drafts.clean(name, what)
    if not checked.strip():
        raise InvalidInput(f"{what}={checked!r} is blank. Give a name, an entity or its id.")
    if len(checked) > drafts.MOST_NAME:
        raise InvalidInput(f"{what} has {len(checked):,} characters. A name has at most {drafts.MOST_NAME}.")
    return checked


def _edge_id(given: object) -> str:
    if isinstance(given, str):
        return given
    raise InvalidInput(
        f"{given!r} is neither a relation, a link nor the id of one. "
        "To end what holds of an entity, say of which predicate: invalidate('Alice', 'lives_in')."
    )


def _memory_id(given: object) -> str:
    return given.id if isinstance(given, Memory) else drafts.memory_id(given)


def _several(given: Kept | Iterable[Kept]) -> Iterable[Kept]:
    if isinstance(given, str | Memory):
        return (given,)
    if isinstance(given, Iterable):
        return given
    raise InvalidInput(f"evidence={given!r} is not a list of memories. Give memories or their ids.")


def _kind(given: object) -> LinkKind:
    for kind in LINKS:
        if given == kind:
            return kind
    raise InvalidInput(f"kind={given!r} is no link between memories. The kinds are {', '.join(LINKS)}.")


def _sure(confidence: object) -> float:
    sure = drafts.share(confidence, "confidence")
    return 1.0 if sure is None else sure


def _observer(given: str | None, what: str = "observed_by") -> str | None:
    return None if given is None else drafts.clean(given, what)
