"""Everything the training reads, as arrays: token ids of all texts, questions with candidates, pairs of statements.

    python training/prepare.py OUT --base FOLDER --external FOLDER [--dumps FOLDER --data FOLDER] [--questions 60000]

FOLDER of --base holds model.onnx and tokenizer.json of ms-marco-MiniLM-L-12-v2 (`remanence models get`), that of
--external the questions with candidates from public data (see README.md), that of --dumps the candidates of recall for
development sets (`candidates.py`). Runs on a plain machine in a few minutes; the training itself wants a GPU.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from askings import read_turns
from chats import in_chats, read_chats
from generate import RELATIONS, make_questions, read_matters, split_matters
from tokenizers import Tokenizer
from written import read_lives, read_strangers, read_written, shared_words

from remanence.models.reader_input import as_passage, needs_turn_before, shorten_question, with_question

Packs = list[dict[str, Any]]
VOCABULARY = 21_000
"""How many word pieces are kept. They are in the order of how common they are, so rare words become several pieces."""
MAX_QUESTION, MAX_PASSAGE = 88, 150
MAX_EARLIER, MAX_LATER = 117, 117
"""The same of two statements that are compared for a question, which stands before the earlier one."""
IN_CHATS = 6_000
"""How many questions are also asked at the end of a chat."""
TRAINED_SETS = ("longmemeval_pool", "hotpotqa_1000", "2wiki_1000", "musique_300", "timeqa_human")
"""The development sets whose licence allows training; one question in three is left out to measure."""
UNRELATED_SETS = ("friendsqa", "molweni", "qmsum", "realmem", "squad", "longmemeval_pool", "hotpotqa_1000")
"""Sets in which texts seldom take back what others say."""
MEASURED_SETS = ("locomo", "realtalk", "beam_100k")
"""Sets that take no part in training."""


def main() -> None:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer, kept = smaller_tokenizer(options.base / "tokenizer.json", options.out / "tokenizer.json")
    ours, others, pairs = read_sources(options)
    packs = [*ours, *others, *in_chats(ours, IN_CHATS), *read_chats(), *read_turns()]
    random.Random(1).shuffle(pairs["train"])
    made = pairs | {"train": pairs["train"][:250_000], "beside": list(beside(packs))} | pairs_for_questions(packs)
    arrays = encode(packs)
    arrays |= encode_pairs(made, arrays.pop("store"), tokenizer)
    np.savez_compressed(options.out / "data.npz", kept=np.array(kept, np.int32), **arrays)
    for name, array in arrays.items():
        print(name, array.shape, array.dtype)


def read_sources(
    options: argparse.Namespace,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, list[Any]]]:
    """The questions of our own material, all others, and the pairs of statements by what they are for."""
    train, left_out = split_matters(read_matters())
    questions, pairs = make_questions(train, options.questions, seed=7)
    unseen, unseen_pairs = make_questions([m for m in left_out if m["unseen"] == "matter"], 1_500, seed=8)
    worded, worded_pairs = make_questions([m for m in left_out if m["unseen"] == "wording"], 1_500, seed=9)
    for each in unseen:
        each |= {"set": "unseen_matters", "measure": True}
    for each in worded:
        each |= {"set": "unseen_wordings", "measure": True}
    written, written_pairs = read_written()
    strange, strange_pairs = read_strangers()
    others = unseen + worded + strange
    for file in (options.external / "external.jsonl.xz", options.external / "unlabelled.jsonl.xz", *options.more):
        if file.name.endswith(".pairs.jsonl.xz"):
            written_pairs += read_xz(file)
            continue
        read = list(read_xz(file))
        others += read + list(swap_speakers(read))
    if options.dumps:
        for name in TRAINED_SETS + MEASURED_SETS:
            others += read_dump(name, options.data, options.dumps)
    made = {"train": pairs, "written": written_pairs, "matters": unseen_pairs, "wordings": worded_pairs}
    made["lives"], made["unseen_lives"] = read_lives()
    return questions + written, others, made | {"strangers": strange_pairs}


def swap_speakers(packs: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Questions about a speaker asked of another speaker of the same talk: nothing there answers them."""
    rng = random.Random(3)
    for pack in packs:
        speakers = sorted({cand["s"].split()[0] for cand in pack["cands"] if cand.get("s")} - {"user", "assistant"})
        named = [name for name in speakers if len(name) > 2 and re.search(rf"\b{re.escape(name)}\b", pack["q"])]
        others = [name for name in speakers if name not in named and len(name) > 2]
        if len(named) == 1 and others and not pack.get("soft"):
            asked = re.sub(rf"\b{re.escape(named[0])}\b", rng.choice(others), pack["q"])
            cands = [cand | {"y": 0} for cand in pack["cands"]]
            yield pack | {"set": "swapped", "q": asked, "answerable": False, "cands": cands}


