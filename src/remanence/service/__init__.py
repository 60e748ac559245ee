"""Operations on a space with typed requests and answers, for the command line, the REST server and the MCP server.

operation.py     how an operation is declared: a function or a method of a space, with its address on the REST server
operations.py    all operations
requests.py      requests, made of parameters
json_forms.py    answers, made of the types of the nouns
noun_forms.py    the nouns that are written in another way than their fields
pages.py         pages of lists, and where the next one begins
exceptions.py    exceptions as HTTP answers, and back
error_wording.py messages of errors without calls of Python
endpoints/       the operations, decisions of people with their previews, and files that become memories
hosting/         the tables of a server, access tokens, the spaces that it serves
client/          a space on a server, with the methods of a local one
"""
