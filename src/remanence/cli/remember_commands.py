"""The commands that understand: remember, reextract, jobs, work, sweep, profile."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from typing import Any

from remanence.cli import output
from remanence.cli.input_files import read_rows, read_text
from remanence.cli.locations import list_spaces, open_space, open_view
from remanence.errors import InvalidInput

_PAUSE = 2.0
"""Seconds between looks for new jobs."""


def add_commands(command: Any, as_json: Any, as_of: Any) -> None:
    """What may be typed."""
    it = command("remember", remember, "keep a text or a chat and its facts", 'remember "I moved to Porto."')
    it.add_argument("text", nargs="?", help="the text; - reads it from standard input")
    it.add_argument("--turns", metavar="FILE", help="chat turns in its place, one JSON object a line")
    it.add_argument("--source", help="where it comes from")
    it.add_argument("--observed-by", metavar="NAME", help="who says so; 'I' in the text is them")
    it.add_argument("--now", metavar="WHEN", help="when it was said and learned")
    it.add_argument("--no-wait", action="store_true", help="only queue it; `remanence work` does the rest")
    _extractor(it)
    as_json(it)

    it = command("reextract", reextract, "read sources again with another extractor", "reextract")
    it.add_argument("id", nargs="?", help="one source; all of them if left out")
    _extractor(it)
    as_json(it)

    command("jobs", jobs, "list what was queued, and how far it is", "jobs")
    it = command("work", work, "do queued jobs until stopped", "work --extractor my_models:chat_model")
    it.add_argument("--once", action="store_true", help="do what is due, and end")
    _extractor(it)
    command("sweep", sweep, "record which memories have expired", "sweep")

    it = command("profile", profile, "say who a space is about", "profile --max-tokens 200")
    it.add_argument("--max-tokens", type=int, default=400, help="how long at most (400)")
    _extractor(it)
    as_of(it)


def remember(args: argparse.Namespace) -> None:
    """Keep a text or a chat and what it tells."""
    if (args.text is None) == (args.turns is None):
        raise InvalidInput("give either a text or --turns FILE.")
    given = read_rows(args.turns) if args.turns else read_text(args.text)
    options = {"now": args.now, "source": args.source, "observed_by": args.observed_by}
    with open_space(args, create=True, extractor=_loaded(args.extractor)) as space:
        if args.no_wait:
            print(space.remember(given, wait=False, **options).id)
            return
        facts = space.remember(given, **options)
        output.print_memories(facts, as_json=args.json)
        if not facts and not args.json:
            print("kept; nothing in it was taken for a fact", file=sys.stderr)


def reextract(args: argparse.Namespace) -> None:
    """Read sources again."""
    with open_space(args, extractor=_loaded(args.extractor)) as space:
        found = space.admin.reextract(args.id, progress=output.stdout_is_terminal())
        output.print_memories(found, as_json=args.json)


def jobs(args: argparse.Namespace) -> None:
    """List the jobs of a space."""
    with open_space(args) as space:
        for job in space.jobs.list():
            print("\t".join([job.id, job.status, *([job.problem] if job.problem else [])]))


def work(args: argparse.Namespace) -> None:
    """Do the jobs of every space, or of the one named."""
    extractor = _loaded(args.extractor)
    while True:
        done = 0
        for name in list_spaces(args) if args.space is None else [args.space]:
            with open_space(args, name, extractor=extractor) as space:
                done += space.jobs.work()
        if args.once:
            print(f"{done} {'job' if done == 1 else 'jobs'} worked on")
            return
        if not done:
            time.sleep(_PAUSE)


def sweep(args: argparse.Namespace) -> None:
    """Record expiries."""
    with open_space(args) as space:
        output.print_memories(space.upkeep.sweep(), as_json=False)


def profile(args: argparse.Namespace) -> None:
    """Print a profile."""
    with open_view(args, extractor=_loaded(args.extractor)) as view:
        print(view.profile(max_tokens=args.max_tokens))


def _extractor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--extractor", metavar="MODULE:NAME", help="a chat model or extractor of yours; else the rules")


def _loaded(name: str | None) -> Any:
    """The object that MODULE:NAME names."""
    if name is None:
        return None
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(
            f"--extractor {name} cannot be loaded: {error}. Give for example my_models:chat_model, "
            "with my_models.py on PYTHONPATH."
        ) from None
