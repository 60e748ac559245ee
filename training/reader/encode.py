"""The lists as token arrays, for training on a machine that has only torch.

    python -m training.reader.encode LISTS/*.jsonl --out reader.npz

Every text is stored once. A line is the number of its text, in the form in which `remanence.models.readers` gives
it to the reader.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from training.reader.near_duplicates import with_near_duplicates
from training.reader.question_list import Line, QuestionList, read_lists

from remanence.models.readers import as_line, day_text, needs_turn_before, shorten_question
from remanence.models.text_model import FOLDER
from remanence.ports import ReaderLine
from remanence.recall.question import parse_question

MAX_PIECES = 64
BATCH = 20_000
WRITTEN_SETS = ("worlds", "late", "talks", "team", "revoked", "projects", "chat", "standing")
"""Our own sets, of which one world in twelve measures and is not trained on."""
NO_DAY = -1
TYPES = {
    "question": "i4", "asked_on": "i4", "moment": "i4", "begin": "i4", "set": "i2", "world": "i4", "wanted": "i2",
    "measured": "?", "answerable": "?", "text": "i4", "day_text": "i4", "day": "i4", "answers": "i1", "tells": "i1",
    "replaced": "i1", "made": "?",
}  # fmt: skip


class Texts:
    """Every text once, by a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def encode(self, tokenizer: Tokenizer, most: int, prefix: int = 0) -> dict[str, NDArray[Any]]:
        """The word pieces of all texts after one another, and how many each has. The first characters, `prefix` of
        them, are not part of the texts."""
        texts, pieces = list(self._numbers), list[NDArray[np.uint16]]()
        for start in range(0, len(texts), BATCH):
            part = [text[prefix:] for text in texts[start : start + BATCH]]
            encoded = tokenizer.encode_batch(part, add_special_tokens=False)
            pieces += [np.array(each.ids[:most], np.uint16) for each in encoded]
        lengths = np.array([len(each) for each in pieces], np.uint8)
        return {"pieces": np.concatenate(pieces), "lengths": lengths}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    arrays = encode(with_near_duplicates(read_lists(options.lists)), open_tokenizer())
    np.savez_compressed(options.out, **arrays)
    for name, values in arrays.items():
        print(name, values.shape, values.dtype)


def open_tokenizer() -> Tokenizer:
    """The tokenizer of the models that come with the package."""
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def encode(lists: Iterable[QuestionList], tokenizer: Tokenizer) -> dict[str, NDArray[Any]]:
    """Lists as arrays: those of `question` to `answerable` have an item for each list, the others one for each line."""
    texts, sets, worlds = Texts(), Texts(), Texts()
    columns: dict[str, list[int]] = {name: [] for name in TYPES}
    columns["begin"].append(0)
    for each in lists:
        question = shorten_question(each.question)
        row = {
            "question": texts(question),
            "asked_on": texts(f"asked {day_text(date.fromisoformat(each.asked_on))}:"),
            "moment": moment_of(each.question, each.asked_on),
            "begin": columns["begin"][-1] + len(each.lines),
            "set": sets(each.set),
            "world": worlds(each.world),
            "wanted": each.wanted,
            "measured": is_measured(each),
            "answerable": each.answerable,
        }
        for values in (row, *(_line_values(question, line, texts) for line in each.lines)):
            for name, value in values.items():
                columns[name].append(value)
    arrays = {name: np.array(values, TYPES[name]) for name, values in columns.items()}
    return arrays | texts.encode(tokenizer, MAX_PIECES) | {"sets": np.array(list(sets))}


def _line_values(question: str, line: Line, texts: Texts) -> dict[str, int]:
    before = line.before if needs_turn_before(line.text, line.before) else ""
    read = as_line(question, ReaderLine(line.text, speaker=line.speaker, title=line.title, before=before))
    day = date.fromisoformat(line.day) if line.day else None
    return {
        "text": texts(read),
        "day_text": texts(f"{day_text(day)}:") if day else NO_DAY,
        "day": day.toordinal() if day else 0,
        "answers": line.answers,
        "tells": line.tells,
        "replaced": line.replaced,
        "made": line.made,
    }


def is_measured(given: QuestionList) -> bool:
    """Whether a list is left out of training."""
    number = int(hashlib.sha256(given.world.encode()).hexdigest(), 16)
    return given.measured or (given.set in WRITTEN_SETS and number % 12 == 0)


@lru_cache(maxsize=100_000)
def moment_of(question: str, asked_on: str) -> int:
    """The last day of the past time that a question names, or the day on which it is asked, as a number."""
    now = datetime.fromisoformat(asked_on).replace(tzinfo=timezone.utc)
    ends = [window.end for window in parse_question(question, now).times if window.end is not None]
    return next((end for end in ends if end <= now), now).toordinal()


if __name__ == "__main__":
    main()
