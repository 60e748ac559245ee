"""Results of recall for notebooks and data frames: rows of tables for `to_df()`, and tables with bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from remanence.schema import Hit, HitUsage, Memory, Relation
from remanence.schema.display import HtmlTable, data_frame, html_bar, html_table
from remanence.text.text import truncate

if TYPE_CHECKING:
    import pandas

    from remanence.recall.answer import Recall

MEMORY_COLUMNS = (
    *("text", "kind", "valid_from", "valid_until", "told_at", "recorded_at", "expires_at"),
    *("importance", "confidence", "strength", "tags", "entities", "speaker", "conversation"),
    *("source", "observed_by", "key", "meta", "id"),
)
USAGE_COLUMNS = ("decay_score", "uses", "last_used", "age_days")
TIMES = frozenset(("valid_from", "valid_until", "told_at", "recorded_at", "expires_at", "last_used", "at"))
_SHOWN_MEMORIES = 50
_HIT_COLUMNS = ("rank", "score", "text", "current", "superseded_by", "reason")
_RELATION_COLUMNS = (
    *("subject", "predicate", "object", "valid_from", "valid_until", "recorded_at"),
    *("confidence", "observed_by", "evidence", "replaced_by", "id"),
)


class Memories(Iterator[Memory]):
    """Memories, read a few hundred at a time while they are iterated over. `to_df()` reads the
    remaining ones."""

    def __init__(self, items: Iterator[Memory]) -> None:
        self._items = items

    def __next__(self) -> Memory:
        return next(self._items)

    def to_df(self) -> pandas.DataFrame:
        """The memories that were not read yet as a data frame, a row for each. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return data_frame(map(memory_record, self), MEMORY_COLUMNS, TIMES)

    def __repr__(self) -> str:
        return "<Memories: iterate over them, or call list(...) or to_df()>"

    def _repr_html_(self) -> str:
        # The memories are shown and can still be iterated over.
        shown = list(islice(self._items, _SHOWN_MEMORIES + 1))
        self._items = chain(shown, self._items)
        rows = [(memory.text, memory.kind, memory.valid, memory.source) for memory in shown[:_SHOWN_MEMORIES]]
        notes = [f"the first {_SHOWN_MEMORIES}; to_df() has all"] if len(shown) > _SHOWN_MEMORIES else []
        return html_table("", ("text", "kind", "when", "source"), rows, notes)


class RelationList(list[Relation]):
    """A list of relations that a notebook shows as a table."""

    def to_df(self) -> pandas.DataFrame:
        """The relations as a data frame, a row for each. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return data_frame(map(_relation_record, self), _RELATION_COLUMNS, TIMES)

    def _repr_html_(self) -> str:
        rows = [(r.subject, r.predicate, r.object, r.valid, r.confidence, len(r.evidence)) for r in self]
        return html_table("", ("subject", "predicate", "object", "when", "confidence", "evidence"), rows)


def hits_to_df(hits: Sequence[Hit]) -> pandas.DataFrame:
    """Hits, best first, with a column for the share of each signal, and the columns of their memories."""
    signals = list(dict.fromkeys(evidence.signal for hit in hits for evidence in hit.evidence))
    columns = dict.fromkeys((*_HIT_COLUMNS, *signals, *USAGE_COLUMNS, *MEMORY_COLUMNS))
    return data_frame(_hit_records(hits), tuple(columns), TIMES)


def memory_record(memory: Memory) -> dict[str, Any]:
    """The fields of a memory by column."""
    same = ("text", "kind", "told_at", "recorded_at", "expires_at", "importance", "confidence", "strength", "tags")
    turn = memory.turn
    return {
        **{name: getattr(memory, name) for name in (*same, "source", "observed_by", "key", "id")},
        "valid_from": memory.valid.start,
        "valid_until": memory.valid.end,
        "entities": tuple(mention.name for mention in memory.mentions),
        "speaker": None if turn is None else turn.speaker,
        "conversation": None if turn is None else turn.conversation,
        "meta": dict(memory.meta),
    }


def usage_record(usage: HitUsage | None) -> dict[str, Any]:
    """The usage of a memory by column. Its strength includes the effect of its uses."""
    return {} if usage is None else {name: getattr(usage, name) for name in (*USAGE_COLUMNS, "strength")}


def _hit_records(hits: Iterable[Hit]) -> Iterator[dict[str, Any]]:
    for rank, hit in enumerate(hits, 1):
        shares = {evidence.signal: evidence.share for evidence in hit.evidence}
        yield {
            **shares,
            **memory_record(hit.memory),
            **usage_record(hit.usage),
            "rank": rank,
            "score": hit.score,
            "current": hit.current,
            "superseded_by": None if hit.superseded_by is None else hit.superseded_by.text,
            "reason": hit.reason,
        }


def _relation_record(relation: Relation) -> dict[str, Any]:
    fields = {name: getattr(relation, name) for name in _RELATION_COLUMNS if not name.startswith("valid_")}
    return {**fields, "valid_from": relation.valid.start, "valid_until": relation.valid.end}


def recall_table(recall: Recall) -> HtmlTable:
    """A row for each hit, with the share of its score that each signal gave as a bar."""
    title = f"What each signal adds: {truncate(recall.question, 80)}"
    signals = list(dict.fromkeys(evidence.signal for hit in recall.hits for evidence in hit.evidence if evidence.share))
    rows = []
    for hit in recall.hits:
        shares = {evidence.signal: evidence.share for evidence in hit.evidence}
        bars = [html_bar(shares[signal], f"{shares[signal]:.2f}") if shares.get(signal) else "" for signal in signals]
        text = f"{hit.space}: {hit.memory.text}" if hit.space else hit.memory.text
        rows.append((text, hit.score, *bars))
    notes = [] if rows else ["nothing found"]
    return HtmlTable(title, html_table(title, ("memory", "score", *signals), rows, notes))
