"""The graph signal.

entity_graph.py    ranks
mention_index.py   which memories have which names, and the vectors of these names
graph_spread.py    a walk of a few hops
"""
