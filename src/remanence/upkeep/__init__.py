"""Upkeep: what fades, what is let go, what becomes one, what is kept for long. `space.upkeep` is its face.

settings.py       every number it goes by
decay.py          strength and decay: pure arithmetic
standing.py       the memories that stand now, with their scores
reinforcing.py    recording that a memory was of use
fading.py         what is at risk
forgetting.py     letting go of it, and whether that was regretted
clusters.py       memories that say nearly the same; nearness.py finds them by cells.py,
                  differing.py keeps them apart
consolidation.py  several memories as one: merging.py makes it, wording.py with no sentence lost
promotion.py      what is kept for long; vault.py and notes.py as Markdown notes
indexing.py       a vault that a person has edited; searching.py a question asked of both
discovery.py      memories about the same entities; drawn.py what is tied already
runs.py           one run at a time, and its undoing; pipeline.py several steps as one run
schedule.py       at intervals

Every step only appends, is a plan before it is done, and can be undone.
"""

from remanence.upkeep.settings import UpkeepSettings

__all__ = ["UpkeepSettings"]
