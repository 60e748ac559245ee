"""The words signal: `words.py` ranks, `bm25.py` scores, and has the documents of each word."""
