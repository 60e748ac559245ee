"""Other stores with the vectors of the made-up world of `world.py`: adding them, and the 50 nearest of a question.

    python benchmarks/vector_peers.py --sizes 10000,100000
    python benchmarks/vector_peers.py --sizes 10000,100000,300000,1000000

Those that are installed: Chroma, LanceDB (from 100,000 vectors on with an IVF-PQ index), sqlite-vec (a Python that
cannot load SQLite extensions needs `pysqlite3` or `pysqlite3-binary`, whichever has a build for the machine), and
LangGraph's PostgresStore, with a PostgreSQL of its own. They have vectors only: no words, graph, times or filters.
"recall@50" is the share of the 50 nearest of an exact scan that are found. PostgresStore searches vectors with
pgvector, which is not part of PostgreSQL: here it has the same number of small values without vectors, and looks one up
by its key and by one of its fields. Times are CPU milliseconds of this process; of PostgresStore, whose work is done by
the server, they are milliseconds on the clock.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from world import Vectors, make_world

DEPTH = 50
BATCH = 2_000
Figures = dict[str, float]
Search = Callable[[Vectors], Any]
"""Of a vector store: the rows that are nearest to a question."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sizes", default="10000,100000")
    arguments.add_argument("--only", help="the peers to measure, by name, with commas")
    given = arguments.parse_args()
    sizes = sorted(int(size) for size in given.sizes.split(","))
    world = make_world(sizes[-1], asked=20, extra=0)
    for size in sizes:
        names = given.only.split(",") if given.only else list(PEERS)
        print(json.dumps({size: measure_peers(world.vectors[:size], world.asked, names)}, indent=1), flush=True)


def measure_peers(vectors: Vectors, asked: Vectors, names: list[str] | None = None) -> Figures:
    """What a search of the 50 nearest takes in other stores, those that are installed, and adding to them."""
    out = Figures()
    for name, (module, fill_store) in PEERS.items():
        if find_spec(module.partition(".")[0]) is None or find_spec(module) is None or (names and name not in names):
            continue
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            started, on_clock = time.process_time(), time.perf_counter()
            try:
                searches = fill_store(Path(folder), vectors, stack)
            except Unavailable as reason:
                print(f"{name} is left out: {reason}", file=sys.stderr)
                continue
            out[f"{name} bulk add, for each second of CPU"] = len(vectors) / (time.process_time() - started)
            out[f"{name} bulk add, for each second on the clock"] = len(vectors) / (time.perf_counter() - on_clock)
            for what, search in searches.items():
                measure = clock if "clock" in what else cpu
                out[f"{name} {what}"] = median_ms([measure(partial(search, each)) for each in asked[:20]])
                if what == "ms":
                    found = [len(set(search(each)) & nearest_rows(vectors, each)) for each in asked[:20]]
                    out[f"{name} recall@50"] = float(np.mean(found)) / DEPTH
    return out


class Unavailable(Exception):
    """The store is installed, but cannot be used here."""


def fill_sqlite_vec(folder: Path, vectors: Vectors, stack: ExitStack) -> dict[str, Search]:
    import sqlite_vec

    if find_spec("pysqlite3") is not None:
        import pysqlite3 as sqlite3
    else:
        import sqlite3
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        raise Unavailable("this Python cannot load SQLite extensions")
    connection = sqlite3.connect(folder / "vectors.db")
    stack.callback(connection.close)
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    connection.execute(f"create virtual table points using vec0(vector float[{vectors.shape[1]}])")
    with connection:
        rows = ((number, vector.tobytes()) for number, vector in enumerate(vectors))
        connection.executemany("insert into points(rowid, vector) values (?, ?)", rows)
    # `k`, not `limit`, which SQLite before 3.41 does not tell a virtual table.
    nearest = "select rowid from points where vector match ? and k = ? order by distance"
    return {"ms": lambda question: [row for (row,) in connection.execute(nearest, (question.tobytes(), DEPTH))]}


def fill_chroma(folder: Path, vectors: Vectors, stack: ExitStack) -> dict[str, Search]:
    import chromadb

    points = chromadb.PersistentClient(str(folder)).create_collection("points", metadata={"hnsw:space": "ip"})
    for begin in range(0, len(vectors), BATCH):
        batch = vectors[begin : begin + BATCH]
        points.add(ids=[str(begin + place) for place in range(len(batch))], embeddings=batch)

    def search(question: Vectors) -> list[int]:
        found = points.query(query_embeddings=question[None], n_results=DEPTH, include=[])
        return [int(row) for row in found["ids"][0]]

    return {"ms": search}


def fill_lancedb(folder: Path, vectors: Vectors, stack: ExitStack) -> dict[str, Search]:
    import lancedb
    import pyarrow

    columns = {
        "row": pyarrow.array(np.arange(len(vectors))),
        "vector": pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), vectors.shape[1]),
    }
    table = lancedb.connect(str(folder)).create_table("points", pyarrow.table(columns))
    if len(vectors) >= 100_000:
        table.create_index(metric="dot", num_partitions=int(len(vectors) ** 0.5), num_sub_vectors=32)

    def search(question: Vectors) -> list[int]:
        nearest = table.search(question).distance_type("dot").select(["row", "_distance"]).limit(DEPTH)
        return nearest.to_arrow()["row"].to_pylist()

    return {"ms": search}


def fill_postgres_store(folder: Path, vectors: Vectors, stack: ExitStack) -> dict[str, Search]:
    from langgraph.store.base import PutOp
    from langgraph.store.postgres import PostgresStore

    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
    from postgres_server import Server

    server = Server.create()
    server.start(durable=True)
    stack.callback(server.remove)
    store = stack.enter_context(PostgresStore.from_conn_string(server.url().partition("?")[0]))
    store.setup()
    space = ("memories",)
    for begin in range(0, len(vectors), BATCH):
        numbers = range(begin, min(begin + BATCH, len(vectors)))
        store.batch([PutOp(space, str(number), {"number": number}) for number in numbers])

    def one_of(question: Vectors) -> int:
        return int(abs(question[0]) * 1e6) % len(vectors)

    return {
        "get by key, ms on the clock": lambda question: store.get(space, str(one_of(question))),
        "search by field, ms on the clock": lambda question: store.search(
            space, filter={"number": one_of(question)}, limit=DEPTH
        ),
    }


PEERS: dict[str, tuple[str, Callable[[Path, Vectors, ExitStack], dict[str, Search]]]] = {
    "sqlite-vec": ("sqlite_vec", fill_sqlite_vec),
    "LanceDB": ("lancedb", fill_lancedb),
    "PostgresStore": ("langgraph.store.postgres", fill_postgres_store),
    "Chroma": ("chromadb", fill_chroma),
}


def nearest_rows(vectors: Vectors, question: Vectors) -> set[int]:
    """By an exact scan."""
    return set(np.argpartition(vectors @ question, -DEPTH)[-DEPTH:].tolist())


def cpu(work: Callable[[], Any]) -> float:
    """The CPU seconds that it took, of all threads of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def clock(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def median_ms(seconds: list[float]) -> float:
    return float(np.median(seconds)) * 1e3


if __name__ == "__main__":
    main()
