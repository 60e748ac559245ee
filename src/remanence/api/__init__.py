"""The objects that people hold: views and spaces, how they are opened, and their facets."""
