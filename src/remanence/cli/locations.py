"""The folder and the space that a command works on."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import remanence
from remanence.errors import InvalidInput


def memory_folder(args: Namespace, *, create: bool = False) -> Path:
    """The folder that was named. It must hold a ledger unless `create`: reading must not create an empty one."""
    folder = Path(getattr(args, "folder", None) or args.memory).expanduser()
    if not create and not (folder / "ledger.db").is_file():
        raise InvalidInput(
            f"{folder} holds no memories. Add one with `remanence --memory {folder} add ...`, "
            "or name the right folder with --memory or REMANENCE_MEMORY."
        )
    return folder


@contextmanager
def open_space(args: Namespace, name: str | None = None, *, create: bool = False) -> Iterator[remanence.Space]:
    """The space that was named, as `remanence spaces` prints it: default/users/bob.

    Opened without a worker: a short command would end before queued jobs are done.
    """
    # `spaces` prints a slash inside a part of the name as %2F.
    parts = (name or args.space or "default").split("/")
    first, *path = [part.replace("%2F", "/").replace("%25", "%") for part in parts]
    with remanence.open(
        memory_folder(args, create=create),
        space=first,
        embedder=args.embedder,
        extractor=load_extractor(getattr(args, "extractor", None)),
        reader=reader_option(args),
        worker=False,
    ) as root:
        yield root.child(*path) if path else root


def reader_option(args: Namespace) -> Any:
    """What `--reader` names; "none" is none."""
    from remanence.models.catalogue import DEFAULT_READER

    named = getattr(args, "reader", DEFAULT_READER)
    return None if named == "none" else named


@contextmanager
def open_view(args: Namespace) -> Iterator[remanence.View]:
    """The space that was named, as of the moment that was named."""
    with open_space(args) as space:
        yield space if args.as_of is None else space.as_of(args.as_of)


def list_spaces(args: Namespace) -> list[str]:
    """The space that was named, or every space of the folder."""
    from remanence.ledger import open_ledger

    folder = memory_folder(args)
    if args.space is not None:
        return [args.space]
    ledger = open_ledger(folder)
    try:
        return ledger.spaces()
    finally:
        ledger.close()


def load_extractor(name: str | None) -> Any:
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
