"""How likely it still holds: `hit.holds` beside what came true, on chats in which it is marked which facts end when.

    python benchmarks/lifetimes.py ../shared/chats/c.jsonl
    python benchmarks/lifetimes.py --statebench statebench-2.0.0/data/releases/v1.0/test.jsonl

After each session but the last, some of the facts told so far are asked for, each by its own sentence, at the time of a
later session that is drawn at random, of which the space knows nothing yet. Right is whether the fact had not ended by
then, what was said in that session included. A turn with several facts has one probability for all of them.

Printed are the Brier score (the mean squared error of the probability; 0 is best) beside a fixed half-life, the share
that held, and "always true"; how well each puts what held before what had ended (area under the curve); and for each
tenth of the probability how many held. `--statebench` is for StateBench's track `environmental_freshness`, in which a
note is followed by a newer one (benchmarks/statebench.py says where it is from): how often the newer one is first, and
holds with the higher probability.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import figures
import remanence

_ASKED = 2
"""How many facts are asked for after each session."""
_SHOWN_HALF_LIVES = (180, 365)
"""Fixed half-lives in days: the one with the best Brier score on chats b, of those in `_HALF_LIVES`, and a year."""
_HALF_LIVES = (30, 60, 90, 120, 180, 270, 365, 545, 730, 1_460)


class Asked(NamedTuple):
    """One question: how old the fact was, what was said of it, and whether it held."""

    age: float
    holds: float
    by_age: float
    """The same without the reader."""
    held: bool


def main() -> None:
    """Print the figures for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--half-lives", action="store_true", help="compare half-lives")
    parser.add_argument("--statebench", type=Path, help="a split of StateBench, such as test.jsonl")
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json")
    options = parser.parse_args()
    if options.statebench:
        freshness(options.statebench)
    every: list[Asked] = []
    for file in options.files:
        asked = [each for record in read(file) for each in ask(record)]
        print(f"{file.name}: {len(asked)} questions, {sum(each.held for each in asked) / len(asked):.0%} held")
        measured = report(asked)
        every += asked
        if options.record:
            values = {name: {file.stem: found} for name, found in measured.items()}
            figures.record("lifetimes", "python benchmarks/lifetimes.py", values)
        for days in _HALF_LIVES if options.half_lives else ():
            print(f"  half-life {days}: Brier {brier(asked, [0.5 ** (each.age / days) for each in asked]):.4f}")
    if options.record and every:
        together = " and ".join(file.stem for file in options.files)
        reliable = {
            said: {together: {"questions": len(group), "held": held_share(group)}}
            for said, group in by_probability(every).items()
        }
        figures.record("lifetimes", "python benchmarks/lifetimes.py", reliable)


