"""The write path, from input to ledger lines."""
