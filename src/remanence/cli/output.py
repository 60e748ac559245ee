"""How results are printed: tables at a terminal, one line each in a pipe, JSON if asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from remanence.recall.answer import Recall
    from remanence.schema import Memory


class SafeStream:
    """A text stream that shows the terminal escapes in what is printed in place of sending them.

    A memory may contain some. Rich, which writes its own, finds the stream behind it under `rich_proxied_file`.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        from remanence.text.hidden_characters import escape_terminal

        self.rich_proxied_file.write(escape_terminal(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def safe_streams() -> Iterator[None]:
    """No text that is printed in this block can give orders to the terminal."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = SafeStream(sys.stdout), SafeStream(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def stdout_is_terminal() -> bool:
    return sys.stdout.isatty()


def console() -> Console:
    """Where tables are printed. In a pipe: no colours, and a fixed width."""
    from rich.console import Console

    return Console(highlight=False) if stdout_is_terminal() else Console(highlight=False, width=100, color_system=None)


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found or did: the value, printed as JSON if asked for, and else the text, by default the value's.

    `code` is the exit code.
    """

    value: Any
    text: str | None = None
    code: int = 0


@dataclass(frozen=True, slots=True)
class Lines:
    """Many values, printed one a line while they are read: as JSON lines, so that a reader can start early, or as text.

    `code` gives the exit code afterwards.
    """

    values: Iterable[Any]
    text: Callable[[Any], str] = str
    code: Callable[[], int] = int


def show(result: Result | Lines | None, *, as_json: bool) -> int:
    """Print what a command returned, and return the exit code."""
    if isinstance(result, Lines):
        for value in result.values:
            print(json.dumps(json_value(value), ensure_ascii=False) if as_json else result.text(value), flush=True)
        return result.code()
    if result is None:
        return 0
    if as_json:
        print_json(result.value)
    elif text := str(result.value) if result.text is None else result.text:
        print(text)
    return result.code


def print_error(name: str, message: str, *, as_json: bool, program: str = "") -> None:
    """One line on stderr."""
    error = json.dumps({"error": {"type": name, "message": message}}, ensure_ascii=False)
    print(error if as_json else f"{program and f'{program}: '}error: {message}", file=sys.stderr)


def json_value(value: Any) -> Any:
    """A value in JSON types, as REST has it."""
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "_fields"):
        return [json_value(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    from remanence.service.noun_forms import to_json

    return to_json(value) if is_dataclass(value) or isinstance(value, datetime) else str(value)


def added(memory: Memory) -> Result:
    """A memory that was just added: its id, and at a terminal also what was extracted from it."""
    text = memory.id
    if stdout_is_terminal():
        extracted = [mention.name for mention in memory.mentions] + [str(claim) for claim in memory.triples]
        extracted += [str(memory.valid)] if memory.valid.has_bound else []
        text += f"   found: {', '.join(extracted)}" if extracted else ""
    return Result(memory, text)


def added_many(memories: Sequence[Memory]) -> Result:
    from remanence.text.text import pluralize

    return Result(memories, f"{pluralize(len({memory.id for memory in memories}), 'memory', 'memories')} added")


def print_recall(recall: Recall, *, explain: bool, as_json: bool) -> None:
    """The hits for a question, with the ids that other commands take."""
    if as_json:
        print_json(list(recall))
    elif explain:
        print(recall.explain())
        return
    elif stdout_is_terminal():
        console().print(recall.table(ids=True, reasons=False))  # names the missing signals, too
        console().print("--explain says why each was found", style="dim")
        return
    else:
        from remanence.recall.answer import hit_label

        for hit in recall:
            print(f"{hit.score:.2f}\t{hit.memory.id}\t{one_line(str(hit) + hit_label(hit))}")
    for signal, reason in recall.missing.items():
        print(f"warning: {signal} is missing from this answer: {reason}", file=sys.stderr)


def one_memory(memory: Memory) -> Result:
    given = json_value(memory).items()
    return Result(memory, "\n".join(f"{name:<12} {value}" for name, value in given if value not in (None, [], {})))


def many_memories(memories: Iterable[Memory]) -> Lines:
    return Lines(memories, lambda memory: f"{memory.id}\t{memory.revised_at.date()}\t{one_line(memory.text)}")


def print_json(value: Any) -> None:
    print(json.dumps(json_value(value), ensure_ascii=False, indent=2))


def one_line(text: str) -> str:
    return " ".join(text.split())
