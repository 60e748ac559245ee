"""The operations on memories: add, remember, recall, list, forget, erase."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from remanence.errors import InvalidInput, NotFound
from remanence.index.engine import inputs
from remanence.recall.answer import Recall
from remanence.recall.options import FilterOptions, RecallOptions, RecentOptions
from remanence.recall.profile import Profile
from remanence.recall.receipts import Receipt
from remanence.recall.topics import named_topics
from remanence.remember.add_options import AddOptions, TurnOptions
from remanence.remember.jobs import Job, ShownStatus
from remanence.schema import Hit, Memory, Moment, TokenUsage
from remanence.service.operation import method_operation, operation
from remanence.service.pages import Page, make_cursor, read_cursor
from remanence.service.requests import ListOf, MaxTokens, Name, Names, PageSize, request_of
from remanence.space.facets.job_facet import Jobs
from remanence.space.for_prompt import MAX_TOKENS, PromptMemories
from remanence.space.space import Space
from remanence.space.union import union
from remanence.space.view import View
from remanence.transfer.overview import ListedStatus, MemoryBatch
from remanence.upkeep.steps.decay import TouchReport

MAX_TEXTS_TO_EMBED = 1_000
"""Texts that are embedded by one request, at most: the answer has some kilobytes for each."""


class TextRequest(request_of(AddOptions)):  # type: ignore[misc]
    """A text to store, as for `Space.add`."""


class TurnRequest(request_of(TurnOptions)):  # type: ignore[misc]
    """A chat turn, as for `Space.add_turns`."""


@dataclass(frozen=True)
class JobReport:
    """A job: "queued", "running", "waiting" (for another try), "done", "given up" or "cancelled". `memories` are the
    ids of what it wrote, once it is done, and `usage` are the calls and tokens of the language model."""

    id: str
    space: str
    status: ShownStatus
    problem: str | None
    tries: int
    memories: tuple[str, ...]
    usage: TokenUsage


@dataclass(frozen=True)
class RememberReport:
    """What a `remember` that waited found. If its `status` is "given up", the language model did not read all of it,
    and `problem` says why."""

    memories: list[Memory]
    status: Literal["done", "given up"]
    problem: str | None


@dataclass(frozen=True)
class RecallReport(Recall):
    """The hits for a question, best first. `abstained` and `missing` say why a signal did not take part; `receipt` is
    for `replay`; `explanation` is the text of `explain()`, if it was asked for."""

    explanation: str | None = None

    @property
    def recall(self) -> Recall:
        """What `View.recall` returns."""
        return Recall(**{field.name: getattr(self, field.name) for field in fields(Recall)})


# Writing


@operation("POST", "/memories", "write", method=Space.add, options=AddOptions, http_status=201)
def add(space: Space, **options: Any) -> Memory:
    """Store a text verbatim. When the answer comes, the memory survives a crash."""
    return space.add(**options)


@operation("POST", "/memories/batch", "write", http_status=201)
def add_many(space: Space, rows: ListOf[TextRequest], wait: bool = True) -> list[Memory]:
    """Store many texts. All are checked before any is stored. With `wait` false, vectors are made later."""
    return space.add_many(_given(rows), wait=wait)


@operation("POST", "/turns", "write", http_status=201)
def add_turns(space: Space, turns: ListOf[TurnRequest], now: str | None = None, wait: bool = True) -> list[Memory]:
    """Store chat turns verbatim. With `wait` false, vectors are made later."""
    return space.add_turns(_given(turns), now=now, wait=wait)


@operation("POST", "/remember", "write", http_status=202)
def remember(
    space: Space,
    text: str | None = None,
    turns: ListOf[TurnRequest] | None = None,
    now: str | None = None,
    source: str | None = None,
    observed_by: str | None = None,
    quiet: bool = False,
) -> JobReport:
    """Store a text or chat turns, and queue a job that finds facts in it; with `quiet`, once a chat has been quiet or
    has grown."""
    content = _text_or_turns(text, turns)
    job = space.remember(content, wait="quiet" if quiet else False, now=now, source=source, observed_by=observed_by)
    return job_report(job)


@operation("POST", "/remember/now", "write", slow=True)
def remember_now(
    space: Space,
    text: str | None = None,
    turns: ListOf[TurnRequest] | None = None,
    now: str | None = None,
    source: str | None = None,
    observed_by: str | None = None,
) -> RememberReport:
    """Store a text or chat turns, find facts in it, and return them."""
    found = space.remember(_text_or_turns(text, turns), now=now, source=source, observed_by=observed_by)
    return RememberReport(list(found), found.status, found.problem)


@operation("GET", "/jobs")
def list_jobs(
    space: Space, status: ShownStatus | None = None, limit: PageSize = 100, cursor: str | None = None
) -> Page[JobReport]:
    """List the jobs, oldest first."""
    every = space.jobs.list(status)
    start = read_cursor("jobs", cursor, 0)
    end = start + limit
    next_cursor = make_cursor("jobs", end) if end < len(every) else None
    return Page([job_report(job) for job in every[start:end]], next_cursor)


spent = method_operation("GET", "/jobs/spent", Jobs.spent)


@operation("GET", "/jobs/{id}")
def get_job(space: Space, id: Name) -> JobReport:
    """Show a job and its status."""
    return job_report(space.jobs.get(id))


@operation("POST", "/jobs/{id}/cancel", "write")
def cancel_job(space: Space, id: Name) -> JobReport:
    """Cancel a job that is not finished. What it should have read stays stored."""
    job = space.jobs.get(id)
    job.cancel()
    return job_report(job)


forget = method_operation("POST", "/memories/{id}/forget", Space.forget, "write")
forget_many = method_operation("POST", "/forget", Space.forget_many, "write", field="count")
unforget = method_operation("POST", "/memories/{id}/unforget", Space.unforget, "write")
erase = method_operation("POST", "/memories/{id}/erase", Space.erase, "admin")
erase_many = method_operation("POST", "/erase", Space.erase_many, "admin")
erase_about = method_operation("POST", "/erase-about", Space.erase_about, "admin", slow=True)
erase_space = method_operation("POST", "/erase-space", Space.erase_space, "admin", slow=True)


@operation("POST", "/usage", "write", method=Space.touch)
def touch(
    space: Space, ids: str | ListOf[Name], boost: bool = False, context_tags: str | Sequence[str] = ()
) -> list[TouchReport]:
    """Record that memories were used, so that they decay later."""
    return space.touch(ids, boost=boost, context_tags=context_tags)


# Reading


@operation("POST", "/recall", method=View.recall, options=RecallOptions)
def recall(view: View, query: str = "", explain: bool = False, **options: Any) -> RecallReport:
    """Answer a question with memories, best first, each with its reasons. `explain` also returns them as text."""
    return _report(view.recall(query, **options), explain=explain)


@operation("POST", "/for-prompt")
def for_prompt(
    view: View,
    message: str,
    turns: ListOf[TurnRequest] | None = None,
    max_tokens: Annotated[int, Field(ge=0, le=100_000)] | None = MAX_TOKENS,
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None,
    kinds: Names | None = None,
    tags: Names | None = None,
    keep: Literal["all", "user", "facts"] = "all",
    now: Moment | None = None,
) -> PromptMemories:
    """What helps to answer a chat message, as a block for its prompt (`text`); "" for a message that needs no memory.
    `turns` are the ones before it in the prompt: they say what it refers to, and are not quoted again."""
    said = [{"role": turn.role or "user", "content": turn.content} for turn in turns or ()]
    options: dict[str, Any] = {"min_score": min_score, "kinds": kinds, "tags": tags, "keep": keep, "now": now}
    return view.for_prompt(message, turns=said, max_tokens=max_tokens, **options)


@operation("POST", "/recall/recent", method=View.recent, options=RecentOptions)
def list_recent(view: View, **options: Any) -> RecallReport:
    """List the memories that were told or used last, without a question; strong ones stay longer."""
    return _report(view.recent(**options))


@operation("POST", "/union/recall", options=RecallOptions, opens="spaces")
def union_recall(view: View, spaces: Names, query: str = "", explain: bool = False, **options: Any) -> RecallReport:
    """Answer a question with memories of this space and of others, by their full names: one list, best first, each hit
    with its space. All of them have to be open to the caller."""
    return _report(union(view, *spaces).recall(query, **options), explain=explain)  # type: ignore[arg-type]


@operation("POST", "/replay")
def replay(view: View, receipt: dict[str, Any], vector: ListOf[float] | None = None) -> RecallReport:
    """Return the same list that an earlier recall returned. Give its vector, too, if that was the caller's."""
    return _report(view.audit.replay(receipt, vector=inputs.check_vector(vector)))


