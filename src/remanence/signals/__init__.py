"""The four built-in signals: indexes of a space that rank memories for a question. They do not import each other.

words.py                 memories that share words with the question: bm25.py ranks, postings.py has the words
vectors.py               memories near the question in meaning
    point_table.py         which points a space has, one for each passage
    store_sync.py          makes a vector store have these points; shared_store_sync.py one that others write to
    stores/                vector stores: in memory, in a folder, on a Qdrant server
entity_graph.py          memories connected to what the question is about
    mention_index.py       which memories have which names
    graph_spread.py        a walk of a few hops
    name_vectors.py        the names nearest to a vector
times.py                 memories from the time that the question names
"""

SIGNALS = ("vectors", "words", "graph", "times")
"""The names of the built-in signals."""
