"""What many small spaces in one folder cost: files, disk, memory, and the time of a call, one space per user.

    python benchmarks/many_spaces.py --spaces 10000

Times are CPU times of this process unless said otherwise. The reader is off.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import figures
import remanence
from remanence.index.vectors.stores.edge import EdgeStore
from remanence.index.vectors.stores.exact import ExactStore
from remanence.ports import Vector, VectorStore
from remanence.testing.vector_store_contract import unit_vectors
from remanence.transfer.overview import disk_usage, format_bytes

PEOPLE = ("Alice", "Bob", "Carol", "Dave", "Erin", "Frank", "Grace", "Heidi", "Ivan", "Judy")
TOWNS = ("Porto", "Lisbon", "Berlin", "Paris", "Rome", "Oslo", "Madrid", "Vienna", "Prague", "Dublin")
DEEDS = ("lives in", "visited", "moved to", "dreams of", "wrote a book about", "flew to", "works in")
THINGS = ("tea", "coffee", "running", "chess", "bridges", "boats", "music", "painting", "history", "gardens")
QUESTIONS = ("Where does Bob live?", "What does Carol like?", "Who visited Rome?", "When did Ivan fly to Oslo?")

ROUNDS = 5


def texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    words = [(rng.choice(PEOPLE), rng.choice(DEEDS), rng.choice(TOWNS), rng.choice(THINGS)) for _ in range(count)]
    return [f"{who} {does} {where} and spoke of {what}, {n}." for n, (who, does, where, what) in enumerate(words)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--spaces", type=int, default=1_000, help="how many spaces")
    options.add_argument("--memories", type=int, default=20, help="how many memories in each")
    options.add_argument("--engine", action="store_true", help="only compare the two vector searches by size")
    options.add_argument("--threads", action="store_true", help="only compare one thread with four")
    options.add_argument(
        "--record", action="store_true", help="write the costs to figures.json; nothing is done in threads"
    )
    options.add_argument("--warm", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.warm is not None:
        measure_warm_memory(given.warm, given.spaces)
        return
    folder = Path(tempfile.mkdtemp(prefix="many-spaces-"))
    try:
        if given.engine:
            compare_engines(folder)
        elif given.threads:
            make_spaces(folder, given.spaces, given.memories)
            show_threads(folder, min(given.spaces, 400))
        else:
            show_costs(folder, given.spaces, given.memories, is_recorded=given.record)
    finally:
        shutil.rmtree(folder)


def show_costs(folder: Path, spaces: int, memories: int, *, is_recorded: bool = False) -> None:
    rate = cpu_ms(lambda: make_spaces(folder, spaces, memories)) / spaces
    sizes = disk_usage(folder)
    files = sum(len(names) for _, _, names in os.walk(folder))
    print(f"{spaces:,} spaces of {memories} memories: {rate:.1f} ms each to make, {files} files, on disk", end=" ")
    print(", ".join(f"{format_bytes(size)} {kind}" for kind, size in sizes.items()))
    outside = sum(size for kind, size in sizes.items() if kind != "ledger")
    print(
        f"for each space {format_bytes(sizes['ledger'] // spaces)} in the ledger, {outside // spaces} bytes outside it"
    )
    show_warm_memory(folder, min(spaces, 1_000))
    recalls = show_recalls(folder)
    show_single_calls(folder, spaces)
    if is_recorded:
        made = {"spaces": spaces, "memories": memories, "ms": rate, "files": files}
        measured = recalls | {"made": {"each": made | {"ledger kB": sizes["ledger"] / spaces / 1e3}}}
        figures.record("many_spaces", "python benchmarks/many_spaces.py", measured)
    else:
        show_threads(folder, min(spaces, 400))


def make_spaces(folder: Path, spaces: int, memories: int) -> None:
    with opened(folder) as space:
        for n in range(spaces):
            space.child(f"u{n}").add_many(texts(memories, n))


def show_recalls(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """A recall in a space that is not in memory, and the next one in it."""
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for count, each in ((20, 120), (100, 120), (1_000, 12)):
        with opened(folder) as space:
            for n in range(each):
                space.child(f"of {count}", str(n)).add_many(texts(count, n))
        with opened(folder) as space:
            warm_up(space)
            children = [space.child(f"of {count}", str(n)) for n in range(each)]
            cold, warm = (
                [cpu_ms(partial(child.recall, QUESTIONS[(n + k) % 4])) for n, child in enumerate(children)]
                for k in range(2)
            )
        first, then = statistics.median(cold), statistics.median(warm)
        print(f"recall in {count:,} memories: cold {first:.1f} ms, then {then:.1f}")
        measured[f"recall in {count}"] = {"each": {"first": first, "next": then}}
    return measured


def show_warm_memory(folder: Path, spaces: int) -> None:
    """In a process of its own, whose memory nothing else has used."""
    subprocess.run([sys.executable, __file__, "--warm", str(folder), "--spaces", str(spaces)], check=True)


def measure_warm_memory(folder: Path, spaces: int) -> None:
    with opened(folder) as space:
        warm_up(space)
        before = resident()
        for n in range(spaces):
            space.child(f"u{n}").recall(QUESTIONS[n % 4])
        grown, counted = resident() - before, space._engine.indexes.memory_bytes
        print(f"{spaces:,} warm spaces: {format_bytes(grown)} more in memory, {format_bytes(counted)} as estimated")
    with opened(folder, cache_size=20_000_000) as space:
        warm_up(space)
        for n in range(spaces):
            space.child(f"u{n}").recall(QUESTIONS[n % 4])
        print(f"with cache_size=20,000,000: {len(space._engine.indexes)} stay open")


def show_threads(folder: Path, spaces: int) -> None:
    """Recalls in another space each time, by one thread and by four: in spaces that have to be opened, in open ones,
    and in open ones with the reader. In turns, so that all meet the same machine; the median of each is shown."""
    for name, options in (("cold", {"cache_size": 1}), ("warm", {}), ("warm, with the reader", {"reader": "small"})):
        count = spaces if "reader" not in options else min(spaces, 40)
        with opened(folder, **options) as space:
            warm_up(space)
            for n in range(count):
                space.child(f"u{n}").recall(QUESTIONS[n % 4])
            rounds = [(measure_threads(space, count, 1), measure_threads(space, count, 4)) for _ in range(ROUNDS)]
        one, four = (statistics.median(rate for rate, _ in each) for each in zip(*rounds, strict=True))
        ratio = statistics.median(many / single for (single, _), (many, _) in rounds)
        cores = statistics.median(cores for _, (_, cores) in rounds)
        print(f"{name}: {one:.0f} recalls a second with 1 thread, {four:.0f} with 4", end="; ")
        print(f"ratio {ratio:.2f}, 4 threads keep {cores:.1f} cores busy")


def measure_threads(space: remanence.Space, count: int, threads: int) -> tuple[float, float]:
    """How many recalls a second, and how many cores they keep busy."""
    with ThreadPoolExecutor(threads) as pool:
        begin, used = time.perf_counter(), time.process_time()
        list(pool.map(lambda n: space.child(f"u{n}").recall(QUESTIONS[n % 4]), range(count)))
        seconds = time.perf_counter() - begin
        return count / seconds, (time.process_time() - used) / seconds


def show_single_calls(folder: Path, spaces: int) -> None:
    with opened(folder) as space:
        child = space.child("u1")
        memory = next(iter(child.memories()))
        for name, call in {
            "stats": child.admin.stats,
            "count": child.count,
            "memories": lambda: list(child.memories()),
            "spaces": child.spaces,
            "forget": lambda: child.forget(memory),
            "erase": lambda: child.erase(memory),
        }.items():
            print(f"{name} of one space beside {spaces - 1:,}: {cpu_ms(call):.1f} ms")
        print(f"spaces() of the root: {cpu_ms(space.spaces):.0f} ms")


def compare_engines(folder: Path) -> None:
    """Where the Qdrant engine pays: the search of both stores, and what it takes to open one."""
    for dimension in (256, 768):
        for count in (1_000, 2_000, 4_000, 8_000, 16_000, 32_000):
            vectors = unit_vectors(count, dimension)
            exact, edge = ExactStore(dimension), EdgeStore(folder / "shard", dimension)
            for store in (exact, edge):
                store.upsert(range(count), vectors)
            search = [cpu_ms(partial(search_often, store, vectors)) / 20 for store in (exact, edge)]
            edge.close()
            begin = time.process_time()
            edge = EdgeStore(folder / "shard", dimension)
            opening = (time.process_time() - begin) * 1_000
            figures = f"exact {search[0]:.2f} ms, engine {search[1]:.2f} ms, opens in {opening:.0f} ms"
            print(f"{count:6,} x {dimension}: {figures}")
            edge.clear()
            edge.close()


def search_often(store: VectorStore, vectors: Vector) -> None:
    for n in range(20):
        store.search(vectors[n], 50)


@contextmanager
def opened(folder: Path, **options: Any) -> Iterator[remanence.Space]:
    with remanence.open(folder, **{"reader": None, **options}) as space:
        yield space


def warm_up(space: remanence.Space) -> None:
    """Load what is loaded once in a process."""
    child = space.child("warm")
    child.add("Bob lives in Porto.")
    for question in QUESTIONS:
        child.recall(question)


def cpu_ms(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return (time.process_time() - begin) * 1_000


def resident() -> int:
    """How much memory this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
