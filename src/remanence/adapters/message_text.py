"""The text under which a chat message is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from remanence.language.text import replace_unstorable

if TYPE_CHECKING:
    from logging import Logger

MAX_TEXT_LENGTH = 2_000_000
"""The most characters of a memory. Adapters store this much of a longer message."""


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
