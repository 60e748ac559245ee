"""What recall, add and open cost as a space grows, beside what people would pick instead.

    python benchmarks/speed.py                                  1,000, 10,000 and 100,000 memories, and peers
    python benchmarks/speed.py --sizes 1000,10000 --no-peers --json speed.json
    python benchmarks/speed.py --quick                          a minute, for a look
    python benchmarks/speed.py --sizes "" --edges 500000        the graph alone, at half a million edges

Embedding is left out: every text and question has its vector beforehand, the same for all systems. The
texts are made up but shaped like real ones: about twenty words with Zipf's distribution over 50,000,
people, places, dates, half of them chat turns. Everything happens in a temporary folder.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import figures
import graph_speed
import remanence
from world import BEGAN, NOW, Clock, Lookup, World, make_world

BATCHES = 20
BATCH = 2_000
"""Rows that are added together, at least, where there are twice as many."""
DEPTH = 50

Figures = dict[str, float]
Timer = Callable[[], float]

FILTERS: dict[str, dict[str, Any]] = {
    "kind": {"kinds": "viewpoint"},
    "tag": {"tags": "t5"},
    "during": {"during": ("2025-06-01", "2025-07-01")},
}

Target = tuple[str, int | None, str, float]
"""What the issue asks for: figure, size (None for all), least or most, bound."""
TARGETS: list[Target] = [
    ("recall p50 ms", 10_000, "<", 4),
    ("recall p50 ms", 100_000, "<", 10),
    ("recall p99 ms", 100_000, "<", 30),
    ("add p50 ms", None, "<", 1),
    ("bulk add /s", None, ">=", 4_000),
    ("open s", 100_000, "<", 2),
    ("memory MB", 100_000, "<", 700),
    *((f"recall@{DEPTH} {name}", None, ">=", 0.98) for name in ("all", "kind", "tag", "during", "as of")),
]
# The same of the graph, by its number of edges.
GRAPH_TARGETS: list[Target] = [
    ("graph query, 100 nodes p50 ms", 500_000, "<", 20),
    ("graph query at a moment, 100 nodes p50 ms", 500_000, "<", 20),
    ("graph query as of and at, 100 nodes p50 ms", 500_000, "<", 20),
    ("graph signal p50 ms of CPU", 500_000, "<", 3),
    ("add edge p50 ms", 500_000, "<", 1),
]
TIMES_FASTER = {"LangGraph InMemoryStore": 20, "LlamaIndex SimpleVectorStore": 20, "mem0": 5}


# Measuring


def warm_up() -> None:
    """Load what the first add and the first question load, so that the smallest world does not pay for it."""
    with tempfile.TemporaryDirectory() as folder, remanence.open(folder, reader=None) as space:
        space.add("Alice moved to Lisbon on 3 May 2026.")
        space.recall("Where did Alice live in 2025?")


def measure(world: World, folder: Path, console: Console) -> Figures:
    """Every figure of Remanence for one world."""
    size, clock, out = len(world.rows), Clock(), Figures()
    embedder = world.embedder()
    space = remanence.open(folder / "ours", embedder=embedder, reader=None, clock=clock)  # `reader_speed.py` times that
    memories, spent = fill(space, world, clock)
    out["bulk add /s"] = size / spent

    # As a kill would leave it: the files as they are while the space is open.
    shutil.copytree(folder / "ours", folder / "killed")

    clock.moment = NOW

    def ask(view: remanence.View = space, clock: Timer = time.perf_counter, **options: Any) -> list[float]:
        return [timed(partial(view.recall, question, **options), clock) for question in world.questions]

    ask()  # the first time reads words, dates and memories that the second finds at hand
    out |= spread("recall", ask() + ask())
    out["recall p50 ms of CPU"] = median_ms(ask(clock=time.process_time))
    for name, options in FILTERS.items():
        out[f"recall {name} p50 ms"] = median_ms(ask(**options))
    out["recall as of p50 ms"] = median_ms(ask(space.as_of(halfway())))

    for memory in memories[:: max(1, size // 200)]:
        space.forget(memory.id)
    out |= faithfulness(space, world, memories)
    out |= spread("add", [timed(partial(space.add, text)) for text in world.extra])
    assert space.recall(world.extra[-1])[0].memory.text == world.extra[-1], "what was added is found"

    out["close s"] = timed(space.close)
    out["disk MB"] = sum(f.stat().st_size for f in (folder / "ours").rglob("*") if f.is_file()) / 1e6
    out |= reopened(folder / "ours", world, folder)
    out["open after kill s"] = reopened(folder / "killed", world, folder)["open s"]
    console.print(f"[dim]{size:,} memories measured[/]")
    return out


def fill(space: remanence.Space, world: World, clock: Clock) -> tuple[list[remanence.Memory], float]:
    """Add everything in batches over two years; what it became, and the seconds it took."""
    memories: dict[int, remanence.Memory] = {}
    spent = 0.0
    step = max(-(-len(world.rows) // BATCHES), min(BATCH, len(world.rows) // 2))
    for begin in range(0, len(world.rows), step):
        numbers = range(begin, min(begin + step, len(world.rows)))
        notes = [n for n in numbers if "text" in world.rows[n]]
        turns = [n for n in numbers if "text" not in world.rows[n]]
        clock.moment = BEGAN + timedelta(days=730 * begin / len(world.rows))
        started = time.perf_counter()
        added = space.add_many([world.rows[n] for n in notes])
        added += space.add_turns([world.rows[n] for n in turns])
        spent += time.perf_counter() - started
        memories |= dict(zip(notes + turns, added, strict=True))
        gc.freeze()  # what is kept here for later, ten objects a memory, a loader would have let go
    return [memories[n] for n in range(len(world.rows))], spent


def halfway() -> datetime:
    return BEGAN + (NOW - BEGAN) / 2


def faithfulness(space: remanence.Space, world: World, memories: Sequence[remanence.Memory]) -> Figures:
    """Of the fifty nearest by numpy, how many the vector signal gives, under every filter."""
    shown = {memory.id for memory in space.memories()}  # some were forgotten
    newest = {memory.id: place for place, memory in enumerate(memories)}
    then = {memory.id: place for place, memory in enumerate(memories) if memory.revised_at <= halfway()}
    now = [place for place, memory in enumerate(memories) if newest[memory.id] == place and memory.id in shown]
    june = remanence.Window(*(datetime(2025, month, 1, tzinfo=timezone.utc) for month in (6, 7)))
    allowed = {
        "all": now,
        "kind": [place for place in now if memories[place].kind == "viewpoint"],
        "tag": [place for place in now if "t5" in memories[place].tags],
        "during": [p for p, memory in enumerate(memories) if memory.id in shown and memory.valid.overlaps(june)],
        "as of": list(then.values()),
    }
    out = Figures()
    for name, places in allowed.items():
        view = space.as_of(halfway()) if name == "as of" else space
        shares = []
        for vector in world.asked[:40]:
            exact = np.argsort(-(world.vectors[places] @ vector), kind="stable")[:DEPTH]
            options = {"vector": vector, "signals": ["vectors"], "limit": 4 * DEPTH} | FILTERS.get(name, {})
            given = {h.memory.text for h in view.recall("near", **options) if h.evidence[0].rank <= DEPTH}
            shares.append(np.mean([memories[places[at]].text in given for at in exact]))
        out[f"recall@{DEPTH} {name}"] = float(np.mean(shares))
    return out


def reopened(folder: Path, world: World, scratch: Path) -> Figures:
    """What a fresh process pays to open a folder and answer."""
    np.savez(scratch / "asked.npz", questions=np.array(world.questions), vectors=world.asked)
    command = [sys.executable, __file__, "--open", str(folder), str(scratch / "asked.npz")]
    return Figures(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def open_and_answer(folder: str, asked: str) -> Figures:
    """The fresh process."""
    with np.load(asked) as archive:
        questions, vectors = archive["questions"].tolist(), archive["vectors"]
    embedder = Lookup(questions, vectors)
    started = time.perf_counter()
    space = remanence.open(folder, embedder=embedder, reader=None, clock=lambda: NOW)
    space.count()
    opened = time.perf_counter() - started
    first = timed(lambda: space.recall(questions[0]))
    for question in questions:
        space.recall(question)
    return {
        "open s": opened,
        "first recall ms": first * 1000,
        "memory MB": _memory("VmRSS"),
        "peak memory MB": _memory("VmHWM"),
    }


def _memory(field: str) -> float:
    """Megabytes of this process, as Linux counts them; elsewhere not a number."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))


