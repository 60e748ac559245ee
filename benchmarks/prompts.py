"""What reaches the prompt of a chat: whether the right memory is there, and nothing where nothing is needed.

    python benchmarks/prompts.py                   the part to develop on
    python benchmarks/prompts.py --half report     the part to report on
    python benchmarks/prompts.py --half second     other talks to develop on, with askings that look like statements
    python benchmarks/prompts.py --half third      other talks to report on; `fourth` too

The cases (benchmarks/cases) were written without sight of the code.

asking   users tell a fact among eight others, then ask for it twice in each of many wordings, often oblique
         ("can I have the satay?"), each in a new session, with small talk in between; questions and replies are stored
needs    whether a message needs memory, by its words alone
follow   the last message of a chat is understood only with the turns before it, or is complete and they mislead
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import figures
import remanence
from remanence.models.message_words import need_of_memory
from remanence.remember.message_analysis import analyze_for_recall

CASES = Path(__file__).resolve().parent / "cases"
ROUNDS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("dev", "report", "second", "third", "fourth"), default="dev")
    parser.add_argument(
        "--record", action="store_true", help="write the figures to figures.json (not of those to develop on)"
    )
    options = parser.parse_args()
    half = options.half
    if options.record and half in ("dev", "second"):
        parser.error("--record is for report, third and fourth: the others chose settings")
    measured = {"asking": report_askings(half)}
    if half in ("dev", "report"):
        measured |= {"needs": report_needs(half), "follow": report_follow_ups(half)}
    if options.record:
        figures.record("prompts", "python benchmarks/prompts.py", {half: measured})


def read_cases(name: str, half: str) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, (CASES / f"{name}.{half}.jsonl").read_text("utf-8").splitlines())


def report_needs(half: str) -> dict[str, float]:
    rows = list(read_cases("needs", half))
    needed = np.array([row["needs"] for row in rows])
    score = np.array([need_of_memory(row["message"]) for row in rows])
    recalled = np.array([analyze_for_recall(row["message"]).recall for row in rows])
    auc = (score[needed][:, None] > score[~needed][None]).mean()
    print(
        f"needs    of {len(rows)} messages: recalled for {recalled[needed].mean():.0%} of those that need memory, for "
        f"{recalled[~needed].mean():.0%} of the others; AUC {auc:.2f}"
    )
    shares = {"needed": 100 * recalled[needed].mean(), "others": 100 * recalled[~needed].mean()}
    return shares | {"AUC": float(auc), "messages": len(rows)}


def report_follow_ups(half: str) -> dict[str, float]:
    cases = list(read_cases("follow", half))
    right: dict[str, list[bool]] = {"question alone": [], "with the turns before it": []}
    for case in cases:
        with remanence.open(None, worker=False) as space:
            space.add_many({"text": text, "key": str(place)} for place, text in enumerate(case["memories"]))
            turns = [{"role": role, "content": text} for role, text in case["turns"]]
            for name, context in zip(right, ([], turns), strict=True):
                hits = space.recall(case["question"], limit=1, context=context)
                right[name].append(bool(hits) and hits[0].memory.key == str(case["right"]))
    for name, found in right.items():
        print(f"follow   {name}: right first in {np.mean(found):.0%} of {len(cases)}")
    return {name: 100 * float(np.mean(found)) for name, found in right.items()} | {"chats": len(cases)}


def report_askings(half: str) -> dict[str, float]:
    quoted: dict[bool, list[int]] = {False: [], True: []}  # the place of the fact among what is quoted, 0 if it is not
    empty: list[bool] = []
    for case in read_cases("asking", half):
        with remanence.open(None, worker=False) as space:
            told = [case["fact"], *case["others"]]
            space.add_turns({"role": "user", "content": text, "conversation": f"t{n}"} for n, text in enumerate(told))
            for turn in range(ROUNDS * len(case["askings"])):
                asked = case["askings"][turn % len(case["askings"])]
                texts = [hit.memory.text for hit in space.for_prompt(asked).hits]
                quoted[turn >= len(case["askings"])].append(
                    texts.index(case["fact"]) + 1 if case["fact"] in texts else 0
                )
                talk = case["small_talk"][turn % len(case["small_talk"])]
                if turn < len(case["small_talk"]):
                    empty.append(not space.for_prompt(talk).hits)
                for text in (asked, talk):
                    space.add_turns(
                        [
                            {"role": "user", "content": text, "conversation": f"s{turn}"},
                            {"role": "assistant", "content": "All right.", "conversation": f"s{turn}"},
                        ]
                    )
    measured = {"askings": float(len(quoted[False])), "nothing": 100 * float(np.mean(empty)), "talk": float(len(empty))}
    for later, places in quoted.items():
        found = np.array(places)
        which = "asked again" if later else "asked for the first time"
        measured |= {
            f"quoted {which}": 100 * float((found > 0).mean()),
            f"first {which}": 100 * float((found == 1).mean()),
        }
        print(f"asking   {which}: the fact is quoted in {(found > 0).mean():.0%}, first in {(found == 1).mean():.0%}")
    print(f"asking   small talk that brings nothing: {np.mean(empty):.0%} of {len(empty)}")
    return measured


if __name__ == "__main__":
    main()
