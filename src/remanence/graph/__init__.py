"""The temporal knowledge graph: reading it, writing relations and links, entities, histories, pictures.

graph_at_time.py      the graph as known at one position, at one moment; the entities of a view
traversal.py          neighbours, paths, and relations that hold at the same time
history.py            what happened to a memory or an entity
diff.py               what changed between two moments
assertions.py         writes: relations and links and their ends, predicates, changes to entities
entity_map.py         all entities of a view as a map
activity.py           memories by week and kind, and what is mentioned more and more
layout.py             what layouts of igraph need besides
pictures.py           pictures of a part of the graph, and exports to other libraries
"""
