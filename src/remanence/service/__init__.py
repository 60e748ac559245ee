"""Operations on a space with typed requests and answers, for the command line, the REST server and the MCP server.

requests.py             what the operations take
nouns.py                memories, entities, relations and links as answers, and back
answers.py              what the operations on memories, entities and the graph return
upkeep_answers.py       what the operations of upkeep and administration return
operation.py            how an operation is declared: a function with its address on the REST server
memory_operations.py, entity_operations.py, graph_operations.py, upkeep_operations.py, admin_operations.py
decisions.py            what people decided, read from the ledger, and undoing it
decision_previews.py    what a decision would change, in sentences
decision_operations.py, map_operations.py
files.py                files that become memories
plans.py                plans of upkeep between preview and apply
cursors.py              where the next page of a list begins
spaces.py               the spaces of a folder by their full names, and these names in a URL
operations.py           all operations
"""
