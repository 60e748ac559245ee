"""Whether what replaced or revoked a decision comes first, on StateBench (MIT licence, not shipped with this package).

    pip download statebench==2.0.0 --no-deps --no-binary :all: && tar xzf statebench-2.0.0.tar.gz
    python benchmarks/statebench.py statebench-2.0.0/data/releases/v1.0/test.jsonl

Each conversation is a space of its own, told once as the turns of the chat and once as the notes that the benchmark
writes to its state, in order. Right is a turn that has the decision of the benchmark in its words; if none has, the
turn that announces the last change ("Bad news - VP rescinded approval."). Of the notes the last one is right. The
split `train` is among what the reader was trained on (training/README.md), and one generator made all splits.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import remanence
from remanence import Recall, Space

FORMS = (("supersession", "turns"), ("supersession", "notes"), ("supersession_detection", "turns"))
"""The tracks, and what is told of each. The notes of the second track are not those of the decision."""
YES_OR_NO = ("yes", "no")


class Told(NamedTuple):
    """A text of a conversation, and whether it is the right answer."""

    text: str
    at: str
    speaker: str | None
    is_right: bool


def main() -> None:
    """Print one line for each track and form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="splits of the benchmark, such as test.jsonl")
    parser.add_argument("--reader", default="small", help="as for remanence.open, or none")
    options = parser.parse_args()
    reader = None if options.reader == "none" else options.reader
    rows = [json.loads(line) for file in options.files for line in file.read_text(encoding="utf-8").splitlines()]
    for track, form in FORMS:
        first = stale = count = 0
        for row in rows:
            told = list(turns(row["events"]) if form == "turns" else notes(row["events"]))
            if row["track"] != track or len({each.is_right for each in told}) < 2:  # nothing to tell apart
                continue
            hits = ask(told, next(event for event in row["events"] if event["type"] == "query"), reader)
            is_right = bool(hits) and told[int(hits[0].memory.key or 0)].is_right
            count += 1
            first += is_right
            stale += bool(hits) and hits[0].current and not is_right
        print(f"{track} as {form}: right first in {first} of {count}, another one first and current in {stale}")


def turns(events: list[dict[str, Any]]) -> Iterator[Told]:
    """What was said."""
    asked = next(event for event in events if event["type"] == "query")
    said = [(place, event) for place, event in enumerate(events) if event["type"] == "conversation_turn"]
    by_user = [place for place, event in said if event["speaker"] == "user"]
    changes = [place for place, event in enumerate(events) if event["type"] == "supersession"]
    decision = asked["ground_truth"]["decision"]
    naming = re.compile(rf"(?<![\w$]){re.escape(decision)}(?![\w,]*\w)", re.IGNORECASE)
    right = [] if decision in YES_OR_NO else [place for place in by_user if naming.search(events[place]["text"])]
    if not right and changes:
        right = [place for place in by_user if place > changes[-1]][:1] or by_user[-1:]
    yield from (Told(event["text"], event["ts"], event["speaker"], place in right) for place, event in said)


def notes(events: list[dict[str, Any]]) -> Iterator[Told]:
    """What was written to the state."""
    written = [(write["value"], event["ts"]) for event in events for write in event.get("writes") or ()]
    yield from (Told(text, at, None, text == written[-1][0]) for text, at in written)


def ask(told: Iterable[Told], query: dict[str, Any], reader: Any) -> Recall:
    """What recall finds."""
    with remanence.open(None, worker=False, reader=reader) as space:
        for number, each in enumerate(told):
            tell(space, each, str(number))
        return space.recall(query["prompt"], limit=3, now=query["ts"])


def tell(space: Space, said: Told, key: str) -> None:
    """Store a turn or a note."""
    if said.speaker is None:
        space.add(said.text, now=said.at, key=key)
    else:
        turn = {"role": said.speaker, "content": said.text, "time": said.at, "key": key, "conversation": "chat"}
        space.add_turns([turn])


if __name__ == "__main__":
    main()
