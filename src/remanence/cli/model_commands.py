"""The commands about models and what they find: models, evaluation, the demo."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from remanence.cli import output
from remanence.cli.locations import reader_option
from remanence.cli.output import Lines, Result
from remanence.cli.parser import command, group, section
from remanence.errors import InvalidInput, RemanenceError

section("Models and tests of them")


@command("eval", "eval ./my-sets", "paths --weights --limit --apart --signals --reader")
def evaluate(args: Namespace) -> Result:
    """Measure recall on your own questions."""
    from remanence.testing import comparison, datasets
    from remanence.text.text import pluralize

    options = {"weights": args.weights, "signals": args.signals}
    reports = []
    for name, corpus, questions in datasets.find_datasets(args.paths):
        dataset = datasets.read_dataset(name, corpus, questions, limit=args.limit, separate_categories=args.apart)
        if not dataset.conversations:
            raise InvalidInput(f"{questions} has no question that names its evidence: there is nothing to measure.")
        groups = comparison.evaluate_dataset(
            dataset, options, embedder=args.embedder, reader=reader_option(args), progress=output.stdout_is_terminal()
        )
        scores = {group: {"n": len(each.questions), **each.scores} for group, each in groups.items()}
        reports.append({"set": name, "scores": scores})
        if not args.json:
            print(name)
            for group, each in groups.items():
                cells = [
                    f"{m} {100 * mean:.1f} ±{50 * (high - low):.1f}" for m, (mean, low, high) in each.scores.items()
                ]
                print("  ".join([f"  {group} ({pluralize(len(each.questions), 'question')})", *cells]))
    return Result(reports, "")


group("models", "List and get models: embedders and readers", "models list")


@command("models list", "models list")
def models_list(args: Namespace) -> Lines:
    """List the embedders and readers that are known by name."""
    from remanence.models import catalogue
    from remanence.models.embedders import SentenceEmbedder, StaticEmbedder
    from remanence.models.readers import DEFAULT_READER

    rows = [(SentenceEmbedder.name, "embedder", "comes with remanence; the default")]
    rows += [(DEFAULT_READER, "reader", "comes with remanence; the default")]
    rows += [(StaticEmbedder.name, "embedder", "comes with remanence")]
    for model in catalogue.MODELS.values():
        folder = catalogue.installed_folder(model.name)
        rows.append((model.name, model.use, f"in {folder}" if folder else f"remanence models get {model.name}"))
    found = [dict(zip(("name", "use", "where"), row, strict=True)) for row in rows]
    return Lines(found, lambda row: f"{row['name']:<24}  {row['use']:<8}  {row['where']}")


@command("models get", "models get bge-small-en-v1.5", "name")
def models_get(args: Namespace) -> Result:
    """Download the files of a model."""
    from remanence.models import catalogue

    try:
        folder = catalogue.get(args.name, progress=None if args.json else print)
    except OSError as error:
        folder = catalogue.models_folder()
        raise RemanenceError(f"{folder} cannot be written ({error}). Set REMANENCE_MODELS.") from error
    return Result({"name": args.name, "folder": str(folder)}, "")


@command("demo", "demo --keep ./memory", "--keep")
def demo(args: Namespace) -> None:
    """Show add, recall, as_of, forget and erase on a small example in a temporary folder."""
    from remanence.cli.demo import run_demo

    if args.json:
        raise InvalidInput("the demo is text to be read, and has no JSON. Run it without --json.")
    run_demo(keep=None if args.keep is None else Path(args.keep), embedder=args.embedder)
