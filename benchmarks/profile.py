"""How much of what is true of a person or a project a profile states, and how much of what it states is true no more.

    python benchmarks/profile.py ../shared/chats/c.jsonl
    python benchmarks/profile.py ../shared/chats/[abc].jsonl --turns 2000

Each line of a file is a person with chats, or a project with notes: the facts in each turn or note, and which earlier
facts end. At the end, the facts that did not end are true. A fact is covered if a text that tells it is quoted; a line
is untrue if all facts of its text have ended, empty if its text has none. The budget is left open, so that the number
of lines is the profile's own.

With `--turns`, the chats of all files are one space of so many turns, and each turn after them is added with its
profile: what that takes of the processor, in place of the figures above.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import figures
import remanence
from remanence import Space

_NEW_TURNS = 100


def main() -> None:
    """Print one line of figures for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--turns", type=int)
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json")
    options = parser.parse_args()
    if options.turns:
        people = [record for file in options.files for record in read(file)]
        measured = {f"{options.turns} turns": {"new turn": measure_new_turns(people, options.turns)}}
        if options.record:
            figures.record("profile", "python benchmarks/profile.py", measured)
        return
    for file in options.files:
        records = read(file)
        counts = [measure(record) for record in records]
        true, covered, lines, untrue, empty, seconds = (sum(column) for column in zip(*counts, strict=True))
        print(
            f"{file.name}: {len(records)} profiles, {covered / true:.0%} of {true} true facts covered, "
            f"{untrue / lines:.1%} of the lines untrue, {empty / lines:.1%} empty, {lines / len(records):.1f} lines, "
            f"{seconds / len(records):.1f} s each"
        )
        if options.record:
            shares = {"covered": 100 * covered / true, "untrue": 100 * untrue / lines, "empty": 100 * empty / lines}
            sizes = {"profiles": len(records), "true": true, "lines": lines / len(records)}
            file_name = f"{file.resolve().parent.name} {file.stem}"
            figures.record("profile", "python benchmarks/profile.py", {file_name: {"profile": shares | sizes}})


def read(file: Path) -> list[dict[str, Any]]:
    """The people or projects of a file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def measure(record: dict[str, Any]) -> tuple[int, int, int, int, int, float]:
    """True facts, covered ones, lines, untrue lines, empty lines, seconds."""
    with remanence.open(None, worker=False) as space:
        facts, ended = fill(space, record)
        start = time.perf_counter()
        profile = space.profile(max_tokens=100_000)
        seconds = time.perf_counter() - start
        quoted = [facts[space.get(memory).key] for line in profile.statements for memory in line.memories]
    true = {fact for told in facts.values() for fact in told} - ended
    covered = {fact for told in quoted for fact in told} & true
    untrue = sum(bool(told) and ended.issuperset(told) for told in quoted)
    return len(true), len(covered), len(quoted), untrue, sum(not told for told in quoted), seconds


def measure_new_turns(records: list[dict[str, Any]], count: int) -> dict[str, float]:
    """Print, and return, what the first profile of so many turns takes, and each after one more turn of a user."""
    sessions = [
        (session["at"], f"{number}.{place}", session["turns"])
        for number, record in enumerate(records)
        for place, session in enumerate(record["sessions"])
    ]
    turns = [
        {"role": turn["role"], "content": turn["text"], "time": at, "conversation": conversation}
        for at, conversation, said in sorted(sessions, key=lambda session: session[:2])
        for turn in said
    ]
    with remanence.open(None, worker=False) as space:
        space.add_turns(turns[:count])
        start = time.process_time()
        space.profile()
        first, costs = time.process_time() - start, []
        for turn in turns[count : count + _NEW_TURNS]:
            space.add_turns([turn])
            start = time.process_time()
            space.profile()
            if turn["role"] == "user":
                costs.append(1000 * (time.process_time() - start))
    costs.sort()
    p50, p90 = costs[len(costs) // 2], costs[len(costs) * 9 // 10]
    print(
        f"{count} turns: first profile {first:.1f} s of CPU; {len(costs)} new turns: "
        f"median {p50:.0f} ms of CPU, 90% under {p90:.0f}, most {costs[-1]:.0f}"
    )
    return {"p50": p50, "p90": p90}


def fill(space: Space, record: dict[str, Any]) -> tuple[dict[str | None, list[str]], set[str]]:
    """Store what a person said or a project noted. Returns the facts by the key of their memory, and what has ended."""
    facts: dict[str | None, list[str]] = {}
    ended: set[str] = set()
    for note in record.get("notes", ()):
        facts[note["id"]] = [fact["id"] for fact in note["facts"]]
        ended.update(note["ends"])
        space.add(note["text"], key=note["id"], now=note["at"], observed_by=note["author"])
    for place, session in enumerate(record.get("sessions", ())):
        turns = []
        for number, turn in enumerate(session["turns"]):
            key = f"{place}.{number}"
            facts[key] = [fact["id"] for fact in turn.get("facts", ())]
            ended.update(turn.get("ends", ()))
            said = {"role": turn["role"], "content": turn["text"], "key": key}
            turns.append({**said, "time": session["at"], "conversation": session["at"]})
        space.add_turns(turns)
    return facts, ended


if __name__ == "__main__":
    main()