def timed(work: Callable[[], object], clock: Timer = time.perf_counter) -> float:
    started = clock()
    work()
    return clock() - started


def median_ms(seconds: Sequence[float]) -> float:
    return float(np.median(seconds)) * 1000


def spread(name: str, seconds: Sequence[float]) -> Figures:
    return {f"{name} p50 ms": median_ms(seconds), f"{name} p99 ms": float(np.percentile(seconds, 99)) * 1000}


# Showing


def verdict(figure: str, size: int, value: float, targets: Sequence[Target]) -> str:
    """The target beside a figure, where there is one."""
    for name, at, sign, bound in targets:
        if name == figure and at in (None, size):
            met = value < bound if sign == "<" else value >= bound
            return f" [{'green' if met else 'red'}]({sign} {bound:g})[/]"
    return ""


def figures_table(title: str, results: dict[int, Figures], targets: Sequence[Target]) -> Table:
    """Sizes side by side, so that growth shows."""
    table = Table("Remanence", *(f"{size:,}" for size in results), title=f"{title} (target)")
    for figure in next(iter(results.values())):
        cells = [f"{f[figure]:,.3g}{verdict(figure, size, f[figure], targets)}" for size, f in results.items()]
        table.add_row(figure, *cells)
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def peers_table(size: int, ours: Figures, peers: dict[str, Figures | str]) -> Table:
    """Others beside us, on the same texts and vectors."""
    table = Table(
        *("", "query p50 ms", "ours is … times faster", "add p50 ms", "bulk add /s", "note"),
        title=f"Beside others, {size:,} memories",
    )
    mine = ours["recall p50 ms"]
    table.add_row("Remanence", f"{mine:,.3g}", "", f"{ours['add p50 ms']:,.3g}", f"{ours['bulk add /s']:,.0f}", "")
    for name, theirs in peers.items():
        if isinstance(theirs, str):
            table.add_row(name, "", "", "", "", theirs)
            continue
        faster, wanted = theirs["query p50 ms"] / mine, TIMES_FASTER.get(name)
        colour = "green" if wanted is None or faster >= wanted else "red"
        target = "" if wanted is None else f" [{colour}](>= {wanted})[/]"
        row = [f"{theirs['query p50 ms']:,.3g}", f"{faster:,.1f}{target}"]
        row += [f"{theirs['add p50 ms']:,.3g}", f"{theirs['bulk add /s']:,.0f}", theirs.get("note", "")]
        table.add_row(name, *row)
    return table


