"""How much of what is true of a person a profile states, and how much of what it states is true no more.

    python benchmarks/profile.py ../shared/chats/c.jsonl

Each line of the file is a person with chats: the facts in each user turn, and which earlier facts end. At the end, the
facts that did not end are true. A fact is covered if a turn that tells it is quoted; a line is untrue if all facts of
its turn have ended, empty if its turn has none. The budget is left open, so that the number of lines is the profile's
own.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import remanence


def main() -> None:
    """Print one line of figures for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only every second person")
    options = parser.parse_args()
    for file in options.files:
        people = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        people = people if options.half is None else people[options.half :: 2]
        counts = [measure(person) for person in people]
        true, covered, lines, untrue, empty, seconds = (sum(column) for column in zip(*counts, strict=True))
        print(
            f"{file.name}: {len(people)} people, {covered / true:.0%} of {true} true facts covered, "
            f"{untrue / lines:.1%} of the lines untrue, {empty / lines:.1%} empty, {lines / len(people):.1f} lines, "
            f"{seconds / len(people):.1f} s a profile"
        )


def measure(person: dict) -> tuple[int, int, int, int, int, float]:
    """True facts, covered ones, lines, untrue lines, empty lines, seconds."""
    facts: dict[str, list[str]] = {}
    ended: set[str] = set()
    with remanence.open(None, worker=False) as space:
        for place, session in enumerate(person["sessions"]):
            turns = []
            for number, turn in enumerate(session["turns"]):
                key = f"{place}.{number}"
                facts[key] = [fact["id"] for fact in turn.get("facts", ())]
                ended.update(turn.get("ends", ()))
                said = {"role": turn["role"], "content": turn["text"], "key": key}
                turns.append({**said, "time": session["at"], "conversation": session["at"]})
            space.add_turns(turns)
        start = time.perf_counter()
        profile = space.profile(max_tokens=100_000)
        seconds = time.perf_counter() - start
        quoted = [facts[space.get(memory).key] for line in profile.statements for memory in line.memories]
    true = {fact for told in facts.values() for fact in told} - ended
    covered = {fact for told in quoted for fact in told} & true
    untrue = sum(bool(told) and ended.issuperset(told) for told in quoted)
    return len(true), len(covered), len(quoted), untrue, sum(not told for told in quoted), seconds


if __name__ == "__main__":
    main()
