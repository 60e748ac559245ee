"""Questions that are asked in a chat, with candidates.

chats/follow*.jsonl   conversations whose last message is understood only with the turns before it
chats/helps*.jsonl    what users once told, and later messages, with what of it helps to answer them
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from training.material.files import TRAINING, read_folder

from remanence.recall.question import with_turns

CUTS = (0, -2, -4)
"""How many of the turns a follow-up is asked after: all of them, the last two, the last four."""


def read_chats(seed: int = 11) -> Iterator[dict[str, Any]]:
    """The hand-written questions with their candidates."""
    rng = random.Random(seed)
    for case in read_folder(TRAINING / "chats", "follow*.jsonl"):
        turns = [f"{role}: {text}" for role, text in case["turns"]]
        candidates = _candidates(case["memories"], case["right"], None)
        for asked in dict.fromkeys(with_turns(case["question"], turns[cut:]) for cut in CUTS):
            yield _pack(rng, "chats", asked, candidates)
        yield _pack(rng, "chats", case["alone"], candidates)
    for user in read_folder(TRAINING / "chats", "helps*.jsonl"):
        for message in user["messages"]:
            yield _pack(rng, "helps", message["text"], _candidates(user["memories"], message["helps"], "user"))


def _candidates(texts: list[str], right: list[int], speaker: str | None) -> list[dict[str, Any]]:
    return [{"t": text, "s": speaker, "y": int(place in right)} for place, text in enumerate(texts)]


def _pack(rng: random.Random, name: str, question: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    shuffled = rng.sample(candidates, len(candidates))
    return {"set": name, "q": question, "answerable": any(each["y"] for each in candidates), "cands": shuffled}