def main() -> None:
    if sys.argv[1:2] == ["--open"]:
        print(json.dumps(open_and_answer(*sys.argv[2:])))
        return
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 130)
    sizes = [1_000, 5_000] if options.quick else options.sizes
    asked, extra = (80, 60) if options.quick else (200, 200)
    warm_up()
    ours: dict[int, Figures] = {}
    others: dict[int, dict[str, Any]] = {}
    for size in sizes:
        world = make_world(size, asked=asked, extra=extra)
        gc.freeze()  # hundreds of thousands of objects of ours: no collection need look at them
        with tempfile.TemporaryDirectory(prefix="remanence-speed-") as scratch:
            ours[size] = measure(world, Path(scratch), console)
            if options.peers and (options.quick or size >= 10_000):
                import peers

                others[size] = peers.measure(world, Path(scratch), console, most_seconds=options.patience)
    graphs: dict[int, Figures] = {}
    for edges in [20_000] if options.quick else options.edges:
        with tempfile.TemporaryDirectory(prefix="remanence-speed-") as scratch:
            graphs[edges] = graph_speed.measure(Path(scratch), edges)
    if ours:
        console.print(figures_table("Cost as a space grows, by memories", ours, TARGETS))
    if graphs:
        console.print(figures_table("Cost of the graph, by edges", graphs, GRAPH_TARGETS))
    for size, found in others.items():
        console.print(peers_table(size, ours[size], found))
    if options.record:
        record(ours, others, graphs)
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        options.json.write_text(
            json.dumps({"on": machine, "remanence": ours, "graph": graphs, "peers": others}, indent=1)
        )


def record(
    ours: Mapping[int, Figures], others: Mapping[int, Mapping[str, Figures | str]], graphs: Mapping[int, Figures]
) -> None:
    """Put the times of one run into the file of figures, with those of the peers that could be filled."""
    measured: dict[str, dict[str, Figures]] = {
        str(size): {"Remanence": mine | {"query p50 ms": mine["recall p50 ms"]}} for size, mine in ours.items()
    }
    for size, peers in others.items():
        for name, theirs in peers.items():
            if not isinstance(theirs, str):
                measured[str(size)][name] = {key: value for key, value in theirs.items() if key != "note"}
    measured |= {f"{edges} edges": {"Remanence": found} for edges, found in graphs.items()}
    figures.record("speed", "python benchmarks/speed.py", measured)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number.strip()]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=_numbers, default=[1_000, 10_000, 100_000], help="how many memories, each in turn"
    )
    parser.add_argument("--edges", type=_numbers, default=[500_000], help="how many edges of the graph")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--patience", type=float, default=120, help="seconds a peer may take to fill (120)")
    parser.add_argument("--quick", action="store_true", help="1,000 and 5,000 memories")
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
