"""What the ledger entries of a space add up to: versions, names, entities, relations, links, jobs, usage.

arrays/      growing arrays and adjacency lists
versions/    the versions of memories, and the masks that select them
entities/    names, and the entities that they stand for
edges/       claims, relations and links, and when they are valid
numbers.py   the types of the numbers by which an index knows things
journal.py   extractions, jobs, upkeep runs, usage
"""
