"""Chat messages as text that can be stored; sessions of chats, and checks of their names and of how long they live."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput, NotFound
from remanence.text.text import replace_unstorable

if TYPE_CHECKING:
    from logging import Logger


MAX_TEXT_LENGTH = 2_000_000


def storable_text(text: str, *, replacement: str = "\N{REPLACEMENT CHARACTER}") -> str:
    """Replace the characters that a ledger cannot store: NUL, and half of a surrogate pair."""
    return replace_unstorable(text, replacement)


def warn_of_long_texts(log: Logger, texts: Iterable[str]) -> None:
    """Log a warning for each text that an adapter has cut off at `MAX_TEXT_LENGTH` characters.

    Call it where turns are stored, which is done once for each.
    """
    for text in texts:
        if len(text) >= MAX_TEXT_LENGTH:
            log.warning("a message is too long: its first %s characters are remembered", f"{MAX_TEXT_LENGTH:,}")


def placeholder_text(calls: Sequence[tuple[str, str]], content_types: Iterable[str]) -> str:
    """Describe a chat message that has no text, as a memory cannot be blank.

    Args:
        calls: The tool calls of the message: name and arguments.
        content_types: The types of its other content.

    Example:
        >>> placeholder_text([("weather", '{"city": "Porto"}')], [])
        '[calls weather({"city": "Porto"})]'
        >>> placeholder_text([], ["image", "image"]), placeholder_text([], [])
        ('[image]', '[no text]')
    """
    if calls:
        return storable_text(f"[calls {'; '.join(f'{name}({arguments})' for name, arguments in calls)}]")
    return f"[{', '.join(dict.fromkeys(content_types)) or 'no text'}]"


@dataclass(frozen=True, slots=True)
class ChatSession:
    """A chat session in a list: its name, how many messages it has, when the first and the last were added, and when
    it expires."""

    name: str
    message_count: int
    first_message_at: datetime
    last_message_at: datetime
    expires_at: datetime | None = None


def check_rename(name: str, new_name: str, known: Collection[str]) -> None:
    """Check that a chat session can be renamed, given the names of all sessions.

    Raises:
        NotFound: There is no session with this name.
        InvalidInput: There is one with the new name already, or the new name is blank.
    """
    check_session_id(new_name, "new_name")
    if name not in known:
        raise NotFound(f"there is no chat session {name!r}. `sessions()` lists those that have messages.")
    if new_name in known:
        raise InvalidInput(f"there is a chat session {new_name!r} already, and two cannot be one. Choose another name.")


def check_session_id(name: object, argument: str = "session_id") -> str:
    """Return the name of a session if it is valid: a text that is not blank.

    Raises:
        InvalidInput: It is anything else.
    """
    if isinstance(name, str) and name.strip():
        return name
    raise InvalidInput(f"{argument}={name!r} is not the name of a session. Give a text with a visible character.")


def check_ttl(ttl: object) -> timedelta | None:
    """Return a time to live if it is valid: a timedelta or a number of seconds, above 0 and up to 1,000 years; or None
    for no limit.

    Raises:
        InvalidInput: It is anything else.

    Example:
        >>> check_ttl(3600)
        datetime.timedelta(seconds=3600)
    """
    duration = ttl if isinstance(ttl, timedelta) else _duration(ttl, timedelta(seconds=1))
    if ttl is None or _is_valid(duration):
        return duration
    raise InvalidInput(
        f"ttl={ttl!r} is neither a timedelta nor a number of seconds above 0, or it is more than 1,000 years. Give for "
        "example 86_400, or None for no end."
    )


def check_minutes(minutes: object, argument: str = "ttl") -> timedelta | None:
    """Return a number of minutes as a timedelta if it is valid: above 0 and up to 1,000 years; or None for no limit.

    Raises:
        InvalidInput: It is anything else.
    """
    duration = _duration(minutes, timedelta(minutes=1))
    if minutes is None or _is_valid(duration):
        return duration
    raise InvalidInput(
        f"{argument}={minutes!r} is not a number of minutes above 0, or it is more than 1,000 years. Give for example "
        "60, or None for no end."
    )


def _duration(count: object, unit: timedelta) -> timedelta | None:
    """So many units of time; None if it is not a finite number, or more than a timedelta can be."""
    if isinstance(count, int | float) and not isinstance(count, bool):
        with suppress(OverflowError, ValueError):
            return count * unit
    return None


def _is_valid(duration: timedelta | None) -> bool:
    # Such a moment is still a datetime.
    return duration is not None and timedelta(0) < duration <= timedelta(days=365_000)
