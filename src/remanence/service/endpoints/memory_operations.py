"""The operations on memories: add, remember, recall, list, forget, erase."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from remanence.errors import InvalidInput, NotFound
from remanence.index.engine import inputs
from remanence.recall.answer import Recall
from remanence.recall.receipts import Receipt
from remanence.recall.topics import named_topics
from remanence.remember.jobs import Job
from remanence.schema import Hit, TokenUsage
from remanence.service.cursors import make_cursor, read_cursor
from remanence.service.operation import method_operation, operation, view_of
from remanence.service.payloads import requests
from remanence.service.payloads.answers import (
    CountAnswer,
    DoneAnswer,
    ErasureAnswer,
    JobAnswer,
    JobPage,
    MemoryBatchAnswer,
    MemoryPageAnswer,
    ProfileAnswer,
    RecallAnswer,
    SpacesAnswer,
    TextAnswer,
    recall_fields,
)
from remanence.service.payloads.base_answers import AnswerModel, Items, MemoryAnswer, Time
from remanence.service.payloads.base_requests import ReadRequest
from remanence.space.facets.job_facet import Jobs
from remanence.space.space import Space
from remanence.space.view import View
from remanence.upkeep.steps.decay import TouchReport


class VectorsAnswer(AnswerModel):
    """The vectors of some texts."""

    vectors: list[list[float]]


class NowAnswer(AnswerModel):
    """The present moment by the clock of the space."""

    now: Time


_method = partial(method_operation, tag="memory")

# Writing


@operation("POST", "/memories", "write", status=201)
def add(space: Space, request: requests.AddRequest) -> MemoryAnswer:
    """Store a text verbatim."""
    return MemoryAnswer.of(space.add(**request.provided_fields()))


@operation("POST", "/memories/batch", "write", status=201)
def add_many(space: Space, request: requests.AddManyRequest) -> Items[MemoryAnswer]:
    """Store many texts. All are checked before any is stored."""
    return Items[MemoryAnswer].of(space.add_many([row.provided_fields() for row in request.rows], wait=request.wait))


@operation("POST", "/turns", "write", status=201)
def add_turns(space: Space, request: requests.AddTurnsRequest) -> Items[MemoryAnswer]:
    """Store chat turns verbatim."""
    return Items[MemoryAnswer].of(space.add_turns(_turns(request.turns), now=request.now, wait=request.wait))


@operation("POST", "/remember", "write", status=202)
def remember(space: Space, request: requests.QueueRequest) -> JobAnswer:
    """Store a text or chat turns, and queue a job that finds facts in it."""
    details = request.provided_fields("text", "turns", "quiet")
    return job_answer(space.remember(_text_or_turns(request), wait="quiet" if request.quiet else False, **details))


@operation("POST", "/remember/now", "write", slow=True)
def remember_now(space: Space, request: requests.RememberRequest) -> Items[MemoryAnswer]:
    """Store a text or chat turns, find facts in it, and return them."""
    return Items[MemoryAnswer].of(space.remember(_text_or_turns(request), **request.provided_fields("text", "turns")))


@operation("GET", "/jobs")
def list_jobs(space: Space, request: requests.JobsRequest) -> JobPage:
    """List the jobs, oldest first."""
    every = space.jobs.list(request.status)
    start = read_cursor("jobs", request.cursor, 0)
    end = start + request.limit
    next_cursor = make_cursor("jobs", end) if end < len(every) else None
    return JobPage(items=[job_answer(job) for job in every[start:end]], next_cursor=next_cursor)


spent = _method(
    "GET",
    "/jobs/spent",
    Jobs.spent,
    "Count the calls of the language model for facts on a day, and their tokens.",
    TokenUsage,
    facet="jobs",
)


@operation("GET", "/jobs/{id}")
def get_job(space: Space, request: requests.IdRequest) -> JobAnswer:
    """Show a job and its status."""
    return job_answer(space.jobs.get(request.id))


@operation("POST", "/jobs/{id}/cancel", "write")
def cancel_job(space: Space, request: requests.IdRequest) -> JobAnswer:
    """Cancel a job that is not finished. What it should have read stays stored."""
    job = space.jobs.get(request.id)
    job.cancel()
    return job_answer(job)


forget = _method("POST", "/memories/{id}/forget", Space.forget, "Hide a memory from now on.", DoneAnswer, "write")
forget_many = _method(
    "POST",
    "/forget",
    Space.forget_many,
    "Hide these memories in one transaction, and count those that were not forgotten before.",
    CountAnswer,
    "write",
)


unforget = _method(
    "POST",
    "/memories/{id}/unforget",
    Space.unforget,
    "Bring back a memory that was forgotten or archived.",
    DoneAnswer,
    "write",
)
erase = _method(
    "POST",
    "/memories/{id}/erase",
    Space.erase,
    "Remove the text of a memory for good, from the past and from every file.",
    ErasureAnswer,
    "admin",
)


erase_many = _method(
    "POST", "/erase", Space.erase_many, "Erase these memories in one transaction.", ErasureAnswer, "admin"
)
erase_space = _method(
    "POST",
    "/erase-space",
    Space.erase_space,
    "Erase everything in this space and in the spaces below it.",
    ErasureAnswer,
    "admin",
    slow=True,
)


touch = _method(
    "POST",
    "/usage",
    Space.touch,
    "Record that memories were used, so that they decay later.",
    Items[TouchReport],
    "write",
)


# Reading


def _recall_fields(space: Space, request: requests.RecallBody) -> dict[str, Any]:
    found = view_of(space, request).recall(request.query, **request.provided_fields("query", "as_of", "explain"))
    return recall_fields(found, explain=request.explain)


@operation("POST", "/recall", fields=_recall_fields)
def recall(space: Space, request: requests.RecallBody) -> RecallAnswer:
    """Answer a question with memories, best first, each with its reasons."""
    return RecallAnswer.model_validate(_recall_fields(space, request))


@operation("POST", "/replay")
def replay(space: Space, request: requests.ReplayRequest) -> RecallAnswer:
    """Return the same list that an earlier recall returned."""
    return RecallAnswer.of(
        view_of(space, request).audit.replay(request.receipt, vector=inputs.check_vector(request.vector))
    )


@operation("POST", "/recalls", "write")
def record(space: Space, request: requests.RecordRequest) -> DoneAnswer:
    """Record that the hits of a recall were given to a user or a model."""
    receipt = Receipt.from_dict(request.receipt)
    batch = space.as_of(receipt.now).get_many(request.memories)
    if batch.missing:
        raise NotFound(
            f"the recall cannot have returned {', '.join(batch.missing)}: {receipt.now} knew no such memory."
        )
    hits = tuple(Hit(item.memory, 0.0) for item in batch if item.memory is not None)
    space.audit.record(Recall(receipt.question, hits, position=receipt.position, receipt=receipt))
    return DoneAnswer(done=True)


@operation("GET", "/memories")
def list_memories(space: Space, request: requests.ListRequest) -> MemoryPageAnswer:
    """List memories in the order in which they were learned, a page at a time."""
    view = view_of(space, request)
    filters = {name: getattr(request, name) for name in ("kinds", "tags", "source", "speaker", "conversation", "since")}
    after = read_cursor("memories", request.cursor)
    rows = view._page_of_memories(request.status, after, request.limit + 1, meta=_json_object(request.meta), **filters)
    items = [MemoryAnswer.of(memory) for _, memory in rows[: request.limit]]
    more = len(rows) > request.limit
    return MemoryPageAnswer(
        items=items, next_cursor=make_cursor("memories", rows[request.limit - 1][0]) if more else None
    )


@operation("GET", "/memories/find")
def find(space: Space, request: requests.FindRequest) -> MemoryAnswer:
    """Show the memory with a key."""
    memory = view_of(space, request).find(request.key)
    if memory is None:
        raise NotFound(f"space {space.name!r} shows no memory with the key {request.key!r}. It may be forgotten.")
    return MemoryAnswer.of(memory)


@operation("GET", "/memories/{id}")
def get(space: Space, request: requests.IdReadRequest) -> MemoryAnswer:
    """Show one memory."""
    memory = view_of(space, request).get(request.id)
    if memory is None:
        raise NotFound(
            f"space {space.name!r} shows no memory {request.id!r}. It may be forgotten: unforget it, or ask as of a "
            "time when it was known."
        )
    return MemoryAnswer.of(memory)


@operation("POST", "/memories/get")
def get_many(space: Space, request: requests.MemoryIdsReadRequest) -> MemoryBatchAnswer:
    """Show memories with their relations, links and use."""
    return MemoryBatchAnswer.of(view_of(space, request).get_many(request.ids))


count = _method(
    "GET", "/count", View.count, "Count the memories that are neither archived nor forgotten.", CountAnswer, past=True
)


@operation("GET", "/profile", slow=True)
def profile(space: Space, request: requests.ProfileRequest) -> ProfileAnswer:
    """List what is true now of the person or the project that a space is about, by topic."""
    topics = named_topics(request.topics)
    return ProfileAnswer.of(view_of(space, request).profile(max_tokens=request.max_tokens, topics=topics))


briefing = _method(
    "GET",
    "/briefing",
    View.briefing,
    "Return the profile as a block for the start of a prompt.",
    TextAnswer,
    past=True,
    slow=True,
    max_tokens=Annotated[int, Field(ge=1, le=100_000)],
)
spaces_below = _method(
    "GET",
    "/spaces",
    Space.spaces,
    "List this space and those below it that contain anything.",
    SpacesAnswer,
    name="spaces_below",
)


@operation("POST", "/embed")
def embed(space: Space, request: requests.EmbedRequest) -> VectorsAnswer:
    """Return the vectors of texts, by the embedder of the space."""
    return VectorsAnswer(vectors=space._embed(request.texts, query=request.query) if request.texts else [])


@operation("GET", "/now")
def now(space: Space, request: ReadRequest) -> NowAnswer:
    """Return the present moment of the space; of a view of the past, that moment."""
    return NowAnswer(now=view_of(space, request)._now())


def job_answer(job: Job) -> JobAnswer:
    """A job as an answer."""
    state = job._state()
    return JobAnswer.model_validate(
        {"id": job.id, "space": job.space, "status": job.status, "problem": state.problem}
        | {"tries": state.tries, "memories": list(state.memories), "usage": job.usage}
    )


def _turns(turns: list[requests.TurnRequest]) -> list[dict[str, Any]]:
    return [{name: value for name, value in turn.provided_fields().items() if value is not None} for turn in turns]


def _text_or_turns(request: requests.RememberRequest) -> str | list[dict[str, Any]]:
    if (request.text is None) == (request.turns is None):
        raise InvalidInput("remember takes a text or turns, and one of them. Give for example {'text': 'I moved.'}.")
    return request.text if request.text is not None else _turns(request.turns or [])


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
