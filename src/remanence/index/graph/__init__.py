"""The graph signal.

entity_graph.py    ranks
graph_walk.py      the walk of a few hops, over a graph of igraph
mention_index.py   which memories have which names, and the vectors of these names
"""
