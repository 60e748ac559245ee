"""A client of the REST server with the methods of `Space`: `remanence.connect(url)`.

connection.py      one HTTP call for each operation; errors come back as the exceptions that the server met
arguments.py       arguments of methods as JSON types
remote_space.py    `RemoteSpace` and `RemoteView`
remote_facets.py   entities, jobs, audit and administration
remote_graph.py    the graph
remote_upkeep.py   upkeep
"""
