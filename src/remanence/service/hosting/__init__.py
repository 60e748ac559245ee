"""What a server needs besides operations: its tables, tokens, the spaces it serves."""
