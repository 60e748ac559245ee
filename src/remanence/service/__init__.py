"""Operations on a space with typed requests and answers, for the command line, the REST server and the MCP server.

requests.py             what the operations on memories, upkeep and files take
graph_requests.py       what the operations on entities and the graph take
base_answers.py         memories, entities, relations and links as answers, and back
answers.py              what the operations on memories return
graph_answers.py        what the operations on entities and the graph return
upkeep_answers.py       what the operations of upkeep and administration return
operation.py            how an operation is declared: a function with its address on the REST server
admin_operations.py, decision_operations.py, entity_operations.py, graph_operations.py, map_operations.py,
memory_operations.py, upkeep_operations.py
operations.py           all operations
decisions.py            decisions of people, read from the ledger, and undoing them
decision_previews.py    what a decision would change, in sentences
files.py                files that become memories
cursors.py              where the next page of a list begins
spaces.py               the spaces of a folder by their full names, and these names in a URL
exceptions.py           exceptions as HTTP answers, and back
tokens.py               access tokens
server_database.py      the database of the server, with the tokens
network.py              addresses on which a server listens
client/                 a space on a server, with the methods of a local one
"""
