"""The graph signal.

entity_graph.py    ranks, by a walk of a few hops
mention_index.py   which memories have which names, and the vectors of these names
"""
