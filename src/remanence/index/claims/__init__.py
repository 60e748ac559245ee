"""Claims, relations and links, and when they are valid."""
