"""Growing arrays and adjacency lists, which the state of a space consists of."""
