"""What recall, add and open cost as a space grows, beside what people would pick instead.

    python benchmarks/speed.py                                  1,000, 10,000 and 100,000 memories, and peers
    python benchmarks/speed.py --sizes 1000,10000 --no-peers --json speed.json
    python benchmarks/speed.py --quick                          a minute, for a look

Embedding is left out: every text and question has its vector beforehand, the same for all systems. The
texts are made up but shaped like real ones: about twenty words with Zipf's distribution over 50,000,
people, places, dates, half of them chat turns. Everything happens in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import remanence
from remanence.text import STOP_WORDS

DIMENSION = 256
NOW = datetime(2026, 11, 1, tzinfo=timezone.utc)
BEGAN = NOW - timedelta(days=730)
BATCHES = 20
DEPTH = 50

Figures = dict[str, float]
Vectors = NDArray[np.float32]

# What the issue asks for: figure, size (None for all), least or most, bound.
TARGETS: list[tuple[str, int | None, str, float]] = [
    ("recall p50 ms", 10_000, "<", 4),
    ("recall p50 ms", 100_000, "<", 10),
    ("recall p99 ms", 100_000, "<", 30),
    ("add p50 ms", None, "<", 1),
    ("bulk add /s", None, ">=", 4_000),
    ("open s", 100_000, "<", 2),
    ("memory MB", 100_000, "<", 700),
    *((f"recall@{DEPTH} {name}", None, ">=", 0.98) for name in ("all", "kind", "tag", "during", "as of")),
]
TIMES_FASTER = {"LangGraph InMemoryStore": 20, "LlamaIndex SimpleVectorStore": 20, "mem0": 5}


# The world


@dataclass
class World:
    """Texts with their vectors, questions with theirs."""

    rows: list[dict[str, Any]]
    vectors: Vectors
    questions: list[str]
    asked: Vectors
    extra: list[str] = field(default_factory=list)
    """Texts that are added one at a time, at the end."""

    @property
    def texts(self) -> list[str]:
        return [row.get("text") or row["content"] for row in self.rows]


def make_world(size: int, *, asked: int, extra: int, seed: int = 7) -> World:
    """The same world for the same numbers, on every machine."""
    dice = np.random.default_rng([seed, size])
    vocabulary = sorted(STOP_WORDS, key=len) + _made_up(dice, 50_000, 2, 4)
    people = [f"{a.title()} {b.title()}" for a, b in zip(*(_made_up(dice, 2_000, 2, 3) for _ in "ab"))]
    places = [name.title() for name in _made_up(dice, 500, 2, 3)]
    words = iter(_zipf(dice, len(vocabulary), (size + extra) * 20))
    who = iter(_zipf(dice, len(people), (size + extra + asked) * 2))

    def said(count: int) -> str:
        return " ".join(vocabulary[next(words)] for _ in range(count))

    def date() -> datetime:
        return BEGAN + timedelta(days=float(dice.integers(730)), hours=float(dice.integers(24)))

    def note(number: int) -> dict[str, Any]:
        person, place = people[next(who)], places[dice.integers(len(places))]
        text = f"{person} {said(13)} in {place}{f' on {date():%d %B %Y}' if number % 3 == 0 else ''}."
        row: dict[str, Any] = {"text": text, "kind": ("semantic", "viewpoint", "semantic")[number % 3]}
        # One in forty is the newer version of an earlier one.
        return row | ({"key": f"k{number // 40 % max(size // 80, 1)}"} if number % 40 == 0 else {})

    def turn(number: int) -> dict[str, Any]:
        pair = [people[(number // 20 * 2 + side) % len(people)] for side in (0, 1)]
        at = BEGAN + timedelta(days=730 * number / size, minutes=number % 20)
        content = f"{said(16)}, {people[next(who)]}?" if number % 4 == 0 else f"I {said(18)}."
        return {
            "content": content,
            "speaker": pair[number % 2],
            "time": at,
            "conversation": f"c{number // 40}",
        }

    # Twenty of one kind, then twenty of the other: a chat between days of notes.
    rows = [note(n) if n // 20 % 2 else turn(n) for n in range(size)]
    for row in rows:
        row["tags"] = [f"t{tag}" for tag in {int(t) for t in dice.geometric(0.2, 2)}]
    vectors = _clustered(dice, size)
    targets = dice.integers(0, size, asked)
    questions = []
    for number, target in enumerate(targets):
        held = (rows[target].get("text") or rows[target]["content"]).strip(".?").split()
        about = " ".join(dice.choice(held[2:], 3, replace=False))
        questions.append(
            (
                f"What did {people[next(who)]} say about {about}?",
                f"Which {about} {vocabulary[200 + number]}?",
                f"What about {about} in {date():%B %Y}?",
                f"What has {' '.join(held[:2])} got to do with {about}?",
            )[number % 4]
        )
    noise = dice.standard_normal((asked, DIMENSION), np.float32) * (0.5 / np.sqrt(DIMENSION))
    return World(rows, vectors, questions, _unit(vectors[targets] + noise), [note(1)["text"] for _ in range(extra)])


def _made_up(dice: np.random.Generator, count: int, shortest: int, longest: int) -> list[str]:
    """Pronounceable words, all different."""
    syllables = [c + v + e for c in "bcdfghjklmnprstvwz" for v in "aeiou" for e in ("", "n", "r", "s")]
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(dice.choice(syllables, dice.integers(shortest, longest + 1)))] = None
    return list(made)


def _zipf(dice: np.random.Generator, kinds: int, count: int) -> list[int]:
    """Ranks by Zipf's law, steeper beyond the common words, as in real text."""
    rank = np.arange(kinds) + 2.7
    chances = np.where(rank < 8_000, 1 / rank, 8_000 / rank**2)
    return np.searchsorted(np.cumsum(chances / chances.sum()), dice.random(count)).clip(0, kinds - 1).tolist()


