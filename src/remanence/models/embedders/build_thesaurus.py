"""Makes the thesaurus: words whose vectors in the default embedder's table are near each other.

    python -m remanence.models.embedders.build_thesaurus > src/remanence/thesaurus.txt

Only whole words of the table in small letters: names are akin to names, and whoever asks for Anna does not
want Maria. Words of which one begins with the other are forms of one word, or halves of words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from remanence.language.text import STOP_WORDS, TOKENIZER_VERSION, tokens
from remanence.models.embedders.static import StaticEmbedder

NEAR = 0.4
_MOST = 5
_AT_ONCE = 512


def thesaurus_lines() -> Iterator[str]:
    """The lines of the file."""
    embedder = StaticEmbedder()
    words = [word for word in embedder.vocabulary() if word not in STOP_WORDS and len(tokens(word)) == 1]
    stems = [tokens(word)[0] for word in words]
    vectors = embedder.embed(words)
    near: dict[str, dict[str, int]] = {}
    for start in range(0, len(words), _AT_ONCE):
        alike = vectors[start : start + _AT_ONCE] @ vectors.T
        for at, other in zip(*np.nonzero(alike >= NEAR), strict=True):
            one, two = stems[start + at], stems[other]
            if not (one.startswith(two) or two.startswith(one)):
                nearness = int(100 * alike[at, other])
                kin = near.setdefault(one, {})
                kin[two] = max(nearness, kin.get(two, 0))
    yield f"# {embedder.fingerprint} {TOKENIZER_VERSION}"
    for word, kin in sorted(near.items()):
        nearest = sorted(kin.items(), key=lambda item: (-item[1], item[0]))[:_MOST]
        yield " ".join([word, *(f"{other} {nearness}" for other, nearness in nearest)])


if __name__ == "__main__":
    print(*thesaurus_lines(), sep="\n")
