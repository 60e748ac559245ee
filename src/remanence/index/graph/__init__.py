"""The graph signal.

entity_graph.py    ranks
mention_index.py   which memories have which names
graph_spread.py    a walk of a few hops
name_vectors.py    the names nearest to a vector
"""
