"""The claims of a sentence as triples: about people, about other things, and state changes."""
