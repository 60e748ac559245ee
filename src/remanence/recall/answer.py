"""Last step of the read path: the `Recall` that is returned, a sequence of hits that can be explained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, overload

from remanence.errors import InvalidInput
from remanence.recall.receipts import Receipt
from remanence.recall.show import hits_to_df, recall_table
from remanence.schema import Evidence, Hit, HitUsage, Memory, SignalScale, Window, format_moment
from remanence.schema.display import HtmlTable, html_table
from remanence.text.framing import estimate_tokens, plain_line
from remanence.text.hidden_characters import escape_terminal
from remanence.text.text import truncate

if TYPE_CHECKING:
    import pandas
    from rich.table import Table


_ARCHIVE = "archive"
_ID_WIDTH = 24
"""Characters of the id of a memory: one that is broken into two lines cannot be copied."""
_MIN_CONFIDENCE = 0.3
"""The least probability by the reader for a confident recall. Fitted on development halves: in generated worlds, 95% of
the questions with an answer and 25% of the questions without one reach it; in chats, 90% of the questions with an
answer."""
_MIN_RELEVANCE = 0.05
"""The least probability by the reader for a relevant hit. Chosen by hand."""


@dataclass(frozen=True)
class Recall(Sequence[Hit]):
    """The hits of one recall, best first. `str()` gives lines for a prompt; `explain()` gives the reasons.

    Attributes:
        question: The question.
        hits: The hits, best first.
        abstained: The signals that found nothing to rank, each with the reason.
        missing: The signals that could not be used, each with the reason.
        times: The times that the question names.
        history: Whether past versions are included.
        position: The last ledger position that was read.
        confidence: The probability that a hit answers the question, by the reader; None without a reader.
        as_of: The moment of a view of the past; None for the present.
        receipt: Enough to return this list again later: see `space.audit.replay`. None for a union.
        scales: For each signal that searched, which of its raw scores count as nothing and in full, and its weight. A
            union brings the scores of its spaces to one scale by them.
        pinned: How many of the first hits come first because they held at the time asked about, by their claims.
    """

    question: str
    hits: tuple[Hit, ...] = ()
    abstained: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    times: tuple[Window, ...] = ()
    history: bool = False
    position: int = 0
    confidence: float | None = None
    as_of: datetime | None = None
    receipt: Receipt | None = None
    scales: dict[str, SignalScale] = field(default_factory=dict)
    pinned: int = 0

    @property
    def confident(self) -> bool:
        """Whether a hit probably answers the question. Without a reader: whether there is any hit."""
        return bool(self.hits) if self.confidence is None else self.confidence >= _MIN_CONFIDENCE

    @property
    def relevant(self) -> Recall:
        """Only the hits that may answer the question; none if the recall is not confident.

        Example:
            >>> import remanence
            >>> def reads(question, texts):
            ...     return [0.9 if "allergic" in question and "allergic" in text else 0.01 for text in texts]
            >>> with remanence.open(None, reader=reads) as space:
            ...     _ = space.add_many(["I am allergic to peanuts.", "My dog is called Bo."])
            ...     asked, mashed = space.recall("What am I allergic to?"), space.recall("asdf qwer")
            ...     [hit.memory.text for hit in asked.relevant], mashed.confident, len(mashed.relevant)
            (['I am allergic to peanuts.'], False, 0)
        """
        if self.confidence is None:
            return self
        answering = (hit for hit in self.hits if (hit.answer_probability or 0.0) >= _MIN_RELEVANCE)
        return replace(self, hits=tuple(answering) if self.confident else ())

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Recall: ...
    def __getitem__(self, index: int | slice) -> Hit | Recall:
        return replace(self, hits=self.hits[index]) if isinstance(index, slice) else self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __str__(self) -> str:
        return "\n".join(prompt_line(hit) for hit in self.hits)

    def __repr__(self) -> str:
        first = f", first {truncate(self.hits[0].memory.text, 60)!r}" if self.hits else ""
        return f"<Recall of {truncate(self.question, 60)!r}: {len(self.hits)} hits{first}>"

    def fit(self, max_tokens: int, count_tokens: Callable[[str], int] | None = None) -> Recall:
        """The first hits whose lines fit into a token budget.

        Args:
            count_tokens: Counts the tokens of a text. Default: four characters count as one token.

        Raises:
            InvalidInput: `max_tokens` is not a whole number from 0 on.
        """
        if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 0:
            raise InvalidInput(f"max_tokens={max_tokens!r} is not a whole number from 0 on.")
        count, remaining_tokens = count_tokens or estimate_tokens, max_tokens
        fitting: list[Hit] = []
        for hit in self.hits:
            remaining_tokens -= count(prompt_line(hit) + "\n")
            if remaining_tokens < 0:
                break
            fitting.append(hit)
        return replace(self, hits=tuple(fitting))

    def explain(self) -> str:
        """The hits with their reasons, and the signals that abstained or are missing, as text. Controls that a terminal
        may obey are shown as escapes.
        """
        lines = [f"{self.question!r}{self._setting()}"]
        for number, hit in enumerate(self.hits, 1):
            lines.append(f"{number:>2}. {hit.score:.2f}  {truncate(str(hit), 200)}{hit_label(hit)}")
            lines += [f"      {reason}" for reason in _reasons(hit)]
        if not self.hits:
            lines.append("    nothing found")
        return escape_terminal("\n".join([*lines, *(f"    {note}" for note in self._notes("MISSING"))]))

    def to_dicts(self) -> list[dict[str, Any]]:
        """The hits as dicts of JSON types.

        Returns:
            One dict for each hit, best first: score, usage, current, superseded_by, found_in, by, context, space (in a
            union), memory and evidence.
        """
        return [
            {
                "score": round(hit.score, 6),
                "usage": None if hit.usage is None else usage_dict(hit.usage),
                "current": hit.current,
                "superseded_by": hit.superseded_by.text if hit.superseded_by else None,
                "found_in": list(hit.found_in),
                "by": hit.by,
                "context": hit.context,
                "space": hit.space,
                "memory": memory_dict(hit.memory),
                "evidence": [
                    {
                        "signal": e.signal,
                        "rank": e.rank,
                        "share": round(e.share, 6),
                        "raw_score": e.raw_score,
                        "reason": e.reason,
                    }
                    for e in hit.evidence
                ],
            }
            for hit in self.hits
        ]

    def to_df(self) -> pandas.DataFrame:
        """The hits as a data frame: scores, the share of each signal, and the fields of the memories. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return hits_to_df(self.hits)

    def show(self) -> HtmlTable:
        """A table for a notebook: what each signal adds to the score of each hit, as bars."""
        return recall_table(self)

    def __rich__(self) -> Table:
        return self.table()

    def table(self, *, ids: bool = False, reasons: bool = True) -> Table:
        """The hits as a table of rich, for a terminal.

        Args:
            ids: Whether the id of each memory stands below its text.
            reasons: Whether a column says why each was found.
        """
        from rich.markup import escape
        from rich.table import Table

        title = escape(escape_terminal(f"{self.question}{self._setting()}"))
        table = Table(title=title, title_justify="left", show_lines=reasons)
        columns = [("score", "bold"), ("memory", ""), ("when", "cyan"), ("reason", "dim")][: None if reasons else -1]
        for header, style in columns:
            table.add_column(header, style=style, min_width=_ID_WIDTH if ids and header == "memory" else None)
        for hit in self.hits:
            cells = [escape(escape_terminal(cell)) for cell in _table_row(hit)[: len(columns)]]
            cells[1] += f"\n[dim]{escape(hit.memory.id)}[/dim]" if ids else ""
            table.add_row(*cells)
        table.caption = escape(escape_terminal("; ".join(self._notes()))) or None
        table.caption_justify = "left"
        return table

    def _repr_html_(self) -> str:
        columns = ("score", "memory", "when", "reason")
        return html_table(self.question + self._setting(), columns, map(_table_row, self.hits), self._notes())

    def _setting(self) -> str:
        parts = [f"time: {window}" for window in self.times]
        parts += [f"as of {format_moment(self.as_of)}"] if self.as_of else []
        parts += ["past versions included"] if self.history else []
        return f"  ({', '.join(parts)})" if parts else ""

    def _notes(self, missing: str = "missing") -> list[str]:
        abstained = [f"{signal} abstained: {reason}" for signal, reason in self.abstained.items()]
        return abstained + [f"{signal} is {missing}: {reason}" for signal, reason in self.missing.items()]


