"""`remanence eval`: how often recall finds the evidence in your own data."""

from __future__ import annotations

import json
from argparse import Namespace
from functools import partial
from typing import Any

from remanence.cli import output
from remanence.errors import InvalidInput


def evaluate(args: Namespace) -> None:
    """Remember each set in a space of its own, ask its questions, and print how many were answered."""
    from remanence.models import rerankers
    from remanence.testing.evaluation import RemanenceSystem, find_datasets, read_dataset, report_as_markdown
    from remanence.testing.evaluation import evaluate as judge

    settings: dict[str, Any] = {
        "embedder": args.embedder,
        "reranker": rerankers.resolve_reranker(args.reranker),
        "weights": _weights(args.weights),
    }
    if args.signals is not None:
        settings["signals"] = [name.strip() for name in args.signals.split(",")]
    reports = []
    for name, corpus, questions in find_datasets(args.paths):
        dataset = read_dataset(name, corpus, questions, limit=args.limit, separate_categories=args.apart)
        if not dataset.conversations:
            raise InvalidInput(f"{questions} asks nothing that names its evidence, so there is nothing to judge.")
        systems = {"remanence": partial(RemanenceSystem, **settings)}
        reports.append(judge(dataset, systems, progress=output.stdout_is_terminal()))
        if not args.json:
            print(report_as_markdown(reports[-1]))
    if args.json:
        print(json.dumps(reports, ensure_ascii=False, indent=2))


def _weights(given: str | None) -> dict[str, float] | None:
    """'words=0.6,vectors=0.4' as a dict."""
    if given is None:
        return None
    try:
        pairs = [part.split("=") for part in given.split(",")]
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError:
        raise InvalidInput(f"--weights {given!r} is not of the form words=0.6,vectors=0.4.") from None
