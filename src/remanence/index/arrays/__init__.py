"""Arrays that grow, and their form in the index file."""
