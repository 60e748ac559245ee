"""Public helpers for the authors of framework adapters.

An adapter imports the public names of `remanence` and this module, and nothing else of the package. It loads the names
of a package when they are first used (`lazy_getattr`), recalls for a prompt (`for_prompt`, for own views), stores turns
and documents (`storable_text`, `document_row`), checks its arguments when it is made (`check_kinds`,
`require_space` and others), and follows the ledger of a space (`ChangeFollower`).
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence.adapters.chat_sessions import (
    MAX_TEXT_LENGTH,
    ChatSession,
    check_minutes,
    check_rename,
    check_session_id,
    check_ttl,
    placeholder_text,
    storable_text,
    warn_of_long_texts,
)
from remanence.adapters.recall_filters import RECALL_FILTERS, check_filters, recall_tool_options
from remanence.adapters.stored_documents import StoredDocument, check_ids, document_row, find_documents, stored_document
from remanence.errors import InvalidInput, MissingExtra, NotFound, RemanenceError
from remanence.index.engine.in_thread import ClosedAtEnd, cancel_with, in_thread
from remanence.index.engine.inputs import check_question
from remanence.recall.memories_used import memories_used
from remanence.schema import DOCUMENT_FIELD, MAX_TASK_LENGTH, SELF, ErasureCertificate, Moment
from remanence.space.for_prompt import (
    MAX_TOKENS,
    FilledBlock,
    Keep,
    PromptMemories,
    check_keep,
    fill_block,
    for_prompt,
    is_kept,
    prompt_budget,
    recall_distinct,
)
from remanence.space.protocols import is_space, is_view
from remanence.text.framing import (
    TokenCounter,
    dated_text,
    estimate_tokens,
    frame_or_reason,
    is_frame,
    plain_line,
    strip_frames,
)
from remanence.text.temporal import parse_moment
from remanence.text.text import normalize_text, pluralize

if TYPE_CHECKING:
    from logging import Logger

    from remanence.schema import Change, Hit, Memory
    from remanence.space.space import Space
    from remanence.space.view import View

__all__ = [
    "DOCUMENT_FIELD",
    "MAX_TASK_LENGTH",
    "MAX_TEXT_LENGTH",
    "MAX_TOKENS",
    "RECALL_FILTERS",
    "SELF",
    "ChangeFollower",
    "ChatSession",
    "ClosedAtEnd",
    "ErasureCertificate",
    "FilledBlock",
    "Keep",
    "Moment",
    "NamedEmbedder",
    "PromptMemories",
    "StoredDocument",
    "TokenCounter",
    "cancel_with",
    "check_filters",
    "check_ids",
    "check_keep",
    "check_kinds",
    "check_max_tokens",
    "check_minutes",
    "check_moment",
    "check_question",
    "check_rename",
    "check_session_id",
    "check_tags",
    "check_ttl",
    "current_moment",
    "dated_text",
    "document_row",
    "embed_query",
    "embed_texts",
    "estimate_tokens",
    "fill_block",
    "find_documents",
    "for_prompt",
    "frame_or_reason",
    "in_thread",
    "is_frame",
    "is_kept",
    "is_space",
    "is_view",
    "lazy_getattr",
    "log_and_continue",
    "normalize_text",
    "own_hits",
    "placeholder_text",
    "plain_line",
    "pluralize",
    "prompt_budget",
    "recall_distinct",
    "recall_tool_options",
    "reinforce",
    "remember_text",
    "require_fact_extractor",
    "require_space",
    "require_view",
    "storable_text",
    "storage_key",
    "stored_document",
    "strip_frames",
    "tool_name",
    "update_memory",
    "warn_of_long_texts",
]


def lazy_getattr(
    package: str, modules: Mapping[str, tuple[str, str]], *, frameworks: Collection[str]
) -> Callable[[str], Any]:
    """Make a `__getattr__` for a package, so that each name is loaded when it is first used.

    Args:
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
                f'{name} needs the package {error.name!r}. Run: pip install "remanence-memory[{extra}]"'
            ) from error

    return load


@contextmanager
def log_and_continue(log: Logger, action: str, *, raise_errors: bool = False) -> Iterator[None]:
    """Log an exception as a warning and continue, so that an agent answers although its memory failed.

    An error of ours, such as that of a full disk, is one line; any other has its traceback.

    Args:
        log: The logger of the adapter.
        action: What was tried, as a verb: "recall".
        raise_errors: Raise the exception instead.

    Example:
        >>> import logging
        >>> with log_and_continue(logging.getLogger("quiet"), "recall"):
        ...     raise OSError("disk full")
    """
    try:
        yield
    except Exception as error:
        if raise_errors:
            raise
        ours = isinstance(error, RemanenceError)
        log.warning("memory failed: could not %s; continuing without it: %s", action, error, exc_info=not ours)


def reinforce(space: Space, hits: Iterable[Hit], *, context: str | Iterable[str], answer: str) -> None:
    """Record as used the memories whose words an answer contains (`Space.touch`).

    Memories that were forgotten in the meantime are left out.

    Args:
        space: The space of the memories.
        hits: The memories that the model was given.
        context: All other text that the model was given.
        answer: What the model answered.
    """
    ids = [
        memory_id
        for memory_id in memories_used(hits, context=context, answer=answer)
        if space.get(memory_id) is not None
    ]
    if ids:
        space.touch(ids)


def own_hits(hits: Iterable[Hit], space: Space) -> list[Hit]:
    """Return the hits of a space, if those of a union with shared ones are among them.

    Args:
        space: The space of the user.
    """
    return [hit for hit in hits if hit.space in ("", space.name)]