def _clustered(dice: np.random.Generator, count: int) -> Vectors:
    """Unit vectors around as many centres as a real collection has subjects."""
    centres = dice.standard_normal((max(20, count // 200), DIMENSION), np.float32)
    out = centres[dice.integers(0, len(centres), count)]
    out += dice.standard_normal((count, DIMENSION), np.float32)
    return _unit(out)


def _unit(rows: Vectors) -> Vectors:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Lookup:
    """An embedder that costs a dict look-up. Texts it was not given, such as names, get one of a few vectors."""

    name, fingerprint, dimension = "lookup", "lookup@256:1", DIMENSION

    def __init__(self, texts: Sequence[str], vectors: Vectors) -> None:
        self._place = {text: place for place, text in enumerate(texts)}
        self._vectors = vectors
        self._others = _unit(np.random.default_rng(1).standard_normal((4_096, DIMENSION), np.float32))

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        place = self._place.get(text)
        return self._others[crc32(text.encode()) % 4_096] if place is None else self._vectors[place]


class Clock:
    """Says what it is told."""

    def __init__(self) -> None:
        self.moment = BEGAN

    def __call__(self) -> datetime:
        return self.moment


# Measuring


def measure(world: World, folder: Path, console: Console) -> Figures:
    """Every figure of Remanence for one world."""
    size, clock, out = len(world.rows), Clock(), Figures()
    embedder = Lookup(world.texts + world.questions, np.concatenate((world.vectors, world.asked)))
    space = remanence.open(folder / "ours", embedder=embedder, clock=clock)
    memories, spent = fill(space, world, clock)
    out["bulk add /s"] = size / spent

    # As a kill would leave it: the files as they are while the space is open.
    shutil.copytree(folder / "ours", folder / "killed")

    clock.moment = NOW
    ask = lambda **options: [timed(lambda q=q: space.recall(q, **options)) for q in world.questions]  # noqa: E731
    ask()  # the first time reads words, dates and memories that the second finds at hand
    out |= spread("recall", ask() + ask())
    for name, options in filters(clock).items():
        out[f"recall {name} p50 ms"] = median_ms(ask(**options))
    half = space.as_of(halfway())
    out["recall as of p50 ms"] = median_ms([timed(lambda q=q: half.recall(q)) for q in world.questions])

    for memory in memories[:: max(1, size // 200)]:
        space.forget(memory.id)
    out |= faithfulness(space, world, memories)
    out |= spread("add", [timed(lambda t=text: space.add(t)) for text in world.extra])
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
    step = -(-len(world.rows) // BATCHES)
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
    return [memories[n] for n in range(len(world.rows))], spent


def filters(clock: Clock) -> dict[str, dict[str, Any]]:
    return {
        "kind": {"kinds": "viewpoint"},
        "tag": {"tags": "t5"},
        "during": {"during": ("2025-06-01", "2025-07-01")},
    }


def halfway() -> datetime:
    return BEGAN + (NOW - BEGAN) / 2


def faithfulness(space: remanence.Space, world: World, memories: Sequence[remanence.Memory]) -> Figures:
    """Of the fifty nearest by numpy, how many the vector signal gives, under every filter."""
    latest = {memory.id: place for place, memory in enumerate(memories)}
    gone = {memory.id for memory in memories} - {memory.id for memory in space.memories()}
    month = remanence.Window(datetime(2025, 6, 1, tzinfo=timezone.utc), datetime(2025, 7, 1, tzinfo=timezone.utc))
    now = [m.id not in gone and latest[m.id] == place for place, m in enumerate(memories)]
    then = {m.id: place for place, m in enumerate(memories) if m.revised_at <= halfway()}
    cases: dict[str, tuple[Any, dict[str, Any], list[bool]]] = {
        "all": (space, {}, now),
        "kind": (space, {"kinds": "viewpoint"}, [ok and m.kind == "viewpoint" for ok, m in zip(now, memories)]),
        "tag": (space, {"tags": "t5"}, [ok and "t5" in m.tags for ok, m in zip(now, memories)]),
        "during": (
            space,
            filters(Clock())["during"],
            [m.id not in gone and m.valid.overlaps(month) for m in memories],
        ),
        "as of": (
            space.as_of(halfway()),
            {},
            [then.get(m.id) == place for place, m in enumerate(memories)],
        ),
    }
    out = Figures()
    for name, (view, options, allowed) in cases.items():
        rows = np.flatnonzero(allowed)
        shares = []
        for vector in world.asked[:40]:
            exact = rows[np.argsort(-(world.vectors[rows] @ vector), kind="stable")[:DEPTH]]
            answer = view.recall("near", vector=vector, signals=["vectors"], limit=4 * DEPTH, **options)
            given = {h.memory.text for h in answer if h.evidence[0].rank <= DEPTH}
            shares.append(sum(memories[row].text in given for row in exact) / max(1, len(exact)))
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
    space = remanence.open(folder, embedder=embedder, clock=lambda: NOW)
    space.count()
    opened = time.perf_counter() - started
    first = timed(lambda: space.recall(questions[0]))
    for question in questions:
        space.recall(question)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"open s": opened, "first recall ms": first * 1000, "memory MB": resident(), "peak memory MB": most}


def resident() -> float:
    """Megabytes this process holds now."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # no such file but on Linux
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def median_ms(seconds: Sequence[float]) -> float:
    return float(np.median(seconds)) * 1000


def spread(name: str, seconds: Sequence[float]) -> Figures:
    return {f"{name} p50 ms": median_ms(seconds), f"{name} p99 ms": float(np.percentile(seconds, 99)) * 1000}


# Showing


def verdict(figure: str, size: int, value: float) -> str:
    """The target beside a figure, where there is one."""
    for name, at, sign, bound in TARGETS:
        if name == figure and at in (None, size):
            met = value < bound if sign == "<" else value >= bound
            return f" [{'green' if met else 'red'}]({sign} {bound:g})[/]"
    return ""


def figures_table(results: dict[int, Figures]) -> Table:
    """Sizes side by side, so that growth shows."""
    table = Table("Remanence", *(f"{size:,}" for size in results), title="Cost as a space grows (target)")
    for figure in next(iter(results.values())):
        cells = [f"{f[figure]:,.3g}{verdict(figure, size, f[figure])}" for size, f in results.items()]
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
    for name, figures in peers.items():
        if isinstance(figures, str):
            table.add_row(name, "", "", "", "", figures)
            continue
        faster, wanted = figures["query p50 ms"] / mine, TIMES_FASTER.get(name)
        colour = "green" if wanted is None or faster >= wanted else "red"
        target = "" if wanted is None else f" [{colour}](>= {wanted})[/]"
        row = [f"{figures['query p50 ms']:,.3g}", f"{faster:,.1f}{target}"]
        row += [f"{figures['add p50 ms']:,.3g}", f"{figures['bulk add /s']:,.0f}", figures.get("note", "")]
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
    ours: dict[int, Figures] = {}
    others: dict[int, dict[str, Any]] = {}
    for size in sizes:
        world = make_world(size, asked=asked, extra=extra)
        with tempfile.TemporaryDirectory(prefix="remanence-speed-") as scratch:
            ours[size] = measure(world, Path(scratch), console)
            if options.peers and (options.quick or size >= 10_000):
                import peers

                others[size] = peers.measure(world, Path(scratch), console, most_seconds=options.patience)
    console.print(figures_table(ours))
    for size, found in others.items():
        console.print(peers_table(size, ours[size], found))
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        options.json.write_text(json.dumps({"on": machine, "remanence": ours, "peers": others}, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[1_000, 10_000, 100_000]
    )
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--patience", type=float, default=120, help="seconds a peer may take to fill (120)")
    parser.add_argument("--quick", action="store_true", help="1,000 and 5,000 memories")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
