"""The indexes of spaces, and the engine of an opened ledger. `read` and `write` build on it; it imports neither.

engine.py            one opened ledger: its embedder, its locks, and an index for each space in use
open_indexes.py      which indexes are in memory; those least recently used are closed
contents.py          the state and the signals of one space: what happens when an entry is applied
projection.py        loads them from the index file, brings them up to date from the ledger, saves and rebuilds them
index.py             the projection with what readers and writers look up in it
index_file.py        the file that an index is loaded from
memory_cache.py      memories that were read or recalled lately
row_filter.py        filters on rows: kind, tags, source, speaker and others
erased_rows.py       reads are run again if another process erases what they found
embedding.py         vectors of texts, and the embedder that the ledger records
rebuilding.py        an index built again, compared with a new one, or with another embedder
erasure_cleanup.py   removes erased text that could not be removed during the call
identity.py          ids and digests
trust.py             how far a memory is trusted
signing.py           signatures of ledger entries
inputs.py            checks of arguments
in_thread.py         async variants of methods
periodic_thread.py   a thread that calls a function at intervals
"""
