"""The engine of an opened ledger, and what it works with.

engine.py            one opened ledger: its embedder, its locks, and an index for each space in use
open_indexes.py      which indexes are in memory; those least recently used are closed
parameters.py        methods whose parameters are declared as the fields of a dataclass
docstrings.py        what docstrings say of parameters and fields
embedding.py         vectors of texts, also in a thread; the embedder that the ledger records
rebuilding.py        an index built again, compared with a new one, or with another embedder
erasure_cleanup.py   removes erased text that could not be removed during the call
identity.py          ids and digests
policy.py            what a space does with what it is told: `remanence.open(policy=...)`; how far a memory is trusted
signing.py           signatures of ledger entries
inputs.py            checks of arguments
in_thread.py         async variants of methods
periodic_thread.py   a thread that calls a function at intervals
"""
