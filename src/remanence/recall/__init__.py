"""The read path, from a question to ranked hits. `recall.py` has its steps in order, with a module for each."""
