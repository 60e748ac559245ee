"""How many times are found, how many are read right, and how many are imagined.

    python benchmarks/dates.py [--data DIR] [--json FILE] [--misses]

Beside our grammar stands dateparser's own `search_dates`, pinned to English, on the same sentences.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.schema import UTC, Window
from remanence.text.temporal import find_times, parse_window

SETS = ("temporal_recognizers", "temporal_duckling", "temporal_te3_platinum")
DAY = timedelta(days=1)

Reading = tuple[int, int, Window]  # where it stands, and what it means
Reader = Callable[[str, datetime], list[Reading]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    options.add_argument("--data", type=Path, default=default, help="the folder with temporal_*.jsonl.gz")
    options.add_argument("--json", type=Path, help="also write the numbers here")
    options.add_argument("--misses", action="store_true", help="print what ours missed, misread or imagined")
    chosen = options.parse_args()
    present = [name for name in SETS if (chosen.data / f"{name}.jsonl.gz").exists()]
    if not present:
        print(f"No temporal_*.jsonl.gz in {chosen.data}: point --data at the folder that holds them.")
        return
    report = {}
    ours("23-Sep-2020", datetime(2020, 1, 1))  # dateparser's import is not what we time
    columns = ("set", "reader", "times", "found", "overlapping", "exact", "false alarms", "dateless fired", "ms")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name in present:
        with gzip.open(chosen.data / f"{name}.jsonl.gz", "rt") as lines:
            rows = [json.loads(line) for line in lines]
        # Duckling's are bare expressions, so ours reads each whole, as it reads a parameter.
        for title, reader in (("remanence", whole if "duckling" in name else ours), ("search_dates", theirs)):
            show = chosen.misses and title == "remanence"
            score = report[f"{name}/{title}"] = judge(rows, reader, show, future="duckling" in name)
            print(
                f"| {name} | {title} | {score['times']} | {score['found']:.1%} | {score['overlap']:.1%} "
                f"| {score['exact']:.1%} | {score['strays_share']:.1%} "
                f"| {score['dateless_fired']} of {score['dateless']} | {score['ms']:.3f} |"
            )
    print("\nfalse alarms: phrases where no time stands, for each hundred sentences.")
    print("dateless fired: sentences without any time in which one was found.")
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=2) + "\n")


def judge(rows: Iterable[dict[str, Any]], read: Reader, show: bool, *, future: bool) -> dict[str, float]:
    """Over spans that have a gold window: found, read overlapping, read exactly; and false alarms.

    A span with several gold windows (this May or last) is right with any of them. With `future`, gold
    prefers what lies ahead: there the same stretch a day, week, month or year earlier is as right.
    """
    times = found = overlap = exact = stray = dateless = dateless_fired = sentences = 0
    spent = 0.0
    for row in rows:
        sentences += 1
        now = datetime.fromisoformat(row["reference_time"] or "2016-11-07").replace(tzinfo=UTC)
        started = time.perf_counter()
        readings = read(row["text"], now)
        spent += time.perf_counter() - started
        strays = [r for r in readings if not any(r[0] < s["end"] and s["start"] < r[1] for s in row["spans"])]
        stray += len(strays)
        dateless += not row["spans"]
        dateless_fired += bool(not row["spans"] and readings)
        if show and strays:
            print("  imagined:", [row["text"][r[0] : r[1]] for r in strays], "in", row["text"][:100])
        for span in row["spans"]:
            if not span["windows"]:
                continue
            times += 1
            here = [r for r in readings if r[0] < span["end"] and span["start"] < r[1]]
            gold = [as_window(pair) for pair in span["windows"]]
            if future:
                gold += [past for window in gold for past in past_of(window, now, span["type"])]
            met = any(r[2].overlaps(window) for r in here for window in gold)
            same = any(alike(r[2], window) for r in here for window in gold)
            found, overlap, exact = found + bool(here), overlap + met, exact + same
            if show and not met:
                read_as = ", ".join(str(reading[2]) for reading in here) or "nothing"
                print(f"  missed: {span['text']!r} on {now.date()}: gold {gold[0]}, read {read_as}")
    return {
        "sentences": sentences,
        "times": times,
        "found": found / times,
        "overlap": overlap / times,
        "exact": exact / times,
        "strays": stray,
        "strays_share": stray / sentences,
        "dateless": dateless,
        "dateless_fired": dateless_fired,
        "ms": 1000 * spent / sentences,
    }


def ours(text: str, now: datetime) -> list[Reading]:
    return [(found.start, found.end, found.window) for found in find_times(text, now)]


def whole(text: str, now: datetime) -> list[Reading]:
    try:
        return [(0, len(text), parse_window(text, now))]
    except InvalidInput:
        return []


def theirs(text: str, now: datetime) -> list[Reading]:
    """`search_dates` gives points: each is taken as its day, or its minute where it has a clock time."""
    from dateparser.search import search_dates

    settings = {"RELATIVE_BASE": now.replace(tzinfo=None), "PREFER_DATES_FROM": "past"}
    readings, at = [], 0
    for words, moment in search_dates(text, languages=["en"], settings=settings) or []:
        start = max(text.find(words, at), 0)
        at = start + len(words)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        whole_day = moment.time() in (midnight.time(), now.time())
        readings.append(
            (start, at, Window(midnight, midnight + DAY) if whole_day else Window(moment, moment + DAY / 1440))
        )
    return readings


def as_window(pair: list[str | None]) -> Window:
    start, end = (None if side is None else datetime.fromisoformat(side).replace(tzinfo=UTC) for side in pair)
    return Window.from_moment(start) if start is not None and start == end else Window(start, end)


def past_of(window: Window, now: datetime, kind: str) -> list[Window]:
    """The same stretch, earlier, when the gold one lies ahead: what a memory is asked for."""
    if window.start is None or window.start <= now:
        return []
    year_ago = window.start - window.start.replace(year=window.start.year - 1)
    earlier = [moved(window, by) for by in (DAY, 7 * DAY, 31 * DAY, year_ago)]
    if "Holiday" in kind and window.end is not None:  # moveable feasts move
        earlier.append(Window(window.start - year_ago - 8 * DAY, window.end - year_ago + 8 * DAY))
    return earlier


def moved(window: Window, by: timedelta) -> Window:
    return Window(window.start and window.start - by, window.end and window.end - by)


def alike(ours: Window, gold: Window) -> bool:
    """The same start; the same end, give or take the day that an inclusive "to" adds."""
    if ours.start != gold.start or (ours.end is None) != (gold.end is None):
        return False
    if gold.end is None or ours.end is None or gold.start is None:
        return gold.end is None or (ours.end is not None and abs(ours.end - gold.end) <= DAY)
    short = gold.end - gold.start < DAY
    return abs(ours.end - gold.end) <= (timedelta(hours=1) if short else DAY)


if __name__ == "__main__":
    main()
