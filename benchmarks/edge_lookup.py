"""What it costs to hold the edges of the graph: in igraph, in parts of several sizes, and in sorted arrays.

    python benchmarks/edge_lookup.py                            500,000, a million and five million edges
    python benchmarks/edge_lookup.py --edges 500000 --parts 0 131072

Edges lead from names, a few of which are everywhere, to memories. Each way is measured in a process of its own: the
time to make it, the longest call of igraph, during which no other thread runs, the memory it takes, and the time for
the edges of one node. Then a graph grows by 500 edges at a time, as it is held by default.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from pathlib import Path
from typing import Any

import igraph
import numpy as np
from numpy.typing import NDArray

from remanence.state.arrays import adjacency

_LOOKUPS = 20_000
_GROWN_BY = 500


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--edges", type=int, nargs="*", default=[500_000, 1_000_000, 5_000_000])
    options.add_argument("--parts", type=int, nargs="*", default=[0, 1 << 16, 1 << 17], help="0 is arrays")
    options.add_argument("--grow", type=int, default=500_000, help="to how many edges a graph grows; 0: not at all")
    chosen = options.parse_args()
    fresh = multiprocessing.get_context("spawn")
    for count in chosen.edges:
        for part in chosen.parts:
            _run(fresh, measure, count, part)
    if chosen.grow:
        _run(fresh, measure_growth, chosen.grow)


def _run(context: Any, work: Any, *given: int) -> None:
    process = context.Process(target=work, args=given)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{work.__name__}{given} ended with {process.exitcode}")


def make_edges(count: int) -> NDArray[np.int32]:
    dice = np.random.default_rng(0)
    rows = np.sort(dice.integers(0, count // 5 * 2, count)) * 2 + 1
    names = dice.zipf(1.3, count) % (count // 5) * 2
    return np.stack([names, rows], 1).astype(np.int32)


def measure(count: int, part: int) -> None:
    """Print the figures of one way to hold all edges."""
    ends, longest = make_edges(count), [0.0]
    created = igraph.Graph.__init__

    def timed(*given: Any, **named: Any) -> None:
        began = time.process_time()
        created(*given, **named)
        longest[0] = max(longest[0], time.process_time() - began)

    igraph.Graph.__init__ = timed
    adjacency._MAX_IGRAPH, adjacency._MAX_PART = (count, part) if part else (0, 1)
    before, began = _resident(), time.process_time()
    graph = adjacency.Adjacency(ends)
    graph.edges_of_each([0])
    made, resident = time.process_time() - began, _resident() - before
    dice = np.random.default_rng(1)
    asked = [*dice.integers(0, count // 5 * 2, _LOOKUPS // 2) * 2 + 1, *dice.integers(0, count // 5, _LOOKUPS // 2) * 2]
    began = time.process_time()
    graph.edges_of_each(map(int, asked))
    each = (time.process_time() - began) / _LOOKUPS
    print(
        f"{count:9,} edges, {f'igraph, {len(graph._base)} parts' if part else 'arrays':18}"
        f" made in {made:5.2f} s, longest call {longest[0] * 1000:4.0f} ms, {resident:6.0f} MB,"
        f" {each * 1e6:5.1f} µs for a node"
    )


def measure_growth(count: int) -> None:
    """Print what a growing graph costs, and the longest that adding some edges to it takes by the clock."""
    edges = [(int(a), int(b)) for a, b in make_edges(count)]
    graph, spent, longest = adjacency.Adjacency(), time.process_time(), 0.0
    for start in range(0, count, _GROWN_BY):
        began = time.perf_counter()
        graph.extend(edges[start : start + _GROWN_BY])
        longest = max(longest, time.perf_counter() - began)
        time.sleep(0.001)
    graph._build.wait()
    print(
        f"{count:9,} edges, {_GROWN_BY} at a time: {time.process_time() - spent:.2f} s, longest {longest * 1000:.0f} ms"
    )


def _resident() -> float:
    """The memory of this process, in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


if __name__ == "__main__":
    main()
