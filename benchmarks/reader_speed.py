"""How long a default recall takes on chat turns, and how much of that is the reader and the embedder.

    python benchmarks/reader_speed.py [--questions 150]

One space has all the chat turns of benchmarks/worlds. Each question is asked once, so nothing comes from the cache.
Times are by the clock, and in processor time of all threads, which says more on a machine that others use as well.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

import figures
import remanence
from remanence.models.embedders import resolve_embedder, sentence_embedder
from remanence.models.readers import default_reader
from unseen import read_worlds

WARM_UP = 10


def chat_turns() -> tuple[list[dict[str, str]], list[tuple[str, str]]]:
    """The turns of all chats, and the questions about them, each with the time at which it is asked."""
    turns, questions = [], []
    for number, world in enumerate(read_worlds("all")):
        if world["style"] in ("two people", "assistant"):
            for memory in world["memories"]:
                day = memory["time"][:10]
                said = {"speaker": memory["speaker"], "content": memory["text"], "time": memory["time"]}
                turns.append(said | {"conversation": f"{number} {day}"})
            questions += [(asked["q"], asked["asked_at"]) for asked in world["questions"]]
    return turns, questions


def measure(name: str, calls: Iterable[Callable[[], object]]) -> dict[str, float]:
    """Print the median, the slowest of twenty and the processor time of these calls, and return them."""
    took, used = [], []
    for call in calls:
        began, began_processor = time.perf_counter(), time.process_time()
        call()
        took.append(1000 * (time.perf_counter() - began))
        used.append(1000 * (time.process_time() - began_processor))
    p50, p95 = np.percentile(took, (50, 95))
    print(f"{name:34} p50 {p50:7.1f} ms  p95 {p95:7.1f} ms  processor {np.mean(used):7.1f} ms  ({len(took)})")
    return {"p50": float(p50), "p95": float(p95), "processor": float(np.mean(used))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--record", action="store_true", help="write the times to figures.json")
    options = parser.parse_args()
    turns, questions = chat_turns()
    questions = questions[: options.questions + WARM_UP]
    embedder, reader = sentence_embedder(), default_reader()
    print(f"{len(turns)} chat turns, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with remanence.open(None, worker=False) as space:
        space.add_turns(turns)
        for question, now in questions[:WARM_UP]:
            space.recall(question, now=now)
        asked = questions[WARM_UP:]
        reader.clear()
        texts = [turn["content"] for turn in turns]
        calls: dict[str, list[Callable[[], object]]] = {
            "recall": [partial(space.recall, text, now=now) for text, now in asked],
            "recall without the reader": [partial(space.recall, text, now=now, reader="none") for text, now in asked],
            "embedding a question": [partial(embedder.embed_query, text) for text, _ in asked],
            "add": [partial(space.add, f"{text} Again.") for text in texts[:200]],
        }
        measured = {name: measure(name, each) for name, each in calls.items()}
    for name, made_by in (("embedding texts", embedder), ("embedding texts, fast", resolve_embedder("fast"))):
        made_by.embed(["Once."])
        began = time.perf_counter()
        made_by.embed([f"{text} Once more." for text in texts])
        measured[name] = {"a second": len(texts) / (time.perf_counter() - began)}
        print(f"{name:34} {measured[name]['a second']:.0f} a second")
    if options.record:
        command = f"python benchmarks/reader_speed.py --questions {options.questions}"
        figures.record("reader_speed", command, {"turns": measured})


if __name__ == "__main__":
    main()
