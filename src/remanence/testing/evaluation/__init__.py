"""How often recall finds what answers a question, on data that says what does.

A set is two files of JSON lines, plain or gzipped: `<name>.corpus.jsonl` and `<name>.questions.jsonl`.

corpus      id, text; and where there are: conversation, session, speaker, time
questions   question, evidence (ids of corpus lines that answer it); and where there are: id, conversation,
            category, question_time, evidence_sessions, answerable

A question may be answered from the lines of its own conversation and from no other, so each conversation
is a world of its own. Each system is given a world and then asked; what it gives back, best first, is
held against the evidence. Figures are means over questions with a 95% bootstrap interval; the same data
give the same figures, seconds apart.
"""

from remanence.testing.evaluation.datasets import Asked, Dataset, Line, World, find, read, rows
from remanence.testing.evaluation.measures import markdown, means, measures
from remanence.testing.evaluation.trials import DEPTH, Build, Remembering, System, evaluate

__all__ = [
    "DEPTH",
    "Asked",
    "Build",
    "Dataset",
    "Line",
    "Remembering",
    "System",
    "World",
    "evaluate",
    "find",
    "markdown",
    "means",
    "measures",
    "read",
    "rows",
]
