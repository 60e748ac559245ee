"""Registration of commands: a decorator stores a function with its name, an example and its options.

The docstring of the function is the help text of the command.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

from remanence.cli.locations import open_space, open_view

Run = Callable[[Namespace], "int | None"]
RunOpened = Callable[[Any, Namespace], "int | None"]  # the first argument is a space or a view
Option = tuple[str, dict[str, Any]]  # the arguments of `ArgumentParser.add_argument`


@dataclass(frozen=True, slots=True)
class Command:
    """A command. "graph query" is the command `query` of the group `graph`; a group has no function."""

    name: str
    run: Run | None
    help: str
    example: str
    options: Sequence[Option] = ()


COMMANDS: list[Command] = []


def option(name: str, **settings: Any) -> Option:
    """An option or a positional argument of one command."""
    return name, settings


def group(name: str, help: str, example: str) -> None:
    """Register a group of commands. If it has a command `list`, the name of the group alone runs it."""
    COMMANDS.append(Command(name, None, help, example))


def command(name: str, example: str, *options: Option | str) -> Callable[[Run], Run]:
    """Register a function that opens what it needs."""

    def register(run: Run) -> Run:
        given: list[Option] = []
        for each in options:
            given += [(word, _SHARED.get(word, {})) for word in each.split()] if isinstance(each, str) else [each]
        COMMANDS.append(Command(name, run, run.__doc__ or "", example, given))
        return run

    return register


def space_command(name: str, example: str, *options: Option | str, create: bool = False) -> Callable[[RunOpened], Run]:
    """Register a function that is given the opened space. With `create`, a missing folder is created."""
    return lambda run: command(name, example, *options)(_opening(partial(open_space, create=create), run))


def view_command(name: str, example: str, *options: Option | str) -> Callable[[RunOpened], Run]:
    """Register a function that is given the space as of the moment that `--as-of` names."""
    return lambda run: command(name, example, *options, "--as-of")(_opening(open_view, run))


def _opening(opener: Callable[[Namespace], AbstractContextManager[Any]], run: RunOpened) -> Run:
    @wraps(run)
    def run_opened(args: Namespace) -> int | None:
        with opener(args) as opened:
            return run(opened, args)

    return run_opened


# Options that several commands have. A text such as "id --json" lists them; other words in it are positional arguments.

WHEN = "a date, or words such as 'last May'"
VALIDITY = "--valid-from --valid-until --confidence --observed-by"
_SHARED: dict[str, dict[str, Any]] = {
    "--as-of": {"metavar": "WHEN", "help": "answer with what was known then"},
    "--at": {"metavar": "WHEN", "help": f"what was true then: {WHEN}"},
    "--confidence": {"type": float, "metavar": "0..1", "help": "how certain it is"},
    "--extractor": {"metavar": "MODULE:NAME", "help": "a chat model or extractor of yours, in place of the rules"},
    "--json": {"action": "store_true", "help": "print JSON"},
    "--now": {"metavar": "WHEN", "help": "the present moment: 'last week' is read against it"},
    "--observed-by": {"metavar": "NAME", "help": "the person who says it; 'I' in the text is this person"},
    "--reranker": {"metavar": "NAME", "help": "a model that reorders the first thirty hits"},
    "--signals": {"metavar": "A,B", "help": "only these of vectors,words,graph,times"},
    "--source": {"help": "where the text comes from"},
    "--valid-from": {"metavar": "WHEN", "help": f"true from then on: {WHEN}"},
    "--valid-until": {"metavar": "WHEN", "help": "true until then"},
    "--why": {"help": "the reason, stored with it"},
    "folder": {"nargs": "?", "help": "the folder, in place of --memory"},
}


def split_names(text: str | None) -> list[str] | None:
    """The names in a text such as 'words,graph'."""
    return None if text is None else [name.strip() for name in text.split(",")]
