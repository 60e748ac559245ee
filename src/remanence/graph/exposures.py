"""Who was told what has stepped back since."""

from __future__ import annotations

import numpy as np

from remanence.core.index import Index
from remanence.events import Served
from remanence.ports import Ledger
from remanence.read.receipts import Exposure, Receipt
from remanence.read.supersession import replaced_by, stands
from remanence.schema import Sight


def exposures(index: Index, ledger: Ledger, memory_id: str, sight: Sight) -> list[Exposure]:
    """The recorded recalls that gave out a memory which stood then and has stepped back since: it was
    revised or superseded, forgotten, or has expired. Under the lock of the index."""
    number = index.known(memory_id)
    lines = [line for line in index.journal.served.get(memory_id, ()) if line <= sight.position]
    out: list[Exposure] = []
    for _, entry in sorted(ledger.at(lines).items()):
        if not isinstance(entry.event, Served):
            continue
        receipt = Receipt.from_dict(entry.event.asked)
        row = index.catalog.row_at(number, receipt.position)
        if row is None or _stands(index, row, sight):
            continue
        if _stands(index, row, index.sight(receipt.position, receipt.now)):
            later = replaced_by(index, row, sight) if sight.memories[number] else None
            memory, *after = index.memories([row] if later is None else [row, later])
            out.append(Exposure(receipt, entry.at, memory, after[0] if after else None))
    return out


def _stands(index: Index, row: int, sight: Sight) -> bool:
    """Whether a row is neither hidden nor expired, and nothing has taken its place."""
    current = index.catalog.current(np.array([row]), sight.position, sight.now)[0]
    return bool(sight.rows[row] and current) and stands(index, row, sight)