def check_kinds(kinds: Any) -> Any:
    """Return `kinds` if `recall` takes it as a filter. Checked when an adapter is made, since a failing recall is only
    logged.

    Raises:
        InvalidInput: It is anything else.
    """
    from remanence.index.engine import inputs

    inputs.check_kinds(kinds)
    return kinds


def check_tags(tags: Any) -> Any:
    """Return `tags` if `recall` takes it as a filter.

    Raises:
        InvalidInput: It is anything else.
    """
    from remanence.index.engine import inputs

    inputs.check_tags(tags)
    return tags


def check_moment(moment: Any) -> Any:
    """Return a moment if `now=` of `add` takes it.

    Raises:
        InvalidInput: It is anything else.
    """
    if moment is not None:
        parse_moment(moment, datetime.now(timezone.utc), argument="now")
    return moment


def check_max_tokens(max_tokens: object) -> int | None:
    """Return a token budget if it is valid: a whole number from 0 on, or None for no limit.

    Raises:
        InvalidInput: It is anything else.
    """
    if max_tokens is None or (isinstance(max_tokens, int) and not isinstance(max_tokens, bool) and max_tokens >= 0):
        return max_tokens
    raise InvalidInput(f"max_tokens={max_tokens!r} is neither None nor a whole number from 0 on.")


def current_moment(view: View) -> datetime:
    """Return the present moment of a space by its clock, or the moment of a view of the past."""
    return view._now()


def storage_key(view: View) -> object:
    """Return an object that is the same for all spaces that were opened together, as a weak key for a cache."""
    return view._storage


def require_view(value: object) -> View:
    """Return a space, or a view of one, if it is one.

    Raises:
        InvalidInput: It is anything else; the message says how to open a space.

    Example:
        >>> require_view("m")
        Traceback (most recent call last):
        remanence.errors.InvalidInput: space='m' is of type str, not a space. Open it: remanence.open('m').
    """
    if is_view(value):
        return value
    location = repr(str(value)) if isinstance(value, str | os.PathLike) else "'./memory'"
    raise InvalidInput(
        f"space={value!r} is of type {type(value).__name__}, not a space. Open it: remanence.open({location})."
    )


def require_space(view: object) -> Space:
    """Return a view as a space that can be written to.

    Raises:
        InvalidInput: It is a view of the past, or no space at all.
    """
    if is_space(view):
        return view
    require_view(view)
    raise InvalidInput(f"{view!r} is a view of the past and cannot be written to. Use the space.")


def require_fact_extractor(space: Space) -> None:
    """Check that a space has a language model that finds facts, for `extract=True`.

    A space of a server is not asked: the server has the model, or not.

    Raises:
        InvalidInput: It has none.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     require_fact_extractor(space)
        Traceback (most recent call last):
        remanence.errors.InvalidInput: extract=True needs a language model. Open the space with one: \
remanence.open(location, extractor=model).
    """
    from remanence.ports import FactExtractor
    from remanence.space.space import Space  # here, as it loads the engine

    if type(space) is Space and not isinstance(space._engine.extractor, FactExtractor):
        raise InvalidInput(
            "extract=True needs a language model. Open the space with one: remanence.open(location, extractor=model)."
        )


def remember_text(space: Space, text: str, *, source: str, **fields: Any) -> Memory:
    """Remember a text as `space.remember` does, and return its memory: it is stored verbatim, and its facts too.

    `fields` are more arguments of `space.add`, for the memory of the text.
    """
    space.remember(text, source=source)
    return space.add(text, source=source, **fields)  # the same text is the same memory


def update_memory(space: Space, memory_id: str, text: str, *, source: str) -> Memory:
    """Replace the text of a memory, and return the memory that has it now.

    A memory with a key gets a new version. For any other, and for chat turns and documents, which stay as they were
    said, a new memory supersedes it, with the texts that it was found in and the facts that were found in it alone:
    they would still answer. Views of the past have the old text in both cases.

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
    for related_id in (old.id, *_related_ids(space, old.id)):
        if new.id != related_id:
            space.graph.link(new, "supersedes", related_id, observed_by=source, why="it was updated")
    return new


def _related_ids(space: Space, memory_id: str) -> list[str]:
    """The texts that a memory was found in, and the facts that were found in it alone."""
    [details] = space.get_many(memory_id)
    texts = [link.target for link in details.links_out if link.kind == "derived_from"]
    facts = [link.source for link in details.links_in if link.kind == "derived_from"]
    alone = [
        fact.id
        for fact in (space.get_many(facts) if facts else ())
        if [link.target for link in fact.links_out if link.kind == "derived_from"] == [memory_id]
    ]
    return [*texts, *alone]


def tool_name(prefix: object, name: str) -> str:
    """Return the name of a tool, with a prefix that distinguishes the tools of two spaces.

    Raises:
        InvalidInput: The prefix cannot be part of the name of a tool.

    Example:
        >>> tool_name("work_", "recall")
        'work_recall'
    """
    if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z0-9_-]{0,48}", prefix):
        raise InvalidInput(f"prefix={prefix!r} is not up to 48 letters, digits, '_' or '-'. Give for example 'work_'.")
    return prefix + name


def embed_texts(view: View, texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of these texts, by the embedder of the space."""
    return view._embed(texts) if texts else []


def embed_query(view: View, text: str) -> list[float]:
    """Return the vector of a question, by the embedder of the space."""
    return view._embed([text], query=True)[0]


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
            for change in view.audit.changes(after_position=self._position):
                self.apply_change(change)
                self._position = change.position

    def apply_change(self, change: Change) -> None:
        """Update the table with one change."""
        raise NotImplementedError


class NamedEmbedder:
    """An embedding model of a framework, with the name under which a space stores its vectors.

    Args:
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
