"""`remanence doctor`: what is installed, which models, the folder and its permissions, the indexes, and what to do."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from remanence.cli.locations import list_spaces, memory_location, open_space
from remanence.cli.output import Lines
from remanence.cli.parser import command
from remanence.errors import RemanenceError
from remanence.ledger import is_address, ledger_exists, shown_location
from remanence.operating_system import user_number
from remanence.schema.version import __version__

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_MAX_SPACES = 20
_MARKS = {"good": "ok", "note": "--", "problem": "!!"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. A note needs no action; a problem does, and `advice` says which."""

    area: str
    status: Literal["good", "note", "problem"]
    text: str
    advice: str = ""

    def __str__(self) -> str:
        advice = f"\n       {self.advice}" if self.advice else ""
        return f"{_MARKS[self.status]}  {self.area:<8}  {self.text}{advice}"


@command("doctor", "doctor ./memory", "folder --deep")
def doctor(args: Namespace) -> Lines:
    """Look at what is installed, the models, the folder and its indexes, and say what to do."""
    problems: list[Finding] = []

    def found() -> Iterator[Finding]:
        for look in (_python, _packages, _variables, _models, _folder, _indexes):
            for finding in look(args):
                if finding.status == "problem":
                    problems.append(finding)
                yield finding

    return Lines(found(), code=lambda: 1 if problems else 0)


def _python(args: Namespace) -> Iterator[Finding]:
    yield Finding("python", "good", f"{platform.python_version()} at {sys.executable}, remanence {__version__}")


def _packages(args: Namespace) -> Iterator[Finding]:
    """Every package that remanence needs, and for each extra whether it is complete."""
    from importlib import metadata  # here, as it takes long to load, and `--help` of any command loads this module

    from packaging.requirements import Requirement

    try:
        requirements = [Requirement(each) for each in metadata.requires("remanence-memory") or ()]
        extras = metadata.metadata("remanence-memory").get_all("Provides-Extra") or ()
    except metadata.PackageNotFoundError:
        yield Finding("packages", "note", "remanence runs from a folder of sources, so its packages are not listed")
        return

    def problems(extra: str) -> str:
        """What an extra lacks; of "", what every installation lacks."""
        own = [each for each in requirements if _is_of(each, extra) and (not extra or not _is_of(each, ""))]
        return "; ".join(filter(None, map(_problem_of, own)))

    if core := problems(""):
        yield Finding("packages", "problem", core, "Run: pip install --upgrade remanence-memory")
    else:
        yield Finding("packages", "good", "all that remanence needs")
    incomplete = {extra: lacking for extra in extras if (lacking := problems(extra))}
    complete = [extra for extra in extras if extra not in incomplete]
    yield Finding("packages", "good", f"extras: {', '.join(complete) or 'none'}")
    for extra, lacking in incomplete.items():
        advice = f'For it: pip install "remanence-memory[{extra}]"'
        yield Finding("packages", "note", f"extra {extra} is not complete: {lacking}", advice)


