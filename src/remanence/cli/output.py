"""How answers are shown: for eyes at a terminal, one line each in a pipe, JSON when asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from remanence.read.answer import memory_dict

if TYPE_CHECKING:
    from rich.console import Console

    from remanence.read.answer import Recall
    from remanence.schema import Memory


def stdout_is_terminal() -> bool:
    """Whether somebody is looking."""
    return sys.stdout.isatty()


def console() -> Console:
    """Where tables go. In a pipe it has no colours, and a width that does not hang on who runs it."""
    from rich.console import Console

    return Console(highlight=False) if stdout_is_terminal() else Console(highlight=False, width=100, color_system=None)


def print_added(memory: Memory, *, as_json: bool) -> None:
    """A memory that was just kept: its id, and for eyes also what was found in it."""
    if as_json:
        _json(memory_dict(memory))
    elif stdout_is_terminal():
        found = [mention.name for mention in memory.mentions] + [str(claim) for claim in memory.triples]
        found += [str(memory.valid)] if memory.valid.has_bound else []
        print(memory.id + (f"   found: {', '.join(found)}" if found else ""))
    else:
        print(memory.id)


def print_added_count(memories: Sequence[Memory], *, as_json: bool) -> None:
    """Memories that were just kept."""
    if as_json:
        _json([memory_dict(memory) for memory in memories])
    else:
        several = len({memory.id for memory in memories})
        print(f"{several} {'memory' if several == 1 else 'memories'} kept")


def print_recall(recall: Recall, *, explain: bool, as_json: bool) -> None:
    """The answers to a question, with their ids so that they can be forgotten."""
    if as_json:
        _json(recall.to_dicts())
    elif explain:
        print(recall.explain())
        return
    elif stdout_is_terminal():
        console().print(recall)
        for number, hit in enumerate(recall, 1):
            print(f"{number:>2}. {hit.memory.id}")
        return
    else:
        for hit in recall:
            print(f"{hit.score:.2f}\t{hit.memory.id}\t{_one_line(hit.memory.text)}")
    for signal, reason in recall.missing.items():
        print(f"warning: {signal} is missing from this answer: {reason}", file=sys.stderr)


def print_memory(one: Memory, *, as_json: bool) -> None:
    """One memory, field by field."""
    fields = memory_dict(one)
    if as_json:
        _json(fields)
        return
    for name, value in fields.items():
        if value not in (None, [], {}):
            print(f"{name:<12} {value}")


def print_memories(all_: Iterable[Memory], *, as_json: bool) -> None:
    """Many memories, one a line: JSON lines can be read back before the last one is written."""
    for one in all_:
        if as_json:
            print(json.dumps(memory_dict(one), ensure_ascii=False))
        else:
            print(f"{one.id}\t{one.revised_at.date()}\t{_one_line(one.text)}")


def _json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _one_line(text: str) -> str:
    return " ".join(text.split())