def _report(found: Recall, *, explain: bool = False) -> RecallReport:
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    return RecallReport(**values, explanation=found.explain() if explain else None)


@operation("POST", "/recalls", "write")
def record(space: Space, receipt: dict[str, Any], memories: ListOf[Name]) -> None:
    """Record that the hits of a recall, with the ids `memories`, were given to a user or a model."""
    given = Receipt.from_dict(receipt)
    batch = space.as_of(given.now).get_many(memories)
    if batch.missing:
        raise NotFound(f"the recall cannot have returned {', '.join(batch.missing)}: {given.now} knew no such memory.")
    hits = tuple(Hit(item.memory, 0.0) for item in batch if item.memory is not None)
    space.audit.record(Recall(given.question, hits, position=given.position, receipt=given))


@operation("GET", "/memories", options=FilterOptions)
def list_memories(
    view: View,
    status: ListedStatus | None = None,
    meta: str | None = None,
    limit: PageSize = 100,
    cursor: str | None = None,
    **filters: Any,
) -> Page[Memory]:
    """List memories in the order in which they were learned, a page at a time. `meta` is a filter as JSON text."""
    after = read_cursor("memories", cursor)
    rows = view._page_of_memories(status, after, limit + 1, meta=_json_object(meta), **filters)
    next_cursor = make_cursor("memories", rows[limit - 1][0]) if len(rows) > limit else None
    return Page([memory for _, memory in rows[:limit]], next_cursor)


