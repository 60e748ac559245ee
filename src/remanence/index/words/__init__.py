"""The words signal: `words.py` ranks, `bm25.py` scores, `postings.py` has the documents of each word."""
