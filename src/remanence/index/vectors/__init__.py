"""The vectors signal.

vectors.py             ranks
store_sync.py          which points a space has, one for each passage, and makes a vector store have them
shared_store_sync.py   makes a store have them that others write to
stores/                vector stores: in memory, in a folder, on a Qdrant server
"""
