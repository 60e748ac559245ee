"""The index of a space, the engine that holds all indexes, locks and input checks."""
