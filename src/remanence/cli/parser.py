"""How a command is declared, and the argument parser made of all commands.

A decorator registers a function with its name, an example and the names of its options. Its docstring is the help
text. The options are in options.json: "add --kind" is the option `--kind` of `add`, "--kind" that of the other
commands. A name that is not there is a positional argument without a help text. `flags` are further options, such as
those that `recall_flags.py` makes of a declaration. Every command has `--json`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import (
    SUPPRESS,
    ArgumentParser,
    ArgumentTypeError,
    BooleanOptionalAction,
    Namespace,
    RawDescriptionHelpFormatter,
)
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from remanence.cli.locations import open_space, open_view
from remanence.cli.output import Lines, Result, print_error, show
from remanence.errors import InvalidInput
from remanence.hooks import OTHER_NAMES
from remanence.schema.version import __version__

CommandFunction = Callable[[Namespace], "Result | Lines | None"]
"""What it returns is printed, as text or as JSON. One that goes on until it is interrupted prints itself."""
OpenedCommandFunction = Callable[[Any, Namespace], "Result | Lines | None"]  # of a space or a view, first

VALIDITY = "--valid-from --valid-until --confidence --observed-by"
DEFAULT_FOLDER = "./memory"


@dataclass(frozen=True, slots=True)
class Command:
    """A command. "graph query" is the command `query` of the group `graph`; a group has no function."""

    name: str
    run: Callable[[Namespace], int] | None
    help: str
    example: str
    options: str = ""
    section: str = ""
    flags: Mapping[str, dict[str, Any]] = field(default_factory=dict)


class WrongValue(InvalidInput):
    """A value on the command line is not valid: wrong usage."""


class _WrongUsage(Exception):
    """The words are no command. `parser` is that of the command that was recognized."""

    def __init__(self, parser: ArgumentParser, message: str) -> None:
        super().__init__(message)
        self.parser = parser


class Parser(ArgumentParser):
    """A parser that names the nearest command, option or choice for one that does not exist."""

    _words: Sequence[str] = ()

    def parse(self, words: Sequence[str] | None) -> Namespace:
        """The arguments that these words are; None takes those of the process. Wrong usage ends with exit code 2."""
        self._words = sys.argv[1:] if words is None else words
        try:
            return self.parse_args(self._words)
        except _WrongUsage as wrong:
            as_json = "--json" in self._words
            if not as_json:
                wrong.parser.print_usage(sys.stderr)
            print_error("WrongUsage", str(wrong), as_json=as_json, program=wrong.parser.prog)
            self.exit(2)

    def error(self, message: str) -> NoReturn:
        """Refuse the words, and say what was probably meant."""
        if wrong := re.search(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)", message, re.DOTALL):
            name, value, choices = wrong.groups()
            known = re.findall(r"[^\s',]+", choices)
            what = "command" if name == "COMMAND" else f"value of {name}"
            ways = (
                f"`{self.prog} --help` lists the commands."
                if name == "COMMAND"
                else f"It is one of {', '.join(known)}."
            )
            message = f"there is no {what} {value!r}.{_did_you_mean(value, known)} {ways}"
        elif unknown := re.match(r"unrecognized arguments: (-\S+)", message):
            named = unknown[1].partition("=")[0]
            command = _command_of(self._words)
            known = [*_option_words(command), "--help"]
            program = " ".join(filter(None, (self.prog, command.name if command else "")))
            message = f"there is no option {named}.{_did_you_mean(named, known)} `{program} --help` lists the options."
        raise _WrongUsage(self, message)


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest of the known words as a question; "" if none is near."""
    names = list(known)
    near = [OTHER_NAMES[word]] if OTHER_NAMES.get(word) in names else get_close_matches(word, names, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _command_of(words: Sequence[str]) -> Command | None:
    """The command among the words that were typed."""
    names = {command.name: command for command in COMMANDS if command.run is not None}
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    return next((names[word] for word in (*pairs, *words) if word in names), None)


def _option_words(command: Command | None) -> list[str]:
    words = [word for word in command.options.split() if word.startswith("--")] if command else []
    flags = command.flags if command else {}
    return [*words, *flags, "--json", "--memory", "--space", "--embedder"]


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def json_value(text: str) -> Any:
    """A value that is given as JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not JSON ({error}). Give for example '{{\"page\": 3}}'") from None


def parse_weights(text: str) -> dict[str, float]:
    """'words=0.6,vectors=0.4' as a dict.

    >>> parse_weights("words=0.6,vectors=0.4")
    {'words': 0.6, 'vectors': 0.4}
    """
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not of the form words=0.6,vectors=0.4") from None


_WORDS: dict[str, Any] = {
    "int": int,
    "float": float,
    "names": _split_names,
    "weights": parse_weights,
    "boolean": BooleanOptionalAction,
}


def _settings(found: dict[str, Any]) -> dict[str, Any]:
    """An option of options.json as `ArgumentParser.add_argument` takes it."""
    return found | {key: _WORDS[found[key]] for key in ("type", "action") if found.get(key) in _WORDS}


_OPTIONS_FILE = Path(__file__).with_name("options.json").read_text("utf-8")
_OPTIONS: dict[str, dict[str, Any]] = json.loads(_OPTIONS_FILE, object_hook=_settings)

COMMANDS: list[Command] = []
_SECTIONS: list[str] = []


def section(title: str) -> None:
    """Begin a section of the help: the commands that are registered from here on are in it."""
    _SECTIONS.append(title)


def group(name: str, help: str, example: str) -> None:
    """Register a group of commands. If it has a command `list`, the name of the group alone runs it."""
    COMMANDS.append(Command(name, None, help, example, section=_SECTIONS[-1]))


def command(name: str, example: str, options: str = "") -> Callable[[CommandFunction], CommandFunction]:
    """Register a command that opens the space itself."""

    def register(run: CommandFunction) -> CommandFunction:
        def run_and_show(args: Namespace) -> int:
            return show(run(args), as_json=args.json)

        COMMANDS.append(Command(name, run_and_show, run.__doc__ or "", example, options, _SECTIONS[-1]))
        return run

    return register


def space_command(
    name: str, example: str, options: str = "", *, create: bool = False
) -> Callable[[OpenedCommandFunction], OpenedCommandFunction]:
    """Register a function that is given the opened space. With `create`, a missing folder is created."""
    return _opening_command(partial(open_space, create=create), name, example, options)


def view_command(
    name: str, example: str, options: str, flags: Mapping[str, dict[str, Any]] | None = None
) -> Callable[[OpenedCommandFunction], OpenedCommandFunction]:
    """Register a function that is given the space as of the moment that `--as-of` names."""
    return _opening_command(open_view, name, example, f"{options} --as-of", flags)


def _opening_command(
    opener: Callable[[Namespace], AbstractContextManager[Any]],
    name: str,
    example: str,
    options: str,
    flags: Mapping[str, dict[str, Any]] | None = None,
) -> Callable[[OpenedCommandFunction], OpenedCommandFunction]:
    def register(run: OpenedCommandFunction) -> OpenedCommandFunction:
        def run_opened(args: Namespace) -> int:
            with opener(args) as opened:  # what is printed may be read while it is open
                return show(run(opened, args), as_json=args.json)

        COMMANDS.append(Command(name, run_opened, run.__doc__ or "", example, options, _SECTIONS[-1], flags or {}))
        return run

    return register


def provided_options(args: Namespace, of: str | Callable[..., Any], *without: str) -> dict[str, Any]:
    """The values of these options, or of those that a method has, which were given."""
    names = of.split() if isinstance(of, str) else signature(of).parameters
    return {name: vars(args)[name] for name in names if vars(args).get(name) is not None and name not in without}


def make_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(
        "remanence",
        usage="remanence [--memory DIR] [--space NAME] [--embedder NAME] COMMAND ...",
        description="Long-term memory in an append-only ledger. Every answer lists its reasons.",
        epilog=f"{_sections()}\n\nExample:\n"
        '  remanence add "Alice lives in Porto."\n  remanence recall "Where is Alice?"',
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"remanence {__version__}")
    _add_location_options(parser, os.environ.get("REMANENCE_MEMORY") or DEFAULT_FOLDER, None)
    parser.add_argument("--json", **_OPTIONS["--json"])
    parser.set_defaults(run=None, asked=parser)
    groups: dict[str, ArgumentParser] = {"": parser}
    # The commands are listed by section, in the epilog.
    subparsers: dict[str, Any] = {
        "": parser.add_subparsers(title="commands", metavar="COMMAND", help=SUPPRESS, prog=parser.prog)
    }
    for command in COMMANDS:
        group, _, verb = command.name.rpartition(" ")
        made = _add_command(subparsers[group], verb, command)
        if command.run is None:
            made.set_defaults(asked=made)
            groups[verb], subparsers[verb] = made, made.add_subparsers(title="commands", metavar="COMMAND")
        elif group and verb == "list":
            groups[group].set_defaults(**vars(made.parse_args([])))
    return parser


def subcommands(parser: ArgumentParser, path: str = "") -> Iterator[tuple[str, ArgumentParser]]:
    """Every command with its parser, `models get` and the like included."""
    for action in parser._actions:
        if isinstance(action.choices, dict):  # only the choices of subcommands have parsers
            for name, child in action.choices.items():
                yield f"{path}{name}", child
                yield from subcommands(child, f"{path}{name} ")


def _sections() -> str:
    """The commands by section, each with its summary."""
    shown = [command for command in COMMANDS if " " not in command.name]
    width = max((len(command.name) for command in shown), default=0)
    blocks = []
    for title in dict.fromkeys(command.section for command in shown):
        rows = [f"  {c.name:<{width}}  {_summary(c)}" for c in shown if c.section == title]
        blocks.append("\n".join([f"{title}:", *rows]))
    return "\n\n".join(blocks)


def _summary(command: Command) -> str:
    summary = command.help.partition("\n")[0].rstrip(".")
    return f"{summary[:1].lower()}{summary[1:]}"


def _add_command(subparsers: Any, verb: str, command: Command) -> ArgumentParser:
    listed = {"help": _summary(command)} if " " in command.name else {}
    parser: ArgumentParser = subparsers.add_parser(
        verb,
        **listed,
        description=f"{command.help.rstrip('.')}.",
        epilog=f"Example:\n  remanence {command.example}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    # An option that is not given after the verb keeps the value given before it; so does `--json`.
    _add_location_options(parser, SUPPRESS, SUPPRESS)
    for word in command.options.split():
        parser.add_argument(word, **_OPTIONS.get(f"{command.name} {word}") or _OPTIONS.get(word, {}))
    for flag, settings in command.flags.items():
        parser.add_argument(flag, **settings)
    parser.add_argument("--json", **_OPTIONS["--json"] | {"default": SUPPRESS})
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
