"""Public helpers for the authors of framework adapters.

An adapter imports the public names of `remanence` and this module, and nothing else of the package.

lazy_getattr                          load the names of a package when they are first used
log_and_continue                      log a failure of memory instead of raising it
reinforce, quoted_hits                count as used the memories that an answer took words from
strip_frames, is_frame, shorten_frame work on blocks that `remanence.frame` made
check_max_tokens, TokenCounter        token budgets
ChangeFollower                        base class of a table that follows the ledger of a space
NamedEmbedder                         an embedding model of a framework, with a name
storable_text, placeholder_text       the text under which a chat message is stored
in_thread                             an async variant of a method
require_space                         refuse to write to a view of the past
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence.api.in_thread import in_thread
from remanence.errors import InvalidInput, MissingExtra
from remanence.language.framing import TokenCounter, hit_as_json_line, is_frame, shorten_frame, strip_frames
from remanence.read.memories_used import memories_used

if TYPE_CHECKING:
    from logging import Logger

    from remanence.api.space import Space
    from remanence.api.view import View
    from remanence.schema import Change, Hit

__all__ = [
    "ChangeFollower",
    "NamedEmbedder",
    "TokenCounter",
    "check_max_tokens",
    "in_thread",
    "is_frame",
    "lazy_getattr",
    "log_and_continue",
    "placeholder_text",
    "quoted_hits",
    "reinforce",
    "require_space",
    "shorten_frame",
    "storable_text",
    "strip_frames",
]

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


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


def quoted_hits(text: str, hits: Iterable[Hit]) -> list[Hit]:
    """Return those of the hits that a text quotes in the way of `frame`.

    Some hits of a recall may not have fitted into the token budget of the prompt.
    """
    return [hit for hit in hits if hit_as_json_line(hit) in text]


def check_max_tokens(max_tokens: object) -> int | None:
    """Return a token budget if it is valid: a whole number from 0 on, or None for no limit.

    Raises:
        InvalidInput: It is anything else.
    """
    if max_tokens is None or (isinstance(max_tokens, int) and not isinstance(max_tokens, bool) and max_tokens >= 0):
        return max_tokens
    raise InvalidInput(f"max_tokens={max_tokens!r} is neither None nor a whole number from 0 on.")


def require_space(view: View) -> Space:
    """Return a view as a space that can be written to.

    Raises:
        InvalidInput: It is a view of the past.
    """
    from remanence.api.space import Space  # here, as it loads the engine

    if isinstance(view, Space):
        return view
    raise InvalidInput(f"{view!r} is a view of the past and cannot be written to. Use the space.")


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
    return _NOT_STORABLE.sub(replacement, text)


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
