"""Characters that a reader does not see: invisible characters, changes of text direction, and controls.

They can carry orders past a person into a prompt, and commands into a terminal. A few of them are part of how words
and emoji are written, and stay there:

- a zero-width non-joiner between two Arabic letters (Persian), or after a virama (Indic scripts)
- a zero-width joiner next to a virama, or between two emoji
- one variation selector 15 or 16 after a symbol or in a keycap
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

# Unicode's Default_Ignorable_Code_Point, line ends other than \n, C1 controls, and annotation marks.
INVISIBLE = (
    "\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HIDDEN = re.compile(f"[\x00-\x08\x0b-\x1f{INVISIBLE}]")
# What a terminal may obey, or what reorders a line on the screen.
_TERMINAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_NON_JOINER = "\u200c"
_JOINER = "\u200d"
_EMOJI_SELECTORS = "\ufe0e\ufe0f"
_KEYCAP = "\u20e3"
_VIRAMA_CLASS = 9
"""The combining class of a virama, by the standard Unicode."""


def strip_hidden(text: str) -> str:
    """A text without invisible characters, except where they belong to a word or an emoji.

    >>> strip_hidden("ig\\u00adnore\\u202e"), strip_hidden("می\\u200cخواهم") == "می\\u200cخواهم"
    ('ignore', True)
    """
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(keep_if_visible(lambda _: ""), text)


def escape_terminal(text: str) -> str:
    """A text in which nothing is a command for a terminal: controls, except line ends and tabs, are shown as escapes
    that are also valid in JSON.

    >>> print(escape_terminal("\\x1b[2J done"))
    \\u001b[2J done
    """
    return text if text.isprintable() else _TERMINAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def keep_if_visible(replace: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    """A replacement for `re.sub` that leaves a hidden character where it is part of a word or an emoji."""
    return lambda match: match[0] if _is_written(match[0], match.string, match.start()) else replace(match)


def _is_written(char: str, text: str, offset: int) -> bool:
    if char not in _EMOJI_SELECTORS and char not in (_NON_JOINER, _JOINER):
        return False
    before, after = text[offset - 1 : offset], text[offset + 1 : offset + 2]
    if char in _EMOJI_SELECTORS:
        return _is_symbol(before) or (before in "0123456789#*" and after == _KEYCAP)
    if before and unicodedata.combining(before) == _VIRAMA_CLASS:
        return True
    if char == _NON_JOINER:
        while before and unicodedata.category(before) == "Mn":  # vowel marks
            offset -= 1
            before = text[offset - 1 : offset]
        return _is_arabic(before) and _is_arabic(after)
    if after and unicodedata.combining(after) == _VIRAMA_CLASS:
        return before.isalpha()
    if before in _EMOJI_SELECTORS:
        before = text[offset - 2 : offset - 1]
    return _is_symbol(before) and _is_symbol(after)


def _is_symbol(char: str) -> bool:
    """Whether a character is an emoji or another symbol; the tones of skin (Sk) count."""
    return bool(char) and not char.isascii() and unicodedata.category(char) in ("So", "Sm", "Sk")


def _is_arabic(char: str) -> bool:
    return bool(char) and unicodedata.bidirectional(char) == "AL"
