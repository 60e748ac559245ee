"""The commands about the graph: relate, link, declare, diff, entities, graph."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING

from remanence.cli.memory_commands import ask_and_erase
from remanence.cli.parser import VALIDITY, group, provided_options, space_command, view_command
from remanence.errors import NotFound

if TYPE_CHECKING:
    from remanence import Entity, Space, View

_VALIDITY_FIELDS = "valid_from valid_until confidence observed_by"


@space_command("relate", "relate Alice lives_in Porto", f"subject predicate object {VALIDITY} --evidence", create=True)
def relate(space: Space, args: Namespace) -> None:
    """State that two entities are related."""
    print(
        space.graph.relate(
            args.subject, args.predicate, args.object, **provided_options(args, f"{_VALIDITY_FIELDS} evidence")
        )
    )


@space_command("link", "link ID supersedes ID", f"a kind b {VALIDITY} --why")
def link(space: Space, args: Namespace) -> None:
    """Link two memories."""
    print(space.graph.link(args.a, args.kind, args.b, **provided_options(args, f"{_VALIDITY_FIELDS} why")))


@space_command("declare", "declare leads --single-valued", "predicate --single-valued --inverse", create=True)
def declare(space: Space, args: Namespace) -> None:
    """Declare how a predicate behaves."""
    space.graph.declare(args.predicate, single_valued=args.single_valued, inverse=args.inverse)


@space_command("diff", "diff 2026-05-01 2026-06-01", "since until")
def diff(space: Space, args: Namespace) -> None:
    """List what was learned between two moments."""
    changes = space.audit.diff(args.since, *([args.until] if args.until else []))
    print(changes)
    for name in ("learned", "revised", "superseded", "forgotten", "restored"):
        for memory in getattr(changes, name):
            print(f"{name}\t{memory.id}\t{' '.join(memory.text.split())}")


group("entities", "The people and things that memories are about", "entities list")


@view_command("entities list", "entities list --kind person", "--kind --page --page-size --json")
def entities_list(view: View, args: Namespace) -> None:
    """List the entities."""
    for entity in view.entities.list(args.kind, page=args.page, page_size=args.page_size):
        if args.json:
            from remanence.service.payloads.base_answers import EntityAnswer

            print(json.dumps(EntityAnswer.of(entity).model_dump(), ensure_ascii=False))
        else:
            _print_entity(entity)


@space_command("entities register", "entities register X --alias Twitter", "name --alias --kind", create=True)
def register(space: Space, args: Namespace) -> None:
    """Register an entity under a name."""
    registration = space.entities.register(args.name, aliases=args.aliases, kind=args.kind)
    status = "new" if registration.created else "known"
    print(f"{registration.id}\t{status}\t{', '.join(registration.added)}".rstrip())


@view_command("entities resolve", "entities resolve Bob --at 2022", "name --at")
def resolve(view: View, args: Namespace) -> None:
    """Find the entity that has a name."""
    entity = view.entities.resolve(args.name, at=args.at)
    if entity is None:
        raise NotFound(f"no entity is named {args.name!r}. `remanence entities propose` lists similar names.")
    _print_entity(entity)


@space_command("entities rename", "entities rename Twitter X", "entity name")
def rename(space: Space, args: Namespace) -> None:
    """Give an entity another name."""
    print(space.entities.rename(args.entity, args.name).position)


@space_command("entities merge", "entities merge Bob Robert", "a b --why")
def merge(space: Space, args: Namespace) -> None:
    """Make one entity part of another."""
    print(space.entities.merge(args.a, args.b, why=args.why).position)


@space_command("entities split", "entities split Bob Bobby", "entity names")
def split(space: Space, args: Namespace) -> None:
    """Separate some names from an entity."""
    print(space.entities.split(args.entity, args.names).position)


@space_command("entities undo", "entities undo 42", "position")
def undo(space: Space, args: Namespace) -> None:
    """Undo a rename, merge or split."""
    print(space.entities.undo(args.position).position)


@space_command("entities propose", "entities propose 'A. Smith'", "name")
def propose(space: Space, args: Namespace) -> None:
    """List names that may mean the same."""
    for candidate in space.entities.find_similar(args.name):
        print(f"{candidate.score:.2f}\t{candidate.entity.name}\t{candidate.reason}")


group("graph", "Query and draw the graph", "graph query Alice")


@view_command("graph query", "graph query Alice --depth 2", "start --relation --depth --at")
def query(view: View, args: Namespace) -> None:
    """List what a node is connected to."""
    subgraph = view.graph.query(args.start, args.relations, args.depth, at=args.at)
    labels = {node.id: str(node) for node in subgraph.nodes}
    for edge in subgraph.edges:
        validity = f"\t{edge.valid}" if edge.valid.has_bound else ""
        print(f"{labels[edge.source]} —{edge.name}→ {labels[edge.target]}{validity}")
    if subgraph.truncated:
        print("… and more")


@view_command("graph path", "graph path Alice Bob", "a b --at")
def path(view: View, args: Namespace) -> None:
    """Show how two nodes are connected."""
    print(view.graph.path(args.a, args.b, at=args.at) or "no path was found")


@view_command("graph when", "graph when Alice lives_in", "subject predicate object")
def when(view: View, args: Namespace) -> None:
    """List from when to when a relation was true."""
    for relation in view.graph.when(args.subject, args.predicate, args.object):
        print(relation)


@view_command("graph timeline", "graph timeline Alice", "node --since --until")
def timeline(view: View, args: Namespace) -> None:
    """List everything that happened to a memory or an entity."""
    for event in view.graph.timeline(args.node, since=args.since, until=args.until):
        print(event)


@view_command("graph save", "graph save graph.html", "file --start")
def save(view: View, args: Namespace) -> None:
    """Draw the graph as .html, .svg or .graphml."""
    print(view.graph.save(args.file, args.start))


@space_command("graph invalidate", "graph invalidate Alice lives_in", "subject predicate object --until --why")
def invalidate(space: Space, args: Namespace) -> None:
    """State that relations or links are no longer true."""
    for edge in space.graph.invalidate(args.subject, args.predicate, args.object, valid_until=args.until, why=args.why):
        print(edge)


@space_command("graph invalidate-edge", "graph invalidate-edge ID --why typo", "edge --until --why")
def invalidate_edge(space: Space, args: Namespace) -> None:
    """State that one relation or link is no longer true."""
    for edge in space.graph.invalidate_edge(args.edge, valid_until=args.until, why=args.why):
        print(edge)


@space_command("graph erase", "graph erase Alice lives_in Porto", "subject predicate object --yes")
def erase(space: Space, args: Namespace) -> int:
    """Delete a stated relation permanently, from the past too."""
    relations = space.graph.when(args.subject, args.predicate, args.object)
    if not relations:
        raise NotFound(f"no relation is stated as {args.subject!r} {args.predicate!r} {args.object!r}.")

    def erase_all() -> str:
        certificates = []
        for relation in relations:
            with suppress(NotFound):  # it went with another one that states the same
                certificates.append(str(space.graph.erase(relation)))
        return "\n".join(certificates)

    return ask_and_erase(args, lambda: "; ".join(map(str, relations)), erase_all)


def _print_entity(entity: Entity) -> None:
    print(f"{entity.id}\t{entity.kind}\t{', '.join(entity.names)}")
