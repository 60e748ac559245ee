"""Which folder and which space a command is about."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import remanence
from remanence.errors import InvalidInput


def memory_folder(args: Namespace) -> Path:
    """The folder that was named, whether it is there or not."""
    return Path(getattr(args, "folder", None) or args.memory).expanduser()


def present_folder(args: Namespace) -> Path:
    """The folder, where there is one: asking must not leave an empty ledger behind."""
    folder = memory_folder(args)
    if not (folder / "ledger.db").is_file():
        raise InvalidInput(
            f"{folder} holds no memories. Add one with `remanence --memory {folder} add ...`, "
            "or name the right folder with --memory or REMANENCE_MEMORY."
        )
    return folder


@contextmanager
def open_space(
    args: Namespace, name: str | None = None, *, create: bool = False, **opening: Any
) -> Iterator[remanence.Space]:
    """The space that was named. Names are read as `spaces` prints them: default/users/bob.

    It leaves queued jobs alone: a command that looks something up is over before they would be.
    """
    folder = memory_folder(args) if create else present_folder(args)
    first, *path = [_plain(part) for part in (name or args.space or "default").split("/")]
    opened = remanence.open(folder, space=first, embedder=args.embedder, worker=False, **opening)
    with opened as root:
        yield root.child(*path) if path else root


@contextmanager
def open_view(args: Namespace, **opening: Any) -> Iterator[remanence.View]:
    """The space that was named, as of the moment that was."""
    moment = getattr(args, "as_of", None)
    with open_space(args, **opening) as space:
        yield space if moment is None else space.as_of(moment)


def list_spaces(args: Namespace) -> list[str]:
    """Every space of the folder, whichever it would open with."""
    from remanence.ledger import open_ledger

    ledger = open_ledger(present_folder(args))
    try:
        return ledger.spaces()
    finally:
        ledger.close()


def list_spaces_below(args: Namespace) -> list[str]:
    """The space that was named and those below it, as far as they hold anything."""
    with open_space(args) as space:
        return space.spaces()


def _plain(part: str) -> str:
    """A part of a space's name as it was given; `spaces` shows a slash inside a part as %2F."""
    return part.replace("%2F", "/").replace("%25", "%")
