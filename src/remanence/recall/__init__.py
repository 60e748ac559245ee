"""The read path, from a question to ranked hits.

recall.py            all steps of a recall in order, with a module for each
options.py           the options of a recall, and of lists of memories: the only list of them
filters.py           filters on rows. A new filter is a field of `options.py`, and here its check and its mask
receipts.py          the checked request of a recall, and its receipt

question.py          step: times, names and words about the past in the question; `referents.py`, whom it is about
fusion.py            steps: the rows that may be returned, the ranking of each signal, and one of all
validity/            steps: which memories hold at the time asked about. All that decides this is there
hits.py              step: memories with their evidence
reading.py           step: a reader reads the first hits; `reader_lines.py`, the lines that it is given
answer.py            step: the `Recall` that is returned; `show.py`, how it is shown
context.py           what the steps share

told_memories.py     which memories a profile may state; `told.py`, one of them with what is judged of it
profile.py           the profile of a space
topics/              the questions that a profile answers, by topic
memories_used.py     which of the given memories an answer contains
procedures.py        which steps of a task worked
union.py             several spaces asked at once
log_odds.py          the log of odds
evaluation.py        measures of how well questions are answered, and a table of several settings
"""
