"""Upkeep: decay, forgetting, consolidation, promotion and linking. `space.upkeep` is its interface.

settings.py           the settings
plans.py              what several steps share: plans, checks of plans, tables
pipeline.py           several steps as one run, at intervals; runs.py lists runs and undoes them
recency_listing.py    the answer to a recall without a question
steps/                decay, garbage collection, clusters, consolidation, linking
vault_notes/          promotion to Markdown notes, and reading back what a person has edited there

Every step only appends, is planned before it is done, and can be undone.
"""

from remanence.upkeep.settings import UpkeepSettings

__all__ = ["UpkeepSettings"]
