"""A ledger in a folder, in SQLite."""
