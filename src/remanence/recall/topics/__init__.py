"""The standing questions that a profile answers, by topic: a table for a person, and one for a project or a team.

A table is a file of lines with a topic, a tab and a question. All questions of a topic say what belongs to it; a long
text is quoted where it has most to do with the first one. Lines that begin with "#" are comments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from remanence.errors import InvalidInput

PERSON, PROJECT = "person", "project"
TABLES = (PERSON, PROJECT)
MAX_QUESTIONS = 200
Topics: TypeAlias = str | Path | Mapping[str, str | Sequence[str]]
"""What a caller may name: a table that comes with the package, a file, or questions by topic."""


class Topic(NamedTuple):
    """A topic of a profile and its questions."""

    name: str
    questions: tuple[str, ...]


@cache
def load_topics(table: str) -> tuple[Topic, ...]:
    """The topics of a table that comes with the package.

    >>> [topic.name for topic in load_topics("project")][:3]
    ['goal', 'decisions', 'stack']
    """
    return _read_table(Path(__file__).with_name(f"{table}.tsv"))


def resolve_topics(topics: object) -> tuple[Topic, ...]:
    """The topics that a caller named: a table, a file, questions by topic, or a list of these.

    >>> resolve_topics({"boat": "What about my boat?"})
    (Topic(name='boat', questions=('What about my boat?',)),)
    >>> [topic.name for topic in resolve_topics(["person", {"boat": "What about my boat?"}])][-1]
    'boat'
    """
    if isinstance(topics, str) and topics in TABLES:
        return load_topics(topics)
    if isinstance(topics, str | Path):
        return _read_table(Path(topics).expanduser())
    if isinstance(topics, Sequence):  # tables, one after the other
        together = [topic for each in topics for topic in resolve_topics(each)]
        return _checked([(topic.name, question) for topic in together for question in topic.questions])
    if not isinstance(topics, Mapping):
        raise InvalidInput(
            f"topics={topics!r} is none of {', '.join(map(repr, TABLES))}, no file, no dict of questions by topic, and "
            "no list of these. "
            'Give for example {"boat": "What about my boat?"}.'
        )
    return _checked([(name, question) for name, asked in topics.items() for question in _questions(asked)])


def named_topics(text: str | None) -> Any:
    """The topics that a request names: a table, or JSON text. Never a file of the machine that answers.

    >>> named_topics('{"boat": ["What about my boat?"]}')
    {'boat': ['What about my boat?']}
    """
    if text is None or text in TABLES:
        return text
    try:
        topics = json.loads(text)
    except json.JSONDecodeError:
        topics = None
    parts = topics if isinstance(topics, list) else [topics]
    if not all(isinstance(part, dict) or part in TABLES for part in parts):
        known = ", ".join(map(repr, TABLES))
        raise InvalidInput(f"topics={text!r} is none of {known}, and no JSON object of questions by topic.")
    return topics


def topics_to_json(topics: object) -> str:
    """The topics that a caller named, as `named_topics` takes them."""
    if isinstance(topics, str) and topics in TABLES:
        return topics
    return json.dumps({topic.name: topic.questions for topic in resolve_topics(topics)})


def _questions(asked: object) -> Sequence[object]:
    return [asked] if isinstance(asked, str) else list(asked) if isinstance(asked, Sequence) else [asked]


def _read_table(path: Path) -> tuple[Topic, ...]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(map(repr, TABLES))
        raise InvalidInput(
            f"topics={str(path)!r} is no file that can be read ({error}). Known tables: {known}."
        ) from None
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    if wrong := next((row for row in rows if len(row) != 2), None):
        raise InvalidInput(f"{path}: the line {wrong[0]!r} is not a topic, a tab and a question.")
    return _checked([(name, question) for name, question in rows])


def _checked(rows: Sequence[tuple[object, object]]) -> tuple[Topic, ...]:
    if not rows or len(rows) > MAX_QUESTIONS:
        raise InvalidInput(f"topics has {len(rows)} questions. Give 1 to {MAX_QUESTIONS}.")
    found: dict[str, list[str]] = {}
    for name, question in rows:
        if not (isinstance(name, str) and name.strip() and isinstance(question, str) and question.strip()):
            raise InvalidInput(f"topics: {name!r}: {question!r} is not a topic with a question, both as text.")
        found.setdefault(name.strip(), []).append(question.strip())
    return tuple(Topic(name, tuple(questions)) for name, questions in found.items())
