"""The figures that README and docs state, in one file that the benchmarks write.

    python benchmarks/figures.py              lists what a page states otherwise than figures.json
    python benchmarks/figures.py --update     writes it as figures.json has it

`--record` of a benchmark writes what it measured to figures.json. A page states a figure by a comment right after the
number, which names it: `81.9%<!-- quality/locomo/remanence/R@10 -->`. It is rounded as the page has it. A whole table
stands between `<!-- figures: NAME -->` and `<!-- end -->`, and is one of `TABLES`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FIGURES = Path(__file__).with_name("figures.json")
_NUMBER = re.compile(r"(?P<number>\d[\d,]*(?:\.\d+)?)(?P<unit>[^\d\n|<]{0,12})<!-- (?P<path>[^\s:][^:]*?/[^:]*?) -->")
_FIELD = re.compile(r"{(?P<path>[^{}]+):\.(?P<decimals>\d)}")
_TABLE = re.compile(r"(?P<begin><!-- figures: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


class Column(NamedTuple):
    """A column of a table."""

    heading: str
    key: str
    measures: tuple[str, ...]
    """Written side by side: "74.9 / 81.9"."""
    decimals: int | None = None
    """Those of the table if None."""


@dataclass(frozen=True)
class Table:
    """A table of a page: the keys of its rows and columns are the two levels of a group."""

    corner: str
    group: str
    rows: Mapping[str, str]
    """The keys of the rows, and what the page calls them."""
    columns: Sequence[Column]
    decimals: int = 1
    by_column: bool = False
    """Whether the keys of the columns are the upper level."""

    def render(self, figures: Mapping[str, Any]) -> str:
        """The table in Markdown, without rows that were not measured."""
        lines = [[self.corner, *(column.heading for column in self.columns)], ["---"] * (len(self.columns) + 1)]
        for row, label in self.rows.items():
            cells = [self._cell(figures, row, each) for each in self.columns]
            if set(cells) != {"–"}:
                lines.append([label, *cells])
        return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace(" --- ", "---")

    def _cell(self, figures: Mapping[str, Any], row: str, column: Column) -> str:
        upper, lower = (column.key, row) if self.by_column else (row, column.key)
        found = figures.get(self.group, {}).get("values", {}).get(upper, {}).get(lower, {})
        if not all(measure in found for measure in column.measures):
            return "–"
        decimals = self.decimals if column.decimals is None else column.decimals
        return " / ".join(_written(found[measure], decimals) for measure in column.measures)


SYSTEMS = {
    "remanence": "Remanence",
    "remanence, reader=None": "`reader=None`",
    "BM25, split()": "plain BM25",
    "BM25, our words": "BM25, our words",
    "vectors": "vectors",
    "LangChain EnsembleRetriever": "LangChain EnsembleRetriever",
    "LlamaIndex QueryFusionRetriever": "LlamaIndex QueryFusionRetriever",
    "mem0, infer=False": "mem0, `infer=False`",
    "MemPalace": "MemPalace",
    "memvara": "memvara",
}
"""The keys of the systems that are asked, and how pages call them."""
SETS = {
    "locomo": "LoCoMo, chat turns",
    "realtalk": "RealTalk, chat turns",
    "beam_100k": "BEAM 100K, chat turns",
    "longmemeval_pool": "LongMemEval, chat turns †",
    "hotpotqa_1000": "HotpotQA †",
    "2wiki_1000": "2WikiMultihopQA †",
    "musique_300": "MuSiQue †",
    "timeqa_human": "TimeQA †",
    "factconsolidation": "FactConsolidation",
}
MEMORIES = {
    "remanence": "Remanence",
    "remanence, reader=None": "`reader=None`",
    "mem0, infer=False": "mem0, `infer=False`",
    "memvara": "memvara",
    "LangGraph InMemoryStore": "LangGraph `InMemoryStore`",
    "LlamaIndex VectorMemory": "LlamaIndex `VectorMemory`",
    "Chroma": "Chroma",
}
"""The memories that are compared by measures of others."""


@dataclass(frozen=True)
class Text:
    """A table that a file has, with the figures as `{path:.1}`: the path and the decimals."""

    file: str

    def render(self, figures: Mapping[str, Any]) -> str:
        """The table in Markdown."""

        def number(found: re.Match[str]) -> str:
            return _written(_value(figures, found["path"]), int(found["decimals"]))

        return _FIELD.sub(number, Path(__file__).with_name(self.file).read_text("utf-8"))


KINDS = {"all": "all", "now": "now", "at": "at a time", "before": "before", "changed": "when changed", "ever": "ever"}
TRACKS = {
    "supersession": "a replaced decision",
    "supersession, as notes": "… told as notes",
    "supersession_detection": "a replacement that is not announced",
    "commitment_durability": "commitments",
    "interruption_resumption": "interruptions",
    "environmental_freshness": "fresh signals",
    "authority_hierarchy": "who outranks whom",
    "causality": "constraints",
    "brutal_realistic": "long cases",
    "all": "all",
}
TIMED = {
    "Remanence": "Remanence",
    "LangGraph InMemoryStore": "LangGraph `InMemoryStore`",
    "LlamaIndex SimpleVectorStore": "LlamaIndex `VectorMemory`, its own store",
    "LangChain ensemble": "LangChain's ensemble of BM25 and vectors",
    "mem0": "mem0, `infer=False`",
    "Chroma": "Chroma",
}
STEPS = {
    "recall": "recall, by default",
    "recall without the reader": 'recall, `reader="none"`',
    "embedding a question": "embedding a question",
    "add": "`add` of a chat turn's length",
}
TOLD = {
    "chats c": "chats of people over months",
    "chats d": "chats of other people",
    "cases durable.report": "lasting facts, told 3 to 36 months ago (`benchmarks/cases/durable.report.jsonl`)",
    "projects a": "projects, on which the reader was trained (`training/projects/a.jsonl`)",
}
"""What profiles are made of, and how pages call it."""
AGENTS = {
    "without": "without procedures",
    "same words": "asked in the same words",
    "other words": "asked in other words each time",
    "shortest": "the fewest possible",
}
ENCRYPTED = {
    "add, ms": "`add`, after them, ms",
    "bulk add, ms each": "bulk `add_many`, ms for each",
    "open, recall, ms": "open, one recall, close, ms",
    "recall, ms": "recall, ms",
    "verify, ms": "`verify`, ms",
    "open without index, ms": "open without an index file, ms",
    "disk, MB": "on disk, MB",
}
UPKEEP = {
    "decay s": "decay report",
    "clusters s": "clusters",
    "promote s": "promotion",
    "discover s": "discovery",
    "run with 100 new s": "a run with 100 new",
    "finding them s": "near pairs alone",
}
TALKS = {
    "report": "the half of the first talks that was not developed on",
    "third": "other talks, with askings that look like statements",
    "fourth": "the fact within a request or a long turn",
}
_SIZES = (10_000, 100_000)
TABLES: dict[str, Table | Text] = {
    "summary": Text("summary.md"),
    "quality": Table(
        "set (development half)",
        "quality",
        SETS,
        [
            *(Column(name, key, ("R@5", "R@10")) for key, name in SYSTEMS.items()),
            Column("first hit", "remanence", ("R@1",)),
        ],
    ),
    "unseen": Table(
        "%",
        "unseen",
        SYSTEMS,
        [Column(name, key, ("right first", "stale first")) for key, name in KINDS.items()],
        decimals=0,
    ),
    "answers": Table(
        "block",
        "answers",
        {
            **{f"remanence@{tokens}": f"`for_prompt`, {tokens:,} tokens" for tokens in (300, 600, 1300, 2500)},
            **{f"vectors@{tokens}": f"nearest vectors, {tokens:,} tokens" for tokens in (300, 600, 1300, 2500)},
            "bm25@1300": "BM25, 1,300 tokens",
            "nothing": "no block",
        },
        [
            *(
                Column(f"{group}: right / harmful", group, ("right", "harmful"))
                for group in ("all", "chats and notes", "logs")
            ),
            Column("tokens of a block", "all", ("tokens",)),
        ],
        decimals=0,
        by_column=True,
    ),
    "external": Table(
        "",
        "external",
        MEMORIES,
        [
            Column(
                "LongMemEval: any / all evidence within 4,400 tokens, %", "longmemeval", ("any in 4400", "all in 4400")
            ),
            Column("LoCoMo: evidence within 500 / 1,000 tokens, %", "locomo", ("any in 500", "any in 1000")),
            Column("LoCoMo: tokens until the first evidence, median", "locomo", ("tokens",)),
            Column("from a write to its first recall, ms", "write", ("p50",)),
        ],
        by_column=True,
    ),
    "statebench": Table(
        "track",
        "external",
        {f"statebench, {track}": name for track, name in TRACKS.items()},
        [
            Column("questions", "remanence", ("questions",)),
            *(Column(name, key, ("right first",)) for key, name in MEMORIES.items()),
        ],
        decimals=0,
    ),
    "speed": Table(
        "",
        "speed",
        TIMED,
        [Column(f"{size:,} memories", str(size), ("query p50 ms",)) for size in _SIZES],
        by_column=True,
    ),
    "reader_speed": Table(
        "",
        "reader_speed",
        STEPS,
        [Column("processor time / p50 / p95", "turns", ("processor", "p50", "p95"))],
        by_column=True,
    ),
    "profile": Table(
        "",
        "profile",
        TOLD,
        [
            Column("profiles", "profile", ("profiles",), 0),
            Column("true facts", "profile", ("true",), 0),
            Column("quoted, %", "profile", ("covered",), 0),
            Column("lines no longer true, %", "profile", ("untrue",)),
            Column("lines that tell nothing, %", "profile", ("empty",), 0),
            Column("lines of a profile", "profile", ("lines",)),
        ],
    ),
    "procedures": Table(
        "tool calls in a run (mean of four tasks)",
        "procedures",
        AGENTS,
        [*(Column(str(run), "runs", (str(run),)) for run in range(1, 9)), Column("sum of 2 to 8", "runs", ("from 2",))],
        decimals=2,
    ),
    "encryption": Table(
        "1,000 memories",
        "encryption",
        ENCRYPTED,
        [
            Column("without", "1000 memories", ("plain",)),
            Column("encrypted", "1000 memories", ("encrypted",)),
            Column("times", "1000 memories", ("ratio",)),
        ],
        decimals=2,
        by_column=True,
    ),
    "durability": Table(
        "milliseconds for each memory",
        "durability",
        {"add, ms": "`add`", "bulk add, ms each": "`add_many`"},
        [
            Column("waits for the disk (default)", "writes", ("durable",)),
            Column("`durable=False`", "writes", ("not durable",)),
        ],
        decimals=2,
        by_column=True,
    ),
    "scale": Text("scale.md"),
    "many_spaces": Table(
        "CPU milliseconds",
        "many_spaces",
        {f"recall in {size}": f"a space of {size:,} memories" for size in (20, 100, 1_000)},
        [Column("first recall", "each", ("first",)), Column("the next one", "each", ("next",))],
    ),
    "load": Table(
        "64 threads, ms",
        "load",
        {verb: verb for verb in ("recall", "add", "revise", "forget", "erase")},
        [Column(f"{name}, p50 / p99", name, ("p50", "p99")) for name in ("SQLite", "PostgreSQL")],
        decimals=0,
    ),
    "edge_lookup": Table(
        "edges",
        "edge_lookup",
        {str(count): f"{count:,}" for count in (500_000, 1_000_000, 5_000_000)},
        [
            Column("packed in, s", "edges", ("packed s",)),
            Column("memory, MB", "edges", ("memory MB",), 0),
            Column("edges of a node, µs", "edges", ("a node µs",)),
        ],
    ),
    "upkeep": Table(
        "memories",
        "upkeep",
        UPKEEP,
        [Column(f"{size:,}", str(size), ("value",)) for size in (1_000, 10_000)],
        decimals=2,
    ),
    "rest": Text("rest.md"),
    "times": Table(
        "sentences",
        "time_cases",
        {"times.report": "by a stranger"},
        [
            Column("all", "all", ("exact by all", "cases")),
            Column("past", "past", ("exact by all", "cases")),
            Column("present", "present", ("exact by all", "cases")),
            Column("future", "future", ("exact by all", "cases")),
            Column("other languages", "language", ("exact by all", "cases")),
            Column("without a time", "false", ("exact by all", "cases")),
        ],
        decimals=0,
    ),
    "prompts": Table(
        "%",
        "prompts",
        TALKS,
        [
            Column("quoted / when asked again", "asking", ("quoted asked for the first time", "quoted asked again")),
            Column("first / when asked again", "asking", ("first asked for the first time", "first asked again")),
            Column("small talk that brings nothing", "asking", ("nothing",)),
        ],
        decimals=0,
    ),
}


def record(group: str, command: str, values: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Put what a benchmark measured in the place of what it measured before."""
    figures = read_figures()
    known = figures.setdefault(group, {"values": {}})
    known |= {"command": command, "machine": f"{os.cpu_count()} cores, {platform.machine()}"}
    for row, columns in values.items():
        there = known["values"].setdefault(row, {})
        for column, measures in columns.items():
            there[column] = {name: round(float(value), 4) for name, value in measures.items()}
            there[column]["taken"] = date.today().isoformat()
    FIGURES.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_figures() -> dict[str, Any]:
    """All groups of figures."""
    return json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}


