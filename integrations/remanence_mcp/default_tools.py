"""The default tools, few to spare the context of the model: remember, recall, forget, timeline, profile, explain."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from remanence import InvalidInput
from remanence.adapters import RECALL_FILTERS, frame_or_reason, remember_text
from remanence.service.endpoints import memory_operations
from remanence.service.noun_forms import to_json
from remanence_mcp.access import current_space, view_as_of
from remanence_mcp.budget import MaxTokens, cut, fitting, tokens_of
from remanence_mcp.resources import unanswered
from remanence_mcp.tool_sets import ToolSet

TOOLS = ToolSet()
SOURCE = "mcp"
_LOOK_UP = "Call `recall` first: it returns the ids."
_MEMORY_FIELDS = ("id", "text", "kind", "valid_from", "valid_until", "told_at", "tags", "source", "observed_by")
_HIT_FIELDS = ("score", "current", "superseded_by", "reason")
AsOf = Annotated[str | None, Field(description="Answer with what was known then, for example '2026-05-01'")]


_NOT_IN_TOOLS = {"history", "min_score", "kinds", "source", "speaker", "conversation", "informative_only", "since"} | {
    *("min_trust", "without")
}
"""Filters of `recall` that the model is not told of, to spare its context. Any other is an argument of the tool."""


def _with_filters(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Give a tool the filters of `recall` that it does not spell out, in place of its keyword arguments."""
    signature = inspect.signature(tool, eval_str=True)
    *declared, _ = signature.parameters.values()
    spelled = {*_NOT_IN_TOOLS, *(parameter.name for parameter in declared)}
    filters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=Annotated[field.annotation, field]
        )
        for name, field in memory_operations.recall.request.model_fields.items()
        if name in RECALL_FILTERS and name not in spelled
    ]
    tool.__signature__ = signature.replace(parameters=[*declared, *filters])  # type: ignore[attr-defined]
    return tool


@TOOLS.tool("Remember", writes=True)
def remember(
    text: Annotated[str, Field(description="One sentence, for example 'Alice moved to Lisbon in May 2026.'")],
    tags: Annotated[list[str] | None, Field(description="Tags to filter by later")] = None,
    valid_from: Annotated[
        str | None, Field(description="When it became true or happened, if the sentence does not say")
    ] = None,
    importance: Annotated[
        float | None, Field(ge=0, le=1, description="0.3 minor, 0.6 moderate, 0.9 defines who somebody is")
    ] = None,
) -> dict[str, Any]:
    """Store something that a later conversation needs: a fact, a preference, a decision. One thing at a time, in a
    sentence that can be understood alone, with names in place of "he" or "there". If it changes something that is
    known, say how it is now: the older version is replaced and stays in the history."""
    space = current_space()
    if valid_from is None:
        stored = remember_text(space, text, source=SOURCE, tags=tags or (), importance=importance)
    else:  # facts that are drawn from it would be valid from now on, not from `valid_from`
        stored = space.add(text, tags=tags or (), valid_from=valid_from, importance=importance, source=SOURCE)
    return {"id": stored.id, "text": stored.text, "entities": [mention.name for mention in stored.mentions]}


@TOOLS.tool("Recall")
@_with_filters
def recall(
    query: Annotated[str, Field(description="What to look up, as a question or in a few words")],
    limit: Annotated[int, Field(ge=1, le=50, description="How many memories to return at most")] = 5,
    during: Annotated[str | None, Field(description="Only what was true in this time, for example 'May 2026'")] = None,
    tags: Annotated[list[str] | None, Field(description="Only memories with all of these tags")] = None,
    as_of: AsOf = None,
    reader: Annotated[
        Literal["small", "none"] | None, Field(description="'none' is faster and ranks by the signals alone")
    ] = None,
    deadline: Annotated[
        float | None, Field(gt=0, le=3_600, description="Seconds after which the hits are ranked by the signals alone")
    ] = None,
    max_tokens: MaxTokens = 1_000,
    **filters: Any,
) -> CallToolResult:
    """Look up what is known from earlier conversations: quoted memories, best first, with their ids, dates and
    sources. Use it before you answer anything that may depend on who the user is or what was said earlier. It says so
    if nothing that is known answers the question."""
    options = {"during": during, "tags": tags, "reader": reader, "deadline": deadline, **filters}
    found = view_as_of(as_of).recall(query, limit=limit, **options)
    hits = []
    for hit in map(to_json, found):
        memory = {name: hit["memory"][name] for name in _MEMORY_FIELDS}
        texts = {"text": cut(memory["text"], max_tokens), "context": cut(hit["context"], max_tokens)}
        hits.append({**memory, **texts, **{name: hit[name] for name in _HIT_FIELDS}})
    kept = fitting(hits, max_tokens)
    lines = [] if found.confident or not kept else [unanswered(found.confidence)]
    lines.append(frame_or_reason(found.hits[: len(kept)], max_tokens=max_tokens, ids=True, scores=True))
    if len(kept) < len(hits):
        lines.append(f"{len(hits) - len(kept)} more did not fit: ask more precisely, or give more max_tokens.")
    lines += [f"The signal {signal} was not available: {reason}" for signal, reason in found.missing.items()]
    structured = {
        "hits": kept,
        "left_out": len(hits) - len(kept),
        "confident": found.confident,
        "confidence": found.confidence,
        "missing": dict(found.missing),
    }
    return CallToolResult(content=[TextContent(type="text", text="\n".join(lines))], structured_content=structured)