def prompt_line(hit: Hit) -> str:
    """One hit as one line of a prompt: time, speaker, text, and whether the ledger says that it is over. Nothing in it
    can be read as markup of the prompt."""
    memory = hit.memory
    when = f"[{memory.valid}] " if memory.valid.has_bound else ""
    label = plain_line(hit_label(replace(hit, current=True) if hit.marked_by_reader else hit))
    return f"- {when}{plain_line(str(hit))}{label and f'  {label}'}"


def mark_archived(hit: Hit) -> Hit:
    """A hit for an archived memory, labelled as such."""
    note = Evidence(_ARCHIVE, 1, 0.0, 0.0, "archived; `unforget` brings it back")
    return replace(hit, evidence=(*hit.evidence, note), current=False)


def memory_dict(memory: Memory) -> dict[str, Any]:
    """A memory as a dict of JSON types."""
    turn = memory.turn
    return {
        "id": memory.id,
        "key": memory.key,
        "space": memory.space,
        "text": memory.text,
        "kind": memory.kind,
        "valid_from": to_iso(memory.valid.start),
        "valid_until": to_iso(memory.valid.end),
        "recorded_at": to_iso(memory.recorded_at),
        "revised_at": to_iso(memory.revised_at),
        "told_at": to_iso(memory.told_at),
        "importance": memory.importance,
        "confidence": memory.confidence,
        "strength": memory.strength,
        "tags": list(memory.tags),
        "source": memory.source,
        "observed_by": memory.observed_by,
        "trust": memory.trust,
        "expires_at": to_iso(memory.expires_at),
        "entities": [m.name for m in memory.mentions],
        "mentions": [{"name": m.name, "kind": m.kind} for m in memory.mentions],
        "triples": [[t.subject, t.predicate, t.object] for t in memory.triples],
        "conversation": turn.conversation if turn else None,
        "speaker": turn.speaker if turn else None,
        "turn": turn
        and {
            "conversation": turn.conversation,
            "number": turn.number,
            "speaker": turn.speaker,
            "at": to_iso(turn.at),
            "before": turn.before,
        },
        "meta": dict(memory.meta),
    }


