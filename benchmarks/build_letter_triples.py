"""Make `letter_triples.txt`: how often three letters follow each other, in each language that is told by them.

    pip download langdetect==1.0.9 --no-deps --no-binary :all: && tar xzf langdetect-1.0.9.tar.gz
    python benchmarks/build_letter_triples.py langdetect-1.0.9/langdetect/profiles

The counts are those of langdetect's profiles, taken from Wikipedia.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from math import log2
from pathlib import Path

LANGUAGES = "en de nl da no sv fi et hu es pt ca fr it ro tr pl cs lt id".split()
KEPT = 1_000
"""Triples of each language; those that are rarer tell little."""
HEAD = """\
# How often three letters follow each other ("_" is the edge of a word): for each language the triples, each with two
# digits, four times the binary logarithm of how many there are in a million letters. From the profiles of
# langdetect 1.0.9 (Apache License 2.0, Copyright 2010-2014 Cybozu Labs, Inc.) by benchmarks/build_letter_triples.py."""


def letter_triples(profiles: Path) -> Iterator[str]:
    """The lines of the file."""
    yield HEAD
    for language in LANGUAGES:
        profile = json.loads((profiles / language).read_text("utf-8"))
        total = profile["n_words"][2]
        counts = {
            triple.replace(" ", "_"): count
            for triple, count in profile["freq"].items()
            if len(triple) == 3 and triple == triple.lower() and triple.replace(" ", "").isalpha()
        }
        kept = sorted(counts, key=lambda triple: (-counts[triple], triple))[:KEPT]
        values = ((triple, round(4 * log2(counts[triple] / total * 1e6))) for triple in sorted(kept))
        yield f"{language} " + "".join(f"{triple}{min(max(value, 0), 99):02}" for triple, value in values)


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "src" / "remanence" / "text" / "lexicon" / "letter_triples.txt"
    target.write_text("\n".join(letter_triples(Path(sys.argv[1]))) + "\n", "utf-8")
