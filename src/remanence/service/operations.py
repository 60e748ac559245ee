"""Importing this module registers all operations in `OPERATIONS`, by name."""

from __future__ import annotations

from remanence.service.endpoints import (  # noqa: F401
    admin_operations,
    decision_operations,
    edit_operations,
    entity_operations,
    graph_operations,
    map_operations,
    memory_operations,
    playground_operations,
    procedure_operations,
    proposal_operations,
    upkeep_operations,
)
from remanence.service.operation import OPERATION_OF as OPERATION_OF
from remanence.service.operation import OPERATIONS as OPERATIONS
from remanence.service.operation import Operation as Operation
