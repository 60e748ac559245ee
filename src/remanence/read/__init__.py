"""The read path, from a question to ranked hits."""
