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

from remanence.testing.evaluation.datasets import (
    Conversation,
    CorpusItem,
    Dataset,
    EvalQuestion,
    find_datasets,
    read_dataset,
    read_jsonl,
)
from remanence.testing.evaluation.measures import mean_scores, report_as_markdown, score_ranking
from remanence.testing.evaluation.trials import RANKING_DEPTH, RemanenceSystem, System, SystemFactory, evaluate

__all__ = [
    "RANKING_DEPTH",
    "Conversation",
    "CorpusItem",
    "Dataset",
    "EvalQuestion",
    "RemanenceSystem",
    "System",
    "SystemFactory",
    "evaluate",
    "find_datasets",
    "mean_scores",
    "read_dataset",
    "read_jsonl",
    "report_as_markdown",
    "score_ranking",
]
