"""The four built-in signals: indexes of a space that rank memories for a question. They do not import each other."""

SIGNALS = ("vectors", "words", "graph", "times")
"""The names of the built-in signals."""
