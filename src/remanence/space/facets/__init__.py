"""`space.graph`, `space.entities`, `space.jobs`, `space.audit`, `space.admin`, `space.upkeep`."""
