"""What the adapters of all frameworks need: names that load late, and memory that costs no answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence.errors import MissingExtra
from remanence.language.framing import hit_as_json_line
from remanence.read.memories_used import memories_used

if TYPE_CHECKING:
    from logging import Logger

    from remanence.api.space import Space
    from remanence.schema import Hit


def lazy_getattr(
    package: str, homes: Mapping[str, tuple[str, str]], *, frameworks: Collection[str]
) -> Callable[[str], Any]:
    """A `__getattr__` for a package: each name is loaded when it is first asked for, and no sooner.

    `homes` says for each name in which module of the package it lives, and which extra brings what it needs.
    If one of the `frameworks` turns out not to be installed, `MissingExtra` says what to type; any other
    module that is missing is somebody's mistake, and rises as it is.

    >>> load = lazy_getattr("json", {"JSONDecoder": ("decoder", "never")}, frameworks=())
    >>> load("JSONDecoder").__name__
    'JSONDecoder'
    >>> load("YAMLDecoder")
    Traceback (most recent call last):
    AttributeError: module 'json' has no attribute 'YAMLDecoder'
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, extra = homes[name]
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
def log_and_continue(log: Logger, what: str) -> Iterator[None]:
    """Whoever cannot reach their memory answers without it; who runs them reads in the log what failed, and
    why.

    >>> import logging
    >>> with log_and_continue(logging.getLogger("quiet"), "recall"):
    ...     raise OSError("the disk is gone")
    """
    try:
        yield
    except Exception:
        log.warning("memory is down: could not %s; going on without it", what, exc_info=True)


def reinforce(space: Space, hits: Iterable[Hit], *, context: str | Iterable[str], answer: str) -> None:
    """Count as used what an answer took up of these memories (`Space.upkeep.observe_usage`).

    What was forgotten meanwhile cannot be of use any more.
    """
    ids = [each for each in memories_used(hits, context=context, answer=answer) if space.get(each) is not None]
    if ids:
        space.upkeep.observe_usage(ids)


def quoted_hits(text: str, hits: Iterable[Hit]) -> list[Hit]:
    """Those of the hits that a text quotes, as `frame` does it: some found no room, or were cut off again."""
    return [hit for hit in hits if hit_as_json_line(hit) in text]
