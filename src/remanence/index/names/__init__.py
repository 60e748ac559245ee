"""Names, and the entities that they stand for."""
