"""What the ledger entries of a space add up to, and the engine that keeps it for each space in use.

An entry goes through the parts in this order (`contents.py`), each with `apply` (take the next entries), `save` and
`load` (arrays for the index file). Only vectors have `erase`; the others are built again without what was erased.

versions/            the memories and their versions, which of them a view may see, what they are filtered by
names/               names, and the entities that they stand for
claims/              claims, the relations that they add up to, and when they are valid
links.py             links between memories
journal.py           extractions, jobs, upkeep runs, usage
passages.py          the texts of a version that are searched
words.py             the signal of memories that share words with the question
vectors/             the signal of memories near it in meaning, and the vector stores
times.py             the signal of memories from the time that it names
graph/               the signal of memories connected to what it is about

These are made of:

batch.py             what a part is given to apply: versions of memories, or one other entry
numbers.py           the types of the numbers by which an index knows things
arrays/              growing arrays, and parts that are saved as arrays
passages.py          the passages of texts, as they are embedded

And these keep them:

contents.py          all parts at one ledger position: what happens when an entry is applied
projection.py        loads them from the index file, brings them up to date from the ledger, saves and rebuilds them
index.py             the projection with what readers and writers look up in it
position_cache.py    what takes long to compute from an index, until it changes
index_file.py        the file that an index is loaded from
memory_cache.py      memories that were read lately; a read is run again if another process erases what it found
engine/              one opened ledger with its indexes: locks, embedding, erasure, checks of arguments
"""

SIGNALS = ("vectors", "words", "graph", "times")
