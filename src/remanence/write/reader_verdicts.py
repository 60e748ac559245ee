"""Which older facts a new one replaces or ends in other words, by a reader and the rules together.

The rules choose what to ask (`replacement_candidates.may_replace`), the reader answers. It makes mistakes, so its
probability has to be high. It is called outside of locks, with a limited number of older facts.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from remanence.language.fact_extraction.replacement_candidates import is_likely, may_replace
from remanence.ports import RelationReader
from remanence.schema import SELF, Memory, Verdict

if TYPE_CHECKING:
    from remanence.ports import Reader, Relation

log = logging.getLogger(__name__)

MAX_READ = 6
"""How many older facts a new one is compared with; a comparison takes some milliseconds."""
MIN_REPLACED, MIN_REPLACED_UNLIKE = 0.6, 0.7
"""The least probability that the new fact replaces or ends the older one: if its text names a change or they share a
topic word, and otherwise."""


def read_verdicts(
    reader: Reader | None,
    new: Sequence[Memory],
    old: Sequence[Sequence[Memory]],
    source_turns: Mapping[str, str],
    decided: Sequence[Verdict],
) -> list[Verdict]:
    """The verdicts of the reader on pairs for which there is none yet.

    An older fact is compared with the new fact and with the turn that the new one was extracted from (`source_turns`,
    by the id of the fact); the mean of both probabilities decides. The turn of the older fact is not used: it may state
    more than that fact.
    """
    if reader is None or not isinstance(reader, RelationReader):
        return []
    judged = {(verdict.new_index, verdict.old_id) for verdict in decided}
    pairs = [
        (number, memory, other)
        for number, memory in enumerate(new)
        for other in [one for one in old[number] if may_replace(memory, one)][:MAX_READ]
        if (number, other.id) not in judged and other.id != memory.id
    ]
    if not pairs:
        return []
    with_fact = [(other.text, memory.text) for _, memory, other in pairs]
    with_turn = [(other.text, _turn_text(memory, source_turns)) for _, memory, other in pairs]
    try:
        odds = [_replaced(each) for each in reader.compare([*with_fact, *with_turn])]
    except Exception as error:  # noqa: BLE001  -- foreign code, which may raise anything
        log.warning("remember continues without the reader: %s", error)
        return []
    return [
        Verdict(number, other.id, "updates", f"the reader says that it replaces it ({mean:.2f})")
        for (number, memory, other), one, two in zip(pairs, odds, odds[len(pairs) :], strict=False)
        if (mean := (one + two) / 2) >= (MIN_REPLACED if is_likely(memory, other) else MIN_REPLACED_UNLIKE)
    ]


def _replaced(odds: Mapping[Relation, float]) -> float:
    return odds.get("replaces", 0.0) + odds.get("ends", 0.0)


def _turn_text(memory: Memory, source_turns: Mapping[str, str]) -> str:
    speaker = "user" if memory.observed_by in (None, SELF) else memory.observed_by
    return f"{speaker}: {source_turns.get(memory.id, memory.text)}"
