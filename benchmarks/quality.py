"""How often recall finds the evidence, on public sets, beside what people would use instead.

    python benchmarks/quality.py                          every set found, beside BM25, vectors and peers
    python benchmarks/quality.py locomo --limit 200 --json out.json --markdown out.md
    python benchmarks/quality.py 2wiki_triples locomo --seeds       recall without each seed of the graph
    python benchmarks/quality.py --ablations --alone                ... and without each other part

Reads `<set>.corpus.jsonl.gz` and `<set>.questions.jsonl.gz` from ../shared/data (or --data FOLDER). Each
corpus is added through the public API as a user would: chat turns with speaker, session and time,
passages as texts, facts in order. Questions are asked with `now` set to the time they were asked. One
setting for all sets, no LLM; the same data give the same figures, seconds apart.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import figures
from ablations import SEEDS, VARIANTS, WALKS, ablations
from recall_evaluation import RemanenceSystem, SystemFactory, evaluate, report_as_markdown
from remanence.errors import InvalidInput, RemanenceError
from remanence.index import SIGNALS
from remanence.models import embedders, readers
from remanence.testing.datasets import Conversation, Dataset, find_datasets, read_dataset, read_jsonl
from systems import OnceEmbedder, baselines, peers
from then import then_and_now

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = (
    "locomo",
    "longmemeval_pool",
    "longmemeval_s",
    "realtalk",
    "beam_100k",
    "hotpotqa_1000",
    "2wiki_1000",
    "2wiki_triples",
    "musique_300",
    "timeqa_human",
    "factconsolidation",
)
RECORDED = ("R@1", "R@5", "R@10")
MADE = {"then_and_now": then_and_now}
"""Sets that are made up here, and need no files."""
LEFT_OUT = {"beam_100k": ("event_ordering", "instruction_following", "summarization")}
APART = {"locomo": ("adversarial",)}
# Sets that are made of the files of another.
FILES = {"longmemeval_s": "longmemeval_s_heads", "2wiki_triples": "2wiki_1000"}

SOURCES = {
    "locomo": "snap-research/locomo",
    "longmemeval": "xiaowu0162/LongMemEval",
    "realtalk": "danny911kr/REALTALK",
    "beam": "mohammadtavakoli78/BEAM",
    "hotpotqa": "hotpotqa/hotpot",
    "2wiki": "Alab-NII/2wikimultihop",
    "musique": "StonyBrookNLP/musique",
    "timeqa": "wenhuchen/Time-Sensitive-QA",
    "factconsolidation": "HUST-AI-HYZ/MemoryAgentBench",
}
"""The repositories on GitHub that the sets come from; none of them may be shipped with this one."""


def main() -> None:
    options = _options()
    systems, left_out = chosen(options)
    for name, why in left_out.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    reports = []
    for dataset in datasets(options):
        report = evaluate(dataset, systems, progress=sys.stderr.isatty())
        settings = {"embedder": options.embedder or "default", "reader": options.reader}
        reports.append(report | settings | {"left_out": left_out})
        text = report_as_markdown(
            report, categories=len({a.category for w in dataset.conversations for a in w.questions}) <= 12
        )
        print(text, flush=True)
        # After each set, so that a run that was stopped has not run for nothing.
        if options.record:
            record(dataset.name, report, options)
        if options.json:
            options.json.write_text(json.dumps(reports, indent=1) + "\n")
        if options.markdown:
            with options.markdown.open("w" if len(reports) == 1 else "a") as file:
                file.write(text + "\n")


def record(name: str, report: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Put the means of a set into the file of figures."""
    measured = {}
    for system, summary in report["systems"].items():
        key = "remanence, reader=None" if system == "remanence" and options.reader == "none" else system
        scores = summary["scores"]["all"]
        measured[key] = {m: 100 * scores[m][0] for m in RECORDED} | {"questions": scores["n"]}
    figures.record("quality", "python benchmarks/quality.py", {name: measured})


def chosen(options: argparse.Namespace) -> tuple[dict[str, SystemFactory], dict[str, str]]:
    """The systems to ask, and the peers that are not here."""
    embedder = OnceEmbedder(embedders.resolve_embedder(options.embedder))
    if options.seeds or options.ablations:
        return ablations(embedder, VARIANTS if options.ablations else SEEDS), {}
    if options.walks:
        reader = None if options.reader == "none" else readers.resolve_reader(options.reader)
        return ablations(embedder, WALKS, reader), {}
    asking = {"signals": options.signals, "weights": options.weights}
    reader = None if options.reader == "none" else readers.resolve_reader(options.reader)
    ours: dict[str, SystemFactory] = {"remanence": partial(RemanenceSystem, embedder=embedder, reader=reader, **asking)}
    if options.alone:
        return ours, {}
    others, left_out = ({}, {}) if options.no_peers else peers(embedder)
    every = ours | baselines(embedder) | others
    if options.only is None:
        return every, left_out
    some = {name: build for name, build in every.items() if any(o in name for o in options.only)}
    if not some:
        raise InvalidInput(f"--only {','.join(options.only)} is in no name of {', '.join(every)}.")
    return some, left_out


