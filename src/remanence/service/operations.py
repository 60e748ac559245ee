"""All operations: importing this module registers them in `OPERATIONS`, by name."""

from __future__ import annotations

from remanence.service.endpoints import (
    admin_operations,
    decision_operations,
    entity_operations,
    files,
    graph_operations,
    map_operations,
    memory_operations,
    upkeep_operations,
)
from remanence.service.operation import OPERATIONS, Operation

__all__ = [
    "OPERATIONS",
    "Operation",
    "admin_operations",
    "decision_operations",
    "entity_operations",
    "files",
    "graph_operations",
    "map_operations",
    "memory_operations",
    "upkeep_operations",
]
