"""Where the ledger of a space speaks of a memory or an edge, beside the versions of memories.

The index knows the lines: a story reads those, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable

from remanence.core.index import Index


def positions_about_memory(index: Index, memory: int) -> list[int]:
    """The lines about a memory itself, oldest first: whether it is kept, who read it or was given it, and
    the links from it and to it."""
    lines = (
        *index.catalog.visibility_changes(memory),
        *index.journal.positions_of_memory(index.catalog.ids[memory]),
        *index.links.positions_of_memory(memory),
    )
    return sorted(set(lines))


def positions_about_edges_of(index: Index, memory: int) -> list[int]:
    """The lines about the links of a memory, and about the relations that rest on it, oldest first."""
    return positions_about_edges(index, (*index.links.edge_ids(memory), *index.relations.edge_ids(memory)))


def positions_about_edges(index: Index, edges: Iterable[str]) -> list[int]:
    """The lines that draw these edges, or say them outright, and that end them, oldest first."""
    parts = (index.links, index.relations)
    return sorted({line for edge in edges for part in parts for line in part.positions_of_edge(edge)})
