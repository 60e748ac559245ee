"""The folder and the space that a command works on."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import remanence
from remanence.errors import InvalidInput
from remanence.ledger import is_address, ledger_exists, open_ledger, shown_location

_SHOWN_SPACES = 5


def memory_location(args: Namespace, *, create: bool = False) -> str | Path:
    """The folder or the address that was named. It must hold a ledger unless `create`: reading must not create one."""
    named = getattr(args, "folder", None) or args.memory
    location = str(named) if is_address(named) else Path(named).expanduser()
    if not create and not ledger_exists(location):
        shown = shown_location(location)
        if isinstance(location, Path) and location.is_file():
            raise InvalidInput(f"{shown!r} is a file, not a folder with memories. Name the folder with --memory.")
        raise InvalidInput(
            f"{shown!r} contains no memories. Add one with `remanence --memory {shown} add ...`, "
            "or name the right folder with --memory or REMANENCE_MEMORY."
        )
    return location


@contextmanager
def open_space(args: Namespace, name: str | None = None, *, create: bool = False) -> Iterator[remanence.Space]:
    """The space that was named, as `remanence spaces` prints it: default/users/bob, or users/bob for short.

    Opened without a worker: a short command would end before queued jobs are done.
    """
    if args.space is not None and not args.space.strip():
        raise InvalidInput("--space is blank. Name a space, or leave it out for the space 'default'.")
    # `spaces` prints a slash inside a part of the name as %2F.
    parts = (name or _named_space(args) or "default").split("/")
    first, *path = [part.replace("%2F", "/").replace("%25", "%") for part in parts]
    with open_with(open_options(args, create=create), space=first) as root:
        space = root.child(*path) if path else root
        if (name or args.space) and not create and not space.spaces():
            raise InvalidInput(_unknown_space(memory_location(args), space.name))
        yield space


def open_options(args: Namespace, *, create: bool = True) -> dict[str, Any]:
    """The options of `remanence.open` that a command has, with the extractor as MODULE:NAME."""
    return {
        "location": str(memory_location(args, create=create)),
        "embedder": args.embedder,
        "extractor": getattr(args, "extractor", None),
        "reader": reader_option(args),
        "qdrant": getattr(args, "qdrant", None) or os.environ.get("REMANENCE_QDRANT") or None,
    }


def open_with(options: dict[str, Any], **more: Any) -> remanence.Space:
    """Open a space with what `open_options` returned."""
    return remanence.open(**options | {"extractor": _load_extractor(options["extractor"])}, worker=False, **more)


def _unknown_space(location: str | Path, name: str) -> str:
    # A mistyped name would otherwise look like an empty space.
    known = _spaces_in(location)
    alike = [known_name for known_name in known if f"/{known_name}/".endswith(f"/{name}/")] or known[:_SHOWN_SPACES]
    hint = f" There is: {', '.join(alike)}." if alike else ""
    return f"there is no space {name!r} in {shown_location(location)}.{hint} `remanence spaces` lists them."


def reader_option(args: Namespace) -> Any:
    """The reader of `--reader`; None for "none"."""
    from remanence.models.readers import DEFAULT_READER

    named = getattr(args, "reader", DEFAULT_READER)
    return None if named == "none" else named


@contextmanager
def open_view(args: Namespace) -> Iterator[remanence.View | remanence.Union]:
    """The space that was named, or a union of it with those of `--also`, as of the moment that was named."""
    with open_space(args) as space:
        found = [] if args.space or args.json else space.spaces()
        if found and space.name not in found:  # memories of users are in spaces below, and nothing would be found
            shown = ", ".join(found[:_SHOWN_SPACES])
            more = f" and {len(found) - _SHOWN_SPACES:,} more" if len(found) > _SHOWN_SPACES else ""
            print(f"{space.name} has no memories; --space names another: {shown}{more}", file=sys.stderr)
        also = [_other_space(space, name, args) for name in getattr(args, "also", ())]
        asked = remanence.union(space, *also) if also else space
        yield asked if args.as_of is None else asked.as_of(args.as_of)


def _other_space(space: remanence.Space, name: str, args: Namespace) -> remanence.Space:
    from remanence.service.hosting.spaces import Spaces

    spaces = Spaces(space)
    if name not in spaces.names():
        raise InvalidInput(_unknown_space(memory_location(args), name))
    return spaces.get(name)


def list_spaces(args: Namespace) -> list[str]:
    """The space that was named, or every space of the folder."""
    location = memory_location(args)
    if args.space is not None:
        return [_named_space(args)]
    return _spaces_in(location)


def _named_space(args: Namespace) -> str:
    """The name that --space gives: `users/bob` is `child("users", "bob")` of the space `default`, unless there is a
    space `users`. "" if it is left out."""
    name = args.space or ""
    first, slash, _ = name.partition("/")
    if not slash or first == "default":
        return name
    location = memory_location(args, create=True)
    spaces = _spaces_in(location) if ledger_exists(location) else []
    return name if any(each.partition("/")[0] == first for each in spaces) else f"default/{name}"


def _spaces_in(location: str | Path) -> list[str]:
    with closing(open_ledger(location)) as ledger:
        return ledger.spaces()


def _load_extractor(name: str | None) -> Any:
    """The object that MODULE:NAME names."""
    if name is None:
        return None
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(
            f"--extractor {name} cannot be loaded: {error}. Give for example my_models:chat_model, "
            "with my_models.py on PYTHONPATH."
        ) from None
