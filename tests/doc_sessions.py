"""Runs the code blocks of a Markdown page and compares, or rewrites, the outputs that the page shows.

A ```python block is a program. What it prints stands in a ```text block directly below it; a block without one prints
nothing. Each `##` section is a session of its own, in an empty folder.
Lines of ```sh blocks that start with `remanence` are run too.

Numbers with decimals may differ by 0.05, as scores differ in their last digits between machines, and with them the
order of the reasons for one hit. `…` in an output stands for anything within a line. Everything else is compared to the
letter.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import groupby
from pathlib import Path
from typing import Any

import time_machine

import remanence
from remanence.cli import main

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
_DECIMAL = re.compile(r"\d+\.\d+")
_TOLERANCE = 0.05
WRITTEN_AT = datetime(2026, 11, 19, 4, 45, tzinfo=timezone.utc)
"""When pages and notebooks are run. The reader sees how many days ago each memory was told: a day more may change a
score that a page shows."""


@dataclass
class Block:
    """One fenced block, and the ```text block directly below it."""

    language: str
    code: str
    line: int
    end: int  # where the page goes on after the block
    shown: str | None = None
    shown_span: tuple[int, int] | None = None


@dataclass
class Section:
    """The blocks below one `##` heading."""

    title: str
    blocks: list[Block] = field(default_factory=list)


@dataclass
class Difference:
    """What a block printed, where the page shows something else."""

    block: Block
    printed: str
    error: str = ""

    def __str__(self) -> str:
        shown = self.block.shown or ""
        page = f"line {self.block.line}:\n{self.block.code}--- the page shows:\n{shown}"
        return f"{page}--- printed:\n{self.printed}{self.error}"


def sections(page: str) -> list[Section]:
    """The sections of a page with their blocks, in order."""
    fences = list(_FENCE.finditer(page))
    headings = [match for match in _HEADING.finditer(page) if not _inside(match.start(), fences)]
    found = [Section("")] + [Section(match[1]) for match in headings]
    starts = [0] + [match.start() for match in headings]
    before: Block | None = None
    for fence in fences:
        if fence[1] == "text" and before and not page[before.end : fence.start()].strip():
            before.shown, before.shown_span = fence[2], fence.span()
            before = None
            continue
        line = page.count("\n", 0, fence.start()) + 1
        before = Block(fence[1], fence[2], line, fence.end())
        found[sum(start <= fence.start() for start in starts) - 1].blocks.append(before)
    return found


def differences(section: Section, folder: Path) -> Iterator[Difference]:
    """Run a section in `folder`; what it prints and the page does not show."""
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        with time_machine.travel(WRITTEN_AT), _chdir(folder):
            for block in section.blocks:
                printed, error = _run(block, names)
                if error or not same(block.shown or "", printed):
                    yield Difference(block, printed, error)
                if error:
                    return
    finally:
        for value in names.values():
            if isinstance(value, remanence.Space):
                value.close()


def updated(page: str, found: list[Difference]) -> str:
    """The page with the outputs of these blocks in place of those it shows."""
    for difference in sorted(found, key=lambda item: item.block.line, reverse=True):
        block = difference.block
        start, end = block.shown_span or (block.end, block.end)
        output = f"```text\n{difference.printed}```" if difference.printed else ""
        page = page[:start].rstrip("\n") + ("\n\n" + output if output else "") + page[end:]
    return page


def same(shown: str, printed: str) -> bool:
    """Whether two outputs agree, up to the last digits of scores."""
    ours, theirs = _sorted_reasons(shown).split("\n"), _sorted_reasons(printed).split("\n")
    return len(ours) == len(theirs) and all(map(_same_line, ours, theirs))


def _same_line(shown: str, printed: str) -> bool:
    pattern = re.escape(_DECIMAL.sub("\0", shown.rstrip())).replace(re.escape("\0"), r"(\d+\.\d+)").replace("…", ".*")
    match = re.fullmatch(pattern, printed.rstrip())
    return match is not None and all(
        abs(float(ours) - float(theirs)) <= _TOLERANCE + 1e-9
        for ours, theirs in zip(_DECIMAL.findall(shown), match.groups(), strict=True)
    )


def _sorted_reasons(text: str) -> str:
    blocks = groupby(text.split("\n"), key=lambda line: line.startswith("      +"))
    return "\n".join(
        line
        for reasons, block in blocks
        for line in (sorted(block, key=lambda line: line.split(" ", 7)[-1]) if reasons else block)
    )


def _run(block: Block, names: dict[str, Any]) -> tuple[str, str]:
    """What a block prints, and how it failed."""
    if block.language == "sh":
        return _run_commands(block.code)
    if block.language != "python":
        return block.shown or "", ""
    output = io.StringIO()
    try:
        code = compile(block.code, f"<line {block.line}>", "exec")
        with contextlib.redirect_stdout(output), warnings.catch_warnings():
            exec(code, names)
    except Exception:  # noqa: BLE001 - whatever the example raises is what the test reports
        return output.getvalue(), traceback.format_exc(limit=-4)
    return output.getvalue(), ""


def _run_commands(code: str) -> tuple[str, str]:
    """Run the `remanence` lines of a ```sh block; in this process, unless the line needs a shell."""
    printed, failed = "", ""
    for line in re.sub(r"\\\n", "", code).splitlines():
        if not line.startswith("remanence ") or failed:
            continue
        words = shlex.split(line, comments=True)
        if any(word in {"|", ">", "<", "&&", ";", "&"} for word in words):
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            done = subprocess.run(
                line, shell=True, capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=60
            )
            status, output, errors = done.returncode, done.stdout, done.stderr
        else:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    status = main(words[1:])
                except SystemExit as exit_:  # argparse, on wrong usage
                    status = int(exit_.code or 0)
            output, errors = out.getvalue(), err.getvalue()
        printed += output
        failed = f"{line}: exit code {status}\n{errors}" if status else ""
    return printed, failed


def _inside(position: int, fences: list[re.Match[str]]) -> bool:
    return any(fence.start() <= position < fence.end() for fence in fences)


@contextlib.contextmanager
def _chdir(folder: Path) -> Iterator[None]:
    # `contextlib.chdir` is there from Python 3.11 on.
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
