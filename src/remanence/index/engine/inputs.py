"""Checks of arguments. Each returns the value in its final form, or raises InvalidInput with the name and the value."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from numbers import Integral, Real  # numpy's numbers too
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from remanence.errors import InvalidInput
from remanence.schema import ANY_TIME, MEMORY_KINDS, UTC, Memory, Window
from remanence.schema import MAX_LIMIT as MAX_LIMIT
from remanence.schema import Moment as Moment
from remanence.text.temporal import parse_moment
from remanence.text.text import MAX_PASSAGE, MAX_QUESTION_LENGTH, normalize_name, truncate, without_middle

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from remanence.ports import Progress

MAX_TEXT_LENGTH = 2_000_000
"""Characters of a text, at most: it guards the memory of whoever extracts from it and stores it."""
MAX_TAGS = 256
MAX_NAME_LENGTH = 512
"""Characters of a name, a key, a tag or a source, at most: they are parts of an index."""
MAX_META_LENGTH = 1_000_000
MAX_SPACE_NAME_LENGTH = 255
"""Characters of one level of the name of a space, at most: as much as a file name may have."""
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")


def check_storable(value: object) -> object:
    """Refuse text that cannot be stored and read back."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    if match := _NOT_TEXT.search(value):
        what = "a NUL byte" if match.group() == "\x00" else f"the lone surrogate {match.group()!a}"
        raise ValueError(f"contains {what} at character {match.start()}, which cannot be stored. Remove it")
    return value


def check_not_blank(value: object) -> object:
    """Refuse text that is blank, or that cannot be stored and read back."""
    if isinstance(value, str):
        if not value or value.isspace():
            raise ValueError("is blank. Give it at least one visible character")
        if value.isascii() and "\0" not in value:  # most text: it needs no other check
            return value
    return check_storable(value)


def check_window(start: Moment | None, end: Moment | None, now: datetime) -> Window:
    if start is None and end is None:
        return ANY_TIME
    checked = Window(
        None if start is None else parse_moment(start, now, argument="valid_from"),
        None if end is None else parse_moment(end, now, argument="valid_until"),
    )
    if checked.start is not None and checked.end is not None and checked.end <= checked.start:
        raise InvalidInput(
            f"valid_until={end!r} does not come after valid_from={start!r}. Swap them, or leave one out."
        )
    return checked


def check_query(text: object) -> str:
    """The text of a question. Characters that cannot be stored are replaced by spaces."""
    if isinstance(text, str) and len(text) > MAX_QUESTION_LENGTH:
        raise InvalidInput(
            f"the question has {len(text):,} characters. At most {MAX_QUESTION_LENGTH:,} are read. Ask a shorter one; "
            "space.for_prompt() takes a longer message and searches for its beginning and end."
        )
    return check_message(text)


def check_message(text: object) -> str:
    """The text of a message, which may be long. Characters that cannot be stored are replaced by spaces."""
    if not isinstance(text, str):
        raise InvalidInput(f"query={text!r} is {type_name(text)}, not text. Ask with a string.")
    if len(text) > MAX_TEXT_LENGTH:
        raise InvalidInput(f"the text has {len(text):,} characters. At most {MAX_TEXT_LENGTH:,} are read.")
    return _NOT_TEXT.sub(" ", text)


def check_question(text: object, vector: object) -> None:
    """Refuse a question that is blank, unless it is given as a vector."""
    if vector is None and not check_query(text).strip():
        raise InvalidInput(
            f"query={shorten_repr(text)} is blank. Ask a question, or list what is recent: space.recent()."
        )


def check_limit(value: object) -> int:
    """The number of hits to return: from 1 on, at most `MAX_LIMIT`."""
    return min(check_positive_int(value, "limit"), MAX_LIMIT)


def check_kinds(value: object) -> tuple[str, ...] | None:
    return check_names_among(value, MEMORY_KINDS, "kinds")


def check_tags(value: object) -> tuple[str, ...] | None:
    return check_names(value, "tags")


def check_fraction(value: object, what: str) -> float | None:
    if value is None:
        return None
    number = _real(value)
    if number is None or not 0 <= number <= 1:
        raise InvalidInput(f"{what}={value!r} is not a number from 0 to 1.")
    return number


