"""Datasets: texts, questions about them, and the texts that answer each question.

A dataset is two files of JSON lines, plain or gzipped: `<name>.corpus.jsonl` and `<name>.questions.jsonl`.

corpus      id, text; optional: conversation, session, speaker, time
questions   question, evidence (ids of the corpus items that answer it); optional: id, conversation, category,
            question_time, evidence_sessions, answerable

A question is answered from the items of its own conversation only.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.ledger.codec import json_objects

_SUFFIXES = (".jsonl", ".jsonl.gz")
_PART_AND_SUFFIX = re.compile(r"(\.(corpus|questions))?(\.jsonl(\.gz)?)?$")


@dataclass(frozen=True, slots=True)
class CorpusItem:
    """One text to remember."""

    id: str
    text: str
    conversation: str = ""
    session: str = ""
    speaker: str | None = None
    time: str | None = None
    triples: tuple[tuple[str, str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """One question, and the ids of the items that answer it.

    One that is `counted_separately` counts for its category and not for all questions.
    """

    question: str
    evidence: tuple[str, ...]
    id: str = ""
    conversation: str = ""
    category: str = ""
    time: str | None = None
    evidence_sessions: tuple[str, ...] = ()
    counted_separately: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """Some items, and the questions that are answered from them and from nothing else."""

    items: Sequence[CorpusItem]
    questions: Sequence[EvalQuestion]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of conversations."""

    name: str
    conversations: Sequence[Conversation]

    @classmethod
    def from_corpus(cls, name: str, items: Iterable[CorpusItem], questions: Iterable[EvalQuestion]) -> Dataset:
        """Group items and questions by conversation; conversations without a question are left out."""
        by_conversation: dict[str, tuple[list[CorpusItem], list[EvalQuestion]]] = {}
        for item in items:
            by_conversation.setdefault(item.conversation, ([], []))[0].append(item)
        for question in questions:
            by_conversation[question.conversation][1].append(question)
        return cls(name, [Conversation(*group) for group in by_conversation.values() if group[1]])


def find_datasets(paths: Iterable[str | Path]) -> list[tuple[str, Path, Path]]:
    """The name, the corpus file and the questions file of each dataset in these folders or files."""
    found: dict[Path, tuple[str, Path, Path]] = {}
    for path in map(Path, paths):
        path = path.expanduser()
        files = [file for suffix in _SUFFIXES for file in sorted(path.glob(f"*.corpus{suffix}"))]
        if path.is_dir() and not files:
            raise InvalidInput(f"{path} holds no <name>.corpus.jsonl. Name a folder or files that do.")
        for file in files or [path]:
            name = _PART_AND_SUFFIX.sub("", file.name)
            corpus, questions = (_existing_file(file.parent / f"{name}.{part}") for part in ("corpus", "questions"))
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
    """Read a dataset from its two files.

    Questions that cannot be answered or name no evidence are left out.

    Args:
        corpus: The file of the items.
        questions: The file of the questions.
        limit: At most this many questions, taken at even distances.
        exclude_categories: Categories to leave out.
        separate_categories: Categories to ask, answerable or not, and to count separately.
    """
    if limit is not None:
        inputs.check_positive_int(limit, "limit")
    items: list[CorpusItem] = []
    session_of: dict[tuple[str, str], str] = {}
    for where, row in read_jsonl(corpus):
        item = _item(row, where)
        if (item.conversation, item.id) in session_of:
            raise InvalidInput(f"{where}: id={item.id!r} is that of an earlier item. Give each its own.")
        session_of[item.conversation, item.id] = item.session
        items.append(item)
    selected = []
    for where, row in read_jsonl(questions):
        category = str(row.get("category") or "")
        separate = category in separate_categories
        if (row.get("answerable", True) or separate) and row.get("evidence") and category not in exclude_categories:
            selected.append(_question(row, where, session_of, category, separate))
    if limit is not None and limit < len(selected):
        selected = [selected[number * len(selected) // limit] for number in range(limit)]
    return Dataset.from_corpus(name, items, selected)


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file, plain or gzipped, each with its file name and line number."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            yield from json_objects(lines, path.name)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}. It has to be UTF-8, plain or gzipped.") from None


def _existing_file(stem: Path) -> Path:
    for suffix in _SUFFIXES:
        if (path := stem.with_name(stem.name + suffix)).is_file():
            return path
    raise InvalidInput(
        f"{stem}.jsonl does not exist, plain or gzipped. A dataset is two files: "
        "<name>.corpus.jsonl and <name>.questions.jsonl."
    )


def _item(row: Mapping[str, Any], where: str) -> CorpusItem:
    conversation = str(row.get("conversation") or "")
    return CorpusItem(
        id=_required_text(row, "id", where),
        text=_required_text(row, "text", where),
        conversation=conversation,
        session=str(row.get("session") or conversation),
        speaker=row.get("speaker"),
        time=_time(row, "time", where),
    )


def _question(
    row: Mapping[str, Any], where: str, session_of: Mapping[tuple[str, str], str], category: str, separate: bool
) -> EvalQuestion:
    conversation = str(row.get("conversation") or "")
    evidence = _names(row, "evidence", where)
    for item in evidence:
        if (conversation, item) not in session_of:
            raise InvalidInput(f"{where}: evidence {item!r} is not an item of conversation {conversation!r}.")
    sessions = _names(row, "evidence_sessions", where) if row.get("evidence_sessions") else ()
    return EvalQuestion(
        question=_required_text(row, "question", where),
        evidence=evidence,
        id=str(row.get("id") or ""),
        conversation=conversation,
        category=category,
        time=_time(row, "question_time", where),
        evidence_sessions=sessions or tuple(dict.fromkeys(session_of[conversation, item] for item in evidence)),
        counted_separately=separate,
    )


def _required_text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{where}: {name}={value!r} is not a text. Every line needs one.")
    return value


def _time(row: Mapping[str, Any], name: str, where: str) -> str | None:
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{where}: {name}={value!r} is not a text such as '2026-05-03T10:00:00'.")
    return value


def _names(row: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    value = row[name]
    if not isinstance(value, list) or not all(isinstance(item, str | int) for item in value):
        raise InvalidInput(f"{where}: {name}={value!r} is not a list of names or numbers.")
    return tuple(map(str, value))
