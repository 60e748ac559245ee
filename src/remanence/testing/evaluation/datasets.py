"""Sets of questions with their answers, and reading them from files."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remanence.core import inputs
from remanence.errors import InvalidInput
from remanence.ledger.codec import json_objects

_ENDS = (".jsonl", ".jsonl.gz")
_PART = re.compile(r"(\.(corpus|questions))?(\.jsonl(\.gz)?)?$")


@dataclass(frozen=True, slots=True)
class CorpusItem:
    """One thing to remember."""

    id: str
    text: str
    conversation: str = ""
    session: str = ""
    speaker: str | None = None
    time: str | None = None
    triples: tuple[tuple[str, str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """One question, and the lines that answer it."""

    question: str
    evidence: tuple[str, ...]
    id: str = ""
    conversation: str = ""
    category: str = ""
    time: str | None = None
    evidence_sessions: tuple[str, ...] = ()
    counted_separately: bool = False
    """Counted in its category, and left out of the figures for all."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Lines, and what is asked of them and of nothing else."""

    items: Sequence[CorpusItem]
    questions: Sequence[EvalQuestion]

    @property
    def last_time(self) -> str | None:
        """When the last line was said: questions without a time of their own are asked then."""
        return max((line.time for line in self.items if line.time is not None), default=None)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of worlds."""

    name: str
    conversations: Sequence[Conversation]

    @classmethod
    def from_corpus(cls, name: str, lines: Iterable[CorpusItem], asked: Iterable[EvalQuestion]) -> Dataset:
        """A world for each conversation that is asked about."""
        by_conversation: dict[str, tuple[list[CorpusItem], list[EvalQuestion]]] = {}
        for line in lines:
            by_conversation.setdefault(line.conversation, ([], []))[0].append(line)
        for question in asked:
            by_conversation[question.conversation][1].append(question)
        return cls(name, [Conversation(*world) for world in by_conversation.values() if world[1]])

    @property
    def question_count(self) -> int:
        """How many questions are asked."""
        return sum(len(world.questions) for world in self.conversations)

    @property
    def has_sessions(self) -> bool:
        """Whether there are several sessions in a world, and several lines in a session."""
        return any(1 < len({line.session for line in w.items}) < len(w.items) for w in self.conversations)


def find_datasets(paths: Iterable[str | Path]) -> list[tuple[str, Path, Path]]:
    """The sets in folders or named by one of their two files: name, corpus and questions of each."""
    found: dict[Path, tuple[str, Path, Path]] = {}
    for path in map(Path, paths):
        path = path.expanduser()
        inside = [file for end in _ENDS for file in sorted(path.glob(f"*.corpus{end}"))]
        if path.is_dir() and not inside:
            raise InvalidInput(f"{path} holds no <name>.corpus.jsonl. Name a folder or files that do.")
        for file in inside or [path]:
            name = _PART.sub("", file.name)
            corpus, questions = (_present(file.parent, f"{name}.{part}") for part in ("corpus", "questions"))
            found[corpus] = name, corpus, questions
    return list(found.values())


def read_dataset(
    name: str,
    corpus: Path,
    questions: Path,
    *,
    limit: int | None = None,
    exclude_categories: Sequence[str] = (),
    separate_categories: Sequence[str] = (),
) -> Dataset:
    """A set from its two files.

    Questions that cannot be answered or name no evidence are left out, and so are the categories in
    `leave_out`; those in `apart` are asked, answerable or not, and counted by themselves. With `limit`,
    at most so many are asked, spread evenly.
    """
    if limit is not None:
        inputs.positive_int(limit, "limit")
    lines: list[CorpusItem] = []
    session_of: dict[tuple[str, str], str] = {}
    for where, row in read_jsonl(corpus):
        line = _line(row, where)
        if (line.conversation, line.id) in session_of:
            raise InvalidInput(f"{where}: id={line.id!r} is that of an earlier line. Give each its own.")
        session_of[line.conversation, line.id] = line.session
        lines.append(line)
    asked = []
    for where, row in read_jsonl(questions):
        category = str(row.get("category") or "")
        beside = category in separate_categories
        if not (row.get("answerable", True) or beside) or not row.get("evidence") or category in exclude_categories:
            continue
        asked.append(_asked(row, where, session_of, category, beside))
    if limit is not None and limit < len(asked):
        asked = [asked[number * len(asked) // limit] for number in range(limit)]
    return Dataset.from_corpus(name, lines, asked)


def _present(folder: Path, stem: str) -> Path:
    for end in _ENDS:
        if (folder / f"{stem}{end}").is_file():
            return folder / f"{stem}{end}"
    raise InvalidInput(
        f"{folder / stem}.jsonl is not there, plain or gzipped. A set is two files: "
        "<name>.corpus.jsonl and <name>.questions.jsonl."
    )


def _line(row: Mapping[str, Any], where: str) -> CorpusItem:
    conversation = str(row.get("conversation") or "")
    return CorpusItem(
        id=_text(row, "id", where),
        text=_text(row, "text", where),
        conversation=conversation,
        session=str(row.get("session") or conversation),
        speaker=row.get("speaker"),
        time=_time(row, "time", where),
    )


def _asked(
    row: Mapping[str, Any], where: str, known: Mapping[tuple[str, str], str], category: str, apart: bool
) -> EvalQuestion:
    conversation = str(row.get("conversation") or "")
    evidence = _listed(row, "evidence", where)
    for line in evidence:
        if (conversation, line) not in known:
            raise InvalidInput(f"{where}: evidence {line!r} is no line of conversation {conversation!r}.")
    sessions = _listed(row, "evidence_sessions", where) if row.get("evidence_sessions") else ()
    return EvalQuestion(
        question=_text(row, "question", where),
        evidence=evidence,
        id=str(row.get("id") or ""),
        conversation=conversation,
        category=category,
        time=_time(row, "question_time", where),
        evidence_sessions=sessions or tuple(dict.fromkeys(known[conversation, line] for line in evidence)),
        counted_separately=apart,
    )


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{where}: {name}={value!r} is not a text. Every line needs one.")
    return value


def _time(row: Mapping[str, Any], name: str, where: str) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{where}: {name}={value!r} is not a text such as '2026-05-03T10:00:00'.")
    return value


def _listed(row: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    """Names in a list; numbers are names too, as they are where a session is said."""
    value = row[name]
    if not isinstance(value, list) or not all(isinstance(each, str | int) for each in value):
        raise InvalidInput(f"{where}: {name}={value!r} is not a list of names.")
    return tuple(map(str, value))


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file, each with where it stands."""
    return json_objects(_lines(path), path.name)


def _lines(path: Path) -> Iterator[str]:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            yield from lines
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}. It has to be UTF-8, plain or gzipped.") from None
