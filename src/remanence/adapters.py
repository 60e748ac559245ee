"""Public helpers for the authors of framework adapters.

An adapter imports the public names of `remanence` and this module, and nothing else of the package.

lazy_getattr                          load the names of a package when they are first used
log_and_continue                      log a failure of memory instead of raising it
recall_for_prompt, prompt_budget      what of a space reaches the prompt for a chat message
check_keep, is_kept                   which turns are stored
reinforce, quoted_hits                count as used the memories that an answer took words from
strip_frames, is_frame, shorten_frame work on blocks that `remanence.frame` made
check_max_tokens, TokenCounter        token budgets
estimate_tokens                       about how many tokens a text has
ChangeFollower                        base class of a table that follows the ledger of a space
NamedEmbedder                         an embedding model of a framework, with a name
storable_text, placeholder_text       the text under which a chat message is stored
normalize_text                        a text without case and spacing, to find repetitions
MAX_TEXT_LENGTH                       how much of a message is remembered
warn_of_long_texts                    say that a message was longer
in_thread                             an async variant of a method
require_view, require_space           refuse what is no space, and to write to a view of the past
document_row, stored_document         documents and nodes of a framework as memories, and back
find_documents                        documents by their ids
remember_text, update_memory          what the tools `remember` and `update` do
tool_name                             the name of a tool, with the prefix of its set
embed_texts, embed_query              the vectors of a space's own embedder
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence.api.for_prompt import (
    Keep,
    PromptMemories,
    check_keep,
    is_kept,
    prompt_budget,
    quoted_hits,
    recall_for_prompt,
)
from remanence.api.in_thread import in_thread
from remanence.errors import InvalidInput, MissingExtra, NotFound
from remanence.language.framing import TokenCounter, estimate_tokens, is_frame, shorten_frame, strip_frames
from remanence.language.text import normalize_text, replace_unstorable
from remanence.read.memories_used import memories_used
from remanence.schema import DOCUMENT_FIELD, ErasureCertificate

if TYPE_CHECKING:
    from logging import Logger

    from remanence.api.space import Space
    from remanence.api.view import View
    from remanence.schema import Change, Hit, Memory

__all__ = [
    "MAX_TEXT_LENGTH",
    "ChangeFollower",
    "ChatSession",
    "ErasureCertificate",
    "Keep",
    "NamedEmbedder",
    "PromptMemories",
    "StoredDocument",
    "TokenCounter",
    "check_keep",
    "check_max_tokens",
    "check_rename",
    "check_session_id",
    "check_ttl",
    "document_row",
    "embed_query",
    "embed_texts",
    "estimate_tokens",
    "find_documents",
    "in_thread",
    "is_frame",
    "is_kept",
    "lazy_getattr",
    "log_and_continue",
    "normalize_text",
    "now_of",
    "placeholder_text",
    "prompt_budget",
    "quoted_hits",
    "recall_for_prompt",
    "reinforce",
    "remember_text",
    "require_space",
    "require_view",
    "shorten_frame",
    "storable_text",
    "stored_document",
    "strip_frames",
    "tool_name",
    "update_memory",
    "warn_of_long_texts",
]

MAX_TEXT_LENGTH = 2_000_000
"""The most characters that a memory has; adapters remember this much of a longer message."""
_MAX_SOURCE_LENGTH = 512
_MAX_IDENTITY_LENGTH = 480


def lazy_getattr(
    package: str, modules: Mapping[str, tuple[str, str]], *, frameworks: Collection[str]
) -> Callable[[str], Any]:
    """Make a `__getattr__` for a package, so that each name is loaded when it is first used.

    Args:
        package: The name of the package.
        modules: For each public name, the module of the package that defines it and the extra of Remanence
            that installs what it needs.
        frameworks: The top-level packages that the extras install.

    Returns:
        A function for the package's `__getattr__`. It raises `MissingExtra`, with the command to run, if a
        framework is not installed. If another module is missing, the `ModuleNotFoundError` is raised as it is.

    Example:
        >>> load = lazy_getattr("json", {"JSONDecoder": ("decoder", "never")}, frameworks=())
        >>> load("JSONDecoder").__name__
        'JSONDecoder'
        >>> load("YAMLDecoder")
        Traceback (most recent call last):
        AttributeError: module 'json' has no attribute 'YAMLDecoder'
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, extra = modules[name]
        try:
            return getattr(import_module(f"{package}.{module}"), name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in frameworks:
                raise
            raise MissingExtra(
                f'{name} needs the package {error.name!r}. Run: pip install "remanence[{extra}]"'
            ) from error

    return load


@contextmanager
def log_and_continue(log: Logger, action: str) -> Iterator[None]:
    """Log an exception as a warning and continue, so that an agent answers although its memory failed.

    Args:
        log: The logger of the adapter.
        action: What was tried, as a verb: "recall".

    Example:
        >>> import logging
        >>> with log_and_continue(logging.getLogger("quiet"), "recall"):
        ...     raise OSError("disk full")
    """
    try:
        yield
    except Exception:
        log.warning("memory failed: could not %s; continuing without it", action, exc_info=True)


def reinforce(space: Space, hits: Iterable[Hit], *, context: str | Iterable[str], answer: str) -> None:
    """Count as used the memories that an answer took words from (`Space.upkeep.observe_usage`).

    Memories that were forgotten in the meantime are left out.

    Args:
        space: The space of the memories.
        hits: The memories that the model was given.
        context: All other text that the model was given.
        answer: What the model answered.
    """
    ids = [each for each in memories_used(hits, context=context, answer=answer) if space.get(each) is not None]
    if ids:
        space.upkeep.observe_usage(ids)


def check_max_tokens(max_tokens: object) -> int | None:
    """Return a token budget if it is valid: a whole number from 0 on, or None for no limit.

    Raises:
        InvalidInput: It is anything else.
    """
    if max_tokens is None or (isinstance(max_tokens, int) and not isinstance(max_tokens, bool) and max_tokens >= 0):
        return max_tokens
    raise InvalidInput(f"max_tokens={max_tokens!r} is neither None nor a whole number from 0 on.")


@dataclass(frozen=True, slots=True)
class ChatSession:
    """A chat session in a list: its name, how many messages it has, when the first and the last were added, and when
    it expires."""

    name: str
    messages: int
    began: datetime
    last: datetime
    expires_at: datetime | None = None


def check_rename(name: str, new_name: str, known: Collection[str]) -> None:
    """Check that a chat session can be renamed, given the names of all sessions.

    Raises:
        NotFound: There is no session with this name.
        InvalidInput: There is one with the new name already.
    """
    if name not in known:
        raise NotFound(f"there is no chat session {name!r}. `sessions()` lists those that have messages.")
    if new_name in known:
        raise InvalidInput(f"there is a chat session {new_name!r} already, and two cannot be one. Choose another name.")


def check_session_id(name: object, argument: str = "session_id") -> str:
    """Return the name of a session if it is valid: a text that is not blank.

    Raises:
        InvalidInput: It is anything else.
    """
    if isinstance(name, str) and name.strip():
        return name
    raise InvalidInput(f"{argument}={name!r} is no name of a session. Give a text with a visible character.")


def check_ttl(ttl: object) -> timedelta | None:
    """Return a time to live if it is valid: a timedelta or a number of seconds, above 0; or None for no limit.

    Raises:
        InvalidInput: It is anything else.

    Example:
        >>> check_ttl(3600)
        datetime.timedelta(seconds=3600)
    """
    if ttl is None:
        return None
    if isinstance(ttl, int | float) and not isinstance(ttl, bool):
        with suppress(OverflowError, ValueError):
            ttl = timedelta(seconds=ttl)
    if isinstance(ttl, timedelta) and ttl > timedelta(0):
        return ttl
    raise InvalidInput(f"ttl={ttl!r} is neither a timedelta nor a number of seconds above 0. Give for example 86_400.")


def now_of(view: View) -> datetime:
    """Return the present moment of a space, by its clock; of a view of the past, the moment it is of."""
    return view._now()


def require_view(given: object, argument: str = "space") -> View:
    """Return a space, or a view of one, if it is one.

    Raises:
        InvalidInput: It is anything else; the message says how to open a space.

    Example:
        >>> require_view("m")
        Traceback (most recent call last):
        remanence.errors.InvalidInput: space='m' is of type str, not a space. Open it: remanence.open('m').
    """
    from remanence.api.view import View  # here, as it loads the engine

    if isinstance(given, View):
        return given
    location = repr(str(given)) if isinstance(given, str | os.PathLike) else "'./memory'"
    raise InvalidInput(
        f"{argument}={given!r} is of type {type(given).__name__}, not a space. Open it: remanence.open({location})."
    )


def require_space(view: object, argument: str = "space") -> Space:
    """Return a view as a space that can be written to.

    Raises:
        InvalidInput: It is a view of the past, or no space at all.
    """
    from remanence.api.space import Space  # here, as it loads the engine

    if isinstance(view, Space):
        return view
    require_view(view, argument)
    raise InvalidInput(f"{view!r} is a view of the past and cannot be written to. Use the space.")


def remember_text(space: Space, text: str, *, source: str, **fields: Any) -> Memory:
    """Remember a text as `space.remember` does, and return its memory: it is stored verbatim, and its facts too.

    `fields` are more arguments of `space.add`, for the memory of the text.
    """
    space.remember(text, source=source)
    return space.add(text, source=source, **fields)  # the same text is the same memory


def update_memory(space: Space, memory_id: str, text: str, *, source: str) -> Memory:
    """Replace the text of a memory, and return the memory that has it now.

    A memory with a key gets a new version. For any other, and for chat turns and documents, which stay as they were
    said, a new memory supersedes it. Views of the past have the old text in both cases.

    Raises:
        NotFound: The space has no such memory, or it is forgotten.
    """
    old = space.get(memory_id)
    if old is None:
        raise NotFound(f"space {space.name!r} shows no memory {memory_id!r}. Give an id as it was recalled.")
    fields: dict[str, Any] = {"tags": old.tags, "importance": old.importance, "observed_by": old.observed_by}
    if old.key is not None and old.turn is None and stored_document(old) is None:
        return space.add(text, key=old.key, kind=old.kind, source=old.source, meta=old.meta, **fields)
    new = space.add(text, source=source, **fields)
    if new.id != old.id:
        space.graph.link(new, "supersedes", old, observed_by=source, why="it was updated")
    return new


def tool_name(prefix: object, name: str) -> str:
    """Return the name of a tool, with a prefix that tells the tools of two spaces apart.

    Raises:
        InvalidInput: The prefix cannot be part of the name of a tool.

    Example:
        >>> tool_name("work_", "recall")
        'work_recall'
    """
    if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z0-9_-]{0,48}", prefix):
        raise InvalidInput(f"prefix={prefix!r} is not up to 48 letters, digits, '_' or '-'. Give for example 'work_'.")
    return prefix + name


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document or node as it was added.

    `metadata` are the user's own, and `details` what the framework stores besides.
    """

    id: str
    text: str
    metadata: dict[str, Any]
    details: dict[str, Any]


def document_row(
    document_id: str,
    text: str,
    metadata: Mapping[str, Any],
    *,
    source: str | None = None,
    details: Mapping[str, Any] | None = None,
    per_source: bool = False,
) -> dict[str, Any]:
    """Return a document or node of a framework as a row for `add_many`.

    The id is its identity: the same id again is a new version, and the same text under two ids is two memories. The
    metadata are the `meta` of the memory, so that `recall(meta=...)` can filter by them.

    Args:
        document_id: The user's id.
        text: The text. One without a visible character is stored as "[no text]".
        metadata: The user's metadata. Times, ids, paths and the like become text.
        source: The document that this is a piece of. One of more than 512 characters is left out.
        details: What the framework needs to restore it.
        per_source: Whether the same id in another source is another memory.

    Raises:
        InvalidInput: The metadata cannot be written as JSON.

    Example:
        >>> row = document_row("d1", "Porto has six bridges.", {"page": 3}, source="porto.pdf")
        >>> row["key"], row["source"], row["meta"]["page"]
        ('document:d1', 'porto.pdf', 3)
    """
    if DOCUMENT_FIELD in metadata:
        raise InvalidInput(
            f"the metadata of document {document_id!r} have a field {DOCUMENT_FIELD!r}, which is reserved. Rename it."
        )
    ours: dict[str, Any] = {"id": document_id}
    if details:
        ours["details"] = _as_json(details, document_id)
    stored = storable_text(text)
    if not stored.strip():
        ours["text"], stored = stored, placeholder_text([], [])
    key = _document_key(f"{document_id}@{source}" if per_source and source else document_id)
    row = {"text": stored, "key": key, "meta": {**_as_json(metadata, document_id), DOCUMENT_FIELD: ours}}
    usable = source is not None and source.strip() and len(source) <= _MAX_SOURCE_LENGTH
    return row | ({"source": source} if usable else {})


def stored_document(memory: Memory) -> StoredDocument | None:
    """Return the document or node that a memory is, or None if it is no document."""
    ours = memory.meta.get(DOCUMENT_FIELD)
    if not isinstance(ours, dict) or not isinstance(ours.get("id"), str):
        return None
    metadata = {name: value for name, value in memory.meta.items() if name != DOCUMENT_FIELD}
    return StoredDocument(ours["id"], ours.get("text", memory.text), metadata, ours.get("details", {}))


def find_documents(view: View, ids: Iterable[str]) -> list[Memory]:
    """Return the memories of the documents with these ids, in this order; those that do not exist are left out.

    An id may also be that of a memory which is no document. Documents stored with `per_source` are not found.
    """
    found = (view.find(_document_key(each)) or view.get(each) for each in dict.fromkeys(ids))
    return [memory for memory in found if memory is not None]


def embed_texts(view: View, texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of these texts, by the embedder of the space."""
    return view._embed(texts) if texts else []


