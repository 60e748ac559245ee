"""What the adapters of all frameworks need: names that load late, and memory that costs no answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence.errors import MissingExtra
from remanence.language.framing import quoted
from remanence.read.memories_used import taken_up

if TYPE_CHECKING:
    from logging import Logger

    from remanence.api.space import Space
    from remanence.schema import Hit


def on_first_use(
    package: str, homes: Mapping[str, tuple[str, str]], *, frameworks: Collection[str]
) -> Callable[[str], Any]:
    """A `__getattr__` for a package: each name is loaded when it is first asked for, and no sooner.

    `homes` says for each name in which module of the package it lives, and which extra brings what it needs.
    If one of the `frameworks` turns out not to be installed, `MissingExtra` says what to type; any other
    module that is missing is somebody's mistake, and rises as it is.

    >>> load = on_first_use("json", {"JSONDecoder": ("decoder", "never")}, frameworks=())
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
def going_on(log: Logger, what: str) -> Iterator[None]:
    """Whoever cannot reach their memory answers without it; who runs them reads in the log what failed, and
    why.

    >>> import logging
    >>> with going_on(logging.getLogger("quiet"), "recall"):
    ...     raise OSError("the disk is gone")
    """
    try:
        yield
    except Exception:
        log.warning("memory is down: could not %s; going on without it", what, exc_info=True)


def reinforce(space: Space, shown: Iterable[Hit], *, told: str | Iterable[str], answer: str) -> None:
    """Count as used what an answer took up of these memories (`Space.upkeep.observe_usage`).

    What was forgotten meanwhile cannot be of use any more.
    """
    ids = [each for each in taken_up(shown, told=told, answer=answer) if space.get(each) is not None]
    if ids:
        space.upkeep.observe_usage(ids)


def shown_in(text: str, hits: Iterable[Hit]) -> list[Hit]:
    """Those of the hits that a text quotes, as `frame` does it: some found no room, or were cut off again."""
    return [hit for hit in hits if quoted(hit) in text]
