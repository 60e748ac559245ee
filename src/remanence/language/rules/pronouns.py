"""Where a text speaks in the first person."""

from __future__ import annotations

import re

from remanence.language.rules.lexicon import WORDS_BEFORE_NUMERAL
from remanence.language.rules.marked_names import NameSpan
from remanence.schema import SELF


def find_first_person_singular(text: str, speaker: str = SELF) -> list[NameSpan]:
    """Where the text speaks of its speaker alone, as names of the person so `called`.

    >>> [name.start for name in find_first_person_singular("I gave my dog a bone, and we left.")]
    [0, 7]
    """
    return [name for name in find_first_person(text, speaker) if not is_first_person_plural(text, name)]


def find_first_person(text: str, speaker: str = SELF) -> list[NameSpan]:
    """Where the text speaks in the first person: what "we" do and what is "ours", the speaker does and has.

    >>> [name.start for name in find_first_person("I gave our dog a bone, and we left.")]
    [0, 7, 27]
    """
    return [
        NameSpan(speaker, "person", *match.span())
        for match in _FIRST_PERSON.finditer(text)
        if match.group() != "I" or not _is_number(text, match.start())
    ]


def is_first_person_plural(text: str, name: NameSpan) -> bool:
    """Whether this name is a "we" or an "our": it is of others too, and in a title of nobody."""
    return text[name.start : name.end] in _US


_US = frozenset(("we", "We", "our", "Our"))
_FIRST_PERSON = re.compile(  # a letter first: the search for it is the fast part
    r"[IiMmWwOo](?<![\w.@#'’&-].)(?:(?<=[Ii])(?!\.\w|[\w&@-])|(?<=[Mm])(?:e|y|ine|yself)(?![\w&@-])"
    r"|(?<=[Ww])e(?=['’ ])|(?<=[Oo])ur(?= ))"
)


def _is_number(text: str, start: int) -> bool:
    """Whether an "I" is a number: World War I, Elizabeth I."""
    if start < 2 or text[start - 1] != " " or not text[start - 2].isalpha():
        return False
    word = text[text.rfind(" ", max(0, start - 20), start - 1) + 1 : start - 1]
    return word[0].isupper() and word.lower() in WORDS_BEFORE_NUMERAL