def embed_query(view: View, text: str) -> list[float]:
    """Return the vector of a question, by the embedder of the space."""
    return view._embed([text], query=True)[0]


def _document_key(identity: str) -> str:
    """The key of the memory that a document is; short, as the ids of others may be long."""
    if len(identity) > _MAX_IDENTITY_LENGTH:
        identity = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
    return f"document:{identity}"


def _as_json(value: Mapping[str, Any], document_id: str) -> dict[str, Any]:
    """A mapping with text in place of times, ids and paths."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        written: dict[str, Any] = to_jsonable_python(dict(value), fallback=_plain_number)
    except (PydanticSerializationError, ValueError) as error:
        raise InvalidInput(
            f"the metadata of document {document_id!r} cannot be written as JSON: {error}. Use only text, numbers, "
            "times, lists and dicts."
        ) from None
    return written


def _plain_number(value: Any) -> Any:
    """A number of numpy as one of Python."""
    if callable(getattr(value, "item", None)) and getattr(value, "ndim", None) == 0:
        return value.item()
    raise ValueError(f"{value!r} is of type {type(value).__name__}")


class ChangeFollower:
    """Base class of a table that is derived from the changes of a space.

    A subclass implements `apply_change`, and calls `catch_up` before it reads its table. It then also has
    what other processes wrote. The view is not kept here, so that a table may be the value of a weak
    mapping whose key is the view.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._position = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> ChangeFollower:
        return self  # there is one table for one ledger, so copies of an adapter share it

    def catch_up(self, view: View) -> None:
        """Apply the changes that were written since the last call."""
        with self.lock:
            for change in view.audit.changes(after=self._position):
                self.apply_change(change)
                self._position = change.position

    def apply_change(self, change: Change) -> None:
        """Update the table with one change."""
        raise NotImplementedError


