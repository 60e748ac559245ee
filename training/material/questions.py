"""Questions with candidates of all our material and of public data, for the table of word vectors.

A candidate is right where it tells what is asked, at whatever time.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from training.material.development_sets import MEASURED_SETS, TRAINED_SETS, read_development_set
from training.material.files import DEVELOPMENT_SETS, TEST_WORLDS, TRAINING, read_rows
from training.material.matters import make_questions, read_matters, split_matters
from training.material.worlds import World, asked_before, read_worlds, retold, speakers_of

Pack = dict[str, Any]
MEASURED = 1_500
VARIANTS = 2
"""How often each world that is trained on is read with other names and years, besides once as it was written."""
WRONG = 30
"""How many wrong candidates of a question are kept: those that share most words with it."""


def read_questions(
    count: int, public: Iterable[Path], candidates: Path | None, data: Path = DEVELOPMENT_SETS
) -> Iterator[Pack]:
    """Everything: so many questions made of the matters, worlds, talks, test worlds, public data, development sets."""
    train, left_out = split_matters(read_matters())
    yield from make_questions(train, count, seed=7)
    for kind, seed in (("matter", 8), ("wording", 9)):
        for pack in make_questions([each for each in left_out if each["unseen"] == kind], MEASURED, seed):
            yield pack | {"set": f"unseen_{kind}s", "measure": True}
    for name in ("worlds", "talks"):
        yield from questions_of_worlds(read_worlds(TRAINING / name), name, variants=VARIANTS)
    for pack in questions_of_worlds(read_worlds(TEST_WORLDS, "[ab].jsonl"), "strangers", variants=0):
        yield pack | {"measure": True}
    for path in public:
        yield from read_rows(path)
    for name in (*TRAINED_SETS, *MEASURED_SETS) if candidates else ():
        yield from read_development_set(name, candidates, data)


def questions_of_worlds(worlds: Iterable[World], name: str, *, variants: int) -> Iterator[Pack]:
    """The questions about worlds, also with so many other casts of names; with turns that asked the same, if any."""
    rng = random.Random(5)
    for written in worlds:
        cast = random.Random(written["world"])
        for world in [written, *(retold(written, cast) for _ in range(variants))]:
            for asked in world["questions"]:
                candidates = _candidates(asked, world, rng)
                if variants:
                    candidates += asked_before(asked, world, rng)
                    if asked["told_again"]:
                        speaker = rng.choice(speakers_of(world))
                        candidates.append({"t": asked["told_again"], "s": speaker, "p": "", "y": 1})
                yield {"set": name, "q": asked["q"], "answerable": asked["kind"] != "none", "cands": candidates}


def _candidates(asked: dict[str, Any], world: World, rng: random.Random) -> list[dict[str, Any]]:
    """The memories that tell what is asked, and those of the others that share most words with the question."""
    told = {*asked["right"], *asked["stale"]}
    candidates = [
        {"t": memory["text"], "s": memory["speaker"], "p": memory["before"], "y": int(memory["id"] in told)}
        for memory in world["memories"]
    ]
    rng.shuffle(candidates)
    candidates.sort(key=lambda each: -_shared_words(asked["q"], each["t"]))
    return [each for each in candidates if each["y"]] + [each for each in candidates if not each["y"]][:WRONG]


def _shared_words(question: str, text: str) -> int:
    """How many words of some length two texts share, by their beginnings."""
    first, second = ({word[:5] for word in re.findall(r"\w{4,}", each.lower())} for each in (question, text))
    return len(first & second)
