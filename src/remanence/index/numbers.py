"""The whole numbers by which an index knows things. A type checker tells one from another."""

from __future__ import annotations

from typing import NewType

from remanence.schema.entries import Position

__all__ = ["MemoryNumber", "Position", "Row"]

Row = NewType("Row", int)
"""A version of a memory, in the order in which versions were recorded."""
MemoryNumber = NewType("MemoryNumber", int)
"""A memory, in the order in which memories were first recorded."""
