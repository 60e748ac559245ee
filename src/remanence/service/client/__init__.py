"""A client of the REST server with the methods of `Space`: `remanence.connect(url)`.

http_connection.py one HTTP call for each operation; errors are raised as the exceptions that the server raised
arguments.py       arguments of methods as JSON types
remote_space.py    `RemoteSpace` and `RemoteView`
remote_facets.py   entities, graph, jobs, audit and administration
remote_upkeep.py   upkeep
"""
