"""The commands about the graph: relate, link, declare, diff, entities, graph."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING

from remanence.cli.memory_commands import ask_and_erase
from remanence.cli.output import Lines, Result
from remanence.cli.parser import VALIDITY, group, provided_options, section, space_command, view_command
from remanence.errors import NotFound

if TYPE_CHECKING:
    from remanence import Entity, Space, View

section("The graph")

_VALIDITY_FIELDS = "valid_from valid_until confidence observed_by"


@space_command("relate", "relate Alice lives_in Porto", f"subject predicate object {VALIDITY} --evidence", create=True)
def relate(space: Space, args: Namespace) -> Result:
    """State that two entities are related."""
    options = provided_options(args, f"{_VALIDITY_FIELDS} evidence")
    return Result(space.graph.relate(args.subject, args.predicate, args.object, **options))


@space_command("link", "link ID supersedes ID", f"a kind b {VALIDITY} --why")
def link(space: Space, args: Namespace) -> Result:
    """Link two memories."""
    return Result(space.graph.link(args.a, args.kind, args.b, **provided_options(args, f"{_VALIDITY_FIELDS} why")))


@space_command("declare", "declare leads --single-valued", "predicate --single-valued --inverse", create=True)
def declare(space: Space, args: Namespace) -> Result:
    """Declare how a predicate behaves."""
    space.graph.declare(args.predicate, single_valued=args.single_valued, inverse=args.inverse)
    return Result({"declared": args.predicate}, "")


@space_command("diff", "diff 2026-05-01 2026-06-01", "since until")
def diff(space: Space, args: Namespace) -> Result:
    """List what was learned between two moments."""
    changes = space.audit.diff(args.since, *([args.until] if args.until else []))
    names = ("learned", "revised", "superseded", "forgotten", "restored")
    rows = [f"{name}\t{m.id}\t{' '.join(m.text.split())}" for name in names for m in getattr(changes, name)]
    return Result(changes, "\n".join([str(changes), *rows]))


group("entities", "The people and things that memories are about", "entities list")


@view_command("entities list", "entities list --kind person", "--kind --page --page-size")
def entities_list(view: View, args: Namespace) -> Lines:
    """List the entities."""
    return Lines(view.entities.list(args.kind, page=args.page, page_size=args.page_size), _entity_line)


@space_command("entities register", "entities register X --alias Twitter", "name --alias --kind", create=True)
def register(space: Space, args: Namespace) -> Result:
    """Register an entity under a name."""
    registration = space.entities.register(args.name, aliases=args.aliases, kind=args.kind)
    status = "new" if registration.created else "known"
    return Result(registration, f"{registration.id}\t{status}\t{', '.join(registration.added)}".rstrip())


@view_command("entities resolve", "entities resolve Bob --at 2022", "name --at")
def resolve(view: View, args: Namespace) -> Result:
    """Find the entity that has a name."""
    entity = view.entities.resolve(args.name, at=args.at)
    if entity is None:
        raise NotFound(f"no entity is named {args.name!r}. `remanence entities propose` lists similar names.")
    return Result(entity, _entity_line(entity))


@space_command("entities rename", "entities rename Twitter X", "entity name")
def rename(space: Space, args: Namespace) -> Result:
    """Give an entity another name."""
    revision = space.entities.rename(args.entity, args.name)
    return Result(revision, str(revision.position))


@space_command("entities merge", "entities merge Bob Robert", "a b --why")
def merge(space: Space, args: Namespace) -> Result:
    """Make one entity part of another."""
    revision = space.entities.merge(args.a, args.b, why=args.why)
    return Result(revision, str(revision.position))


@space_command("entities split", "entities split Bob Bobby", "entity names")
def split(space: Space, args: Namespace) -> Result:
    """Separate some names from an entity."""
    revision = space.entities.split(args.entity, args.names)
    return Result(revision, str(revision.position))


@space_command("entities undo", "entities undo 42", "position")
def undo(space: Space, args: Namespace) -> Result:
    """Undo a rename, merge or split."""
    revision = space.entities.undo(args.position)
    return Result(revision, str(revision.position))


@space_command("entities propose", "entities propose 'A. Smith'", "name")
def propose(space: Space, args: Namespace) -> Lines:
    """List names that may mean the same."""
    return Lines(space.entities.find_similar(args.name), lambda c: f"{c.score:.2f}\t{c.entity.name}\t{c.reason}")


group("graph", "Query and draw the graph", "graph query Alice")


@view_command("graph query", "graph query Alice --depth 2", "start --relation --depth --at")
def query(view: View, args: Namespace) -> Result:
    """List what a node is connected to."""
    subgraph = view.graph.query(args.start, args.relations, args.depth, at=args.at)
    labels = {node.id: str(node) for node in subgraph.nodes}
    lines = [
        f"{labels[edge.source]} —{edge.name}→ {labels[edge.target]}"
        + (f"\t{edge.valid}" if edge.valid.has_bound else "")
        for edge in subgraph.edges
    ]
    return Result(subgraph, "\n".join([*lines, *(["… and more"] if subgraph.truncated else [])]))


@view_command("graph path", "graph path Alice Bob", "a b --at")
def path(view: View, args: Namespace) -> Result:
    """Show how two nodes are connected."""
    found = view.graph.path(args.a, args.b, at=args.at)
    return Result(found, str(found or "no path was found"))


@view_command("graph when", "graph when Alice lives_in", "subject predicate object")
def when(view: View, args: Namespace) -> Lines:
    """List from when to when a relation was true."""
    return Lines(view.graph.when(args.subject, args.predicate, args.object))


@view_command("graph timeline", "graph timeline Alice", "node --since --until")
def timeline(view: View, args: Namespace) -> Lines:
    """List everything that happened to a memory or an entity."""
    return Lines(view.graph.timeline(args.node, since=args.since, until=args.until))


@view_command("graph save", "graph save graph.html", "file --start")
def save(view: View, args: Namespace) -> Result:
    """Draw the graph as .html, .svg or .graphml."""
    file = view.graph.save(args.file, args.start)
    return Result({"file": file}, str(file))


@space_command("graph invalidate", "graph invalidate Alice lives_in", "subject predicate object --until --why")
def invalidate(space: Space, args: Namespace) -> Lines:
    """State that relations or links are no longer true."""
    names = (args.subject, args.predicate, args.object)
    return Lines(space.graph.invalidate(*names, valid_until=args.until, why=args.why))


@space_command("graph invalidate-edge", "graph invalidate-edge ID --why typo", "edge --until --why")
def invalidate_edge(space: Space, args: Namespace) -> Lines:
    """State that one relation or link is no longer true."""
    return Lines(space.graph.invalidate_edge(args.edge, valid_until=args.until, why=args.why))


@space_command("graph erase", "graph erase Alice lives_in Porto", "subject predicate object --yes")
def erase(space: Space, args: Namespace) -> Result:
    """Delete a stated relation permanently, from the past too."""
    relations = space.graph.when(args.subject, args.predicate, args.object)
    if not relations:
        raise NotFound(f"no relation is stated as {args.subject!r} {args.predicate!r} {args.object!r}.")

    def erase_all() -> list[object]:
        certificates: list[object] = []
        for relation in relations:
            with suppress(NotFound):  # it went with another one that states the same
                certificates.append(space.graph.erase(relation))
        return certificates

    return ask_and_erase(args, lambda: "; ".join(map(str, relations)), erase_all)


def _entity_line(entity: Entity) -> str:
    return f"{entity.id}\t{entity.kind}\t{', '.join(entity.names)}"
