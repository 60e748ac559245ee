"""How much a message needs memory, and so how much of the budget for recalled memories it gets.

That is judged by the words and the vector of the message, by how much nearer the nearest memory is than the others, and
by whether the space knows a name in it: "What is Ewan allergic to?" is about memory where there is an Ewan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from remanence.models.message_words import need_of_memory
from remanence.recall.log_odds import log_odds
from remanence.recall.question import CONTEXT_TURNS, is_follow_up
from remanence.schema import ASSISTANT, SELF
from remanence.text.named_entities.name_rules import find_question_names
from remanence.text.repetition import drop_repeated
from remanence.text.text import normalize_name

if TYPE_CHECKING:
    from remanence.recall.answer import Recall

_MIN_NEED, _FULL_NEED = 0.2, 0.5
"""The probability that a message needs memory below which it gets no block, and from which on it gets a full one. Of
strangers' messages that need memory 95% get a full block, and of the others 90% none."""
_WORDS, _NEARER, _NAMES, _BIAS = 0.76, 17.22, 6.5, -3.52
"""The weights of the log odds that a message needs memory, fitted by training/prompt_need.py."""
_MARGIN = 1e-3
"""The probability that is added to a probability before the log of its odds is taken. The weights were fitted with
it."""


class Need(NamedTuple):
    """What says that a message needs memory."""

    by_words: float
    """The log odds by its words and its vector, and by the turns before it if it refers to them."""
    nearer: float
    """How much nearer the nearest memory is than the others: 0 as near, 1 the same text."""
    names: float
    """1 if the memories that were found have a name that is in the message."""


def need_of(message: str, turns: Sequence[Mapping[str, str]], recall: Recall) -> Need:
    """What says that a message needs memory, given what a recall found for it."""
    names = [name for name in find_question_names(message) if name != SELF]
    need = need_of_memory(message)
    if turns and is_follow_up(message, names):
        told = [turn["content"] for turn in turns[-CONTEXT_TURNS:] if turn.get("role", "user") != ASSISTANT]
        need = max(need, need_of_memory(" ".join([*told, message])))
    hits = recall.hits[:30]
    evidence = (own for hit in drop_repeated(hits) for own in hit.evidence)
    near = sorted((own.raw_score for own in evidence if own.signal == "vectors"), reverse=True)
    nearest, others = sum(near[:1]), near[1:]
    mean = sum(others) / max(len(others), 1)  # of the others, as the only memory would be no nearer than itself
    nearer = (nearest - mean) / max(1.0 - mean, 1e-6)
    mentioned = {normalize_name(mention.name) for hit in hits for mention in hit.memory.mentions}
    mentioned |= {normalize_name(turn.speaker) for hit in hits if (turn := hit.memory.turn) and turn.speaker}
    known = mentioned | {part for name in mentioned for part in name.split()}
    return Need(log_odds(need, _MARGIN), nearer, float(not known.isdisjoint(map(normalize_name, names))))


def share_of_budget(message: str, turns: Sequence[Mapping[str, str]], recall: Recall) -> float:
    """The share of the budget that a message gets: all of it if it needs memory, nothing if it needs none."""
    need = need_of(message, turns, recall)
    odds = _WORDS * need.by_words + _NEARER * need.nearer + _NAMES * need.names + _BIAS
    probability = 1 / (1 + math.exp(-odds))
    return min(1.0, probability / _FULL_NEED) if probability >= _MIN_NEED else 0.0


def answers_question(turns: Sequence[Mapping[str, str]]) -> bool:
    """Whether a message after these turns answers a question of the assistant, as "Yes" does."""
    return bool(turns) and turns[-1].get("role") == ASSISTANT and turns[-1]["content"].rstrip().endswith("?")
