"""How well `remember` draws facts by rule: on conversations that strangers wrote, with what every reader would keep.

    python benchmarks/fact_cases.py                       the five files in benchmarks/cases
    python benchmarks/fact_cases.py evolve --show          what is missed, wrong or stated still
    python benchmarks/fact_cases.py --data FOLDER --half report --json out.json

facts   conversations. Precision: of the facts drawn, those that a careful reader keeps or allows. Recall: of those that
        every careful reader keeps, those drawn.
short   the same for an answer of a few words to a question.
evolve  what the profile states after several conversations. "stated": what it must state. "stated still": what it must
        not. "seen": of what an earlier profile stated and the last one must not, how much is gone. "closed wrongly": of
        what an earlier profile stated and the last one must state too, how much is gone.
names   pairs of names that belong together, and pairs that do not: "joined" are one entity, "proposed" only proposed.
lower   names written in lower case.

A case names a fact by lists of word beginnings: of each list one has to occur. It cannot say "not", so some of what
counts as stated still is to be judged by eye (--show).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import remanence
from remanence.models.extractors import RuleExtractor
from remanence.testing import FakeClock
from remanence.text.text import normalize_name

CASES = Path(__file__).resolve().parent / "cases"
NOW = datetime(2026, 6, 30, 12, tzinfo=timezone.utc)
PROFILE_TOKENS = 2_000
Row = dict[str, Any]
Figures = dict[str, tuple[int, int]]
"""How many of how many, by what is counted."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("kinds", nargs="*", choices=[*MEASURES, []], help="which files; all by default")
    options.add_argument("--data", type=Path, default=CASES, help="the folder with facts.dev.jsonl and so on")
    options.add_argument("--half", default="dev", help="the part of the file name after the kind")
    options.add_argument("--show", action="store_true", help="print each case that is not as it should be")
    options.add_argument("--json", type=Path, help="also write the figures here")
    chosen = options.parse_args()
    report: dict[str, Figures] = {}
    for kind in chosen.kinds or MEASURES:
        path = chosen.data / f"{kind}.{chosen.half}.jsonl"
        if not path.exists():
            print(f"{kind}: no {path.name} in {chosen.data}: left out. Pass --data FOLDER.")
            continue
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        figures = report[kind] = MEASURES[kind](rows, print if chosen.show else _silent)
        for what, (count, total) in figures.items():
            print(f"{kind:7} {what:18} {count:3} of {total:3}  {count / max(1, total):6.1%}")
    if chosen.json:
        chosen.json.write_text(json.dumps(report, indent=1) + "\n")


def measure_facts(rows: Sequence[Row], show: Callable[[str], None]) -> Figures:
    """Precision and recall, and of the cases with nothing to keep those with nothing drawn."""
    right = drawn = met = wanted = clean = empty = settled = 0
    for row in rows:
        with remanence.open(None) as space:
            texts = [memory.text for memory in _remember(space, row["turns"], row["said_at"])]
        missed = [fact for fact in row["facts"] if not any(_states(text, fact) for text in texts)]
        wrong = [text for text in texts if not any(_states(text, fact) for fact in row["facts"] + row["allowed"])]
        drawn, right = drawn + len(texts), right + len(texts) - len(wrong)
        wanted, met = wanted + len(row["facts"]), met + len(row["facts"]) - len(missed)
        empty, clean = empty + (not row["facts"]), clean + (not row["facts"] and not wrong)
        settled += not missed and not wrong
        if missed or wrong:
            show(f"{row['id']}  " + " / ".join(f"{turn['speaker']}: {turn['text']}" for turn in row["turns"]))
            _show_each(show, "drawn", (text for text in texts if text not in wrong))
            _show_each(show, "wrong", wrong)
            _show_each(show, "missed", (fact["must"] for fact in missed))
    return {
        "precision": (right, drawn),
        "recall": (met, wanted),
        "nothing to keep": (clean, empty),
        "cases all right": (settled, len(rows)),
    }


def measure_evolution(rows: Sequence[Row], show: Callable[[str], None]) -> Figures:
    """What the profile after the last conversation states, and must not state any more."""
    stated = holds = still = not_holds = seen = seen_of = lost = kept_of = 0
    for row in rows:
        clock = FakeClock(row["sessions"][0]["said_at"])
        profiles: list[list[str]] = []
        with remanence.open(None, clock=clock) as space:
            for session in row["sessions"]:
                clock.advance(seconds=(_moment(session["said_at"]) - clock.now()).total_seconds() + 3600)
                _remember(space, session["turns"], session["said_at"])
                profile = space.profile(max_tokens=PROFILE_TOKENS)
                profiles.append([statement.text for statement in profile.statements])
        earlier, last = [text for profile in profiles[:-1] for text in profile], profiles[-1]
        notes: list[str] = []
        for fact in row["holds"]:
            is_stated, was_stated = _any_states(last, fact), _any_states(earlier, fact)
            stated, holds = stated + is_stated, holds + 1
            lost, kept_of = lost + (was_stated and not is_stated), kept_of + was_stated
            if not is_stated:
                notes.append(f"  {'closed wrongly' if was_stated else 'not stated'}: {fact['must']}")
        for fact in row["holds_not"]:
            is_stated, was_stated = _any_states(last, fact), _any_states(earlier, fact)
            still, not_holds = still + is_stated, not_holds + 1
            seen, seen_of = seen + (was_stated and not is_stated), seen_of + was_stated
            if is_stated:
                notes.append(f"  stated still: {fact['must']}")
        if notes:
            for session in row["sessions"]:
                said = " / ".join(f"{turn['speaker']}: {turn['text']}" for turn in session["turns"])
                show(f"{row['id']}  {session['said_at'][:10]}  {said}")
            _show_each(show, "profile before", earlier)
            _show_each(show, "profile", last)
            for note in notes:
                show(note)
    return {
        "stated": (stated, holds),
        "stated still": (still, not_holds),
        "seen": (seen, seen_of),
        "closed wrongly": (lost, kept_of),
    }


