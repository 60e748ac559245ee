"""How results are printed: tables at a terminal, one line each in a pipe, JSON if asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
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


def print_added(memory: Memory, *, as_json: bool) -> None:
    """A memory that was just added: its id, and at a terminal also what was extracted from it."""
    if as_json:
        print_json(_fields(memory))
    elif stdout_is_terminal():
        extracted = [mention.name for mention in memory.mentions] + [str(claim) for claim in memory.triples]
        extracted += [str(memory.valid)] if memory.valid.has_bound else []
        print(memory.id + (f"   found: {', '.join(extracted)}" if extracted else ""))
    else:
        print(memory.id)


def print_added_count(memories: Sequence[Memory], *, as_json: bool) -> None:
    if as_json:
        print_json([_fields(memory) for memory in memories])
    else:
        from remanence.text.text import pluralize

        print(pluralize(len({memory.id for memory in memories}), "memory", "memories"), "added")


def print_recall(recall: Recall, *, explain: bool, as_json: bool) -> None:
    """The hits for a question, with the ids that other commands take."""
    if as_json:
        from remanence.service.payloads.answers import hit_fields

        print_json(hit_fields(recall))
    elif explain:
        print(recall.explain())
        return
    elif stdout_is_terminal():
        console().print(recall)  # names the missing signals, too
        for number, hit in enumerate(recall, 1):
            print(f"{number:>2}. {hit.memory.id}")
        return
    else:
        for hit in recall:
            print(f"{hit.score:.2f}\t{hit.memory.id}\t{_one_line(str(hit))}")
    for signal, reason in recall.missing.items():
        print(f"warning: {signal} is missing from this answer: {reason}", file=sys.stderr)


def print_memory(memory: Memory, *, as_json: bool) -> None:
    fields = _fields(memory)
    if as_json:
        print_json(fields)
    else:
        print("\n".join(f"{name:<12} {value}" for name, value in fields.items() if value not in (None, [], {})))


def print_memories(memories: Iterable[Memory], *, as_json: bool) -> None:
    """Many memories, one a line. With JSON each line is an object, so that a reader can start early."""
    for memory in memories:
        if as_json:
            print(json.dumps(_fields(memory), ensure_ascii=False))
        else:
            print(f"{memory.id}\t{memory.revised_at.date()}\t{_one_line(memory.text)}")


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _fields(memory: Memory) -> dict[str, Any]:
    """A memory as every interface shows it."""
    from remanence.service.payloads.base_answers import MemoryAnswer

    return MemoryAnswer.of(memory).model_dump()


def _one_line(text: str) -> str:
    return " ".join(text.split())
