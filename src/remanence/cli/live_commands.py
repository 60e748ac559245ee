"""The commands that go on until they are ended: tail shows what is learned and recalled, chat is a playground."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from remanence.cli.locations import list_spaces, memory_location, open_space
from remanence.cli.output import json_value, one_line
from remanence.cli.parser import command, provided_options, section
from remanence.errors import RemanenceError

if TYPE_CHECKING:
    from remanence import Space, View
    from remanence.ports import Ledger
    from remanence.schema import Entry
    from remanence.space.playground import Considered, Exchange

section("Watch and try")

_HELP = """Type a message as a user would. What starts with a slash is a command:
  /as-of WHEN   ask what was known then; nothing is stored. /as-of alone returns to now
  /store        store what is typed from now on, or do not (at first it is stored)
  /prompt       show the whole block of the last message, and with a model the whole prompt
  /quit         end (or Ctrl-D)"""


@command("tail", "tail --lines 20", "folder --lines --once")
def tail(args: Namespace) -> None:
    """Show what is learned and recalled in a folder while it happens, or in the space that --space names."""
    from remanence.ledger import open_ledger

    with closing(open_ledger(memory_location(args))) as ledger:
        position = ledger.head()
        for row in list(_rows(ledger, _spaces(ledger, args), 0))[-args.lines :] if args.lines else ():
            _print_row(row, as_json=args.json)
        while not args.once:
            if (head := ledger.head()) > position:
                for row in _rows(ledger, _spaces(ledger, args), position):
                    _print_row(row, as_json=args.json)
                position = head
            time.sleep(0.5)


def _spaces(ledger: Ledger, args: Namespace) -> list[str]:
    return ledger.spaces() if args.space is None else list_spaces(args)


def _rows(ledger: Ledger, spaces: Iterable[str], after: int) -> Iterator[dict[str, Any]]:
    """What happened in these spaces after a position, in order."""
    entries = [entry for space in spaces for entry in ledger.read(space, after=after)]
    for entry in sorted(entries, key=lambda entry: entry.position):
        if row := _row(entry):
            yield {"at": entry.at.isoformat(timespec="seconds"), "space": entry.space, "position": entry.position} | row


def _row(entry: Entry) -> dict[str, Any] | None:
    """What an entry did, if it is about a memory, a relation or a recall."""
    from remanence import events

    event = entry.event
    if isinstance(event, events.Remembered):
        return {"what": "learned", "id": entry.subject, "text": event.text}
    if isinstance(event, events.Served):
        question = str(event.asked.get("question", ""))
        return {"what": "recalled", "id": event.receipt, "text": question, "memories": list(event.memories)}
    if isinstance(event, events.Related):
        said = f"{event.subject} {event.predicate} {event.object}"
        return {"what": "related", "id": event.relation, "text": said}
    if isinstance(event, events.Forgotten | events.Restored | events.Erased):
        return {"what": entry.kind, "id": entry.subject, "text": getattr(event, "why", None) or ""}
    return None


def _print_row(row: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(row, ensure_ascii=False), flush=True)
        return
    found = f"  -> {len(row['memories'])} memories" if "memories" in row else ""
    print(f"{row['at']}  {row['what']:<9}  {row['space']}  {row['id']}  {one_line(row['text'])}{found}", flush=True)


@command(
    "chat",
    "chat --extractor my_models:chat_model",
    "messages --as-of --no-store --max-tokens --conversation --extractor --reader",
)
def chat(args: Namespace) -> None:
    """Type as a user would, and see what is stored, what would reach the prompt, and why; a chat model answers."""
    with open_space(args, create=True) as space:
        talk = _Chat(space, args)
        if sys.stdin.isatty() and not args.messages:
            print(_HELP)
        for line in args.messages or _typed_lines():
            if line in ("/quit", "/exit"):
                break
            try:
                talk.take(line)
            except RemanenceError as error:
                print(f"error: {error}", file=sys.stderr)


def _typed_lines() -> Iterator[str]:
    """What is typed, a line at a time; the lines of a pipe."""
    if not sys.stdin.isatty():
        yield from (line.strip() for line in sys.stdin if line.strip())
        return
    with suppress(ImportError):
        import readline  # noqa: F401  -- lines can be edited, and the earlier ones called back
    with suppress(EOFError):
        while True:
            if line := input("\n> ").strip():
                yield line


class _Chat:
    """A conversation with a space."""

    def __init__(self, space: Space, args: Namespace) -> None:
        self._space, self._json = space, args.json
        self._view: View = space if args.as_of is None else space.as_of(args.as_of)
        self._store = not args.no_store
        self._options = provided_options(args, "max_tokens conversation")
        self._turns: list[dict[str, str]] = []
        self._last: Exchange | None = None

    def take(self, line: str) -> None:
        """Do what a line says."""
        word, _, rest = line.partition(" ")
        if not line.startswith("/"):
            self._say(line)
        elif word == "/as-of":
            self._view = self._space.as_of(rest) if rest else self._space
            print(f"asking what was known {rest}; nothing is stored" if rest else "asking what is known now")
        elif word == "/store":
            self._store = not self._store
            print("what is typed is stored" if self._store else "nothing is stored")
        elif word == "/prompt":
            last = self._last
            print((last.model_prompt or last.prompt.text or f"nothing: {last.why_empty}") if last else "nothing yet")
        else:
            print(_HELP if word == "/help" else f"there is no command {word}.\n{_HELP}")

    def _say(self, message: str) -> None:
        from remanence.space.playground import exchange

        found = exchange(self._view, message, turns=self._turns, store=self._store, **self._options)
        self._last = found
        self._turns.append({"role": "user", "content": message})
        if found.answer is not None:
            self._turns.append({"role": "assistant", "content": found.answer})
        if self._json:
            fields = json_value(found) | {"stored": json_value([change.memory for change in found.stored])}
            print(json.dumps(fields, ensure_ascii=False), flush=True)
        else:
            print(f"{_described(found)}\n", flush=True)


def _described(found: Exchange) -> str:
    """An exchange as text: the prompt first, then the answer, then what was stored."""
    quoted = [each for each in found.considered if each.quoted]
    left_out = [each for each in found.considered if not each.quoted]
    lines = ["in the prompt:", *(line for each in quoted for line in _considered_lines(each))]
    if not quoted:
        lines = [f"nothing in the prompt: {found.why_empty}"]
    if left_out:
        lines += ["found and left out:", *(f"    {one_line(str(e.hit))}  [{e.reason}]" for e in left_out)]
    if found.answer is not None:
        used = any(each.used for each in quoted)
        lines += ["answer" + (" (* marks what it used):" if used else ":"), f"    {found.answer}"]
    if found.problem:
        lines.append(f"no answer: the model {found.problem}")
    stored = [change.memory for change in found.stored if change.memory is not None]
    if stored:
        lines += ["stored:", *(f"    {memory.id}  {memory.kind}  {one_line(memory.text)}" for memory in stored)]
    else:
        lines.append(f"nothing stored: {found.why_not_stored}")
    return "\n".join(lines)


def _considered_lines(each: Considered) -> list[str]:
    mark = "*" if each.used else " "
    return [
        f"  {mark} {each.hit.score:.2f}  {one_line(str(each.hit))}",
        f"          {each.hit.memory.id}: {each.reason}",
    ]
