"""How long the reader takes for a question, beside the stock cross-encoder of 12 layers in the same run.

    python benchmarks/reader_speed.py

Reads as many memories as recall does: short ones (the notes and chats of benchmarks/worlds) and passages of a hundred
words. Each question is read once, so nothing comes from the cache. The stock model takes part if it is installed
(`remanence models get ms-marco-MiniLM-L-12-v2`).
"""

from __future__ import annotations

import time

import numpy as np
from remanence.read.rerank import MAX_READ_HITS, fit_word_budget

from remanence.models import catalogue, readers
from remanence.models.reader_input import as_passage
from remanence.ports import Reader
from unseen import read_worlds

STOCK = "ms-marco-MiniLM-L-12-v2"
ROUNDS = 40


def questions(kind: str) -> list[tuple[str, list[str]]]:
    """Questions with the memories to read for each."""
    out = []
    for world in read_worlds("develop"):
        if (world["style"] == "long") != (kind == "passages"):
            continue
        for asked in world["questions"]:
            memories = [(m["text"], m["speaker"]) for m in world["memories"]][:MAX_READ_HITS]
            passages = [as_passage(asked["q"], text, speaker=speaker) for text, speaker in memories]
            out.append((asked["q"], list(fit_word_budget(passages))))
    return out[:ROUNDS]


def measure(reader: Reader, asked: list[tuple[str, list[str]]]) -> float:
    """Milliseconds a question, by the median."""
    took = []
    for question, passages in asked:
        began = time.perf_counter()
        reader.read(question, passages)
        took.append(1000 * (time.perf_counter() - began))
    return float(np.median(took))


def main() -> None:
    names = [catalogue.DEFAULT_READER, *([STOCK] if catalogue.installed_folder(STOCK) else [])]
    for kind in ("short memories", "passages"):
        asked = questions(kind)
        words = np.mean([len(passage.split()) for _, passages in asked for passage in passages])
        count = np.mean([len(passages) for _, passages in asked])
        times = {}
        for name in names:
            reader = readers.OnnxReader(name)
            reader.read("Is it warm?", ["It is warm."])
            times[name] = measure(reader, asked)
        line = ", ".join(f"{name} {took:.0f} ms" for name, took in times.items())
        ratio = f"; {times[STOCK] / times[names[0]]:.1f} times faster" if STOCK in times else ""
        print(f"{kind} ({count:.0f} of {words:.0f} words): {line}{ratio}")


if __name__ == "__main__":
    main()
