"""Adds lines to lists that say the same of somebody or something else: another name, another code, another speaker.

A question about Lisbon is not answered by what was told of Faro. Lists of one world rarely have such a line, so a
reader that never saw any takes what is told in the same words for the answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from training.reader.question_list import UNKNOWN, Line, QuestionList

SHARE, MOST = 0.5, 2
"""The share of the lists that get such lines, and how many of them at most."""
NEAR = 3
"""How far from the rank of the line that it is made of a new line stands at most."""
KEPT_NAMES = 400
_NAME = re.compile(r"(?<![.!?\"“] )(?<!^)\b[A-Z][a-zà-ÿ]{2,}\b")
_NO_NAMES = frozenset(
    "January February March April May June July August September October November December Monday Tuesday Wednesday "
    "Thursday Friday Saturday Sunday English French German Spanish Italian Christmas Easter".split()
)


def with_near_duplicates(lists: Iterable[QuestionList], seed: int = 11) -> Iterator[QuestionList]:
    """The lists, some of those that are trained on with lines about another name than the one asked about."""
    rng = random.Random(seed)
    names: list[str] = []
    for each in lists:
        asked = names_of(each.question)
        if asked and names and not each.measured and rng.random() < SHARE:
            each = _with_others(each, asked, names, rng)
        names = [*names, *(name for name in asked if name not in names)][-KEPT_NAMES:]
        yield each


def names_of(question: str) -> list[str]:
    """The names in a question.

    >>> names_of("When did Ana move to Lisbon in May?")
    ['Ana', 'Lisbon']
    """
    return [name for name in dict.fromkeys(_NAME.findall(question)) if name not in _NO_NAMES]


def _with_others(given: QuestionList, asked: list[str], names: list[str], rng: random.Random) -> QuestionList:
    lines = list(given.lines)
    days = [line.day for line in lines]
    telling = [line for line in lines if line.tells and any(_is_about(line, name) for name in asked)]
    for line in rng.sample(telling, min(MOST, len(telling))):
        name = rng.choice([name for name in asked if _is_about(line, name)])
        other = rng.choice(names)
        if other in given.question or any(other in each.text for each in lines):
            continue
        text = re.sub(rf"\b{re.escape(name)}\b", other, line.text)
        speaker = other if line.speaker == name else line.speaker
        made = replace(
            line, text=text, speaker=speaker, day=rng.choice(days), answers=False, tells=False, replaced=UNKNOWN
        )
        rank = lines.index(line)
        lines.insert(max(0, min(len(lines), rank + rng.randint(-NEAR, NEAR))), replace(made, made=True))
    return replace(given, lines=lines)


def _is_about(line: Line, name: str) -> bool:
    return line.speaker == name or re.search(rf"\b{re.escape(name)}\b", line.text) is not None
