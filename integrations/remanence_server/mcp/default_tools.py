"""The default tools, few to spare the context of the model: remember, store_many, recall, recent, update, forget,
timeline, profile, explain.

Nothing of the engine is loaded with this module: the list of tools is answered before a space is opened.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from inspect import Parameter
from typing import Annotated, Any, TypeVar

from mcp_types import CallToolResult, TextContent
from pydantic import Field
from typing_extensions import NotRequired, TypedDict

from remanence import InvalidInput
from remanence.adapters import (
    MAX_TOKENS,
    check_question,
    fill_block,
    frame_or_reason,
    recall_tool_options,
    remember_text,
)
from remanence_server.mcp.access import current_space, report_progress, space_of_project
from remanence_server.mcp.budget import MaxTokens, cut, fitting, tokens_of
from remanence_server.mcp.resources import block_text, events_of
from remanence_server.mcp.tool_sets import ToolSet

TOOLS = ToolSet()
SOURCE = "mcp"
_LOOK_UP = "Call `recall` first: it returns the ids."
_MEMORY_FIELDS = ("id", "text", "kind", "valid_from", "valid_until", "told_at", "tags", "source", "observed_by")
_HIT_FIELDS = ("score", "current", "superseded_by", "reason")
_CHUNK = 250
Tool = TypeVar("Tool", bound=Callable[..., Any])
AsOf = Annotated[str | None, Field(description="Answer with what was known then, such as '2026-05-01'")]
Tags = Annotated[list[str] | None, Field(description="With all of these tags")]


def _with_recall_options(tool: Tool) -> Tool:
    """A tool with the options of a recall that are meant for tools, in place of `**options`."""
    signature = inspect.signature(tool, eval_str=True)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, Field(description=text)])
        for name, (kind, default, text) in recall_tool_options().items()
    ]
    tool.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return tool


class Stored(TypedDict):
    id: str
    text: str
    entities: list[str]


class StoredMany(TypedDict):
    ids: list[str]


class Hit(TypedDict):
    space: NotRequired[str]
    id: str
    text: str
    score: float
    current: bool
    told_at: str
    reason: str


class Hits(TypedDict):
    hits: list[Hit]
    left_out: int


class Answer(Hits):
    confident: bool
    confidence: float | None
    missing: dict[str, str]


class Updated(TypedDict):
    id: str
    text: str
    valid_until: str | None
    tags: list[str]


class Event(TypedDict):
    at: str
    kind: str
    text: str


class Events(TypedDict):
    events: list[Event]
    left_out: int


class Statements(TypedDict):
    text: str
    statements: list[dict[str, Any]]


@TOOLS.tool("Remember", writes=True, also_called="store save add write note memorize create insert keep record")
def remember(
    text: Annotated[
        str,
        Field(
            description="Such as 'Alice moved to Lisbon in May 2026.'", examples=["Alice moved to Lisbon in May 2026."]
        ),
    ],
    tags: Annotated[list[str] | None, Field(description="Tags to filter by later")] = None,
    valid_from: Annotated[str | None, Field(description="When it became true, if the sentence does not say")] = None,
    importance: Annotated[float | None, Field(ge=0, le=1, description="0.3 minor, 0.9 defines who somebody is")] = None,
) -> Stored:
    """Store something that a later conversation needs: a fact, a preference, a decision. One thing, in a sentence that
    can be understood alone, with names in place of "he". If it changes something that is known, say how it is now:
    the older version stays in the history."""
    space = current_space()
    if valid_from is None:
        stored = remember_text(space, text, source=SOURCE, tags=tags or (), importance=importance)
    else:  # facts that are drawn from it would be valid from now on, not from `valid_from`
        stored = space.add(text, tags=tags or (), valid_from=valid_from, importance=importance, source=SOURCE)
    return {"id": stored.id, "text": stored.text, "entities": [mention.name for mention in stored.mentions]}


@TOOLS.tool("Store many", writes=True, also_called="store_all batch bulk add_many remember_many import save_many")
def store_many(
    texts: Annotated[list[str], Field(min_length=1, max_length=1_000, description="Sentences, as for `remember`")],
    tags: Annotated[list[str] | None, Field(description="Tags of all of them")] = None,
) -> StoredMany:
    """Store several things at once, such as notes or a list, each as a memory of its own."""
    space, ids = current_space(), list[str]()
    rows = [{"text": text, "tags": tags or (), "source": SOURCE} for text in texts]
    report = report_progress.get()
    for begin in range(0, len(rows), _CHUNK):
        ids += [memory.id for memory in space.add_many(rows[begin : begin + _CHUNK])]
        if report is not None:
            report(len(ids), len(rows))
    return {"ids": ids}


@TOOLS.tool("Recall", also_called="search find query lookup get retrieve ask read look_up")
@_with_recall_options
def recall(
    query: Annotated[
        str, Field(description="What to look up, as a question or in a few words", examples=["Where does Alice live?"])
    ],
    as_of: AsOf = None,
    also: Annotated[list[str] | None, Field(description="More projects to search")] = None,
    max_tokens: MaxTokens = MAX_TOKENS,
    **options: Any,
) -> Annotated[CallToolResult, Answer]:
    """Look up what is known from earlier conversations: quoted memories, oldest first, with their ids and dates. Use it
    before you answer anything that may depend on who the user is or what was said earlier. It says so if nothing is
    known about that."""
    from remanence import union

    check_question(query, None)
    space = current_space()
    asked: Any = union(space, *map(space_of_project, dict.fromkeys(also))) if also else space
    view = asked if as_of is None else asked.as_of(as_of)
    block = fill_block(view, query, max_tokens=max_tokens, ids=True, **{"reader": None, **options})
    found, (kept, _) = block.recall, _hits(block.quoted, max_tokens)
    structured = {
        "hits": kept,
        "left_out": len(found) - len(kept),
        "confident": found.confident,
        "confidence": found.confidence,
        "missing": dict(found.missing),
    }
    return CallToolResult(content=[TextContent(type="text", text=block_text(block))], structured_content=structured)


@TOOLS.tool("Recent", also_called="latest last newest history list list_memories list_recent")
def recent(
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
    since: Annotated[str | None, Field(description="Only what was told since, such as '7 days ago'")] = None,
    tags: Tags = None,
    max_tokens: MaxTokens = 1_000,
) -> Annotated[CallToolResult, Hits]:
    """What was told or used last, without a question: for "where were we"."""
    found = current_space().recent(limit=limit, since=since, tags=tags)
    kept, left_out = _hits(found, max_tokens)
    text = frame_or_reason(found.hits[: len(kept)], max_tokens=max_tokens, ids=True)
    structured = {"hits": kept, "left_out": left_out}
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)


def _hits(found: Iterable[Any], max_tokens: int) -> tuple[list[dict[str, Any]], int]:
    """The hits that fit, in the fields that a model needs, and how many do not fit."""
    from remanence.service.noun_forms import to_json

    hits = []
    for hit in map(to_json, found):
        memory = {name: hit["memory"][name] for name in _MEMORY_FIELDS}
        texts = {"text": cut(memory["text"], max_tokens), "context": cut(hit["context"], max_tokens)}
        more = {name: hit[name] for name in ("by", "space") if hit[name]}
        hits.append({**memory, **texts, **{name: hit[name] for name in _HIT_FIELDS}, **more})
    kept = fitting(hits, max_tokens)
    return kept, len(hits) - len(kept)


@TOOLS.tool(
    "Update", writes=True, next_step=_LOOK_UP, also_called="edit correct change modify revise fix replace set rename"
)
def update(
    memory_id: Annotated[str, Field(description="The id, as `recall` returned it")],
    text: Annotated[str | None, Field(description="The corrected text")] = None,
    valid_until: Annotated[str | None, Field(description="When it stopped being true")] = None,
    importance: Annotated[float | None, Field(ge=0, le=1)] = None,
    tags: Annotated[list[str] | None, Field(description="The tags in place of those it has")] = None,
) -> Updated:
    """Correct one memory by its id: a wrong word, an end, its tags. The version before stays in the history. For
    something new that is true now, `remember` it."""
    changes = {"text": text, "valid_until": valid_until, "importance": importance, "tags": tags}
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if not given:
        raise InvalidInput("update changes nothing. Give text, valid_until, importance or tags.")
    [memory] = current_space().revise(memory_id, **given)
    end = memory.valid.end
    return {
        "id": memory.id,
        "text": memory.text,
        "valid_until": None if end is None else end.isoformat(),
        "tags": list(memory.tags),
    }


@TOOLS.tool(
    "Forget",
    writes=True,
    destructive=True,
    next_step=_LOOK_UP,
    also_called="delete remove erase drop clear unremember restore undo",
)
def forget(
    memory_ids: Annotated[str | list[str], Field(description="The id that `recall` returned, or several")],
    why: Annotated[str | None, Field(description="Why it is to be forgotten")] = None,
    restore: Annotated[bool, Field(description="Bring forgotten memories back instead")] = False,
    with_related: Annotated[bool, Field(description="Also what they were found in, and what was found in them")] = True,
) -> dict[str, Any]:
    """Forget memories from now on, if the user asks for it or they are wrong. What has merely changed is not
    forgotten: remember how it is now."""
    space, ids = current_space(), [memory_ids] if isinstance(memory_ids, str) else memory_ids
    if restore:
        for id_ in ids:
            space.unforget(id_, with_related=with_related)
        return {"restored": ids}
    return {"forgotten": ids, "count": space.forget_many(ids, why=why, with_related=with_related)}


@TOOLS.tool(
    "Timeline",
    next_step="Call `recall` first: give an id that it returned, or a name in a memory.",
    also_called="events changes log when versions",
)
def timeline(
    about: Annotated[str, Field(description="A name, such as 'Alice', or the id of a memory", examples=["Alice"])],
    since: Annotated[str | None, Field(description="Only what was learned from then on")] = None,
    until: Annotated[str | None, Field(description="Only what was learned before")] = None,
    limit: Annotated[int, Field(ge=1, le=500, description="How many of the last events")] = 50,
    max_tokens: MaxTokens = 2_000,
) -> Events:
    """What was learned about a person, a thing or a memory over time: what was added, changed, ended and forgotten,
    when and why. For "since when", "before that" and "how did this change"."""
    events: list[Any] = events_of(current_space().graph.timeline(about, since, until))
    kept = fitting(reversed(events[-limit:]), max_tokens)[::-1]  # the last ones, if not all fit
    return {"events": kept, "left_out": len(events) - len(kept)}


@TOOLS.tool("Profile", also_called="summary who about_user user_info overview")
def profile(max_tokens: Annotated[int, Field(ge=50, le=4_000)] = 600, as_of: AsOf = None) -> Statements:
    """What was told of the user or the project, by topic, with days. Read it once, when a conversation begins."""
    space = current_space()
    answer = (space if as_of is None else space.as_of(as_of)).profile(max_tokens=max_tokens)
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


@TOOLS.tool("Explain", next_step=_LOOK_UP, also_called="why source provenance reason inspect")
def explain(
    query: Annotated[str | None, Field(description="A question: why are these the memories for it?")] = None,
    memory_id: Annotated[
        str | None, Field(description="A memory: where does it come from, what happened to it?")
    ] = None,
    limit: Annotated[int, Field(ge=1, le=20)] = 5,
    max_tokens: MaxTokens = 2_000,
) -> dict[str, Any]:
    """Why memory answers as it does. With a query: what every signal contributed to each memory. With a memory_id: its
    source, its history, and what replaced it. Give one of the two."""
    space = current_space()
    if (query is None) == (memory_id is None):
        raise InvalidInput("explain takes a query or a memory_id, and one of them.")
    if query is not None:
        return {"explanation": cut(space.recall(query, limit=limit).explain(), max_tokens)}
    events = space.graph.timeline(str(memory_id))
    batch = space.get_many(str(memory_id))
    from remanence.service.noun_forms import to_json

    details: dict[str, Any] = {"status": batch.missing.get(str(memory_id))}
    if batch.items:
        details = to_json(batch.items[0])
        details["memory"]["text"] = cut(details["memory"]["text"], max_tokens // 2)
        details |= {name: fitting(details[name], max_tokens // 8) for name in ("relations", "links_out", "links_in")}
    texts = [cut(str(event), max_tokens // 4) for event in events]
    kept = fitting(reversed(texts), max(1, max_tokens - tokens_of(details)))[::-1]  # the last ones, if not all fit
    return {"memory": details, "history": kept, "left_out": len(texts) - len(kept)}
