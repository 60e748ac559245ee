"""Which days a stored text is said to be about, by each way in.

    python benchmarks/time_cases.py [FILE ...] [--misses] [--json FILE]

A case is a line of JSON: `text`, `said_at`, `class`, `lang`, and the first and last day that the words name (`start`,
`end`; null where the end is open, both null where no time is told). The default is `cases/times.dev.jsonl`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import figures
import remanence
from remanence.schema import UTC, Memory, Window

Days = tuple[date | None, date | None]
"""The first and the last day; None where that end is open, and twice where no time is told."""
WAYS: dict[str, Callable[[remanence.Space, str, datetime], Memory]] = {
    "add": lambda space, text, at: space.add(text, now=at),
    "add_turns": lambda space, text, at: space.add_turns([{"speaker": "Kim", "content": text, "time": at}])[0],
    "remember": lambda space, text, at: _remembered(space, text, at),
}
_SIZES = (1, 2, 7, 16, 31, 92, 366, 3653)  # days: one, a weekend, a week, a fortnight, a month, a quarter, a year


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).resolve().parent / "cases" / "times.dev.jsonl"
    options.add_argument("files", nargs="*", type=Path, default=[default])
    options.add_argument("--misses", action="store_true", help="print the cases that are not exact by every way in")
    options.add_argument(
        "--record", action="store_true", help="write the numbers to figures.json, under the name of the first file"
    )
    options.add_argument("--json", type=Path, help="also write the numbers here")
    chosen = options.parse_args()
    cases = [json.loads(line) for file in chosen.files for line in file.read_text("utf-8").splitlines()]
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for case in cases:
        expected = _day(case["start"]), _day(case["end"])
        read = {way: days_by(way, case) for way in WAYS}
        for group in _groups(case):
            row = counts[group]
            row["cases"] += 1
            for way, days in read.items():
                row[way] += days == expected
                row[f"{way}, near"] += is_near(days, expected)
            row["same"] += len(set(read.values())) == 1
            row["exact by all"] += set(read.values()) == {expected}
        if chosen.misses and set(read.values()) != {expected}:
            print(f"{case['id']} {case['class']} {case['said_at'][:10]} {case['text']}\n    {_shown(expected)}", end="")
            print("".join(f" | {way} {_shown(days)}" for way, days in read.items() if days != expected))
    columns = ["cases", *WAYS, *(f"{way}, near" for way in WAYS), "same", "exact by all"]
    print(f"| {' | '.join(['class', *columns])} |\n|{'---|' * (len(columns) + 1)}")
    for group in sorted(counts):
        print(f"| {' | '.join([group, *(str(counts[group][column]) for column in columns)])} |")
    if chosen.record:
        measured = {group: {name: float(row[name]) for name in columns} for group, row in counts.items()}
        figures.record("time_cases", "python benchmarks/time_cases.py", {chosen.files[0].stem: measured})
    if chosen.json:
        chosen.json.write_text(json.dumps(counts, indent=2) + "\n")


def days_by(way: str, case: dict[str, Any]) -> Days:
    """The days that the stored memory is about, each case in a space of its own."""
    at = datetime.fromisoformat(case["said_at"]).replace(tzinfo=UTC)
    with remanence.open(None, clock=lambda: at) as space:
        return days_of(WAYS[way](space, case["text"], at).valid, at)


def days_of(window: Window, at: datetime) -> Days:
    """A window as days. A turn without a time is stored at its moment, or from then on: there no time is told."""
    if window in (Window.from_moment(at), Window(at, None)):
        return None, None
    last = None if window.end is None else (window.end - timedelta(microseconds=1)).date()
    if window.start is not None and window.end is not None and window.end - window.start <= timedelta(hours=18):
        last = window.start.date()  # a night continues into the next day
    return (None if window.start is None else window.start.date()), last


def is_near(days: Days, expected: Days) -> bool:
    """Whether they overlap, at most one size class wider, and are open at the same ends."""
    if days == expected:
        return True
    if any((mine is None) != (theirs is None) for mine, theirs in zip(days, expected, strict=True)):
        return False
    if days[0] is None or expected[0] is None:
        return False
    if days[1] is None or expected[1] is None:
        return abs(days[0] - expected[0]) <= timedelta(days=31)
    return days[0] <= expected[1] and expected[0] <= days[1] and _size(days) <= _size(expected)


def _remembered(space: remanence.Space, text: str, at: datetime) -> Memory:
    """The first fact, or the source if the rules find no fact in it."""
    facts = space.remember(text, now=at)
    return facts[0] if facts else next(space.memories())


def _size(days: Days) -> int:
    length = (days[1] - days[0]).days + 1 if days[0] and days[1] else 0
    return sum(length > size for size in _SIZES)


def _groups(case: dict[str, Any]) -> Iterator[str]:
    yield "all"
    yield case["class"]
    if case["class"] == "language":
        yield f"language {case['lang']}"
    elif case["class"] != "false":
        yield "English"


def _day(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def _shown(days: Days) -> str:
    return "no time" if days == (None, None) else f"{days[0] or ''} to {days[1] or ''}"


if __name__ == "__main__":
    main()
