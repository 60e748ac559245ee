"""The steps of upkeep: decay, garbage collection, clusters, consolidation, linking."""