find = method_operation(
    "GET",
    "/memories/find",
    View.find,
    missing="space {space!r} shows no memory with the key {key!r}. It may be forgotten.",
)
get = method_operation(
    "GET",
    "/memories/{id}",
    View.get,
    id=Name,
    missing="space {space!r} shows no memory {id!r}. It may be forgotten: unforget it, or ask as of a time when it was "
    "known.",
)


@operation("POST", "/memories/get", method=View.get_many)
def get_many(view: View, ids: ListOf[Name]) -> MemoryBatch:
    """Show memories with their relations, links and use."""
    return view.get_many(ids)


count = method_operation("GET", "/count", View.count, field="count")


@operation("GET", "/profile", slow=True)
def profile(view: View, max_tokens: MaxTokens = 600, topics: str | None = None) -> Profile:
    """List what was told of the person or the project that a space is about, by topic. The topics are "person",
    "project", or questions by topic as JSON text, or a JSON list of these."""
    return view.profile(max_tokens=max_tokens, topics=named_topics(topics))


briefing = method_operation("GET", "/briefing", View.briefing, field="text", slow=True, max_tokens=MaxTokens)
spaces_below = method_operation("GET", "/spaces", Space.spaces, name="spaces_below", field="spaces")


@operation("POST", "/embed", field="vectors")
def embed(
    space: Space, texts: Annotated[Names, Field(max_length=MAX_TEXTS_TO_EMBED)], query: bool = False
) -> list[list[float]]:
    """Return the vectors of texts, by the embedder of the space; with `query`, as questions."""
    return space._embed(texts, query=query) if texts else []


@operation("GET", "/now", field="now")
def now(view: View) -> datetime:
    """Return the present moment of the space; of a view of the past, that moment."""
    return view._now()


def job_report(job: Job) -> JobReport:
    """A job as an answer."""
    state = job._state()
    return JobReport(job.id, job.space, job.status, state.problem, state.tries, tuple(state.memories), job.usage)


def _given(items: list[Any]) -> list[dict[str, Any]]:
    """The fields that were given of each row or turn."""
    return [{name: value for name, value in item.provided_fields().items() if value is not None} for item in items]


def _text_or_turns(text: str | None, turns: list[TurnRequest] | None) -> str | list[dict[str, Any]]:
    if (text is None) == (turns is None):
        raise InvalidInput("remember takes a text or turns, and one of them. Give for example {'text': 'I moved.'}.")
    return text if text is not None else _given(turns or [])


def _json_object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f'meta={text!r} is not JSON ({error}). Give for example {{"page": 3}}.') from None
    if not isinstance(value, dict):
        raise InvalidInput(f'meta={text!r} is not a JSON object. Give for example {{"page": 3}}.')
    return value
