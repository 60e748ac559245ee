"""Who was told what has stepped back since."""

from __future__ import annotations

import numpy as np

from remanence.core.index import Index
from remanence.events import Served
from remanence.ports import Ledger
from remanence.read.receipts import Exposure, Receipt
from remanence.read.supersession import is_current_row, replacement_row
from remanence.schema import Snapshot


def exposures(index: Index, ledger: Ledger, memory_id: str, snapshot: Snapshot) -> list[Exposure]:
    """The recorded recalls that gave out a memory which stood then and has stepped back since: it was
    revised or superseded, forgotten, or has expired. Under the lock of the index."""
    number = index.require_unerased(memory_id)
    lines = [line for line in index.journal.recall_positions.get(memory_id, ()) if line <= snapshot.position]
    out: list[Exposure] = []
    for _, entry in sorted(ledger.entries_at(lines).items()):
        if not isinstance(entry.event, Served):
            continue
        receipt = Receipt.from_dict(entry.event.asked)
        row = index.catalog.row_at(number, receipt.position)
        if row is None or _stands(index, row, snapshot):
            continue
        if _stands(index, row, index.snapshot(receipt.position, receipt.now)):
            later = replacement_row(index, row, snapshot) if snapshot.memory_mask[number] else None
            memory, *after = index.memories([row] if later is None else [row, later])
            out.append(Exposure(receipt, entry.at, memory, after[0] if after else None))
    return out


def _stands(index: Index, row: int, sight: Snapshot) -> bool:
    """Whether a row is neither hidden nor expired, and nothing has taken its place."""
    current = index.catalog.current(np.array([row]), sight.position, sight.now)[0]
    return bool(sight.row_mask[row] and current) and is_current_row(index, row, sight)
