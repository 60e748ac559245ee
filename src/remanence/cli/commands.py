"""What each command does. The engines are loaded by the first one that needs them."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

import remanence
from remanence.cli import output
from remanence.cli.input_files import read_rows, read_text
from remanence.cli.locations import list_spaces, list_spaces_below, memory_folder, open_space, open_view
from remanence.errors import NotFound, RemanenceError

_FIELDS = (
    *("key", "kind", "valid_from", "valid_until", "importance", "confidence", "tags"),
    *("source", "observed_by", "expires_at", "now"),
)


def add(args: Namespace) -> None:
    """Keep a text and print its id."""
    text = read_text(args.text)
    with open_space(args, create=True) as space:
        memory = space.add(text, **{field: getattr(args, field) for field in _FIELDS})
        output.print_added(memory, as_json=args.json)


def add_many(args: Namespace) -> None:
    """Keep the texts of a file."""
    rows = read_rows(args.file)
    with open_space(args, create=True) as space:
        output.print_added_count(space.add_many(rows, progress=output.stdout_is_terminal()), as_json=args.json)


def add_turns(args: Namespace) -> None:
    """Keep the chat turns of a file."""
    rows = read_rows(args.file)
    with open_space(args, create=True) as space:
        output.print_added_count(space.add_turns(rows, progress=output.stdout_is_terminal()), as_json=args.json)


def recall(args: Namespace) -> None:
    """Answer a question."""
    with open_view(args, reranker=args.reranker) as view:
        answer = view.recall(
            args.query,
            limit=args.limit,
            during=args.during,
            history=args.history,
            kinds=args.kinds,
            tags=args.tags,
            min_score=args.min_score,
            now=args.now,
            signals=None if args.signals is None else [name.strip() for name in args.signals.split(",")],
        )
        output.print_recall(answer, explain=args.explain, as_json=args.json)


def get(args: Namespace) -> None:
    """Show one memory."""
    with open_view(args) as view:
        memory = view.get(args.id)
        if memory is None:
            raise NotFound(
                f"space {view.name!r} shows no memory {args.id!r}. It may be forgotten: "
                f"`remanence unforget {args.id}`, or --as-of a time when it was known."
            )
        output.print_memory(memory, as_json=args.json)


def forget(args: Namespace) -> None:
    """Hide a memory."""
    with open_space(args) as space:
        space.forget(args.id, why=args.why)
        print(f"forgotten; `remanence unforget {args.id}` brings it back")


def unforget(args: Namespace) -> None:
    """Show a forgotten memory again."""
    with open_space(args) as space:
        space.unforget(args.id)
        print("remembered again")


def erase(args: Namespace) -> int:
    """Blank the words of a memory, after asking."""
    if not args.yes and not sys.stdin.isatty():
        print("error: erasing cannot be undone. Nobody is here to ask, so say --yes.", file=sys.stderr)
        return 2
    with open_space(args) as space:
        if not args.yes:
            memory = space.get(args.id)
            shown = "this memory (it is forgotten, or not there)" if memory is None else repr(memory.text)
            if not _agreed(f"Erase {shown} for ever? [y/N] "):
                print("nothing was erased")
                return 1
        space.erase(args.id)
        print("erased")
    return 0


def memories(args: Namespace) -> None:
    """List the memories of a space."""
    with open_view(args) as view:
        output.print_memories(view.memories(args.status), as_json=args.json)


def spaces(args: Namespace) -> None:
    """List the spaces of a folder, or those below one."""
    for name in list_spaces(args) if args.space is None else list_spaces_below(args):
        print(name)


def count(args: Namespace) -> None:
    """Count the memories of a space."""
    with open_view(args) as view:
        print(view.count())


def verify(args: Namespace) -> None:
    """Check every digest of the ledger."""
    with open_space(args) as space:
        found = space.verify()
        print(f"{found.entries} lines, each as it was written\ndigest {found.digest}")


def check(args: Namespace) -> int:
    """Hold the indexes of each space against a fresh build."""
    wrong = 0
    for name in list_spaces(args) if args.space is None else [args.space]:
        with open_space(args, name) as space:
            differences = space.admin.check()
        print(f"{name}: {'the indexes agree with the ledger' if not differences else ''}".rstrip())
        for part, what in differences.items():
            print(f"  {part}: {what}. Run `remanence rebuild {memory_folder(args)}`.")
        wrong += bool(differences)
    return 1 if wrong else 0


def rebuild(args: Namespace) -> None:
    """Build the indexes of each space anew, with another embedder if one is named."""
    progress = output.stdout_is_terminal()
    names = list_spaces(args)
    if args.embedder is not None:
        remanence.reembed(memory_folder(args), embedder=args.embedder, progress=progress)
        print(f"embedded anew with {args.embedder}: {', '.join(names) or 'nothing was there'}")
        return
    for name in names if args.space is None else [args.space]:
        with open_space(args, name) as space:
            space.rebuild(progress=progress)
        print(f"{name}: rebuilt")


def models_list(args: Namespace) -> None:
    """The embedders and rerankers that can be named."""
    from remanence.models import catalogue as models

    print("wordllama-256             embedder  comes with remanence; the default")
    for model in models.MODELS.values():
        place = models.installed_folder(model.name)
        where = f"in {place}" if place else f"remanence models get {model.name}"
        print(f"{model.name:<24}  {model.use}  {where}")


def models_get(args: Namespace) -> None:
    """Fetch the files of a model."""
    from remanence.models import catalogue as models

    try:
        models.get(args.name, progress=print)
    except OSError as error:
        raise RemanenceError(f"{models.models_folder()} cannot be written ({error}). Set REMANENCE_MODELS.") from error


def demo(args: Namespace) -> None:
    """Tell the story."""
    from remanence.cli.demo import run_demo

    run_demo(keep=None if args.keep is None else Path(args.keep), embedder=args.embedder)


def _agreed(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D
        print()
        return False