def check_weights(value: object, signals: Sequence[str]) -> dict[str, float] | None:
    """The weight of each signal: numbers from 0 on, at least one above 0."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not set(value) <= set(signals):
        raise InvalidInput(f"weights={shorten_repr(value)} does not map signals to numbers: {', '.join(signals)}.")
    numbers = {name: _real(number) for name, number in value.items()}
    valid = {name: number for name, number in numbers.items() if number is not None and 0 <= number < 1e9}
    if valid.keys() != numbers.keys() or not any(valid.values()):
        raise InvalidInput(f"weights={shorten_repr(value)} are not numbers from 0 on with one above 0.")
    return valid


def check_vector(value: object) -> NDArray[np.float32] | None:
    """The embedding of a question, scaled to unit length."""
    if value is None:
        return None
    import numpy as np

    try:
        array = np.asarray(value, np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInput(f"vector={shorten_repr(value)} is not a list of numbers: {error}.") from None
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InvalidInput(
            f"vector has shape {array.shape} or contains a number that is not finite. Give one flat list of finite "
            "numbers."
        )
    # Divide by the largest number first: squares of large numbers overflow, and large numbers overflow as float32.
    largest = np.abs(array).max(initial=0.0)
    if largest:
        array = array / largest
        array /= np.linalg.norm(array)
    return array.astype(np.float32)


def check_positive_int(value: object, what: str, most: int | None = None) -> int:
    number = 0 if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    if number < 1 or (most and number > most):
        upto = f" to {most:,}" if most else " on"
        raise InvalidInput(f"{what}={value!r} is not a whole number from 1{upto}.")
    return number


def check_path(value: object, what: str) -> Path:
    if not isinstance(value, str | os.PathLike) or not str(value).strip() or "\0" in str(value):
        raise InvalidInput(f"{what}={value!r} is not a file name. Give one such as 'memory.jsonl.gz'.")
    return Path(value).expanduser()


def check_unlinked_path(value: object, what: str) -> Path:
    """A file or folder to import, or a file to export to. A symbolic link is refused: whoever made it chose the file
    behind it."""
    path = check_path(value, what)
    if path.is_symlink():
        raise InvalidInput(
            f"{what}={str(path)!r} is a symbolic link to {os.readlink(path)}, which is not followed. Name that path."
        )
    return path


def check_memory_id(value: object) -> str:
    """The id of a memory, given as such or as the memory. Whether it exists is not checked here."""
    id_ = value.id if isinstance(value, Memory) else value
    if not isinstance(id_, str):
        raise InvalidInput(
            f"{shorten_repr(id_)} is {type_name(id_)}, not an id. Give a memory or its id (`memory.id`)."
        )
    return id_


def check_memory_ids(values: object) -> list[str]:
    if isinstance(values, str | bytes | Memory) or not isinstance(values, Iterable):
        raise InvalidInput(f"{shorten_repr(values)} is {type_name(values)}. Give a list of memories or of their ids.")
    return [check_memory_id(value) for value in values]


def check_one_or_more_ids(values: object) -> list[str]:
    """The ids of one memory or of several."""
    return check_memory_ids([values] if isinstance(values, str | Memory) else values)


def check_observer(observed_by: object) -> str | None:
    return None if observed_by is None else check_name(observed_by, "observed_by")


def check_name(value: object, what: str) -> str:
    name = " ".join(check_text(value, what).split())
    if not normalize_name(name):
        raise InvalidInput(f"{what}={value!r} is blank. Give it at least one letter.")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidInput(
            f"{what}={truncate(name, 40)!r} has {len(name):,} characters. A name has at most {MAX_NAME_LENGTH}."
        )
    return name


def check_reason(why: object) -> str | None:
    return None if why is None else check_text(why, "why")


def check_text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{what}={value!r} is {type_name(value)}, not text.")
    try:
        check_storable(value)
    except ValueError as error:
        raise InvalidInput(f"{what}={shorten_repr(value)} {error}.") from None
    return value


def progress_bar(progress: bool | Progress, label: str) -> AbstractContextManager[Progress | None]:
    """The caller's own function; a progress bar for True, None for False. Anything else is refused at once."""
    if not isinstance(progress, bool) and not callable(progress):
        raise InvalidInput(f"progress={progress!r} is neither True, False nor a function of (done, total).")
    return _progress_bar(progress, label)


