"""Makes the thesaurus: words whose vectors in the default embedder's table are close to each other.

    python benchmarks/build_thesaurus.py > src/remanence/text/lexicon/thesaurus.txt

Only words of the table in lower case: names are close to other names, and a question about Anna does not ask
for Maria. Two words of which one begins with the other are forms or parts of one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from remanence.models.embedders import TABLE, StaticEmbedder, load_table
from remanence.text.text import STOP_WORDS, TOKENIZER_VERSION, tokens

MIN_SIMILARITY = 0.4
MAX_RELATED = 5
BATCH_SIZE = 512
WORD_START = "\u2581"


def thesaurus_lines() -> Iterator[str]:
    """The lines of the file."""
    embedder = StaticEmbedder()
    words = [word for word in vocabulary() if word not in STOP_WORDS and len(tokens(word)) == 1]
    stems = [tokens(word)[0] for word in words]
    vectors = embedder.embed(words)
    related: dict[str, dict[str, int]] = {}
    for start in range(0, len(words), BATCH_SIZE):
        similarities = vectors[start : start + BATCH_SIZE] @ vectors.T
        for row, column in zip(*np.nonzero(similarities >= MIN_SIMILARITY), strict=True):
            word, other = stems[start + row], stems[column]
            if not (word.startswith(other) or other.startswith(word)):
                percent = int(100 * similarities[row, column])
                others = related.setdefault(word, {})
                others[other] = max(percent, others.get(other, 0))
    yield f"# {embedder.fingerprint} {TOKENIZER_VERSION}"
    for word, others in sorted(related.items()):
        nearest = sorted(others.items(), key=lambda item: (-item[1], item[0]))[:MAX_RELATED]
        yield " ".join([word, *(f"{other} {percent}" for other, percent in nearest)])


def vocabulary() -> list[str]:
    """The lower-case words of three letters or more that are one piece of the table."""
    pieces = load_table(TABLE).tokenizer.get_vocab()
    words = (piece[1:] for piece in pieces if piece[0] == WORD_START)
    return sorted(word for word in words if re.fullmatch("[a-z]{3,}", word))


if __name__ == "__main__":
    print(*thesaurus_lines(), sep="\n")
