"""Programs that are not run: `mypy` checks what types calls have, and which calls it refuses."""
