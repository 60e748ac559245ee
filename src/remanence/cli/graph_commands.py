"""The commands about the graph: relate, link, declare, entities, graph, history, diff."""

from __future__ import annotations

import json
from argparse import BooleanOptionalAction, Namespace
from typing import Any

from remanence.cli.locations import open_space, open_view
from remanence.errors import NotFound
from remanence.schema import LINK_KINDS, Entity

_WHEN = "a date, or words such as 'last May'"


def add_commands(command: Any, as_json: Any, as_of: Any) -> None:
    """What may be typed."""
    it = command("relate", relate, "say that two entities are related", "relate Alice lives_in Porto")
    for name in ("subject", "predicate", "object"):
        it.add_argument(name)
    _window(it)
    it.add_argument("--evidence", action="append", default=[], metavar="ID", help="a memory; repeatable")

    it = command("link", link, "tie two memories", "link ID supersedes ID")
    it.add_argument("a", metavar="ID")
    it.add_argument("kind", choices=LINK_KINDS)
    it.add_argument("b", metavar="ID")
    _window(it)
    it.add_argument("--why", help="the reason, kept with it")

    it = command("declare", declare_predicate, "say how a predicate behaves", "declare leads --single-valued")
    it.add_argument("predicate")
    it.add_argument("--single-valued", action=BooleanOptionalAction, help="one value at a time, or many")
    it.add_argument("--inverse", metavar="NAME", help="what it is called from the other end")

    _entities(command, as_json, as_of)
    _graph(command, as_of)

    it = command("history", history, "everything that happened to a memory or an entity", "history Alice")
    it.add_argument("node", help="the id of a memory, or the name or id of an entity")
    as_of(it)
    it = command("diff", diff, "what was learned between two moments", "diff 2026-05-01 2026-06-01")
    it.add_argument("since", metavar="WHEN", help=_WHEN)
    it.add_argument("until", metavar="WHEN", nargs="?", help="now, if left out")


def relate(args: Namespace) -> None:
    """Relate two entities."""
    options = _valid(args) | {"evidence": args.evidence}
    with open_space(args, create=True) as space:
        print(space.graph.relate(args.subject, args.predicate, args.object, **options))


def link(args: Namespace) -> None:
    """Link two memories."""
    with open_space(args) as space:
        print(space.graph.link(args.a, args.kind, args.b, why=args.why, **_valid(args)))


def declare_predicate(args: Namespace) -> None:
    """Declare a predicate."""
    with open_space(args, create=True) as space:
        space.graph.declare(args.predicate, single_valued=args.single_valued, inverse=args.inverse)


def history(args: Namespace) -> None:
    """Tell the story of a node."""
    with open_view(args) as view:
        for happening in view.history(args.node):
            print(happening)


def diff(args: Namespace) -> None:
    """Tell what changed."""
    with open_space(args) as space:
        found = space.audit.diff(args.since, *([args.until] if args.until else []))
        print(found)
        for name in ("learned", "revised", "superseded", "forgotten", "restored"):
            for memory in getattr(found, name):
                print(f"{name}\t{memory.id}\t{' '.join(memory.text.split())}")


# Entities


def _entities(command: Any, as_json: Any, as_of: Any) -> None:
    of = command("entities", entities_list, "who and what memories are about", "entities list")
    below = of.add_subparsers(title="commands", metavar="COMMAND")
    it = command("list", entities_list, "list the entities", "entities list --kind person", of=below)
    it.add_argument("--kind", help="only this kind")
    it.add_argument("--page", type=int, default=1)
    it.add_argument("--page-size", type=int, default=100)
    as_of(it)
    as_json(it)
    it = command("register", register, "name an entity", "entities register X --alias Twitter", of=below)
    it.add_argument("name")
    it.add_argument("--alias", action="append", default=[], dest="aliases", help="another name; repeatable")
    it.add_argument("--kind", help="such as person or organization")
    it = command("resolve", resolve, "find who goes by a name", "entities resolve Bob --at 2022", of=below)
    it.add_argument("name")
    it.add_argument("--at", metavar="WHEN", help=f"as it was called then: {_WHEN}")
    as_of(it)
    it = command("rename", rename, "call an entity something else", "entities rename Twitter X", of=below)
    it.add_argument("entity")
    it.add_argument("name")
    it = command("merge", merge, "make one entity part of another", "entities merge Bob Robert", of=below)
    it.add_argument("a")
    it.add_argument("b")
    it.add_argument("--why", help="the reason, kept with it")
    it = command("split", split, "part some names from an entity", "entities split Bob Bobby", of=below)
    it.add_argument("entity")
    it.add_argument("names", nargs="+")
    it = command("undo", undo, "take a change of names back", "entities undo 42", of=below)
    it.add_argument("position", type=int, help="the number that the change printed")
    it = command("propose", propose, "names that may mean the same", "entities propose 'A. Smith'", of=below)
    it.add_argument("name")


def entities_list(args: Namespace) -> None:
    """List entities."""
    page = (getattr(args, "kind", None), getattr(args, "page", 1), getattr(args, "page_size", 100))
    with open_view(args) as view:
        for entity in view.entities.list(page[0], page=page[1], page_size=page[2]):
            _show(entity, as_json=getattr(args, "json", False))


def register(args: Namespace) -> None:
    """Register an entity."""
    with open_space(args, create=True) as space:
        made = space.entities.register(args.name, aliases=args.aliases, kind=args.kind)
        print(f"{made.id}\t{'new' if made.created else 'known'}\t{', '.join(made.added)}".rstrip())


