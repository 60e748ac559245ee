"""The commands about files and what is in them: import, export, check, rebuild and others."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import remanence
from remanence.cli import output
from remanence.cli.locations import list_spaces, memory_location, open_space
from remanence.cli.output import Lines, Result
from remanence.cli.parser import command, provided_options, section, space_command
from remanence.errors import InvalidInput
from remanence.index.engine.inputs import check_unlinked_path
from remanence.ledger import ledger_exists

if TYPE_CHECKING:
    from remanence import Space

section("Files and checks")


@command("compact", "compact ./memory", "folder")
def compact(args: Namespace) -> Lines:
    """Rebuild indexes and free disk space; ledger entries stay."""
    # Compacting a space includes those below it, so only the top ones are named.
    names = list_spaces(args) if args.space else dict.fromkeys(name.split("/")[0] for name in list_spaces(args))

    def compacted() -> Iterator[object]:
        for name in names:
            with open_space(args, name) as space:
                yield space.admin.compact(progress=output.stdout_is_terminal())

    return Lines(compacted())


@space_command("export", "export memory.jsonl.gz --children", "file --children")
def export(space: Space, args: Namespace) -> Result:
    """Write a space to a file."""
    progress = output.stdout_is_terminal()
    return Result(space.admin.export(args.file, children=args.children, progress=progress))


@command(
    "import", "import conversations.zip --dry-run", "sources --format --user --users --branches --observed-by --dry-run"
)
def import_(args: Namespace) -> Lines:
    """Import chats and memories of other programs, notes, tables, or an export of a space."""
    from remanence.transfer.import_file import Importer, is_export
    from remanence.transfer.imports.detection import open_source
    from remanence.transfer.imports.importing import check_source

    paths = [check_unlinked_path(source, "source") for source in args.sources]
    for path in paths:  # all of them before anything is written, or a folder is created
        if is_export(path):
            Importer(path)  # refuses a file that is not an export
            continue
        with closing(open_source(path, args.format)) as source:
            check_source(source, args.user, args.users)
    is_new = args.dry_run and not ledger_exists(memory_location(args, create=True))
    complete: list[bool] = []

    def imported() -> Iterator[object]:
        with remanence.open(None) if is_new else open_space(args, create=True) as space:
            for path in paths:
                yield _import_one(space, path, args, complete)

    return Lines(imported(), code=lambda: 0 if all(complete) else 1)


def _import_one(space: Space, path: Path, args: Namespace, complete: list[bool]) -> object:
    from remanence.transfer.import_file import is_export

    progress = output.stdout_is_terminal()
    if is_export(path):
        return remanence.restore(path, into=space, progress=progress)
    options = provided_options(args, "format user users branches observed_by dry_run")
    try:
        report = space.admin.import_from(path, progress=progress, **options)
    except KeyboardInterrupt:
        print("\nInterrupted. What was imported so far stays; the same command continues.", file=sys.stderr)
        raise
    complete.append(report.complete)
    return report


@command("migrate", "migrate ./memory postgresql://user@db.example/memory", "source target")
def migrate(args: Namespace) -> Result:
    """Copy everything from a folder into an empty PostgreSQL database, or back."""
    return Result(remanence.migrate(args.source, args.target, progress=output.stdout_is_terminal()))


@command("new-key", "new-key")
def new_key(args: Namespace) -> Result:
    """Print a random key for `encrypt` and REMANENCE_KEY. It is stored nowhere."""
    key = remanence.Encryption.new_key()
    return Result({"key": key}, key)


@command("encrypt", "encrypt ./memory", "folder")
def encrypt(args: Namespace) -> Result:
    """Encrypt a folder, new or not, with the key in REMANENCE_KEY, or that of the name in REMANENCE_KEYRING."""
    return Result(remanence.encrypt(memory_location(args, create=True), progress=output.stdout_is_terminal()))


@command("rotate-key", "rotate-key ./memory", "folder")
def rotate_key(args: Namespace) -> Result:
    """Change the key of a folder to that in REMANENCE_NEW_KEY, or REMANENCE_NEW_KEYRING."""
    new = remanence.Encryption(os.environ.get("REMANENCE_NEW_KEY"), os.environ.get("REMANENCE_NEW_KEYRING"))
    if new.key is None and new.keyring is None:
        raise InvalidInput("there is no new key. Set REMANENCE_NEW_KEY to one that `remanence new-key` makes.")
    location = memory_location(args)
    remanence.rotate_key(location, new=new)
    return Result({"rotated": str(location)}, f"{location} opens with the new key from now on")


@space_command("verify", "verify ./memory", "folder")
def verify(space: Space, args: Namespace) -> Result:
    """Check that no ledger entry was tampered with."""
    report = space.verify()
    from remanence.text.text import pluralize

    entries = pluralize(report.entries, "ledger entry", "ledger entries")
    return Result(report, f"{entries}, unchanged\ndigest {report.digest}")


@command("check", "check ./memory", "folder")
def check(args: Namespace) -> Lines:
    """Compare each index with a fresh build, in every space or the one named by --space."""
    found: list[str] = []

    def checked() -> Iterator[dict[str, Any]]:
        for name in list_spaces(args):
            with open_space(args, name) as space:
                differences = dict(space.admin.check())
                found.extend(differences)
                yield {"space": name, "differences": differences, "location": str(space.admin.location)}

    def described(row: dict[str, Any]) -> str:
        rebuild = f"Run `remanence rebuild {row['location']}`."
        lines = [f"  {index}: {difference}. {rebuild}" for index, difference in row["differences"].items()]
        return "\n".join(
            [f"{row['space']}:" if lines else f"{row['space']}: the indexes agree with the ledger", *lines]
        )

    return Lines(checked(), described, lambda: 1 if found else 0)


@command("rebuild", "rebuild ./memory --embedder bge-small-en-v1.5", "folder")
def rebuild(args: Namespace) -> Result | Lines:
    """Rebuild the indexes from the ledger; with --embedder, change to that embedder."""
    progress = output.stdout_is_terminal()
    if args.embedder is not None:
        remanence.reembed(memory_location(args), embedder=args.embedder, progress=progress)
        return Result({"embedder": args.embedder}, f"embedded again with {args.embedder}")

    def rebuilt() -> Iterator[dict[str, str]]:
        for name in list_spaces(args):
            with open_space(args, name) as space:
                space.rebuild(progress=progress)
            yield {"rebuilt": name}

    return Lines(rebuilt(), lambda row: f"{row['rebuilt']}: rebuilt")
