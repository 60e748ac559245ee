"""The options of a recall. This is the only list of them.

`View.recall`, `recent` and `memories` have them as parameters (`parameters.py`), and so do REST, the client, the
command line, the recall tool of MCP, the retrievers and `evaluate`. A new filter is a field here with its description,
and in `filters.py` what it does. With `metadata={"tool": "…"}` it is also an argument of the tool.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Gt, Le  # as pydantic reads them, which takes long to load

from remanence.schema import MAX_LIMIT, MEMORY_KINDS, Moment, Window

if TYPE_CHECKING:
    from remanence.ports import Vector

Include: TypeAlias = Literal["archive", "vault", "review"]
Fraction: TypeAlias = Annotated[float, Ge(0), Le(1)]
Limit: TypeAlias = Annotated[int, Ge(1), Le(MAX_LIMIT)]
Seconds: TypeAlias = Annotated[float, Gt(0), Le(3_600)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Conditions on memories, as a caller gives them.

    Attributes:
        kinds: Only memories of these kinds: "episode", "semantic", "viewpoint", "procedure". Left out: all, but a
            recall gives no procedures (`space.procedures`).
        tags: Only memories with all of these tags.
        source: Only what comes from this source, or one of several.
        speaker: Only what this person said or saw, or one of several.
        conversation: Only turns of this conversation, or of one of several, and facts found in them.
        meta: Only memories whose `meta` match: `{"lang": "pt", "page": {"$gte": 3}}`. The operators are $eq, $ne, $gt,
            $gte, $lt, $lte, $in, $nin, $contains and $exists; filters are combined by $and, $or and $not. A name with
            dots leads into nested fields.
        informative_only: Omit chat turns that only ask, greet, thank or agree. A recall ranks other turns by what they
            state, not by what they ask.
        facts_only: Only facts that a language model wrote, no turns and no other texts.
        exclude_texts: Texts that you have already, such as the messages of a prompt. They are not returned, and the
            facts found in them are not either.
        since: Only memories told at this moment or later: "7 days ago". `during` is about when they were true.
        min_trust: Only memories that are trusted this far: "trusted", "user", "tool", "web", a level of your own, or a
            number from 0 to 1. A recall ranks what is trusted less lower anyway.
        without: Answer as if these sources, observers or conversations did not exist. Their memories and those derived
            from them alone are left out, and what they superseded is current.
    """

    kinds: str | Sequence[str] | None = field(default=None, metadata={"choices": MEMORY_KINDS})
    tags: str | Sequence[str] | None = field(default=None, metadata={"tool": "With all of these tags"})
    source: str | Sequence[str] | None = None
    speaker: str | Sequence[str] | None = None
    conversation: str | Sequence[str] | None = None
    meta: Mapping[str, Any] | None = None
    informative_only: bool = False
    facts_only: bool = False
    exclude_texts: Sequence[str] | None = None
    since: Moment | None = None
    min_trust: str | float | None = None
    without: str | Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentOptions(FilterOptions):
    """The options of `View.recent`, as a caller gives them.

    Attributes:
        limit: How many hits to return at most.
        during: Only what was true in this time, as far as each memory says: a window, a moment, "May 2026", or (from,
            until). What has no time may have been true then.
        history: Whether to include memories that were replaced or have expired, labelled. "auto" includes them when the
            question is about the past; a list has no question.
        include: What else to search: "archive" (memories archived by `upkeep.gc`), "vault" (notes stored by
            `upkeep.import_vault`). "review" replaces up to a fifth of the hits with memories further down whose decay
            score is close to `forget_below`; their evidence says so.
        min_score: Only hits with at least this score.
    """

    limit: Limit = 10
    during: Window | Moment | tuple[Moment | None, Moment | None] | None = field(
        default=None, metadata={"tool": "Only what was true in this time, such as 'May 2026'"}
    )
    history: bool | Literal["auto"] = False
    include: Include | Collection[Include] = ()
    min_score: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOptions(RecentOptions):
    """The options of `View.recall`, as a caller gives them.

    Attributes:
        context: The turns before the question, oldest first, as texts or as dicts with `role` and `content`. They count
            if the question refers to them: "What should she avoid?".
        now: The moment of the question. "Last week" is read against it, and chat turns dated more than a day later are
            ranked lower.
        signals: Only these signals, for experiments.
        weights: The weight of each signal, for experiments.
        vector: The question's embedding, if you have it already. Without a question, the memories nearest to it are
            returned, by similarity alone: no reader and no choice by time.
        reader: "none" leaves the order to the signals, "small" reads with the reader that comes with the package. Left
            out: the reader of the space.
        deadline: How many seconds the recall may take. If the reader has not read the hits by then, the order of the
            signals stays, and `missing` says so. Left out: that of the environment variable REMANENCE_DEADLINE, or as
            long as it takes.
    """

    history: bool | Literal["auto"] = "auto"
    context: Sequence[str | Mapping[str, Any]] = ()
    now: Moment | None = None
    signals: Sequence[str] | None = None
    weights: Mapping[str, float] | None = None
    vector: Vector | None = None
    reader: Literal["small", "none"] | None = field(default=None, metadata={"tool": "'none' is faster and less exact"})
    deadline: Seconds | None = field(default=None, metadata={"tool": "Seconds it may take"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(RecallOptions):
    """A question with the options of `View.recall`.

    Attributes:
        query: The question. `recent()` needs none.
    """

    query: str = field(default="", kw_only=False)
