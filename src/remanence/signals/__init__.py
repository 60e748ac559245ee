"""Four indexes built from the ledger. None of them knows another."""