def beside(packs: Iterable[dict[str, Any]], count: int = 2) -> Iterator[dict[str, Any]]:
    """Statements about like things, of which the later does nothing to the earlier: candidates for one question of
    which at most one answers it."""
    rng = random.Random(4)
    for pack in packs:
        if pack["set"] in UNRELATED_SETS and not pack.get("measure"):
            near = sorted(pack["cands"], key=lambda cand: -shared_words(pack["q"], cand["t"]))[:10]
            pairs = [(a, b) for a in near for b in near if a is not b and not (a["y"] and b["y"])]
            for earlier, later in rng.sample(pairs, min(len(pairs), count)):
                yield {"earlier": earlier, "later": later, "relation": "none"}


def pairs_for_questions(packs: Packs) -> dict[str, Packs]:
    """The pairs of statements that questions have, by what they are for."""
    kinds = {
        "asked": ("matters",),
        "asked_written": ("worlds", "talks", "askings"),
        "asked_strangers": ("strangers",),
        "asked_unseen": ("unseen_askings",),
    }
    return {
        name: [pair for pack in packs if pack["set"] in sets for pair in pack.get("pairs", ())]
        for name, sets in kinds.items()
    }


def read_dump(name: str, data: Path, dumps: Path) -> list[dict[str, Any]]:
    """The questions of a development set with recall's first fifty."""
    rows, before, last = {}, {}, {}
    for row in _read_gz(data / f"{name}.corpus.jsonl.gz"):
        key = (row.get("conversation") or "", str(row["id"]))
        rows[key] = row
        home = key[0], row.get("session")
        before[key] = last.get(home)
        last[home] = row if row.get("speaker") else None
    packs = []
    for row in _read_gz(dumps / f"{name}.jsonl.gz"):
        cands = []
        for key, score, *_ in row["cands"]:
            item, prior = rows[row["conversation"], key], before[row["conversation"], key]
            cands.append(
                {
                    "t": item["text"],
                    "s": item.get("speaker"),
                    "title": "" if item.get("speaker") else (item.get("session") or "").replace("_", " "),
                    "p": f"{prior['speaker']}: {prior['text']}" if prior else "",
                    "y": int(key in row["evidence"]),
                    "f": score,
                }
            )
        measured = name in MEASURED_SETS or int(hashlib.sha256(f"{name}{row['id']}".encode()).hexdigest(), 16) % 3 == 0
        packs.append(
            {
                "set": name,
                "q": row["question"],
                "answerable": row["answerable"],
                "measure": measured,
                "wanted": len(row["evidence"]),
                "cands": cands,
            }
        )
    return packs


class Store:
    """Every text once, as token ids."""

    def __init__(self) -> None:
        self.number: dict[tuple[str, int], int] = {}

    def __call__(self, text: str, most: int) -> int:
        return self.number.setdefault((text, most), len(self.number))


def encode(packs: list[dict[str, Any]]) -> dict[str, Any]:
    """Packs as arrays; a candidate is the number of its text."""
    store = Store()
    names = sorted({pack["set"] for pack in packs})
    sets, asked, begin, cands, labels, asks, fused, flags, wanted = [], [], [0], [], [], [], [], [], []
    for pack in packs:
        question = shorten_question(pack["q"])
        known = pack.get("answerable", True)
        asked.append(store(question, MAX_QUESTION))
        for cand in pack["cands"]:
            cands.append(store(passage_of(pack["q"], cand), MAX_PASSAGE))
            labels.append(cand["y"] if known else 0)
            asks.append(cand.get("asks", 0))
            fused.append(cand.get("f", 0.0))
        begin.append(len(cands))
        sets.append(names.index(pack["set"]))
        flags.append(4 * bool(pack.get("measure")) + 2 * bool(pack.get("soft")) + bool(known))
        wanted.append(pack.get("wanted", 0))
    return {
        "store": store,
        "names": np.array(names),
        "sets": np.array(sets, np.int16),
        "asked": np.array(asked, np.int32),
        "begin": np.array(begin, np.int64),
        "cands": np.array(cands, np.int32),
        "labels": np.array(labels, np.int8),
        "asks": np.array(asks, bool),
        "fused": np.array(fused, np.float32),
        "flags": np.array(flags, np.int8),
        "wanted": np.array(wanted, np.int16),
    }


