"""Measures how often recall finds the memories that answer a question, on data that names them.

A dataset is two files of JSON lines, plain or gzipped: `<name>.corpus.jsonl` and `<name>.questions.jsonl`.

corpus      id, text; optional: conversation, session, speaker, time
questions   question, evidence (ids of the corpus items that answer it); optional: id, conversation, category,
            question_time, evidence_sessions, answerable

A question is answered from the items of its own conversation only, so each conversation gets a space of its own.
Each system is given a conversation and asked its questions; the ranking it returns is compared with the evidence.
Figures are means over questions with a 95% bootstrap interval. The same data give the same figures, except for
the times.
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
