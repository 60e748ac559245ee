"""The write path, from input to ledger entries.

validate.py             checks the input of callers
prepare.py              versions ready to be written, with names, claims and times
bulk.py                 many texts or turns at once
parallel_extraction.py  a child process that extracts from the next texts of a large bulk
mentions.py             mentions that depend on other memories: registered names, people with the same name
resolve_identity.py     decides whether each version is a new memory, a revision or a repetition
append.py               writes the versions, in transactions
fact_comparison.py      which older memories new facts update, extend or contradict
replaced_claims.py      claims about things that a later claim ends
alias_detection.py      names that belong to one person or thing
remember.py             the facts of a text or a conversation as memories
forget.py               forget, unforget, erase; which memories have expired
jobs.py                 `remember` in the background
message_analysis.py     whether a message is worth storing, and whether it needs a recall
"""