@contextmanager
def _progress_bar(progress: bool | Progress, label: str) -> Iterator[Progress | None]:
    if progress is not True:
        yield progress or None
        return
    from rich.progress import Progress as Bar

    # Rich would put its own stream around that of the command line, which shows escapes in what is printed as text, and
    # then write the bar through both.
    with Bar(transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def as_utc(moment: object, what: str) -> datetime:
    if not isinstance(moment, datetime):
        raise InvalidInput(f"{what} gave {moment!r}, not a datetime. Give a function that returns one.")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _real(value: object) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, Real) else float(value)


def check_rows(rows: object, of: str) -> Iterable[Any]:
    """Several rows of something, such as "dicts"."""
    if isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        raise InvalidInput(f"{shorten_repr(rows)} is {type_name(rows)}, not a list of {of}. Give a list.")
    return rows


def check_names(value: object, what: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    values = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    if not all(isinstance(name, str) for name in values):
        raise InvalidInput(f"{what}={value!r} is not a list of names. Give for example {what}=['work'].")
    return values


def check_names_among(value: object, known: Sequence[str], what: str) -> tuple[str, ...] | None:
    """One of the known names, or several."""
    given = check_names(value, what)
    for name in given or ():
        if name not in known:
            raise InvalidInput(f"{what}={value!r} contains {name!r}. Choose from {', '.join(known)}.")
    return given


def arguments(scope: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """The arguments of a method by name, of the `locals()` at its beginning."""
    return {name: value for name, value in scope.items() if name not in ("self", *without)}


def check_flag(value: object, what: str) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise InvalidInput(f"{what}={shorten_repr(value)} is neither True nor False.")


def check_turns(value: object, what: str) -> tuple[str, ...]:
    """Turns of a conversation, each as one line with its speaker if it has one; of a long one beginning and end."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(
            f"{what}={shorten_repr(value)} is not a list of turns. Give [{{'role': 'user', 'content': '…'}}]."
        )
    lines = []
    for turn in value:
        if isinstance(turn, Mapping):
            speaker, text = turn.get("speaker") or turn.get("role"), turn.get("content")
        else:
            speaker, text = None, turn
        if not isinstance(text, str) or not isinstance(speaker, str | None):
            raise InvalidInput(
                f"{what} has the turn {shorten_repr(turn)}. "
                "Give texts, or dicts such as {'role': 'user', 'content': '…'}."
            )
        said = without_middle(text, MAX_PASSAGE)
        lines.append(f"{speaker}: {said}" if speaker else said)
    return tuple(lines)


def shorten_repr(value: object) -> str:
    try:
        shown = ascii(value) if isinstance(value, str) and _NOT_TEXT.search(value) else repr(value)
    except (RecursionError, ValueError):  # the digits of a very large number are not written
        shown = f"a very deep or large {type(value).__name__}"
    return truncate(shown, 120)


def type_name(value: object) -> str:
    return f"of type {type(value).__name__}"


def child_name(parent: str, path: Iterable[str]) -> str:
    """The full name of the space below `parent` with these names, one for each level."""
    parts = [escape_level(part) for part in path]
    if not parts:
        raise InvalidInput("child() needs at least one name, for example space.child('users', 'bob').")
    return "/".join([parent, *parts])


def escape_level(name: object) -> str:
    """One part of a space's name. A slash inside it is written as %2F, so that parts cannot run together."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"a space cannot be called {name!r}. Give it a name with a visible character.")
    if len(name) > MAX_SPACE_NAME_LENGTH:
        raise InvalidInput(
            f"the space name {truncate(name, 40)!r} has {len(name)} characters. Use at most {MAX_SPACE_NAME_LENGTH}, "
            "for example a hash of it."
        )
    check_text(name, "space")
    return name.replace("%", quote("%")).replace("/", quote("/", safe=""))
