"""The commands that read or write a space as a whole: stats, compact, export, import."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import remanence
from remanence.cli import output
from remanence.cli.locations import list_spaces, open_space, open_view


def stats(args: Namespace) -> None:
    """A space in numbers."""
    with open_view(args) as view:
        found = view.admin.stats()
        print(json.dumps(found.to_dict(), ensure_ascii=False, indent=2) if args.json else found)


def compact(args: Namespace) -> None:
    """Give back room, in the whole folder or for one space and those below it."""
    tops = dict.fromkeys(name.split("/")[0] for name in list_spaces(args))
    for name in tops if args.space is None else [args.space]:
        with open_space(args, name) as space:
            print(space.admin.compact(progress=output.stdout_is_terminal()))


def export(args: Namespace) -> None:
    """Write a space into a file."""
    with open_space(args) as space:
        progress = output.stdout_is_terminal()
        print(space.admin.export(args.file, children=args.children, vectors=args.vectors, progress=progress))


def import_(args: Namespace) -> None:
    """Bring a file into an empty space."""
    from remanence.admin.import_file import Importer
    from remanence.admin.jsonlines import JsonLinesReader

    path = Path(args.file).expanduser()
    with JsonLinesReader(path) as file:
        Importer(path, file)  # what is no export is refused before a folder is made for it
    with open_space(args, create=True) as space:
        print(remanence.import_(path, into=space, progress=output.stdout_is_terminal()))
