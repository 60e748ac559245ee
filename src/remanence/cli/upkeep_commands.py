"""The commands of upkeep."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import TYPE_CHECKING

from remanence.cli import output
from remanence.cli.locations import open_space

if TYPE_CHECKING:
    from remanence import Space

LISTABLE_STATUSES = ("current", "superseded", "expired", "archived", "forgotten")
STEPS = ("decay", "gc", "clusters", "consolidate", "promote", "discover")


def touch(args: Namespace) -> None:
    """Record that a memory was of use, and print its old and new score."""
    with open_space(args) as space:
        print(space.touch(args.id, boost=args.boost))


def upkeep(args: Namespace) -> None:
    """Show what upkeep would do, do it, do it at intervals, or take it back."""
    with open_space(args) as space:
        if args.undo is not None:
            print(space.upkeep.undo(args.undo))
        elif args.runs:
            for run in space.upkeep.runs():
                print(run)
        else:
            _tend(space, args)


def _tend(space: Space, args: Namespace) -> None:
    from remanence.upkeep.pipeline import DEFAULT_STEPS
    from remanence.upkeep.schedule import parse_interval, repeat

    upkeep = space.upkeep.using(gc="archive") if args.archive else space.upkeep
    applied = args.apply or args.every is not None

    def once() -> None:
        steps = args.steps or DEFAULT_STEPS
        shown = output.stdout_is_terminal()
        plan = upkeep.run(dry_run=not applied, steps=steps, vault=args.vault, progress=shown)
        print(plan, flush=True)
        if not applied and len(plan):
            print("\nNothing was changed. Say --apply to do this.", flush=True)

    if args.every is None:
        once()
    else:
        repeat(once, parse_interval(args.every), _sleep)


def _sleep(duration: float) -> bool:
    time.sleep(duration)
    return False