def _is_of(requirement: Requirement, extra: str) -> bool:
    """Whether an extra has this requirement, on this Python and system."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _problem_of(requirement: Requirement) -> str | None:
    """Why a requirement is not met; None if it is."""
    from importlib import metadata

    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed"
    met = requirement.specifier.contains(version, prereleases=True)
    return None if met else f"{requirement.name} is {version}, and {requirement.specifier} is needed"


def _variables(args: Namespace) -> Iterator[Finding]:
    for name in sorted(name for name in os.environ if name.startswith("REMANENCE_")):
        shown = "(set)" if "TOKEN" in name or "KEY" in name else os.environ[name]
        yield Finding("settings", "note", f"{name}={shown}")


def _models(args: Namespace) -> Iterator[Finding]:
    """The embedder and the reader: loaded, and tried on a sentence."""
    from remanence.models.embedders import resolve_embedder
    from remanence.models.readers import resolve_reader
    from remanence.ports import ReaderLine
    from remanence.schema import EPOCH

    def embed() -> str:
        embedder = resolve_embedder(args.embedder)
        return f"embedder {embedder.name}, {len(embedder.embed(['a sentence'])[0])} dimensions"

    def read() -> str:
        reader = resolve_reader()
        if reader is None:
            return "no reader, so the signals alone decide the order"
        reader.read("Where is it?", [ReaderLine("It is here.")], asked_at=EPOCH)
        return f"reader {reader.fingerprint}"

    for part, trial in (("embedder", embed), ("reader", read)):
        yield from _tried("models", part, trial)
    from remanence.models import catalogue

    installed = [model.name for model in catalogue.MODELS.values() if catalogue.installed_folder(model.name)]
    if installed:
        yield Finding("models", "good", f"fetched to {catalogue.models_folder()}: {', '.join(installed)}")


def _tried(area: str, part: str, trial: Callable[[], str]) -> Iterator[Finding]:
    started = time.perf_counter()
    try:
        text = trial()
    except (RemanenceError, OSError, ImportError) as error:
        advice = "Install remanence again, or name another one: `remanence models list`."
        yield Finding(area, "problem", f"the {part} cannot be used: {error}", advice)
    else:
        yield Finding(area, "good", f"{text} (loaded and tried in {time.perf_counter() - started:.1f} s)")


def _folder(args: Namespace) -> Iterator[Finding]:
    location = memory_location(args, create=True)
    shown = shown_location(location)
    if not ledger_exists(location):
        yield Finding("folder", "note", f"{shown} contains no memories yet", f"`remanence --memory {shown} add ...`")
        return
    if is_address(location):
        yield Finding("folder", "good", f"the database {shown}")
        return
    folder = Path(location)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    yield Finding("folder", "good", f"{folder.resolve()}: {size / 1e6:,.1f} MB")
    yield from _permissions(folder)
    free = shutil.disk_usage(folder).free
    if free < 200_000_000:  # bytes
        yield Finding(
            "folder", "problem", f"{free / 1e6:,.0f} MB are free on its disk", "Writing stops when it is full."
        )


def _permissions(folder: Path) -> Iterator[Finding]:
    """Who may enter and change a folder. Windows has lists in place of modes, which are not read here."""
    number = user_number()
    unwritable = [file for file in (folder, *folder.rglob("*")) if not os.access(file, os.W_OK)]
    if unwritable:
        owner = f" As its owner: chmod -R u+w {folder}, or chown -R {number} {folder}" if number is not None else ""
        advice = f"Memories can be read and not added.{owner}"
        yield Finding("folder", "problem", f"{unwritable[0]} cannot be written", advice)
    if number is None:
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH):
        advice = f"If nobody else is to read it: chmod 700 {folder}"
        yield Finding("folder", "note", f"other users of this machine may enter the folder ({mode:o})", advice)
    else:
        yield Finding("folder", "good", f"only its owner may enter it ({mode:o})")


def _indexes(args: Namespace) -> Iterator[Finding]:
    """Each space: whether it opens, what is missing in its indexes, jobs that were given up, text that is not gone."""
    if not ledger_exists(memory_location(args, create=True)):
        return
    try:
        names = list_spaces(args)
    except RemanenceError as error:
        yield Finding("folder", "problem", str(error))
        return
    for name in names[:_MAX_SPACES]:
        try:
            yield from _space(name, args)
        except RemanenceError as error:
            yield Finding("space", "problem", f"{name}: {error}")
    if len(names) > _MAX_SPACES:
        advice = "Name one of the others with --space."
        yield Finding("space", "note", f"{len(names) - _MAX_SPACES} more spaces were not looked at", advice)


def _space(name: str, args: Namespace) -> Iterator[Finding]:
    with open_space(args, name) as space:
        stats = space.admin.stats()
        yield Finding("space", "good", f"{name}: {stats.total:,} memories, {stats.entries:,} entries, {stats.embedder}")
        for signal, reason in stats.broken.items():
            yield Finding("space", "problem", f"{name}: {signal} does not work: {reason}", "`remanence rebuild`")
        if stats.unembedded:
            text = f"{name}: {stats.unembedded:,} texts have no vector yet"
            yield Finding(
                "space", "note", text, "They get one when the space is next used; `remanence rebuild` does it"
            )
        if given_up := stats.jobs.get("given up", 0):
            yield Finding("space", "problem", f"{name}: {given_up:,} jobs were given up", "`remanence jobs` says why")
        for pending in space.audit.pending_erasures():
            yield Finding("space", "note", f"{name}: erased text is still there: {pending}")
        if args.deep:
            differences = space.admin.check()
            for index, difference in differences.items():
                yield Finding("space", "problem", f"{name}: {index}: {difference}", "`remanence rebuild`")
            if not differences:
                yield Finding("space", "good", f"{name}: every index agrees with the ledger")
