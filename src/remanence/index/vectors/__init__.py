"""The vectors signal.

vectors.py             ranks
point_table.py         which points a space has, one for each passage
store_sync.py          makes a vector store have these points
shared_store_sync.py   makes a store have them that others write to
stores/                vector stores: in memory, in a folder, on a Qdrant server
"""
