"""What the embedder is trained and measured on, as token arrays.

    python -m training.embedder.encode LISTS/*.jsonl --out embedder.npz

Three parts: the questions of the lists (`training.reader.lists`) with their texts, turns and notes with what they tell,
and whole conversations with questions, which only measure. Names in the arrays begin with "turn_" and "corpus_" for the
last two. Every text is stored once; questions apart from texts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from training.material.files import CHATS, DEVELOPMENT_SETS, TEST_WORLDS, TRAINING, read_folder, read_rows
from training.material.worlds import read_worlds
from training.reader.encode import Texts, open_tokenizer
from training.reader.question_list import QuestionList, read_lists

from remanence.models.readers import BEFORE_WORDS, needs_turn_before, shorten_question

MAX_PIECES = 110
LABELS = ("tells", "state", "event", "plan", "preference", "moderate", "high", "about_user")
"""What is learned of a turn: whether it tells something, of which kinds, how important it is, and of whom."""
UNKNOWN = -1
SOURCES = ("a", "b", "c", "turns", "lives", "projects")
"""Where turns come from; the first three are people in ../shared/chats, of whom c only measures."""
MEASURED_SETS = {"locomo": 1, "realtalk": 1, "longmemeval_pool": 2}
"""Development sets that measure, and which of their questions: all, or every second one."""


class Turn(NamedTuple):
    """A turn or a note, and what is known of it."""

    text: str
    before: str
    labels: list[int]
    source: str


class Corpus(NamedTuple):
    """Texts that a question is asked about, by key, each with the turn before it; and questions with right keys."""

    set: str
    texts: list[tuple[str, str, str]]
    questions: list[tuple[str, list[str]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--chats", type=Path, default=CHATS, help="chats of people with an assistant")
    parser.add_argument("--data", type=Path, default=DEVELOPMENT_SETS, help="the development sets")
    options = parser.parse_args()
    texts = Texts()
    arrays = encode_lists(read_lists(options.lists), texts)
    arrays |= encode_turns([*turns_of_people(options.chats), *other_turns()], texts)
    arrays |= encode_corpora([*test_worlds(), *development_sets(options.data)], texts)
    arrays |= texts.encode(open_tokenizer(), MAX_PIECES, prefix=1)
    np.savez_compressed(options.out, **arrays)
    for name, values in arrays.items():
        print(name, values.shape, values.dtype)


def question_key(question: str) -> str:
    """A question as it is stored: texts that are the same have another number."""
    return f"q{shorten_question(question)}"


def text_key(text: str, before: str = "", title: str = "") -> str:
    """A text as it is stored: with the end of the turn before it where it is not understood alone."""
    if needs_turn_before(text, before):
        said = (before.partition(": ")[2] or before).split()
        text = " ".join([*said[-BEFORE_WORDS:], text])
    return f"t{title}: {text}" if title and not text.startswith(title) else f"t{text}"


def encode_lists(lists: Iterable[QuestionList], texts: Texts) -> dict[str, NDArray[Any]]:
    """The lists that are trained on in which something tells what is asked."""
    sets = Texts()
    questions, set_of, begin, numbers, tells = list[int](), list[int](), [0], list[int](), list[bool]()
    for each in lists:
        if each.measured or not any(line.tells for line in each.lines):
            continue
        questions.append(texts(question_key(each.question)))
        set_of.append(sets(each.set))
        numbers += [texts(text_key(line.text, line.before, line.title)) for line in each.lines]
        tells += [line.tells for line in each.lines]
        begin.append(len(numbers))
    return {
        "question": np.array(questions, np.int32),
        "set": np.array(set_of, np.int16),
        "begin": np.array(begin, np.int32),
        "text": np.array(numbers, np.int32),
        "tells": np.array(tells, bool),
        "sets": np.array(list(sets)),
    }


def encode_turns(turns: Sequence[Turn], texts: Texts) -> dict[str, NDArray[Any]]:
    return {
        "turn_text": np.array([texts(text_key(turn.text, turn.before)) for turn in turns], np.int32),
        "turn_labels": np.array([turn.labels for turn in turns], np.int8),
        "turn_source": np.array([SOURCES.index(turn.source) for turn in turns], np.int8),
    }


def turns_of_people(chats: Path) -> Iterator[Turn]:
    """What people wrote to an assistant."""
    labels = {row["person"]: row["facts"] for row in read_folder(TRAINING / "labels")}
    for source in "abc":
        for person in read_rows(chats / f"{source}.jsonl"):
            known = {fact["id"]: fact for fact in labels.get(person["person"], ())}
            for session in person["sessions"]:
                before = ""
                for turn in session["turns"]:
                    if turn["role"] == "user":
                        facts = [known[fact["id"]] for fact in turn["facts"] if fact["id"] in known]
                        more = _importance(facts) if known and turn["facts"] else [UNKNOWN] * 3
                        yield Turn(turn["text"], before, _kinds(turn["facts"]) + more, source)
                    before = f"assistant: {turn['text']}"


def other_turns() -> Iterator[Turn]:
    """Turns and messages that tell something or do not, and notes about projects."""
    for row in read_folder(TRAINING / "turns"):
        tells = int(row["label"] in ("tells", "both"))
        yield Turn(row["text"], "", [tells] + [UNKNOWN] * 7, "turns")
    for life in read_folder(TRAINING / "lives"):
        for message in life["told"]:
            before = f"assistant: {message['asked']}" if "asked" in message else ""
            yield Turn(message["said"], before, [int(bool(message["facts"]))] + [UNKNOWN] * 7, "lives")
    for project in read_folder(TRAINING / "projects"):
        for note in project["notes"]:
            yield Turn(note["text"], "", _kinds(note["facts"]) + [UNKNOWN] * 3, "projects")


def _kinds(facts: Sequence[dict[str, Any]]) -> list[int]:
    kinds = {"state" if fact["kind"] == "identity" else fact["kind"] for fact in facts}
    return [int(bool(facts)), *(int(name in kinds) for name in LABELS[1:5])]


def _importance(facts: Sequence[dict[str, Any]]) -> list[int]:
    most = max((fact["importance"] for fact in facts), default=0)
    return [int(most >= 2), int(most >= 3), int(any(fact["about"] == "user" for fact in facts))]


def encode_corpora(corpora: Iterable[Corpus], texts: Texts) -> dict[str, NDArray[Any]]:
    """Texts and questions, each with the number of its corpus; a right text is the number of a row."""
    sets, columns = Texts(), {name: list[int]() for name in ("text", "text_of", "question", "question_of", "set")}
    right, begin = list[int](), [0]
    for number, corpus in enumerate(corpora):
        row_of = {key: row for row, (key, _, _) in enumerate(corpus.texts, len(columns["text"]))}
        columns["text"] += [texts(text_key(text, before)) for _, text, before in corpus.texts]
        columns["text_of"] += [number] * len(corpus.texts)
        for question, keys in corpus.questions:
            rows = [row_of[key] for key in keys if key in row_of]
            if rows:
                columns["question"].append(texts(question_key(question)))
                columns["question_of"].append(number)
                columns["set"].append(sets(corpus.set))
                right += rows
                begin.append(len(right))
    columns |= {"right": right, "begin": begin}
    arrays = {f"corpus_{name}": np.array(values, np.int32) for name, values in columns.items()}
    return arrays | {"corpus_sets": np.array(list(sets))}


def test_worlds() -> Iterator[Corpus]:
    """The test worlds that one may look at."""
    for name, files in (("strangers", "[ab].jsonl"), ("writers", "e.jsonl")):
        for world in read_worlds(TEST_WORLDS, files):
            texts = [(memory["id"], memory["text"], memory["before"]) for memory in world["memories"]]
            yield Corpus(name, texts, [(asked["q"], asked["right"]) for asked in world["questions"]])


def development_sets(data: Path) -> Iterator[Corpus]:
    """Conversations of the development sets, with their answerable questions."""
    for name, step in MEASURED_SETS.items():
        texts: dict[str, list[tuple[str, str, str]]] = {}
        last: dict[tuple[str, Any], dict[str, Any]] = {}
        for row in read_rows(data / f"{name}.corpus.jsonl.gz"):
            conversation = row.get("conversation") or ""
            prior = last.get((conversation, row.get("session")), {})
            before = f"{prior['speaker']}: {prior['text']}" if prior.get("speaker") else ""
            texts.setdefault(conversation, []).append((str(row["id"]), row["text"], before))
            last[conversation, row.get("session")] = row
        questions: dict[str, list[tuple[str, list[str]]]] = {}
        for asked in read_rows(data / f"{name}.questions.jsonl.gz"):
            evidence = [str(key) for key in asked.get("evidence") or ()]
            if asked.get("answerable", True) and evidence and asked.get("category") != "adversarial":
                questions.setdefault(asked.get("conversation") or "", []).append((asked["question"], evidence))
        for conversation, some in questions.items():
            yield Corpus(name, texts.get(conversation, []), some[::step])


if __name__ == "__main__":
    main()
