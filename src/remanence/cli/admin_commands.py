"""The commands about spaces and folders: jobs, upkeep, numbers, files, checks, models, evaluation, the demo."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from remanence.cli import output
from remanence.cli.locations import list_spaces, open_options, open_space
from remanence.cli.output import Lines, Result
from remanence.cli.parser import command, section, space_command, view_command
from remanence.errors import LedgerUnavailable

if TYPE_CHECKING:
    from remanence import Space, View

section("Spaces, jobs and upkeep")

_RETRY_SECONDS = 5.0


@command("spaces", "spaces ./memory", "folder")
def spaces(args: Namespace) -> Lines:
    """List the spaces that hold anything."""
    names = list_spaces(args)
    if args.space is not None:
        with open_space(args) as space:
            names = space.spaces()
    return Lines(names)


@view_command("stats", "stats ./memory", "folder")
def stats(view: View, args: Namespace) -> Result:
    """Count everything in a space."""
    return Result(view.admin.stats())


@space_command("reextract", "reextract", "id --extractor")
def reextract(space: Space, args: Namespace) -> Lines:
    """Extract facts again from what was remembered, with another extractor."""
    return output.many_memories(space.admin.reextract(args.id, progress=output.stdout_is_terminal()))


@space_command("jobs", "jobs", "id")
def jobs(space: Space, args: Namespace) -> Lines:
    """List the queued jobs and their status, or show one of them."""
    found = space.jobs.list() if args.id is None else [space.jobs.get(args.id)]
    return Lines(found, lambda job: "\t".join([job.id, job.status, *([job.problem] if job.problem else [])]))


@command("work", "work --extractor my_models:chat_model", "--once --job-seconds --extractor")
def work(args: Namespace) -> Result:
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
                pause = 0.5
            except LedgerUnavailable as error:
                print(f"trying again: {error}", file=sys.stderr)
                pause = _RETRY_SECONDS
            time.sleep(pause)
        done = run_due()
        return Result({"jobs": done}, f"{pluralize(done, 'job')} worked on")


@space_command("expire", "expire")
def expire(space: Space, args: Namespace) -> Lines:
    """Record which memories have expired."""
    return output.many_memories(space.upkeep.expire())


@space_command(
    "upkeep", "upkeep ./memory --every 1h", "folder --dry-run --every --step --archive --vault --runs --undo"
)
def upkeep(space: Space, args: Namespace) -> Result | Lines | None:
    """Do upkeep as one run that can be undone; with --dry-run, show what it would do."""
    from remanence.upkeep.pipeline import Schedule, parse_interval

    if args.undo is not None:
        return Result(space.upkeep.undo(args.undo))
    if args.runs:
        return Lines(space.upkeep.runs())
    if args.every is None:
        return _run_upkeep(space, args, dry_run=args.dry_run)
    Schedule(lambda: _sweep_and_run(space, args), parse_interval(args.every)).run()
    return None


def _sweep_and_run(space: Space, args: Namespace) -> None:
    space.upkeep.expire()
    output.show(_run_upkeep(space, args, dry_run=False), as_json=args.json)
    sys.stdout.flush()


def _run_upkeep(space: Space, args: Namespace, *, dry_run: bool) -> Result:
    from remanence.upkeep.pipeline import DEFAULT_STEPS

    facet = space.upkeep.with_settings(gc="archive") if args.archive else space.upkeep
    plan = facet.run(
        dry_run=dry_run, steps=args.steps or DEFAULT_STEPS, vault=args.vault, progress=output.stdout_is_terminal()
    )
    note = "\n\nNothing was changed. Leave out --dry-run to do this." if dry_run and len(plan) else ""
    return Result(plan, f"{plan}{note}")
