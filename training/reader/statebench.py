"""Lists of the training part of StateBench (MIT): a decision, and the later one that replaces it.

`statebench generate` writes train.jsonl for each release of the benchmark. Its other parts are not read.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from training.material.files import read_rows
from training.reader.question_list import Line, QuestionList

TRACK = "supersession"
CUES = ("change of plans", "update on", "hold off", "bad news", "by the way")
"""A later turn tells the new decision if it has one of these."""
FORMS = ({"turns", "writes"}, {"writes"}, {"turns"}, {"turns", "writes"})
"""What of a timeline is read: what people said, what was written to the state, or both."""
MAX_OTHERS = 6


def lists_of_statebench(files: Iterable[Path]) -> Iterator[QuestionList]:
    """Each timeline in four forms, with turns of other timelines."""
    rng = random.Random(5)
    rows = list(chain.from_iterable(map(read_rows, files)))
    turns = [event["text"] for row in rows for event in row["events"] if event["type"] == "conversation_turn"]
    for row in rows:
        queries = [event for event in row["events"] if event["type"] == "query"]
        if row["track"] != TRACK or not queries or not any(map(_replaces, row["events"])):
            continue
        for form in FORMS:
            lines = list(_lines(row["events"], form))
            if any(line.answers for line in lines) or "writes" in form:
                begin = row["events"][0]["ts"][:10]
                lines += [Line(rng.choice(turns), begin, "user") for _ in range(rng.randint(0, MAX_OTHERS))]
                asked, day = queries[-1]["prompt"], queries[-1]["ts"][:10]
                yield QuestionList("statebench", f"sb{row['id']}", asked, day, lines, answerable=True)


def _lines(events: Sequence[dict[str, Any]], form: set[str]) -> Iterator[Line]:
    last = max(place for place, event in enumerate(events) if _replaces(event))
    for place, event in enumerate(events):
        day = event["ts"][:10]
        if event["type"] == "conversation_turn" and "turns" in form:
            holds = place > last
            answers = holds and any(cue in event["text"].lower() for cue in CUES)
            yield Line(event["text"], day, event["speaker"], answers=answers, tells=True, replaced=int(not holds))
        elif event["type"] in ("state_write", "supersession") and "writes" in form:
            holds = place == last
            for write in event["writes"]:
                yield Line(write["value"], day, answers=holds, tells=True, replaced=int(not holds))


def _replaces(event: dict[str, Any]) -> bool:
    return bool(event["type"] == "supersession")
