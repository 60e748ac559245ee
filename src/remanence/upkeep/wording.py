"""Several texts as one, with every sentence once and none lost."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from remanence.extractors.lexicon import ABBREVIATIONS
from remanence.text import normal_text, tokens

if TYPE_CHECKING:
    from remanence.ports import Extractor

log = logging.getLogger(__name__)

_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s+|[。！？]+[」』”]*\s*|\n+")
_LAST_WORD = re.compile(r"([\w.]+)\.$")
_CLOSED = re.compile(r"[.!?…。！？:;][\"'”’)\]」』]*$")
_COVERED = 0.8


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, every character of them.

    >>> list(sentences('Dr. Who said "go." Then she left\\nHe stayed!'))
    ['Dr. Who said "go."', 'Then she left', 'He stayed!']
    """
    start = 0
    for found in _END.finditer(text):
        piece = text[start : found.end()].strip()
        if "\n" not in found.group() and _is_abbreviated(piece):
            continue
        if piece:
            yield piece
        start = found.end()
    if rest := text[start:].strip():
        yield rest


def merged(texts: Sequence[str]) -> str:
    """All of these texts, in this order, each sentence once.

    >>> merged(["Alice likes tea. She is from Porto.", "Alice likes  tea", "Bob likes tea"])
    'Alice likes tea. She is from Porto. Bob likes tea.'
    """
    kept: dict[str, str] = {}
    for sentence in (sentence for text in texts for sentence in sentences(text)):
        kept.setdefault(form(sentence), sentence)
    return _spoken(kept.values())


def form(sentence: str) -> str:
    """What two writings of one sentence have in common.

    >>> form("Alice likes  Tea.") == form("alice likes tea")
    True
    """
    return normal_text(sentence).rstrip(". ")


def written(extractor: Extractor, texts: Sequence[str]) -> tuple[str, str]:
    """These texts as one, and by whom: the extractor, if it has a `merge(texts)` that answers, or the rules.

    What a model leaves out is put behind what it wrote, so that no sentence is lost with it either.
    """
    answer = _asked(extractor, texts)
    if not isinstance(answer, str) or not answer.strip():
        return merged(texts), "rules"
    said = set(tokens(answer))
    wanted = (sentence for text in texts for sentence in sentences(text))
    lacking = [sentence for sentence in wanted if not _is_covered(sentence, said)]
    return merged([answer.strip(), *lacking]), extractor.name


def _asked(extractor: Extractor, texts: Sequence[str]) -> object:
    ask = getattr(extractor, "merge", None)
    try:
        return ask(list(texts)) if callable(ask) else None
    except Exception as error:  # noqa: BLE001  -- it is the caller's code, and anything may come out of it
        log.warning("the extractor could not merge %d memories, so the rules do: %s", len(texts), error)
        return None


def _is_covered(sentence: str, said: set[str]) -> bool:
    """Whether nearly every word of a sentence stands in what was said."""
    words = set(tokens(sentence))
    return bool(words) and len(words & said) >= _COVERED * len(words)


def _spoken(pieces: Iterable[str]) -> str:
    return " ".join(piece if _CLOSED.search(piece) else f"{piece}." for piece in pieces)


def _is_abbreviated(piece: str) -> bool:
    word = _LAST_WORD.search(piece[-12:])
    return word is not None and (
        word[1].lower() in ABBREVIATIONS or (len(word[1]) == 1 and word[1].isupper())
    )
