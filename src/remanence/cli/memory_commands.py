"""The commands about memories: add, remember, recall, get, forget, erase and others."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import remanence
from remanence.cli import output
from remanence.cli.locations import open_space
from remanence.cli.output import Lines, Result
from remanence.cli.parser import VALIDITY, command, provided_options, section, space_command, view_command
from remanence.cli.recall_flags import checked, flags_of
from remanence.errors import InvalidInput, NotFound
from remanence.recall.options import FilterOptions, RecallOptions, RecentOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from remanence import Space, Union, View

_SOME_ID = "01998c2f3a7b5d0c1e2f3a4b"
_CHANGE, _ASK = "Add, change and remove memories", "Ask and list"
section(_CHANGE)


@command(
    "add",
    'add "Alice moved to Lisbon." --valid-from 2026-05-03',
    f"text --key --kind --importance --strength --trust --tag --expires-at --now {VALIDITY} --source",
)
def add(args: Namespace) -> Result:
    """Add a text and print its id."""
    text = _text(args.text)
    with open_space(args, create=True) as space:
        return output.added(space.add(**provided_options(args, space.add) | {"text": text}))


@command("add-many", "add-many facts.jsonl", "file")
def add_many(args: Namespace) -> Result:
    """Add many texts, one JSON object a line with the fields of add."""
    rows = _read_rows(args.file)
    with open_space(args, create=True) as space:
        return output.added_many(space.add_many(rows, progress=output.stdout_is_terminal()))


@command("add-turns", "add-turns chat.jsonl", "file")
def add_turns(args: Namespace) -> Result:
    """Add chat turns, one JSON object a line: content, and speaker or role, time, conversation."""
    rows = _read_rows(args.file)
    with open_space(args, create=True) as space:
        return output.added_many(space.add_turns(rows, progress=output.stdout_is_terminal()))


@command("remember", 'remember "I moved to Porto."', "text --turns --now --no-wait --source --observed-by --extractor")
def remember(args: Namespace) -> Result | Lines:
    """Store a text or a chat, and the facts in it."""
    if (args.text is None) == (args.turns is None):
        raise InvalidInput("give either a text or --turns FILE.")
    text_or_turns = _read_rows(args.turns) if args.turns else _text(args.text)
    details = provided_options(args, "now source observed_by")
    with open_space(args, create=True) as space:
        if args.no_wait:
            job = space.remember(text_or_turns, wait=False, **details)
            return Result({"job": job.id}, job.id)
        facts = space.remember(text_or_turns, **details)
    if facts.status == "given up":
        print(f"stored, but facts were not looked for in all of it: {facts.problem}", file=sys.stderr)
    elif not facts and not args.json:
        print("stored; no facts were found in it", file=sys.stderr)
    return output.many_memories(facts)


section(_ASK)


@view_command(
    "recall",
    'recall "Where does Alice live?" --explain',
    "query --also --explain --signals --reader",
    flags_of(RecallOptions, "signals", "reader"),
)
def recall(view: View | Union, args: Namespace) -> None:
    """Answer a question."""
    options = provided_options(args, remanence.View.recall, "reader")  # it is opened with that one
    found = checked(lambda: view.recall(**options), RecallOptions)
    output.print_recall(found, explain=args.explain, as_json=args.json)


@view_command("recent", "recent --limit 5", "--explain", flags_of(RecentOptions))
def recent(view: View, args: Namespace) -> None:
    """List what was told or used last."""
    found = checked(lambda: view.recent(**provided_options(args, remanence.View.recent)), RecentOptions)
    output.print_recall(found, explain=args.explain, as_json=args.json)


@view_command("get", f"get {_SOME_ID}", "id")
def get(view: View, args: Namespace) -> Result:
    """Show one memory."""
    memory = view.get(args.id)
    if memory is None:
        raise NotFound(
            f"space {view.name!r} shows no memory {args.id!r}. It may be forgotten: "
            f"`remanence unforget {args.id}`, or --as-of a time when it was known."
        )
    return output.one_memory(memory)


section(_CHANGE)


@space_command("forget", f'forget {_SOME_ID} --why "she asked"', "id --why --with-related")
def forget(space: Space, args: Namespace) -> Result:
    """Hide a memory from now on."""
    space.forget(args.id, why=args.why, with_related=args.with_related)
    option = " --with-related" if args.with_related else ""
    return Result({"forgotten": args.id}, f"forgotten; `remanence unforget {args.id}{option}` shows it again")


@space_command("unforget", f"unforget {_SOME_ID}", "id --with-related")
def unforget(space: Space, args: Namespace) -> Result:
    """Show a forgotten memory again."""
    space.unforget(args.id, with_related=args.with_related)
    return Result({"restored": args.id}, "no longer forgotten")


@space_command("erase", f"erase {_SOME_ID}", "id --with-related --yes")
def erase(space: Space, args: Namespace) -> Result:
    """Delete the text of a memory permanently, in every version."""

    def described() -> str:
        memory = space.get(args.id)
        return "this memory (it is forgotten, or does not exist)" if memory is None else repr(memory.text)

    return ask_and_erase(args, described, lambda: [space.erase(args.id, with_related=args.with_related)])


@space_command("erase-about", "erase-about Clara --dry-run", "subject --children --dry-run --yes")
def erase_about(space: Space, args: Namespace) -> Result:
    """Delete everything about a person or a thing permanently, by its name or the id of its entity."""
    planned = space.erase_about(args.subject, dry_run=True, children=args.children)
    if args.dry_run:
        return Result(planned, str(planned))

    def erased() -> list[object]:
        return [space.erase_about(args.subject, children=args.children)]

    return ask_and_erase(args, lambda: f"what this lists:\n{planned}\n", erased)


@space_command("erase-space", "erase-space --space users/bob --yes", "--yes")
def erase_space(space: Space, args: Namespace) -> Result:
    """Delete everything in a space and in the spaces below it permanently."""

    def described() -> str:
        below = sum(name != space.name for name in space.spaces())
        return f"all of {space.name!r} ({space.count():,} memories) and of {below:,} spaces below it"

    return ask_and_erase(args, described, lambda: [space.erase_space()])


def ask_and_erase(args: Namespace, described: Callable[[], str], erase: Callable[[], Sequence[object]]) -> Result:
    """Ask whether what is described is to be erased, unless `--yes` was given; the result is the certificate."""
    if not args.yes:
        if not sys.stdin.isatty():
            problem = "erasing cannot be undone. Give --yes, as there is no terminal to ask at."
            output.print_error("WrongUsage", problem, as_json=args.json)
            return Result({"erased": False}, "", code=2)
        if not _confirm(f"Erase {described()} permanently? [y/N] "):
            return Result({"erased": False}, "nothing was erased", code=1)
    certificates = erase()
    return Result(certificates if len(certificates) != 1 else certificates[0], "\n".join(map(str, certificates)))


@space_command("touch", f"touch {_SOME_ID} --boost", "id --boost")
def touch(space: Space, args: Namespace) -> Lines:
    """Record that a memory was useful, and print its old and new score."""
    return Lines(space.touch(args.id, boost=args.boost))


section(_ASK)


@view_command("memories", "memories", "folder --status", flags_of(FilterOptions))
def memories(view: View, args: Namespace) -> Lines:
    """List every memory of a space."""
    found = checked(lambda: view.memories(**provided_options(args, remanence.View.memories)), FilterOptions)
    return output.many_memories(found)


@view_command("count", "count ./memory", "folder")
def count(view: View, args: Namespace) -> Result:
    """Count the memories of a space."""
    number = view.count()
    return Result({"count": number}, str(number))


@view_command("profile", "profile --max-tokens 200", "--max-tokens --topics --extractor")
def profile(view: View, args: Namespace) -> Result:
    """List what was told of the person or the project that a space is about, by topic."""
    return Result(view.profile(max_tokens=args.max_tokens, topics=args.topics))


def _text(argument: str) -> str:
    return _read_file("-") if argument == "-" else argument


def _read_rows(file: str) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a line; blank lines are skipped."""
    from remanence.ledger.codec import json_objects

    # Not splitlines(): a text may contain a line separator that JSON does not count as one.
    lines = _read_file(file).split("\n")
    try:
        return [row for _, row in json_objects(lines, file)]
    except InvalidInput as error:
        raise InvalidInput(f"{error} Nothing was added.") from None


def _read_file(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).expanduser().read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{'standard input' if file == '-' else file} is not UTF-8 text: {error}.") from None


def _confirm(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D
        print()
        return False
