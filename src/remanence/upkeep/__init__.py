"""Upkeep: decay, forgetting, consolidation, promotion and linking. `space.upkeep` is its interface.

settings.py            the settings
decay.py               the scores of current memories, those at risk, and recording that a memory was of use
garbage_collection.py  hiding memories with low scores, and which recalls missed them
memory_clusters.py     similar memories, found by near_pairs.py
consolidation.py       merging them into one, whose text merged_text.py writes
discovery.py           linking memories about the same entities
promotion.py           promoting memories, as Markdown notes: vault.py, notes.py
vault_import.py        reading back a vault that a person has edited
pipeline.py            several steps as one run: runs.py; at intervals
step_tools.py          what several steps share: plans, checks of plans, tables

Every step only appends, is planned before it is done, and can be undone.
"""

from remanence.upkeep.settings import UpkeepSettings

__all__ = ["UpkeepSettings"]
