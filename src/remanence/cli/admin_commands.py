"""The commands about spaces and folders: jobs, upkeep, numbers, files, checks, models, evaluation, the demo."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import closing
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import remanence
from remanence.cli import output
from remanence.cli.locations import list_spaces, memory_location, open_options, open_space, reader_option
from remanence.cli.parser import command, group, provided_options, space_command, view_command
from remanence.errors import InvalidInput, LedgerUnavailable, RemanenceError
from remanence.ledger import ledger_exists

if TYPE_CHECKING:
    from remanence import Space, View

_POLL_SECONDS = 0.5
_RETRY_SECONDS = 5.0


@command("spaces", "spaces ./memory", "folder")
def spaces(args: Namespace) -> None:
    """List the spaces that hold anything."""
    names = list_spaces(args)
    if args.space is not None:
        with open_space(args) as space:
            names = space.spaces()
    for name in names:
        print(name)


@view_command("stats", "stats ./memory", "folder --json")
def stats(view: View, args: Namespace) -> None:
    """Count everything in a space."""
    numbers = view.admin.stats()
    if args.json:
        from remanence.service.payloads.answers import StatsAnswer

        output.print_json(StatsAnswer.of(numbers).model_dump())
    else:
        print(numbers)


@space_command("reextract", "reextract", "id --extractor --json")
def reextract(space: Space, args: Namespace) -> None:
    """Extract facts again from what was remembered, with another extractor."""
    facts = space.admin.reextract(args.id, progress=output.stdout_is_terminal())
    output.print_memories(facts, as_json=args.json)


@space_command("jobs", "jobs", "id")
def jobs(space: Space, args: Namespace) -> None:
    """List the queued jobs and their status, or show one of them."""
    for job in space.jobs.list() if args.id is None else [space.jobs.get(args.id)]:
        print("\t".join([job.id, job.status, *([job.problem] if job.problem else [])]))


@command("work", "work --extractor my_models:chat_model", "--once --job-seconds --extractor")
def work(args: Namespace) -> None:
    """Do queued jobs until interrupted."""
    from remanence.cli.job_process import JobProcess
    from remanence.remember.jobs import run_due_jobs
    from remanence.service.hosting.spaces import Spaces
    from remanence.text.text import pluralize

    with open_space(args) as space, closing(JobProcess(open_options(args), args.job_seconds)) as process:
        run_due = Spaces(space, process.try_job).run_due_jobs
        if args.space is not None:
            run_due = partial(run_due_jobs, space._engine, space.name, process.try_job)
        while not args.once:
            try:
                if run_due():
                    continue
                process.end_if_idle()
                pause = _POLL_SECONDS
            except LedgerUnavailable as error:
                print(f"trying again: {error}", file=sys.stderr)
                pause = _RETRY_SECONDS
            time.sleep(pause)
        print(f"{pluralize(run_due(), 'job')} worked on")


@space_command("expire", "expire")
def expire(space: Space, args: Namespace) -> None:
    """Record which memories have expired."""
    output.print_memories(space.upkeep.expire(), as_json=False)


@space_command(
    "upkeep", "upkeep ./memory --every 1h", "folder --dry-run --every --step --archive --vault --runs --undo"
)
def upkeep(space: Space, args: Namespace) -> None:
    """Do upkeep as one run that can be undone; with --dry-run, show what it would do."""
    from remanence.upkeep.pipeline import Schedule, parse_interval

    if args.undo is not None:
        print(space.upkeep.undo(args.undo))
    elif args.runs:
        for run in space.upkeep.runs():
            print(run)
    elif args.every is None:
        _run_upkeep(space, args, dry_run=args.dry_run)
    else:
        Schedule(lambda: _sweep_and_run(space, args), parse_interval(args.every)).run()


def _sweep_and_run(space: Space, args: Namespace) -> None:
    space.upkeep.expire()
    _run_upkeep(space, args, dry_run=False)


def _run_upkeep(space: Space, args: Namespace, *, dry_run: bool) -> None:
    from remanence.upkeep.pipeline import DEFAULT_STEPS

    facet = space.upkeep.with_settings(gc="archive") if args.archive else space.upkeep
    plan = facet.run(
        dry_run=dry_run, steps=args.steps or DEFAULT_STEPS, vault=args.vault, progress=output.stdout_is_terminal()
    )
    print(plan, flush=True)
    if dry_run and len(plan):
        print("\nNothing was changed. Leave out --dry-run to do this.", flush=True)


@command("compact", "compact ./memory", "folder")
def compact(args: Namespace) -> None:
    """Rebuild indexes and free disk space; ledger entries stay."""
    # Compacting a space includes those below it, so only the top ones are named.
    names = list_spaces(args) if args.space else dict.fromkeys(name.split("/")[0] for name in list_spaces(args))
    for name in names:
        with open_space(args, name) as space:
            print(space.admin.compact(progress=output.stdout_is_terminal()))


@space_command("export", "export memory.jsonl.gz --children", "file --children --vectors")
def export(space: Space, args: Namespace) -> None:
    """Write a space to a file."""
    progress = output.stdout_is_terminal()
    print(space.admin.export(args.file, children=args.children, vectors=args.vectors, progress=progress))


@command(
    "import",
    "import conversations.zip --dry-run",
    "source --format --user --users --branches --observed-by --date-order --dry-run",
)
def import_(args: Namespace) -> int:
    """Import chats and memories of other programs, or an export of a space."""
    from remanence.transfer.import_file import Importer, is_export
    from remanence.transfer.imports.detection import open_source
    from remanence.transfer.imports.importing import check_source

    path = Path(args.source).expanduser()
    progress = output.stdout_is_terminal()
    if is_export(path):
        Importer(path)  # refuses a file that is not an export before a folder is created for it
        with open_space(args, create=True) as space:
            print(remanence.restore(path, into=space, progress=progress))
        return 0
    now = datetime.now(timezone.utc)
    with closing(open_source(path, args.format, now, date_order=args.date_order)) as source:
        check_source(source, args.user, args.users)  # before a folder is created for it
    options = provided_options(args, "format user users branches observed_by date_order dry_run")
    is_new = args.dry_run and not ledger_exists(memory_location(args, create=True))
    with remanence.open(None) if is_new else open_space(args, create=True) as space:
        try:
            report = space.admin.import_from(path, progress=progress, **options)
        except KeyboardInterrupt:
            print("\nInterrupted. What was imported so far stays; the same command continues.", file=sys.stderr)
            raise
    print(report)
    return 0 if report.complete else 1


@space_command("export-okf", "export-okf ./bundle", "bundle")
def export_okf(space: Space, args: Namespace) -> None:
    """Write the memories to a folder in the Open Knowledge Format."""
    print(space.admin.export_okf(args.bundle))


@command("migrate", "migrate ./memory postgresql://user@db.example/memory", "source target")
def migrate(args: Namespace) -> None:
    """Copy everything from a folder into an empty PostgreSQL database, or back."""
    print(remanence.migrate(args.source, args.target, progress=output.stdout_is_terminal()))


@space_command("verify", "verify ./memory", "folder")
def verify(space: Space, args: Namespace) -> None:
    """Check that no ledger entry was tampered with."""
    report = space.verify()
    from remanence.text.text import pluralize

    print(f"{pluralize(report.entries, 'ledger entry', 'ledger entries')}, unchanged\ndigest {report.digest}")


@command("check", "check ./memory", "folder")
def check(args: Namespace) -> int:
    """Compare each index with a fresh build, in every space or the one named by --space."""
    code = 0
    for name in list_spaces(args):
        with open_space(args, name) as space:
            differences, location = space.admin.check(), space.admin.location
        print(f"{name}:" if differences else f"{name}: the indexes agree with the ledger")
        for index, difference in differences.items():
            print(f"  {index}: {difference}. Run `remanence rebuild {location}`.")
            code = 1
    return code


@command("rebuild", "rebuild ./memory --embedder bge-small-en-v1.5", "folder")
def rebuild(args: Namespace) -> None:
    """Rebuild the indexes from the ledger; with --embedder, change to that embedder."""
    progress = output.stdout_is_terminal()
    if args.embedder is not None:
        remanence.reembed(memory_location(args), embedder=args.embedder, progress=progress)
        print(f"embedded again with {args.embedder}")
        return
    for name in list_spaces(args):
        with open_space(args, name) as space:
            space.rebuild(progress=progress)
        print(f"{name}: rebuilt")


@command("eval", "eval ./my-sets --json", "paths --weights --limit --apart --signals --reader --json")
def evaluate(args: Namespace) -> None:
    """Measure recall on your own questions."""
    from remanence.testing import datasets, recall_evaluation

    system = partial(
        recall_evaluation.RemanenceSystem,
        embedder=args.embedder,
        reader=reader_option(args),
        weights=_parse_weights(args.weights),
        signals=args.signals,
    )
    reports = []
    for name, corpus, questions in datasets.find_datasets(args.paths):
        dataset = datasets.read_dataset(name, corpus, questions, limit=args.limit, separate_categories=args.apart)
        if not dataset.conversations:
            raise InvalidInput(f"{questions} has no question that names its evidence: there is nothing to measure.")
        report = recall_evaluation.evaluate(dataset, {"remanence": system}, progress=output.stdout_is_terminal())
        reports.append(report)
        if not args.json:
            print(recall_evaluation.report_as_markdown(report))
    if args.json:
        output.print_json(reports)


def _parse_weights(text: str | None) -> dict[str, float] | None:
    """'words=0.6,vectors=0.4' as a dict."""
    if text is None:
        return None
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError:
        raise InvalidInput(f"--weights {text!r} is not of the form words=0.6,vectors=0.4.") from None


group("models", "List and get models: embedders and readers", "models list")


@command("models list", "models list")
def models_list(args: Namespace) -> None:
    """List the embedders and readers that are known by name."""
    from remanence.models import catalogue
    from remanence.models.embedders import SentenceEmbedder, StaticEmbedder
    from remanence.models.readers import DEFAULT_READER

    for name, use in ((SentenceEmbedder.name, "embedder"), (DEFAULT_READER, "reader")):
        print(f"{name:<24}  {use:<8}  comes with remanence; the default")
    print(f"{StaticEmbedder.name:<24}  {'embedder':<8}  comes with remanence")
    for model in catalogue.MODELS.values():
        folder = catalogue.installed_folder(model.name)
        found = f"in {folder}" if folder else f"remanence models get {model.name}"
        print(f"{model.name:<24}  {model.use:<8}  {found}")


@command("models get", "models get bge-small-en-v1.5", "name")
def models_get(args: Namespace) -> None:
    """Download the files of a model."""
    from remanence.models import catalogue

    try:
        catalogue.get(args.name, progress=print)
    except OSError as error:
        folder = catalogue.models_folder()
        raise RemanenceError(f"{folder} cannot be written ({error}). Set REMANENCE_MODELS.") from error


@command("demo", "demo --keep ./memory", "--keep")
def demo(args: Namespace) -> None:
    """Show add, recall, as_of, forget and erase on a small example in a temporary folder."""
    from remanence.cli.demo import run_demo

    run_demo(keep=None if args.keep is None else Path(args.keep), embedder=args.embedder)
