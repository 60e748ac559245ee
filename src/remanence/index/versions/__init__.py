"""The versions of memories, and the masks that select them."""
