"""Sets of questions with their answers, and reading them from files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.text import cut

_ENDS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to remember."""

    id: str
    text: str
    conversation: str = ""
    session: str = ""
    speaker: str | None = None
    time: str | None = None
    triples: tuple[tuple[str, str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, and the lines that answer it."""

    question: str
    evidence: tuple[str, ...]
    id: str = ""
    conversation: str = ""
    category: str = ""
    time: str | None = None
    sessions: tuple[str, ...] = ()
    apart: bool = False
    """Counted in its category, and left out of the figures for all."""


@dataclass(frozen=True, slots=True)
class World:
    """Lines, and what is asked of them and of nothing else."""

    lines: Sequence[Line]
    asked: Sequence[Asked]

    @property
    def end(self) -> str | None:
        """When the last line was said: questions without a time of their own are asked then."""
        return max((line.time for line in self.lines if line.time is not None), default=None)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of worlds."""

    name: str
    worlds: Sequence[World]

    @classmethod
    def of(cls, name: str, lines: Iterable[Line], asked: Iterable[Asked]) -> Dataset:
        """A world for each conversation that is asked about."""
        by_conversation: dict[str, tuple[list[Line], list[Asked]]] = {}
        for line in lines:
            by_conversation.setdefault(line.conversation, ([], []))[0].append(line)
        for question in asked:
            by_conversation[question.conversation][1].append(question)
        return cls(name, [World(*world) for world in by_conversation.values() if world[1]])

    @property
    def questions(self) -> int:
        """How many questions are asked."""
        return sum(len(world.asked) for world in self.worlds)

    @property
    def has_sessions(self) -> bool:
        """Whether there are several sessions in a world, and several lines in a session."""
        return any(1 < len({line.session for line in w.lines}) < len(w.lines) for w in self.worlds)


def find(paths: Iterable[str | Path]) -> list[tuple[str, Path, Path]]:
    """The sets in folders or named by one of their two files: name, corpus and questions of each."""
    found: dict[Path, tuple[str, Path, Path]] = {}
    for path in map(Path, paths):
        path = path.expanduser()
        inside = [file for end in _ENDS for file in sorted(path.glob(f"*.corpus{end}"))]
        if path.is_dir() and not inside:
            raise InvalidInput(f"{path} holds no <name>.corpus.jsonl. Name a folder or files that do.")
        for file in inside or [path]:
            name, _, _ = file.name.partition(".")
            corpus, questions = (_present(file.parent, f"{name}.{part}") for part in ("corpus", "questions"))
            found[corpus] = name, corpus, questions
    return list(found.values())


def read(
    name: str,
    corpus: Path,
    questions: Path,
    *,
    limit: int | None = None,
    leave_out: Sequence[str] = (),
    apart: Sequence[str] = (),
) -> Dataset:
    """A set from its two files.

    Questions that cannot be answered or name no evidence are left out, and so are the categories in
    `leave_out`; those in `apart` are asked, answerable or not, and counted by themselves. With `limit`,
    at most so many are asked, spread evenly.
    """
    lines = [_line(row, where) for where, row in rows(corpus)]
    session_of = {line.id: (line.conversation, line.session) for line in lines}
    asked = []
    for where, row in rows(questions):
        category = str(row.get("category") or "")
        beside = category in apart
        if not (row.get("answerable", True) or beside) or not row.get("evidence") or category in leave_out:
            continue
        asked.append(_asked(row, where, session_of, category, beside))
    if limit is not None and limit < len(asked):
        asked = [asked[number * len(asked) // limit] for number in range(limit)]
    return Dataset.of(name, lines, asked)


def _present(folder: Path, stem: str) -> Path:
    for end in _ENDS:
        if (folder / f"{stem}{end}").is_file():
            return folder / f"{stem}{end}"
    raise InvalidInput(
        f"{folder / stem}.jsonl is not there, plain or gzipped. A set is two files: "
        "<name>.corpus.jsonl and <name>.questions.jsonl."
    )


def _line(row: Mapping[str, Any], where: str) -> Line:
    conversation = str(row.get("conversation") or "")
    return Line(
        id=_text(row, "id", where),
        text=_text(row, "text", where),
        conversation=conversation,
        session=str(row.get("session") or conversation),
        speaker=row.get("speaker"),
        time=row.get("time"),
    )


def _asked(
    row: Mapping[str, Any], where: str, known: Mapping[str, tuple[str, str]], category: str, apart: bool
) -> Asked:
    conversation = str(row.get("conversation") or "")
    evidence = tuple(row["evidence"])
    for line in evidence:
        if line not in known or known[line][0] != conversation:
            raise InvalidInput(f"{where}: evidence {line!r} is no line of conversation {conversation!r}.")
    return Asked(
        question=_text(row, "question", where),
        evidence=evidence,
        id=str(row.get("id") or ""),
        conversation=conversation,
        category=category,
        time=row.get("question_time"),
        sessions=tuple(row.get("evidence_sessions") or dict.fromkeys(known[line][1] for line in evidence)),
        apart=apart,
    )


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{where}: {name}={value!r} is not a text. Every line needs one.")
    return value


def rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file, each with where it stands."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path.name}, line {number}"
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise InvalidInput(f"{where} is not JSON: {error}.") from None
            if not isinstance(row, dict):
                raise InvalidInput(f"{where} is no JSON object, but {cut(line, 60)!r}.")
            yield where, row
