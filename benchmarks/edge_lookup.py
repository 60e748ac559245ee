"""What it costs to find the edges at a vertex.

    python benchmarks/edge_lookup.py                            500,000, a million and five million edges
    python benchmarks/edge_lookup.py --operations              what igraph's own searches cost around one entity

Edges lead from names, a few of which are everywhere, to memories. Each size is measured in a process of its own: the
time to pack the edges by vertex, the memory it takes, and the time for the edges of one node. Then a graph grows by 500
edges at a time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import igraph
import numpy as np
from numpy.typing import NDArray

import figures
from graph_speed import make_society
from remanence.index import arrays

_LOOKUPS = 20_000
_GROWN_BY = 500


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--edges", type=int, nargs="*", default=[500_000, 1_000_000, 5_000_000])
    options.add_argument("--grow", type=int, default=500_000, help="to how many edges a graph grows; 0: not at all")
    options.add_argument("--operations", action="store_true", help="only these, in the society of graph_speed.py")
    options.add_argument("--record", action="store_true", help="write the figures to figures.json")
    chosen = options.parse_args()
    if chosen.operations:
        measure_operations(500_000)
        return
    fresh = multiprocessing.get_context("spawn")
    for count in chosen.edges:
        _run(fresh, measure, count, chosen.record)
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


def measure(count: int, is_recorded: bool) -> None:
    """Print what the index of all edges takes, and a search in it."""
    ends = make_edges(count)
    before, began = _resident(), time.process_time()
    graph = arrays.Adjacency(ends)
    graph.edges_of_each([0])
    made, resident = time.process_time() - began, _resident() - before
    dice = np.random.default_rng(1)
    asked = [*dice.integers(0, count // 5 * 2, _LOOKUPS // 2) * 2 + 1, *dice.integers(0, count // 5, _LOOKUPS // 2) * 2]
    began = time.process_time()
    graph.edges_of_each(map(int, asked))
    each = (time.process_time() - began) / _LOOKUPS
    print(f"{count:9,} edges, packed in {made:5.2f} s, {resident:6.0f} MB, {each * 1e6:5.1f} µs for a node")
    if is_recorded:
        measured = {"packed s": made, "memory MB": resident, "a node µs": each * 1e6}
        figures.record("edge_lookup", "python benchmarks/edge_lookup.py", {str(count): {"edges": measured}})


def measure_growth(count: int) -> None:
    """Print what a growing graph costs, and the longest step, by the clock."""
    edges = [(int(a), int(b)) for a, b in make_edges(count)]
    graph, spent, longest = arrays.Adjacency(), time.process_time(), 0.0
    for start in range(0, count, _GROWN_BY):
        began = time.perf_counter()
        graph.extend(edges[start : start + _GROWN_BY])
        graph.edges_of(7)
        longest = max(longest, time.perf_counter() - began)
        time.sleep(0.001)
    graph._by_vertex._build.wait()
    print(
        f"{count:9,} edges, {_GROWN_BY} at a time: {time.process_time() - spent:.2f} s, longest {longest * 1000:.0f} ms"
    )


def measure_operations(count: int) -> None:
    """Print what igraph's searches cost around an entity: nothing is left out, however many edges it has."""
    society = make_society(count)
    numbers = {name: number for number, name in enumerate(society.names)}
    graph = igraph.Graph(len(numbers), [(numbers[one], numbers[other]) for one, _, other in society.ties])

    def part(start: int, hops: int) -> tuple[igraph.Graph, int]:
        near = graph.neighborhood(start, order=hops)
        return graph.induced_subgraph(near), sorted(near).index(start)

    def rank(start: int, hops: int) -> list[float]:
        local, place = part(start, hops)
        ranks: list[float] = local.personalized_pagerank(reset_vertices=place)
        return ranks

    work: dict[str, tuple[int, Callable[[int], object]]] = {
        "incident": (100, graph.incident),
        **{f"neighborhood, {hops} hops": (20, partial(graph.neighborhood, order=hops)) for hops in (1, 2, 3)},
        **{f"induced_subgraph, {hops} hops": (20, partial(part, hops=hops)) for hops in (1, 2)},
        **{f"personalized_pagerank, {hops} hops": (10, partial(rank, hops=hops)) for hops in (1, 2)},
        "personalized_pagerank, all": (2, lambda start: graph.personalized_pagerank(reset_vertices=start)),
    }
    for name, (times, call) in work.items():
        spent = []
        for start in np.random.default_rng(1).integers(0, len(numbers), times).tolist():
            began = time.process_time()
            call(start)
            spent.append(time.process_time() - began)
        print(f"{name:30} median {np.median(spent) * 1000:8.3f} ms, most {max(spent) * 1000:8.3f} ms")


def _resident() -> float:
    """The memory of this process, in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


if __name__ == "__main__":
    main()