def as_recorded(text: str, figures: Mapping[str, Any]) -> str:
    """The text of a page with the figures of the file."""

    def number(found: re.Match[str]) -> str:
        value = _value(figures, found["path"])
        decimals = len(found["number"].partition(".")[2])
        return f"{_written(value, decimals)}{found['unit']}<!-- {found['path']} -->"

    def table(found: re.Match[str]) -> str:
        return found["begin"] + TABLES[found["name"]].render(figures) + found["end"]

    return _TABLE.sub(table, _NUMBER.sub(number, text))


def without_recorded(text: str) -> str:
    """The text of a page without what it states of the file."""
    return _TABLE.sub("", _NUMBER.sub("", text))


def _value(figures: Mapping[str, Any], path: str) -> float:
    group, row, column, measure = path.split("/", 3)
    try:
        return float(figures[group]["values"][row][column][measure])
    except KeyError:
        raise KeyError(f"no benchmark recorded {path}; {FIGURES.name} has what was") from None


def pages() -> Iterator[Path]:
    """The pages that may state figures."""
    yield from (ROOT / "README.md", ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def _written(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the figures to the pages")
    options = parser.parse_args()
    figures, differing = read_figures(), []
    for page in pages():
        text = page.read_text("utf-8")
        if (recorded := as_recorded(text, figures)) != text:
            differing.append(page.relative_to(ROOT).as_posix())
            if options.update:
                page.write_text(recorded, "utf-8")
    print(*differing, sep="\n")
    sys.exit(bool(differing) and not options.update)


if __name__ == "__main__":
    main()
