"""Whether answering a chat message needs what is remembered about the speaker, judged by its words in microseconds.

`recall_need.txt` has a weight for each word and each pair of neighbouring words, learned by training/recall_need.py
from messages that people labelled. What the message only quotes ("translate: ...") does not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

WEIGHTS_FILE = Path(__file__).with_suffix(".txt")
CONSTANT = "<constant>"
_MAX_LENGTH = 4_000  # characters: the purpose of a long message shows early
_SHORT_MESSAGE = 4
_MAX_EVIDENCE_WORDS = 3
_QUOTATION = re.compile(r"[\"“”«»`][^\"“”«»`]*[\"“”«»`]|(?<!\w)['‘][^'‘’]+['’](?!\w)|:\s.{25,}\Z", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\?|\d+")
_NAME = re.compile(r"[a-z,] [A-Z][a-z]+")


def need_of_memory(message: str) -> float:
    """The probability that a good answer needs the memories of the speaker.

    >>> need_of_memory("What did I say about the landlord?") > 0.9, need_of_memory("What is 2 + 2?") < 0.2
    (True, True)
    """
    weights = _weights()
    total = weights[CONSTANT] + sum(weights.get(feature, 0.0) for feature in message_features(message))
    return 1 / (1 + math.exp(-total))


def evidence_words(message: str) -> list[str]:
    """The words of a message that are the strongest evidence for a need of memory.

    >>> evidence_words("Remind me what my sister is called.")[0]
    'my'
    """
    weights = _weights()
    features = sorted(message_features(message), key=lambda feature: (-weights.get(feature, 0.0), feature))
    return [
        feature for feature in features[:_MAX_EVIDENCE_WORDS] if weights.get(feature, 0.0) > 0 and "<" not in feature
    ]


def message_features(message: str) -> set[str]:
    """The words and pairs of words by which a message is judged.

    >>> sorted(message_features("My dog?"))
    ['<short>', '<start> my', '?', 'dog', 'dog ?', 'my', 'my dog']
    """
    head = message[:_MAX_LENGTH].replace("’", "'")
    own = _QUOTATION.sub(" <quotation> ", head)
    words = ["<number>" if word.isdigit() else word for word in _WORD.findall(own.replace("<quotation>", "").lower())]
    features = set(words) | {f"{first} {second}" for first, second in zip(["<start>", *words], words, strict=False)}
    if own != head:
        features.add("<quotation>")
    if len(words) < _SHORT_MESSAGE:
        features.add("<short>")
    if _NAME.search(own):
        features.add("<name>")
    return features


@lru_cache(1)
def _weights() -> Mapping[str, float]:
    rows = (line.split("\t") for line in WEIGHTS_FILE.read_text(encoding="utf-8").splitlines())
    return {feature: float(weight) for feature, weight in rows}
