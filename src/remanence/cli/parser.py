"""How a command is declared, and the argument parser made of all commands.

A decorator registers a function with its name, an example and the names of its options. Its docstring is the help
text. The options are in options.json: "recall --kind" is the option `--kind` of `recall`, "--kind" that of the other
commands. A name that is not there is a positional argument without a help text.
"""

from __future__ import annotations

import json
import os
from argparse import (
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    BooleanOptionalAction,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import Any

from remanence.cli.locations import open_space, open_view
from remanence.schema.version import __version__

CommandFunction = Callable[[Namespace], "int | None"]
OpenedCommandFunction = Callable[[Any, Namespace], "int | None"]  # the first argument is a space or a view

VALIDITY = "--valid-from --valid-until --confidence --observed-by"
DEFAULT_FOLDER = "./memory"


@dataclass(frozen=True, slots=True)
class Command:
    """A command. "graph query" is the command `query` of the group `graph`; a group has no function."""

    name: str
    run: CommandFunction | None
    help: str
    example: str
    options: str = ""


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _json_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not JSON ({error}). Give for example '{{\"page\": 3}}'") from None


_WORDS: dict[str, Any] = {
    "int": int,
    "float": float,
    "names": _split_names,
    "json": _json_value,
    "boolean": BooleanOptionalAction,
}


def _settings(found: dict[str, Any]) -> dict[str, Any]:
    """An option of options.json as `ArgumentParser.add_argument` takes it."""
    return found | {key: _WORDS[found[key]] for key in ("type", "action") if found.get(key) in _WORDS}


_OPTIONS_FILE = Path(__file__).with_name("options.json").read_text("utf-8")
_OPTIONS: dict[str, dict[str, Any]] = json.loads(_OPTIONS_FILE, object_hook=_settings)

COMMANDS: list[Command] = []


def group(name: str, help: str, example: str) -> None:
    """Register a group of commands. If it has a command `list`, the name of the group alone runs it."""
    COMMANDS.append(Command(name, None, help, example))


def command(name: str, example: str, options: str = "") -> Callable[[CommandFunction], CommandFunction]:
    """Register a command that opens the space itself."""

    def register(run: CommandFunction) -> CommandFunction:
        COMMANDS.append(Command(name, run, run.__doc__ or "", example, options))
        return run

    return register


def space_command(
    name: str, example: str, options: str = "", *, create: bool = False
) -> Callable[[OpenedCommandFunction], CommandFunction]:
    """Register a function that is given the opened space. With `create`, a missing folder is created."""
    return lambda run: command(name, example, options)(_open_first(partial(open_space, create=create), run))


def view_command(name: str, example: str, options: str) -> Callable[[OpenedCommandFunction], CommandFunction]:
    """Register a function that is given the space as of the moment that `--as-of` names."""
    return lambda run: command(name, example, f"{options} --as-of")(_open_first(open_view, run))


def _open_first(
    opener: Callable[[Namespace], AbstractContextManager[Any]], run: OpenedCommandFunction
) -> CommandFunction:
    @wraps(run)
    def run_opened(args: Namespace) -> int | None:
        with opener(args) as opened:
            return run(opened, args)

    return run_opened


def provided_options(args: Namespace, of: str | Callable[..., Any], *without: str) -> dict[str, Any]:
    """The values of these options, or of those that a method has, which were given."""
    names = of.split() if isinstance(of, str) else signature(of).parameters
    return {name: vars(args)[name] for name in names if vars(args).get(name) is not None and name not in without}


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
    summary = command.help.rstrip(".")
    parser: ArgumentParser = subparsers.add_parser(
        verb,
        help=f"{summary[0].lower()}{summary[1:]}",
        description=f"{summary}.",
        epilog=f"Example:\n  remanence {command.example}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    # An option that is not given after the verb keeps the value given before it.
    _add_location_options(parser, SUPPRESS, SUPPRESS)
    for word in command.options.split():
        parser.add_argument(word, **_OPTIONS.get(f"{command.name} {word}") or _OPTIONS.get(word, {}))
    if command.run is not None:
        parser.set_defaults(run=command.run)
    return parser


def _add_location_options(parser: ArgumentParser, folder: str, other: str | None) -> None:
    """The three options that may be given before and after the verb."""
    group = parser.add_argument_group("where")
    group.add_argument(
        "--memory",
        metavar="DIR",
        default=folder,
        help=f"the folder, or the address of a database ({DEFAULT_FOLDER}, or REMANENCE_MEMORY)",
    )
    group.add_argument("--space", metavar="NAME", default=other, help="the space, as `spaces` prints it")
    group.add_argument("--embedder", metavar="NAME", default=other, help="as `models list` prints it")
