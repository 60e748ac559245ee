"""Turns that ask for something and tell nothing of it: they are near every question for it, and answer none.

turns/*.jsonl      chat turns by the fact they tell or ask for
askings/*.jsonl    questions of the worlds asked again as users ask an assistant, mostly without a question mark, and
                   the answer told once more in a turn that looks like an asking

A reader that takes an asking for a statement lets the second asking for a fact replace the fact.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from remanence.models.reader_input import as_passage
from remanence.models.readers import resolve_reader

HOME = Path(__file__).resolve().parent
TURNS, ASKINGS = HOME / "turns", HOME / "askings"
LEFT_OUT = "g"
"""The writer of turns whose facts measure and are not trained on."""
SURE = 0.5
"""A turn on the fact that is asked for counts as an answer if the large reader finds it at least so probable; the
others may tell something else of it, so they are left out."""
TIMELINES = 6
"""How many timelines are made of each asking that has an answer."""


def read_askings() -> dict[tuple[str, str], dict[str, Any]]:
    """The askings by world and question: `asks`, and `tells`."""
    files = sorted(ASKINGS.glob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return {(row["world"], row["q"]): row for row in rows}


def read_turns() -> Iterator[dict[str, Any]]:
    """Every asking in `turns` as a question with candidates: what answers it, and what asks for the same."""
    reader, rng = resolve_reader("large"), random.Random(21)
    assert reader is not None
    for file in sorted(TURNS.glob("*.jsonl")):
        rows = list(map(json.loads, file.read_text("utf-8").splitlines()))
        for asked in [row for row in rows if row["label"] == "asks"]:
            same = [row for row in rows if row.get("fact") == asked["fact"] and row is not asked]
            others = [row["text"] for row in rows if row.get("fact") != asked["fact"]]
            told = [row["text"] for row in same if row["label"] == "tells"]
            passages = [as_passage(asked["text"], text, speaker="user") for text in told]
            probable = reader.read(asked["text"], passages)
            right = [text for text, probability in zip(told, probable, strict=True) if probability >= SURE]
            asks = [row["text"] for row in same if row["label"] != "tells"]
            yield {
                "set": "askings" if file.stem != LEFT_OUT else "unseen_askings",
                "measure": file.stem == LEFT_OUT,
                "q": asked["text"],
                "answerable": bool(right),
                "cands": [_cand(text, y=1) for text in right]
                + [_cand(text, asks=1) for text in asks]
                + [_cand(text) for text in rng.sample(others, 14)],
                "pairs": [
                    {"q": asked["text"], "earlier": _cand(text), "later": _cand(again), "relation": "none"}
                    for text in right[:3]
                    for again in rng.sample(asks, min(len(asks), 2))
                ],
            }


def timelines_of_turns(packs: list[dict[str, Any]], rng: random.Random) -> Iterator[dict[str, Any]]:
    """One statement of each asked fact among askings for it and what tells of other things; of some, none."""
    for pack in packs:
        right, asks = ([cand for cand in pack["cands"] if cand[key]] for key in ("y", "asks"))
        others = [cand for cand in pack["cands"] if not cand["y"] and not cand["asks"]]
        for _ in range(TIMELINES if right else 1):
            lines = rng.sample(asks, rng.randint(1, min(len(asks), 8))) + rng.sample(others, 6)
            if right and rng.random() < 0.9:
                lines.append(rng.choice(right))
            rng.shuffle(lines)
            yield {"set": pack["set"], "q": pack["q"], "lines": lines}


def _cand(text: str, *, y: int = 0, asks: int = 0) -> dict[str, Any]:
    return {"t": text, "s": "user", "p": "", "y": y, "asks": asks}