def datasets(options: argparse.Namespace) -> Iterator[Dataset]:
    """The sets that were named, or every one of ours that is there, or whatever the folder holds."""
    yield from (make() for name, make in MADE.items() if name in (options.sets or MADE))
    named = [name for name in options.sets if name not in MADE]
    if options.sets and not named:
        return
    if not options.data.is_dir():
        raise InvalidInput(f"there is no folder {options.data} with sets. {_whence(SOURCES)}")
    there = {name: files for name, *files in find_datasets([options.data])}
    ours = [name for name in SETS if FILES.get(name, name) in there]
    for name in named or ours or there:
        if FILES.get(name, name) not in there:
            theirs = [known for known in SOURCES if name.startswith(known)]
            print(f"{name}: no such set in {options.data}. {_whence(theirs or SOURCES)}", file=sys.stderr)
            continue
        corpus, questions = there[FILES.get(name, name)]
        dataset = read_dataset(
            name,
            corpus,
            questions,
            limit=options.limit,
            exclude_categories=LEFT_OUT.get(name, ()),
            separate_categories=APART.get(name, ()),
        )
        if name == "longmemeval_s":
            dataset = in_haystacks(dataset, options.data / "longmemeval_s_haystacks.jsonl.gz")
        elif name == "2wiki_triples":
            dataset = with_triples(dataset, questions)
        yield dataset


def in_haystacks(dataset: Dataset, haystacks: Path) -> Dataset:
    """Each question in a world of its own: the sessions of its haystack, at the times given there."""
    sessions_of = {row["question_id"]: row["sessions"] for _, row in read_jsonl(haystacks)}
    worlds = []
    for world in dataset.conversations:
        line_of = {line.session: line for line in world.items}
        for asked in world.questions:
            lines = [
                replace(line_of[session], time=time) for session, time in sessions_of[asked.id] if session in line_of
            ]
            worlds.append(Conversation(lines, [asked]))
    return Dataset(dataset.name, worlds)


def with_triples(dataset: Dataset, questions: Path) -> Dataset:
    """The gold triples of the questions, handed in with the passage whose heading is their subject."""
    triples = defaultdict(dict)
    for _, row in read_jsonl(questions):
        for triple in row.get("evidence_triples", ()):
            triples[triple[0]][tuple(triple)] = None
    return Dataset(
        dataset.name,
        [
            Conversation(
                [replace(line, triples=tuple(triples.get(line.session, ())) or None) for line in world.items],
                world.questions,
            )
            for world in dataset.conversations
        ],
    )


def _whence(names: Iterable[str]) -> str:
    """Where sets are to be had, and what has to become of them."""
    homes = ", ".join(f"{name} from {SOURCES[name]}" for name in names)
    return f"On GitHub: {homes}. The format to bring them into is said in remanence.testing.datasets."


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help=f"of {', '.join([*SETS, *MADE])}; all if none is named")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the sets")
    parser.add_argument("--embedder", default=None, help="a name that remanence.open takes")
    parser.add_argument("--reader", default="small", help="likewise, or none; for remanence only")
    parser.add_argument("--signals", type=lambda s: s.split(","), default=None, help=f"of {','.join(SIGNALS)}")
    parser.add_argument("--weights", type=json.loads, default=None, help='such as {"words": 1, "vectors": 1}')
    parser.add_argument("--limit", type=int, default=None, help="at most so many questions a set, spread evenly")
    parser.add_argument("--alone", action="store_true", help="only remanence")
    parser.add_argument("--only", type=lambda s: s.split(","), help="only systems with one of these in their name")
    parser.add_argument("--no-peers", action="store_true", help="beside BM25 and vectors only")
    parser.add_argument("--seeds", action="store_true", help="without the graph, and without each of its seeds")
    parser.add_argument("--walks", action="store_true", help="the walk of the graph beside PageRank, with --reader")
    parser.add_argument("--ablations", action="store_true", help="without each part, and fused otherwise")
    parser.add_argument("--record", action="store_true", help="write the means to figures.json")
    parser.add_argument("--json", type=Path, help="also write everything here")
    parser.add_argument("--markdown", type=Path, help="also write the tables here")
    return parser.parse_args()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)  # peers have much to say
    try:
        main()
    except RemanenceError as error:
        sys.exit(f"error: {error}")