class NamedEmbedder:
    """An embedding model of a framework, with the name under which a space stores its vectors.

    Args:
        name: The name of the model.
        embed: Embeds a list of texts.
        embed_query: Embeds a question.
    """

    def __init__(
        self, name: str, embed: Callable[[list[str]], list[list[float]]], embed_query: Callable[[str], list[float]]
    ) -> None:
        self.name = name
        self._embed = embed
        self._embed_query = embed_query

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text."""
        return self._embed(list(texts))

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self._embed_query(text)


def storable_text(text: str, *, replacement: str = "\N{REPLACEMENT CHARACTER}") -> str:
    """Replace the characters that a ledger cannot store: NUL, and half of a surrogate pair."""
    return replace_unstorable(text, replacement)


def warn_of_long_texts(log: Logger, texts: Iterable[str]) -> None:
    """Log a warning for each text that an adapter has cut off at `MAX_TEXT_LENGTH` characters.

    Call it where turns are stored, which is done once for each.
    """
    for text in texts:
        if len(text) >= MAX_TEXT_LENGTH:
            log.warning("a message is too long: its first %s characters are remembered", f"{MAX_TEXT_LENGTH:,}")


def placeholder_text(calls: Sequence[tuple[str, str]], content_types: Iterable[str]) -> str:
    """Describe a chat message that has no text, as a memory cannot be blank.

    Args:
        calls: The tool calls of the message: name and arguments.
        content_types: The types of its other content.

    Example:
        >>> placeholder_text([("weather", '{"city": "Porto"}')], [])
        '[calls weather({"city": "Porto"})]'
        >>> placeholder_text([], ["image", "image"]), placeholder_text([], [])
        ('[image]', '[no text]')
    """
    if calls:
        return storable_text(f"[calls {'; '.join(f'{name}({arguments})' for name, arguments in calls)}]")
    return f"[{', '.join(dict.fromkeys(content_types)) or 'no text'}]"
