"""The command line parser. Imports no engine, so that `--help` answers at once."""

from __future__ import annotations

import os
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from remanence._version import __version__
from remanence.cli.registry import COMMANDS, Command

# Importing these modules registers their commands, which `--help` lists in this order.
# isort: off
from remanence.cli import memory_commands, graph_commands, admin_commands  # noqa: F401
# isort: on

DEFAULT_FOLDER = "./memory"


def make_parser() -> ArgumentParser:
    """The parser of the whole command line."""
    parser = ArgumentParser(
        "remanence",
        description="Long-term memory in an append-only ledger. Every answer lists its reasons.",
        epilog='Example:\n  remanence add "Alice lives in Porto."\n  remanence recall "Where is Alice?"',
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"remanence {__version__}")
    _add_location_options(parser, os.environ.get("REMANENCE_MEMORY") or DEFAULT_FOLDER, None)
    parser.set_defaults(run=None)
    groups = {"": parser}
    subparsers = {"": parser.add_subparsers(title="commands", metavar="COMMAND")}
    for command in COMMANDS:
        group, _, verb = command.name.rpartition(" ")
        made = _add_command(subparsers[group], verb, command)
        if command.run is None:
            groups[verb], subparsers[verb] = made, made.add_subparsers(title="commands", metavar="COMMAND")
        elif group and verb == "list":
            groups[group].set_defaults(**vars(made.parse_args([])))
    return parser


def _add_command(subparsers: Any, verb: str, command: Command) -> ArgumentParser:
    summary = command.help.splitlines()[0].rstrip(".")
    parser: ArgumentParser = subparsers.add_parser(
        verb,
        help=f"{summary[0].lower()}{summary[1:]}",
        description=f"{summary}.",
        epilog=f"Example:\n  remanence {command.example}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    # An option that is not given after the verb keeps the value given before it.
    _add_location_options(parser, SUPPRESS, SUPPRESS)
    for name, settings in command.options:
        parser.add_argument(name, **settings)
    if command.run is not None:
        parser.set_defaults(run=command.run)
    return parser


def _add_location_options(parser: ArgumentParser, folder: str, other: str | None) -> None:
    """The three options that may be given before and after the verb."""
    group = parser.add_argument_group("where")
    group.add_argument(
        "--memory", metavar="DIR", default=folder, help=f"the folder ({DEFAULT_FOLDER}, or REMANENCE_MEMORY)"
    )
    group.add_argument("--space", metavar="NAME", default=other, help="the space, as `spaces` prints it")
    group.add_argument("--embedder", metavar="NAME", default=other, help="as `models list` prints it")
