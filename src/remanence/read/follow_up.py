"""Questions that are understood only with the turns before them: "What should she avoid?", "And staging?", "Why?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from remanence.language.named_entities.name_rules import find_question_names
from remanence.language.text import tokens
from remanence.schema import SELF

CONTEXT_TURNS = 4
"""How many turns before a question are used."""
_MAX_TURN_WORDS = 24
_MIN_WORDS = 3
"""A question with fewer content words does not name its topic."""
_REFERS_BACK = re.compile(
    r"\b(?:he|she|him|her|hers|his|they|them|their|theirs|it|its|there|here|then|these|those|"
    r"(?:that|this|the|which|other|same) (?:one|ones|other|same|day|time|place|first|second|last)|"
    r"the (?:other|same))\b|"
    r"\b(?:that|this)(?=\W*$|'s| is| was)|"
    r"^\W*(?:and|but|or|so|then|yes|yeah|yep|no|nope|ok|okay|what about|how about|why|who else|what else|because)\b",
    re.IGNORECASE,
)
_HE_OR_SHE = re.compile(r"\b(?:he|she|him|her|hers|his)\b", re.IGNORECASE)
_AFTER_MY = re.compile(r"\bmy (\w+(?: \w+)?)", re.IGNORECASE)
_SPEAKER = re.compile(r"^(?:user|assistant): ")


def is_follow_up(question: str, names: Sequence[str]) -> bool:
    """Whether a question refers to the turns before it. `names` are the names in it: a pronoun may refer to
    one of them.

    >>> is_follow_up("What should she avoid?", []), is_follow_up("Where does Ana keep her keys?", ["Ana"])
    (True, False)
    """
    if len(tokens(question)) < _MIN_WORDS:
        return True
    return not names and _REFERS_BACK.search(question) is not None


def referred_person(question: str, turns: Sequence[str]) -> frozenset[str]:
    """The words for the person that "he" or "she" in a question refers to: the names, and what follows "my", in the
    last of the user's turns that has any. None if the question names somebody itself.

    >>> sorted(referred_person("What should she avoid?", ["Let's plan a dinner for my sister Ana.", "For eight."]))
    ['ana', 'sister']
    """
    if not _HE_OR_SHE.search(question) or any(name != SELF for name in find_question_names(question)):
        return frozenset()
    for turn in reversed(turns[-CONTEXT_TURNS:]):
        names = [name for name in find_question_names(turn) if name != SELF]
        words = [match[1] for match in _AFTER_MY.finditer(turn)]
        if names or words:
            return frozenset(tokens(" ".join([*names, *words])))
    return frozenset()


def search_text(question: str, turns: Sequence[str]) -> str:
    """The text to search for: the question, and the last turn of the same speaker before it."""
    user_turns = [turn for turn in turns if not turn.startswith("assistant: ")]
    return f"{_SPEAKER.sub('', user_turns[-1])} {question}" if user_turns else question


def reader_text(question: str, turns: Sequence[str]) -> str:
    """The text for the reader: the last turns, each shortened, and the question. Readers are trained on this form.

    >>> reader_text("What should she avoid?", ["user: Ana comes to dinner.", "assistant: How nice!"])
    'user: Ana comes to dinner. assistant: How nice! user: What should she avoid?'
    """
    return " ".join([*map(_shorten_turn, turns[-CONTEXT_TURNS:]), f"user: {question}"])


def _shorten_turn(turn: str) -> str:
    words = turn.split()
    if len(words) <= _MAX_TURN_WORDS:
        return turn
    speaker = _SPEAKER.match(turn)
    return f"{speaker[0] if speaker else ''}... {' '.join(words[-_MAX_TURN_WORDS:])}"
