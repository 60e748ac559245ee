"""Turns that ask for something and tell nothing of it: they are near every question for it, and answer none.

turns/*.jsonl           chat turns by the fact they tell or ask for
turn_answers/*.jsonl    which turns of the same file answer each turn that asks, by line number; the others on the same
                        fact may tell something else of it. A reader of twelve layers judged that.
askings/*.jsonl         questions of the worlds asked again as users ask an assistant, mostly without a question mark,
                        and the answer told once more in a turn that looks like an asking

A reader that takes an asking for a statement lets the second asking for a fact replace the fact.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from training.material.files import TRAINING, read_folder, read_rows

LEFT_OUT = "g"
"""The writer of turns whose facts measure and are not trained on."""
OTHER_TURNS = 14
"""How many turns on other facts stand beside those on the fact that is asked for."""


def read_askings() -> dict[tuple[str, str], dict[str, Any]]:
    """The askings by world and question: `asks`, and `tells`."""
    return {(row["world"], row["q"]): row for row in read_folder(TRAINING / "askings")}


def read_turns() -> Iterator[dict[str, Any]]:
    """Every asking in `turns` as a question with candidates: what answers it, and what asks for the same."""
    rng = random.Random(21)
    for file in sorted((TRAINING / "turns").glob("*.jsonl")):
        turns = list(read_rows(file))
        for row in read_rows(TRAINING / "turn_answers" / file.name):
            asked = turns[row["asks"]]
            right = [turns[number]["text"] for number in row["answers"]]
            same = [turn for turn in turns if turn.get("fact") == asked["fact"] and turn is not asked]
            asks = [turn["text"] for turn in same if turn["label"] != "tells"]
            others = [turn["text"] for turn in turns if turn.get("fact") != asked["fact"]]
            yield {
                "set": "askings" if file.stem != LEFT_OUT else "unseen_askings",
                "measure": file.stem == LEFT_OUT,
                "q": asked["text"],
                "answerable": bool(right),
                "cands": [_candidate(text, 1) for text in right]
                + [_candidate(text, 0) for text in [*asks, *rng.sample(others, OTHER_TURNS)]],
            }


def _candidate(text: str, answers: int) -> dict[str, Any]:
    return {"t": text, "s": "user", "p": "", "y": answers}
