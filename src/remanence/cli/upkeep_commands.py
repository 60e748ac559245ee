"""The commands of upkeep."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import TYPE_CHECKING

from remanence.cli import output
from remanence.cli.locations import space_of

if TYPE_CHECKING:
    from remanence import Space

LISTED = ("current", "superseded", "expired", "archived", "forgotten")
STEPS = ("decay", "gc", "clusters", "consolidate", "promote", "discover")


def touch(args: Namespace) -> None:
    """Record that a memory was of use, and print its old and new score."""
    with space_of(args) as space:
        print(space.touch(args.id, boost=args.boost))


def upkeep(args: Namespace) -> None:
    """Show what upkeep would do, do it, do it at intervals, or take it back."""
    with space_of(args) as space:
        if args.undo is not None:
            print(space.upkeep.undo(args.undo))
        elif args.runs:
            for run in space.upkeep.runs():
                print(run)
        else:
            _tend(space, args)


def _tend(space: Space, args: Namespace) -> None:
    from remanence.upkeep.pipeline import USUAL
    from remanence.upkeep.schedule import repeat, seconds

    upkeep = space.upkeep.using(gc="archive") if args.archive else space.upkeep
    applied = args.apply or args.every is not None

    def once() -> None:
        steps = args.steps or USUAL
        shown = output.at_a_terminal()
        plan = upkeep.run(dry_run=not applied, steps=steps, vault=args.vault, progress=shown)
        print(plan, flush=True)
        if not applied and len(plan):
            print("\nNothing was changed. Say --apply to do this.", flush=True)

    if args.every is None:
        once()
    else:
        repeat(once, seconds(args.every), _sleep)


def _sleep(duration: float) -> bool:
    time.sleep(duration)
    return False
