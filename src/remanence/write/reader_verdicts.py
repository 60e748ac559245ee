"""Which older facts a new one replaces or ends in other words, by a reader and the rules together.

The rules choose what to ask (`replacement_candidates.may_replace`), the reader answers. It makes mistakes, so its
probability has to be high. It is called outside of locks, with a limited number of older facts.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.language.claim_extraction.predicate_rules import LASTING_PREDICATES
from remanence.language.fact_extraction.replacement_candidates import is_likely, may_replace, share_topic, share_word
from remanence.language.fact_extraction.statements import split_statements
from remanence.ports import RelationReader
from remanence.schema import SELF, Memory, Verdict

if TYPE_CHECKING:
    from remanence.ports import Reader, Relation

log = logging.getLogger(__name__)

MAX_READ = 6
"""How many older facts a new one is compared with; a comparison takes some milliseconds."""
MIN_REPLACED = 0.6
"""The least probability that a new fact replaces or ends an older one, if its text names a change or they share a topic
word."""
MIN_REPLACED_UNLIKE = 0.7
"""The same for other facts."""
MIN_REPLACED_BY_TURN = 0.8
"""The same for a turn without facts. Most turns change nothing, so this is higher."""
MIN_OTHER_CLAUSE = 0.9
"""The least probability that a new fact also replaces a second clause of an older fact, or a second one of the facts
that were told together. That is rare."""

_INTRODUCTION = re.compile(r"(?:The user|[A-Z][\w'’-]+) is [A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?\.")


def read_verdicts(
    reader: Reader | None,
    new: Sequence[Memory],
    old: Sequence[Sequence[Memory]],
    source_turns: Mapping[str, str],
    decided: Sequence[Verdict],
    whole_turns: Container[int] = (),
) -> list[Verdict]:
    """The verdicts of the reader on pairs for which there is none yet.

    An older fact is compared with the new fact and with the only turn that the new one was extracted from
    (`source_turns`, by the id of the fact); the mean of both probabilities decides. The turn of the older fact is not
    used: it may state more than that fact. `whole_turns` are the indexes in `new` of turns without facts: they are
    compared only with facts on the same topic.
    """
    if reader is None or not isinstance(reader, RelationReader):
        return []
    judged = {(verdict.new_index, verdict.old_id) for verdict in decided}
    pairs = [
        (number, memory, other)
        for number, memory in enumerate(new)
        for other in [one for one in old[number] if _needs_reader(memory, one, number in whole_turns)][:MAX_READ]
        if (number, other.id) not in judged and other.id != memory.id
    ]
    if not pairs:
        return []
    texts = [(at, text) for at, (_, _, other) in enumerate(pairs) for text in _parts(other.text)]
    best = dict.fromkeys(range(len(pairs)), 0.0)
    probabilities = _replacement_probabilities(reader, [(text, pairs[at][1]) for at, text in texts], source_turns)
    for (at, _), probability in zip(texts, probabilities, strict=False):
        best[at] = max(best[at], probability)
    likeliest = _likeliest_of_message(pairs, best)
    return [
        Verdict(number, other.id, "updates", f"the reader says that it replaces it ({best[at]:.2f})")
        for at, (number, memory, other) in enumerate(pairs)
        if best[at] >= (_min_replaced(memory, other, number in whole_turns) if at in likeliest else MIN_OTHER_CLAUSE)
    ]


def _likeliest_of_message(pairs: Sequence[tuple[int, Memory, Memory]], probabilities: Mapping[int, float]) -> set[int]:
    """The indexes of the likeliest pairs: for each new fact and each older message, the one pair of its facts that
    share a topic word with the new fact, if any do, with the highest probability."""
    best: dict[tuple[int, datetime, str | None], tuple[bool, float, int]] = {}
    for at, (number, memory, other) in enumerate(pairs):
        key = number, other.told_at, other.observed_by
        rank = share_word(memory.text, other.text), probabilities[at], at
        best[key] = max(best.get(key, rank), rank)
    return {at for _, _, at in best.values()}


def _parts(text: str) -> list[str]:
    """A text, and its clauses if it has several: a new fact may replace only one of them."""
    clauses = split_statements(text)
    return [text, *clauses] if len(clauses) > 1 else [text]


def unchanged_clauses(reader: Reader | None, new: Memory, old: Memory, source_turns: Mapping[str, str]) -> list[str]:
    """The clauses of `old` that `new` does not replace, by the reader.

    The clause that is replaced with the highest probability is not among them.
    """
    clauses = split_statements(old.text)
    if len(clauses) < 2 or reader is None or not isinstance(reader, RelationReader):
        return []
    probabilities = _replacement_probabilities(reader, [(clause, new) for clause in clauses], source_turns)
    min_replaced = min(MIN_OTHER_CLAUSE, max(probabilities, default=0.0))
    return [clause for clause, probability in zip(clauses, probabilities, strict=False) if probability < min_replaced]


def _replacement_probabilities(
    reader: RelationReader, pairs: Sequence[tuple[str, Memory]], source_turns: Mapping[str, str]
) -> list[float]:
    """For each older text and newer fact, the probability that the fact replaces the text: the mean of the
    probabilities for the fact and for its turn. An empty list if the reader fails."""
    with_fact = [(text, memory.text) for text, memory in pairs]
    with_turn = [(text, _turn_text(memory, source_turns)) for text, memory in pairs]
    try:
        comparisons = reader.compare([*with_fact, *with_turn])
        probabilities = [_replacement_probability(comparison) for comparison in comparisons]
    except Exception as error:  # noqa: BLE001  -- foreign code, which may raise anything
        log.warning("remember continues without the reader: %s", error)
        return []
    by_fact, by_turn = probabilities[: len(pairs)], probabilities[len(pairs) :]
    return [(one + two) / 2 for one, two in zip(by_fact, by_turn, strict=False)]


def _needs_reader(new: Memory, old: Memory, is_whole_turn: bool) -> bool:
    """Whether only a reader can tell if `new` replaces `old`. Claims of one subject with one predicate have been
    compared already: values of a predicate that has several ("likes jazz", "likes rock") are valid together. A
    claim such as where a person was born does not change, nor does a name."""
    claims = {(claim.subject, claim.predicate) for claim in new.triples}
    if any((claim.subject, claim.predicate) in claims for claim in old.triples):
        return False
    if old.triples and all(claim.predicate in LASTING_PREDICATES for claim in old.triples):
        return False
    if _INTRODUCTION.fullmatch(old.text):
        return False
    return may_replace(new, old) and (not is_whole_turn or share_topic(new.text, old.text))


def _min_replaced(new: Memory, old: Memory, is_whole_turn: bool) -> float:
    if is_whole_turn:
        return MIN_REPLACED_BY_TURN
    return MIN_REPLACED if is_likely(new, old) else MIN_REPLACED_UNLIKE


def _replacement_probability(odds: Mapping[Relation, float]) -> float:
    return odds.get("replaces", 0.0) + odds.get("ends", 0.0)


def _turn_text(memory: Memory, source_turns: Mapping[str, str]) -> str:
    speaker = "user" if memory.observed_by in (None, SELF) else memory.observed_by
    return f"{speaker}: {source_turns.get(memory.id, memory.text)}"
