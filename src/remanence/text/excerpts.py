"""The sentences of a long text around what is asked, for a prompt that has no room for the whole text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from remanence.text.lexicon.word_lists import related_words
from remanence.text.text import split_sentences, split_words, tokens

MAX_CHARACTERS = 320
"""Characters of a text that are quoted, about 80 tokens. A longer text is quoted in part."""
_BLOCK = 8_000
"""Characters of a very long text that are looked at sentence by sentence: the block with most words of the question."""

_CACHED_TEXTS = 8
"""Very long texts whose words are kept, the last ones: each later question may find a pasted log again."""


def excerpt(text: str, question: str, limit: int = MAX_CHARACTERS) -> str:
    """About `limit` characters of a text at most: all of it, or its sentences that have most to do with a question and
    those beside them, with a mark at each cut.

    >>> text = "It was Monday. It rained all day. The ferry to Elba was late. Nobody minded. We slept well."
    >>> excerpt(text, "Which ferry was late?", 60)
    '[…] It rained all day. The ferry to Elba was late. […]'
    """
    if len(text) <= limit:
        return text
    start, block = likely_block(text, question)
    if block != text:
        part = excerpt(block.strip(), question, limit)
        before, after = start > 0 and not part.startswith("[…]"), start + len(block) < len(text)
        return f"{'[…] ' * before}{part}{' […]' * (after and not part.endswith('[…]'))}"
    pieces = [part for sentence in split_sentences(text) for part in _parts(sentence, limit)]
    chosen = _chosen(pieces, _weights(pieces, question), limit)
    shown: list[str] = []
    for number in sorted(chosen):
        if number and number - 1 not in chosen:
            shown.append("[…]")
        shown.append(pieces[number])
    return " ".join([*shown, "[…]"] if len(pieces) - 1 not in chosen else shown)


def likely_block(text: str, question: str) -> tuple[int, str]:
    """Where the part of a very long text begins that has most words of a question, and that part; of any other text
    all of it."""
    if len(text) <= 2 * _BLOCK:
        return 0, text
    asked = {f" {word[:6]}" for word in tokens(question[:_BLOCK])}
    counts = [sum(word in words for word in asked) for words in _words_of_blocks(text)]
    start = _BLOCK * counts.index(max(counts))
    return start, text[start : start + _BLOCK]


@lru_cache(_CACHED_TEXTS)
def _words_of_blocks(text: str) -> list[str]:
    """The words of each block of a text, a space before each."""
    starts = range(0, len(text), _BLOCK)
    return [f" {' '.join(split_words(text[start : start + _BLOCK]))}" for start in starts]


def _parts(sentence: str, limit: int) -> list[str]:
    """A sentence, or pieces of it of a third of the limit where it is longer: a list, a table, a text without marks."""
    size = max(1, limit // 3)
    if len(sentence) <= size:
        return [sentence]
    parts, start = [], 0
    while len(sentence) - start > size:
        space = sentence.rfind(" ", start + size // 2, start + size)
        end = space if space > 0 else start + size
        parts.append(sentence[start:end].strip())
        start = end
    return [*parts, sentence[start:].strip()]


def _weights(pieces: Sequence[str], question: str) -> list[float]:
    """How much each piece has to do with a question: words of it, and related ones, the rarer in the text the more."""
    asked = set(tokens(question))
    words = [set(tokens(piece)) for piece in pieces]
    frequency = Counter(word for own in words for word in own)
    worth = dict.fromkeys(asked, 1.0)
    for word in asked:
        for other, similarity in related_words(word):
            worth.setdefault(other, similarity**2)
    return [sum(worth[word] / frequency[word] for word in own & worth.keys()) for own in words]


def _chosen(pieces: Sequence[str], weights: Sequence[float], limit: int) -> set[int]:
    """The numbers of the pieces that are quoted: those of the greatest weight, and then the neighbours of the first, as
    far as the limit goes; without any weight the beginning."""
    by_weight = sorted(range(len(pieces)), key=lambda number: (-weights[number], number))
    best = by_weight[0]
    beside = [number for distance in range(1, len(pieces)) for number in (best + distance, best - distance)]
    wanted = [number for number in by_weight if weights[number]] or [best]
    chosen, left = set[int](), limit
    for number in [*wanted, *beside]:
        if number in chosen or not 0 <= number < len(pieces):
            continue
        if chosen and len(pieces[number]) > left:
            if number not in wanted:
                break
            continue
        chosen.add(number)
        left -= len(pieces[number]) + 1
    return chosen