def encode_pairs(pairs: dict[str, list[dict[str, Any]]], store: Store, tokenizer: Tokenizer) -> dict[str, Any]:
    """Pairs of statements as arrays, then the token ids of all texts."""
    out: dict[str, Any] = {}
    for name, made in pairs.items():
        rows = [
            (
                store(*_earlier(pair)),
                store(passage_of(pair.get("q", ""), pair["later"]), MAX_PASSAGE if "q" not in pair else MAX_LATER),
                RELATIONS.index(pair["relation"]),
            )
            for pair in made
        ]
        out[f"pairs_{name}"] = np.array(rows, np.int32)
    tokens, lengths = [], []
    keys = list(store.number)
    for at in range(0, len(keys), 20_000):
        part = keys[at : at + 20_000]
        texts = tokenizer.encode_batch([text for text, _ in part], add_special_tokens=False)
        for (_, most), encoded in zip(part, texts, strict=True):
            ids = encoded.ids[:most]
            tokens.append(np.array(ids, np.uint16))
            lengths.append(len(ids))
    return out | {"tokens": np.concatenate(tokens), "lengths": np.array(lengths, np.int32)}


def _earlier(pair: dict[str, Any]) -> tuple[str, int]:
    """The earlier statement of a pair, with the question before it if there is one; and how many tokens it may have."""
    if "q" not in pair:
        return passage_of("", pair["earlier"]), MAX_QUESTION
    return with_question(pair["q"], passage_of(pair["q"], pair["earlier"])), MAX_EARLIER


def passage_of(question: str, cand: dict[str, Any]) -> str:
    """A candidate as recall hands it to a reader."""
    before = cand.get("p") or ""
    return as_passage(
        question,
        cand["t"],
        speaker=cand.get("s"),
        title=cand.get("title") or "",
        before=before if needs_turn_before(cand["t"], before) else "",
    )


def smaller_tokenizer(given: Path, path: Path) -> tuple[Tokenizer, list[int]]:
    """The tokenizer with the common pieces only, and the numbers they had."""
    held = json.loads(given.read_text("utf-8"))
    pieces = sorted(held["model"]["vocab"].items(), key=lambda item: item[1])
    latin = re.compile(r"[\x21-\x7e\u00a0-\u024f\u2010-\u2030\u20ac]")
    special = [item for item in pieces if item[0] in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    letters = [
        item for item in pieces if len(item[0].removeprefix("##")) == 1 and latin.fullmatch(item[0].removeprefix("##"))
    ]
    longer = [item for item in pieces if len(item[0].removeprefix("##")) > 1 and not item[0].startswith("[")]
    kept = sorted(special + letters + longer[: VOCABULARY - len(special) - len(letters)], key=lambda item: item[1])
    number = {piece: new for new, (piece, _) in enumerate(kept)}
    held["model"]["vocab"] = number
    for token in held["added_tokens"]:
        token["id"] = number[token["content"]]
    for name, token in (held["post_processor"].get("special_tokens") or {}).items():
        token["ids"] = [number[name]]
    for end in ("sep", "cls"):
        if end in held["post_processor"]:
            held["post_processor"][end][1] = number[held["post_processor"][end][0]]
    held["truncation"] = held["padding"] = None
    path.write_text(json.dumps(held, ensure_ascii=False), "utf-8")
    return Tokenizer.from_file(str(path)), [old for _, old in kept]


def _read_gz(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        yield from map(json.loads, file)


def read_xz(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt") as file:
        yield from map(json.loads, file)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    add_source_options(parser)
    return parser.parse_args()


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """Where the questions that are not ours lie, and how many of ours to make."""
    parser.add_argument("--external", type=Path, required=True)
    parser.add_argument("--more", type=Path, nargs="*", default=(), help="more files like those, and *.pairs.jsonl.xz")
    parser.add_argument("--dumps", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--questions", type=int, default=60_000)


if __name__ == "__main__":
    main()
