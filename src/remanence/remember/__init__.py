"""The write path, from input to ledger entries. Each step of `add` is one module, in this order.

add_options.py          the options of `add` and the fields of a turn, by which the input of callers is checked
prepare.py              versions with names, claims and times, and without secrets
append.py               embeds the versions and writes them, in transactions, with the claims that an event of them ends
                        and what each chat turn tells by its vector; under the write lock it uses
resolve_identity.py       whether each version is a new memory, a revision or a repetition; and mentions that depend on
                          other memories: registered names, people with the same name

`add_many` and `add_turns` take the same steps:

bulk.py                 many texts or turns at once; a child process extracts from the next texts of a large bulk

`remember` adds the text, and with a language model also the facts in it:

remember.py             the facts of a text or a conversation as memories, and the stored facts that it may end, replace
                        or confirm
alias_detection.py      names that belong to one person or thing
jobs.py                 `remember` in the background
unread_turns.py         which turns of a chat no model has read, and when a job reads them

Others:

revise.py               corrections, ends and tags as new versions, and the version before again
forget.py               forget, unforget, erase, quarantine; which memories have expired
message_analysis.py     whether a message is worth storing, and whether it needs a recall
"""