def resolve(args: Namespace) -> None:
    """Resolve a name."""
    with open_view(args) as view:
        entity = view.entities.resolve(args.name, at=args.at)
        if entity is None:
            raise NotFound(f"nobody goes by {args.name!r}. `remanence entities propose` shows near names.")
        _show(entity)


def rename(args: Namespace) -> None:
    """Rename an entity."""
    with open_space(args) as space:
        print(space.entities.rename(args.entity, args.name).position)


def merge(args: Namespace) -> None:
    """Merge two entities."""
    with open_space(args) as space:
        print(space.entities.merge(args.a, args.b, why=args.why).position)


def split(args: Namespace) -> None:
    """Split an entity."""
    with open_space(args) as space:
        print(space.entities.split(args.entity, args.names).position)


def undo(args: Namespace) -> None:
    """Undo a change of names."""
    with open_space(args) as space:
        print(space.entities.undo(args.position).position)


def propose(args: Namespace) -> None:
    """Propose near names."""
    with open_space(args) as space:
        for candidate in space.entities.propose(args.name):
            print(f"{candidate.score:.2f}\t{candidate.entity.name}\t{candidate.reason}")


def _show(entity: Entity, *, as_json: bool = False) -> None:
    if as_json:
        fields = {"id": entity.id, "name": entity.name, "kind": entity.kind, "names": entity.names}
        print(json.dumps(fields, ensure_ascii=False))
    else:
        print(f"{entity.id}\t{entity.kind}\t{', '.join(entity.names)}")


# The graph


def _graph(command: Any, as_of: Any) -> None:
    of = command("graph", query, "walk the graph, and draw it", "graph query Alice")
    below = of.add_subparsers(title="commands", metavar="COMMAND", required=True)
    it = command("query", query, "what a node is tied to", "graph query Alice --depth 2", of=below)
    it.add_argument("start", help="a name, or the id of an entity or a memory")
    it.add_argument("--relation", action="append", dest="relations", metavar="NAME", help="repeatable")
    it.add_argument("--depth", type=int, default=3, help="how many steps (3)")
    it.add_argument("--at", metavar="WHEN", help=f"what held then: {_WHEN}")
    as_of(it)
    it = command("path", path, "how two nodes are connected", "graph path Alice Bob", of=below)
    it.add_argument("a")
    it.add_argument("b")
    it.add_argument("--at", metavar="WHEN", help="what held then")
    as_of(it)
    it = command("when", when, "from when to when something held", "graph when Alice lives_in", of=below)
    it.add_argument("subject")
    it.add_argument("predicate")
    it.add_argument("object", nargs="?")
    as_of(it)
    it = command("timeline", timeline, "what happened to a node, in order", "graph timeline Alice", of=below)
    it.add_argument("node")
    it.add_argument("--since", metavar="WHEN")
    it.add_argument("--until", metavar="WHEN")
    as_of(it)
    it = command("save", save, "draw it: .html, .svg or .graphml", "graph save graph.html", of=below)
    it.add_argument("file")
    it.add_argument("--start", help="only what is near this node")
    as_of(it)
    it = command("invalidate", invalidate, "say what holds no longer", "graph invalidate Alice lives_in", of=below)
    it.add_argument("subject", help="with a predicate; or the id of a relation or link alone")
    it.add_argument("predicate", nargs="?")
    it.add_argument("object", nargs="?")
    it.add_argument("--until", metavar="WHEN", help="when it ended; now, if left out")
    it.add_argument("--why", help="the reason, kept with it")


def query(args: Namespace) -> None:
    """Walk from a node."""
    with open_view(args) as view:
        walked = view.graph.query(args.start, args.relations, args.depth, at=args.at)
        labels = {node.id: str(node) for node in walked.nodes}
        for edge in walked.edges:
            when = f"\t{edge.valid}" if edge.valid.has_bound else ""
            print(f"{labels[edge.source]} —{edge.name}→ {labels[edge.target]}{when}")
        if walked.truncated:
            print("… and more")


def path(args: Namespace) -> None:
    """Connect two nodes."""
    with open_view(args) as view:
        print(view.graph.path(args.a, args.b, at=args.at) or "no way was found")


def when(args: Namespace) -> None:
    """Date a relation."""
    with open_view(args) as view:
        for relation in view.graph.when(args.subject, args.predicate, args.object):
            print(relation)


def timeline(args: Namespace) -> None:
    """Tell what happened."""
    with open_view(args) as view:
        for happening in view.graph.timeline(args.node, since=args.since, until=args.until):
            print(happening)


def save(args: Namespace) -> None:
    """Draw the graph."""
    with open_view(args) as view:
        print(view.graph.save(args.file, args.start))


def invalidate(args: Namespace) -> None:
    """End a relation or a link."""
    with open_space(args) as space:
        ended = space.graph.invalidate(args.subject, args.predicate, args.object, until=args.until, why=args.why)
        for edge in ended:
            print(edge)


def _window(parser: Any) -> None:
    parser.add_argument("--valid-from", metavar="WHEN", help=f"holds from then on: {_WHEN}")
    parser.add_argument("--valid-until", metavar="WHEN", help="holds until then")
    parser.add_argument("--confidence", type=float, default=1.0, metavar="0..1", help="how sure it is")
    parser.add_argument("--observed-by", metavar="NAME", help="who says so")


def _valid(args: Namespace) -> dict[str, Any]:
    return {name: getattr(args, name) for name in ("valid_from", "valid_until", "confidence", "observed_by")}
