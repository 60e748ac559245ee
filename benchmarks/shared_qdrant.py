"""A real Qdrant server, or three: how fast it searches, and what is lost when it, its callers or PostgreSQL are killed.

    export QDRANT_BINARY=/path/to/qdrant      # the program of Qdrant 1.15 or later
    python benchmarks/shared_qdrant.py size --points 100000
    python benchmarks/shared_qdrant.py size --points 1000000 --quantization int8

Every server listens on loopback only, without telemetry, with its files in a temporary folder.

`size` writes vectors of the made-up world of `world.py` to one space and asks for the nearest 50: of all, of every sixth
memory, of one month of 24, and of 4,000 that are given by their number. "recall@50" is the share of those of an exact
scan that are found; times are milliseconds on the clock, the median of 20 questions.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("REMANENCE_READER", "none")
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from qdrant_server import QdrantNode
from remanence import Qdrant
from remanence.index.vectors.store_sync import PASSAGE_BITS
from remanence.index.vectors.stores import SharedStores
from remanence.index.vectors.vectors import Vectors
from remanence.schema import Query
from world import DIMENSION, clustered_vectors

DEPTH = 50
QUESTIONS = 20


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = options.add_subparsers(dest="verb", required=True)
    size = verbs.add_parser("size")
    size.add_argument("--points", type=int, default=100_000)
    size.add_argument("--quantization", choices=["int8", "binary"])
    size.add_argument("--on-disk", action="store_true", help="whole vectors are read from disk")
    given = options.parse_args()
    measure_size(given.points, Qdrant("", quantization=given.quantization, on_disk=given.on_disk))


# Size


def measure_size(count: int, settings: Qdrant) -> None:
    """Fill one space and search it."""
    dice = np.random.default_rng([7, count])
    vectors = clustered_vectors(dice, count)
    noise = dice.standard_normal((QUESTIONS, DIMENSION), np.float32) * (0.5 / np.sqrt(DIMENSION))
    asked = vectors[dice.integers(0, count, QUESTIONS)] + noise
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    with one_server() as node:
        stores = SharedStores(at(settings, node.url, timeout=60), lambda: "ledger")
        store = stores.open("large", DIMENSION, "world")
        rows = np.arange(count)
        points = rows << PASSAGE_BITS
        started = time.perf_counter()
        for begin in range(0, count, 4_096):
            part = points[begin : begin + 4_096]
            store.write(part.tolist(), vectors[begin : begin + 4_096], part.tolist(), [b"\0" * 16] * len(part))
        out: dict[str, Any] = {"writing, points a second": count / (time.perf_counter() - started)}
        out["until optimized, s"] = seconds_until_green(node.url)
        out["server's memory, MB"] = memory_mb(node.pid)
        out["disk, MB"] = sum(file.stat().st_blocks * 512 for file in node.folder.rglob("*") if file.is_file()) / 1e6
        signal = Vectors(store, lambda keys: {})
        signal.load({"points": points, "hashes": np.zeros((count, 16), np.uint8), "rows": np.array([count])})
        masks = {
            "all": np.ones(count, bool),
            "every sixth": rows % 6 == 0,
            "one month of 24": rows < count // 24,
            "4,000 by number": np.isin(rows, dice.permutation(count)[:4_000]),
        }
        for name, mask in masks.items():
            out[name] = search_figures(signal, vectors, asked, mask)
        for what, ask in {"reading all ids, s": store.get_points, "counting, s": lambda: store.count(1 << 62)}.items():
            started = time.perf_counter()
            ask()
            out[what] = time.perf_counter() - started
        node.kill()
        started = time.perf_counter()
        node.start(600)
        out["starting again after a kill, s"] = time.perf_counter() - started
        print(json.dumps({f"{count} {settings.quantization or 'whole'}": out}, indent=1), flush=True)


def search_figures(signal: Vectors, vectors: Any, asked: Any, mask: Any) -> dict[str, float]:
    """What a search of the nearest rows that the mask allows takes, and the share of them that it finds."""
    allowed, found, seconds = np.flatnonzero(mask), [], []
    for question in asked:
        query = Query("", mask, mask, vector=question)
        started = time.perf_counter()
        ranking = signal.rank(query, DEPTH)
        seconds.append(time.perf_counter() - started)
        best = allowed[np.argsort(-(vectors[allowed] @ question))[:DEPTH]]
        found.append(len(set(ranking.rows) & set(best.tolist())) / DEPTH)
    return {"ms": float(np.median(seconds)) * 1e3, "recall@50": float(np.mean(found))}


# Servers


@contextmanager
def one_server(**settings: object) -> Iterator[QdrantNode]:
    with tempfile.TemporaryDirectory(prefix="shared-qdrant-", ignore_cleanup_errors=True) as folder:
        node = QdrantNode(Path(folder), **settings)
        try:
            node.start()
            yield node
        finally:
            node.kill()


def at(settings: Qdrant, url: str | list[str], **others: Any) -> Qdrant:
    """The same settings for the server there."""
    from dataclasses import replace

    return replace(settings, url=url, **others)


def memory_mb(pid: int) -> float:
    """Of a process, without files that it only maps."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["RssAnon"].split()[0]) / 1e3


def seconds_until_green(url: str) -> float:
    """Until the server has built what it builds in the background."""
    from qdrant_client import QdrantClient

    client, started = QdrantClient(url=url, check_compatibility=False), time.perf_counter()
    [name] = [each.name for each in client.get_collections().collections]
    while client.get_collection(name).status != "green":
        time.sleep(0.5)
    client.close()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