@TOOLS.tool("Forget", writes=True, destructive=True, next_step=_LOOK_UP)
def forget(
    memory_ids: Annotated[
        str | list[str], Field(description="The id of a memory, as `recall` returned it, or several")
    ],
    why: Annotated[str | None, Field(description="Why it is to be forgotten")] = None,
    restore: Annotated[bool, Field(description="Bring forgotten memories back instead")] = False,
    with_related: Annotated[
        bool, Field(description="Also what was said that they were found in, and facts found in them alone")
    ] = True,
) -> dict[str, Any]:
    """Forget memories from now on, if the user asks for it or they are wrong. What has merely changed is not to be
    forgotten: remember how it is now. With restore=true, forgotten memories are brought back."""
    space, ids = current_space(), [memory_ids] if isinstance(memory_ids, str) else memory_ids
    if restore:
        for id_ in ids:
            space.unforget(id_, with_related=with_related)
        return {"restored": ids}
    return {"forgotten": ids, "count": space.forget_many(ids, why=why, with_related=with_related)}


@TOOLS.tool("Timeline", next_step="Call `recall` first: give an id that it returned, or a name in a memory.")
def timeline(
    about: Annotated[str, Field(description="A name, such as 'Alice', or the id of a memory")],
    since: Annotated[str | None, Field(description="Only what was learned at this moment or later")] = None,
    until: Annotated[str | None, Field(description="Only what was learned before this moment")] = None,
    limit: Annotated[int, Field(ge=1, le=500, description="How many of the last events to return at most")] = 50,
    max_tokens: MaxTokens = 2_000,
) -> dict[str, Any]:
    """What was learned about a person, a thing or a memory over time, in order: what was added, changed, replaced,
    ended and forgotten, when and why. Use it for "since when", "before that" and "how did this change"."""
    found = current_space().graph.timeline(about, since, until)
    events = [{"at": event.recorded_at.isoformat(), "kind": event.kind, "text": str(event)} for event in found]
    kept = fitting(reversed(events[-limit:]), max_tokens)[::-1]  # the last ones, if not all fit
    return {"events": kept, "left_out": len(events) - len(kept)}


@TOOLS.tool("Profile")
def profile(
    max_tokens: Annotated[int, Field(ge=50, le=4_000, description="The most tokens of the text")] = 600,
    as_of: AsOf = None,
) -> dict[str, Any]:
    """What is true now of the user or the project, by topic, quoted, with its day. Read it once at the beginning of a
    conversation."""
    answer = view_as_of(as_of).profile(max_tokens=max_tokens)
    return {
        "text": answer.text,
        "statements": [
            {
                "topic": statement.topic,
                **({"after": statement.context} if statement.context else {}),
                "text": statement.text,
                "memories": list(statement.memories),
            }
            for statement in answer.statements
        ],
    }


@TOOLS.tool("Explain", next_step=_LOOK_UP)
def explain(
    query: Annotated[str | None, Field(description="A question: why are these the memories for it?")] = None,
    memory_id: Annotated[
        str | None, Field(description="A memory: where does it come from, what happened to it?")
    ] = None,
    limit: Annotated[int, Field(ge=1, le=20, description="How many memories to explain at most")] = 5,
    max_tokens: MaxTokens = 2_000,
) -> dict[str, Any]:
    """Why memory answers as it does. With a query: each memory with what every signal contributed and why. With a
    memory_id: its source, its history, and what replaced or contradicts it. Give one of the two."""
    space = current_space()
    if (query is None) == (memory_id is None):
        raise InvalidInput("explain takes a query or a memory_id, and one of them.")
    if query is not None:
        return {"explanation": cut(space.recall(query, limit=limit).explain(), max_tokens)}
    events = space.graph.timeline(str(memory_id))
    batch = space.get_many(str(memory_id))
    details: dict[str, Any] = {"status": batch.missing.get(str(memory_id))}
    if batch.items:
        details = to_json(batch.items[0])
        details["memory"]["text"] = cut(details["memory"]["text"], max_tokens // 2)
        details |= {name: fitting(details[name], max_tokens // 8) for name in ("relations", "links_out", "links_in")}
    texts = [cut(str(event), max_tokens // 4) for event in events]
    kept = fitting(reversed(texts), max(1, max_tokens - tokens_of(details)))[::-1]  # the last ones, if not all fit
    return {"memory": details, "history": kept, "left_out": len(texts) - len(kept)}
