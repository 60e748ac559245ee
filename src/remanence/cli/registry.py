"""Registration of commands: a decorator stores a function with its name, an example and its options.

The docstring of the function is the help text of the command. Options are listed in a text such as "id --json":
the words in OPTIONS are options, the others are positional arguments.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

from remanence.cli.locations import open_space, open_view
from remanence.cli.options import OPTIONS

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
            given += [(word, OPTIONS.get(word, {})) for word in each.split()] if isinstance(each, str) else [each]
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


def split_names(text: str | None) -> list[str] | None:
    """The names in a text such as 'words,graph'."""
    return None if text is None else [name.strip() for name in text.split(",")]
