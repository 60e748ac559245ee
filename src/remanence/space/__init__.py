"""The public classes: `Space`, `View`, their facets, and the functions that open them."""