def measure_names(rows: Sequence[Row], show: Callable[[str], None]) -> Figures:
    """Which pairs are one entity, or are proposed as one."""
    counts = {"joined": 0, "proposed": 0, "same": 0, "wrongly joined": 0, "wrongly proposed": 0, "different": 0}
    for row in rows:
        with remanence.open(None) as space:
            for text in row["texts"]:
                space.remember(text, now=NOW)
            for kind, wrongly in (("same", ""), ("different", "wrongly ")):
                for one, other in row[kind]:
                    joined, proposed = _are_joined(space, one, other), _is_proposed(space, one, other)
                    counts[kind] += 1
                    counts[f"{wrongly}joined"] += joined
                    counts[f"{wrongly}proposed"] += proposed and not joined
                    if joined != (kind == "same"):
                        verdict = "joined" if joined else "proposed" if proposed else "apart"
                        show(f"{row['id']}  {one} / {other}: {kind}, but {verdict}  {row['texts']}")
    return {
        "joined": (counts["joined"], counts["same"]),
        "proposed": (counts["proposed"], counts["same"]),
        "wrongly joined": (counts["wrongly joined"], counts["different"]),
        "wrongly proposed": (counts["wrongly proposed"], counts["different"]),
    }


def measure_lower(rows: Sequence[Row], show: Callable[[str], None]) -> Figures:
    """Which names in lower case are found, and how many that are none."""
    met = wanted = wrong = found_all = texts_right = 0
    for row in rows:
        mentions = RuleExtractor().extract(row["text"], now=NOW).mentions
        found = {normalize_name(mention.name) for mention in mentions} - {"me"}
        missed = [name for name in row["names"] if not any(name in each.split() for each in found)]
        more = [each for each in found if not any(name in each.split() for name in row["names"])]
        wanted, met = wanted + len(row["names"]), met + len(row["names"]) - len(missed)
        found_all, wrong = found_all + len(found), wrong + len(more)
        texts_right += not missed and not more
        if missed or more:
            show(f"{row['id']}  {row['text']}: missed {missed}, wrong {more}")
    return {"found": (met, wanted), "wrong": (wrong, found_all), "texts right": (texts_right, len(rows))}


def _remember(space: remanence.Space, turns: Sequence[Row], said_at: str) -> list[remanence.Memory]:
    """The facts of a conversation. What has the speaker "note" is a text of its own."""
    at = _moment(said_at)
    if all(turn["speaker"] == "note" for turn in turns):
        return [memory for turn in turns for memory in space.remember(turn["text"], now=at)]
    spoken = [
        {"speaker": turn["speaker"], "content": turn["text"], "time": at + timedelta(seconds=number)}
        for number, turn in enumerate(turns)
    ]
    return space.remember(spoken, now=at, source=said_at)


def _moment(said_at: str) -> datetime:
    return datetime.fromisoformat(said_at).replace(tzinfo=timezone.utc)


def _states(text: str, fact: Row) -> bool:
    """Whether a text has a word of every list, as a beginning."""
    lower = text.lower().replace("’", "'")
    return all(any(re.search(rf"(?<!\w){re.escape(word)}", lower) for word in words) for words in fact["must"])


def _any_states(texts: Iterable[str], fact: Row) -> bool:
    return any(_states(text, fact) for text in texts)


def _are_joined(space: remanence.Space, one: str, other: str) -> bool:
    first, second = space.entities.resolve(one), space.entities.resolve(other)
    return first is not None and second is not None and first.id == second.id


def _is_proposed(space: remanence.Space, one: str, other: str) -> bool:
    """Whether the entity of one name is proposed for the other."""
    for name, wanted in ((one, other), (other, one)):
        target = space.entities.resolve(wanted)
        if target is not None and any(each.entity.id == target.id for each in space.entities.find_similar(name)):
            return True
    return False


def _show_each(show: Callable[[str], None], label: str, values: Iterable[object]) -> None:
    for value in values:
        show(f"  {label}: {value}")


def _silent(_: str) -> None:
    pass


MEASURES: dict[str, Callable[[Sequence[Row], Callable[[str], None]], Figures]] = {
    "facts": measure_facts,
    "short": measure_facts,
    "evolve": measure_evolution,
    "names": measure_names,
    "lower": measure_lower,
}


if __name__ == "__main__":
    main()