def read(file: Path) -> list[dict[str, Any]]:
    """The people of a file, or the conversations of StateBench."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def ask(record: dict) -> Iterator[Asked]:
    """Ask for facts of a person at later moments."""
    chosen, sessions = random.Random(record["person"]), record["sessions"]
    moments = [datetime.fromisoformat(session["at"]) for session in sessions]
    ends: dict[str, int] = {}
    for place, session in enumerate(sessions):
        for turn in session["turns"]:
            for fact in turn.get("ends", ()):
                ends.setdefault(fact, place)
    told: dict[str, tuple[str, str, datetime]] = {}
    with remanence.open(None, worker=False) as space:
        for place, session in enumerate(sessions[:-1]):
            turns = []
            for number, turn in enumerate(session["turns"]):
                key = f"{place}.{number}"
                said = {"role": turn["role"], "content": turn["text"], "key": key}
                turns.append({**said, "time": session["at"], "conversation": session["at"]})
                told |= {fact["id"]: (key, fact["text"], moments[place]) for fact in turn.get("facts", ())}
            space.add_turns(turns)
            for fact in chosen.sample(sorted(told), min(len(told), _ASKED)):
                key, text, at = told[fact]
                later = chosen.randrange(place + 1, len(sessions))
                found = [
                    next((hit.holds for hit in hits if hit.memory.key == key), None)
                    for hits in (
                        space.recall(text, limit=16, now=moments[later], reader=reader) for reader in (None, "none")
                    )
                ]
                if found[0] is not None and found[1] is not None:
                    age = (moments[later] - at).total_seconds() / 86_400
                    yield Asked(age, found[0], found[1], ends.get(fact, len(sessions)) > later)


def report(asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Print, and return, how good each way to say it is, and the reliability curve."""
    share = sum(each.held for each in asked) / len(asked)
    ways = {
        "hit.holds": [each.holds for each in asked],
        "by age and topic, no reader": [each.by_age for each in asked],
        **{f"a half-life of {days} days": [0.5 ** (each.age / days) for each in asked] for days in _SHOWN_HALF_LIVES},
        "the share that held": [share] * len(asked),
        "always true": [1.0] * len(asked),
    }
    measured = {}
    for name, values in ways.items():
        found = measured[name] = {"Brier": brier(asked, values), "AUC": area(asked, values), "questions": len(asked)}
        print(f"  {name:28} Brier {found['Brier']:.3f}   AUC {found['AUC']:.2f}")
    print("  said          questions  mean said  held")
    for tenth in range(10):
        group = [each for each in asked if min(9, int(10 * each.holds)) == tenth]
        if group:
            said, held = (sum(values) / len(group) for values in ([e.holds for e in group], [e.held for e in group]))
            print(f"  {tenth / 10:.1f} to {(tenth + 1) / 10:.1f}   {len(group):9}  {said:9.2f}  {held:4.2f}")
    return measured


def by_probability(asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    """The questions by what `hit.holds` said."""
    bounds = (0.0, 0.3, 0.5, 0.7, 0.9, 1.1)
    return {f"from {low}": [each for each in asked if low <= each.holds < high] for low, high in pairwise(bounds)}


def held_share(asked: Sequence[Asked]) -> float:
    """In how many of a hundred it held."""
    return 100 * sum(each.held for each in asked) / len(asked)


def freshness(file: Path) -> None:
    """Print how often the newer one of two notes is first, and holds with the higher probability."""
    first = higher = count = 0
    likely = [0.0, 0.0]
    for row in (row for row in read(file) if row["track"] == "environmental_freshness"):
        query = next(event for event in row["events"] if event["type"] == "query")
        said = [event for event in row["events"] if event["type"] == "conversation_turn"]
        with remanence.open(None, worker=False) as space:
            for number, event in enumerate(said):
                turn = {"role": event["speaker"], "content": event["text"], "time": event["ts"], "key": str(number)}
                space.add_turns([{**turn, "conversation": "chat"}])
            hits = space.recall(query["prompt"], limit=16, now=query["ts"])
        holds = {int(hit.memory.key or 0): hit.holds or 0.0 for hit in hits}
        newest, others = len(said) - 1, [number for number in holds if number < len(said) - 1]
        if newest in holds and others:
            older = max(holds[number] for number in others)
            likely = [likely[0] + holds[newest], likely[1] + older]
            count, higher = count + 1, higher + (holds[newest] > older)
            first += hits[0].memory.key == str(newest)
    print(
        f"{file.name}: the newer note first in {first} of {count}, more likely to hold in {higher}; "
        f"mean probability {likely[0] / count:.2f}, of the older one {likely[1] / count:.2f}"
    )


def brier(asked: Sequence[Asked], values: Sequence[float]) -> float:
    """The mean squared error of probabilities."""
    return sum((value - each.held) ** 2 for each, value in zip(asked, values, strict=True)) / len(asked)


def area(asked: Sequence[Asked], values: Sequence[float]) -> float:
    """How often what held has a higher probability than what had ended."""
    held = [value for each, value in zip(asked, values, strict=True) if each.held]
    ended = [value for each, value in zip(asked, values, strict=True) if not each.held]
    above = sum((one > other) + (one == other) / 2 for one in held for other in ended)
    return above / (len(held) * len(ended)) if held and ended else math.nan


if __name__ == "__main__":
    main()