def to_iso(moment: datetime | None) -> str | None:
    """A moment as ISO text."""
    return None if moment is None else moment.isoformat()


def hit_label(hit: Hit) -> str:
    """What is shown behind a hit: its space in a union, that rules wrote it, and that it holds no longer."""
    space = f"  (in {hit.space})" if hit.space else ""
    return space + ("  (by rules)" if hit.by_rules else "") + _state_label(hit)


def _state_label(hit: Hit) -> str:
    if hit.current:
        return ""
    if hit.superseded_by is not None:
        return f"  (replaced {format_moment(hit.superseded_by.told_at)} by: {truncate(hit.superseded_by.text, 80)})"
    if any(evidence.signal == _ARCHIVE for evidence in hit.evidence):
        return "  (archived)"
    end = hit.memory.valid.end
    return "  (expired)" if end is None or hit.memory.expires_at is not None else f"  (ended {format_moment(end)})"


def usage_dict(usage: HitUsage) -> dict[str, Any]:
    """The usage of a memory as a dict of JSON types."""
    return {
        "decay_score": round(usage.decay_score, 3),
        "uses": usage.uses,
        "last_used": to_iso(usage.last_used),
        "age_days": round(usage.age_days, 1),
        "strength": round(usage.strength, 3),
        "review_priority": round(usage.review_priority, 3),
    }


def _table_row(hit: Hit) -> tuple[str, str, str, str]:
    text = truncate(str(hit), 300) + hit_label(hit)
    return f"{hit.score:.2f}", text, str(hit.memory.valid), "\n".join(_reasons(hit))


def _reasons(hit: Hit) -> list[str]:
    ordered = sorted(hit.evidence, key=lambda e: (-e.share, e.signal))
    return [f"{e.share:+.2f} {e.signal} #{e.rank}: {e.reason}" for e in ordered]
