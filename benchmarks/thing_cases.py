"""How well the rules read claims about things: on messages that a stranger wrote, with the facts that each one states.

    python benchmarks/thing_cases.py                      benchmarks/cases/things.dev.jsonl
    python benchmarks/thing_cases.py --show               what is missed or wrong
    python benchmarks/thing_cases.py --half report --json out.json

precision   of the claims found, those that the message states
recall      of the facts that the messages state, those found
empty       of the messages that state nothing (questions, conditions, doubts, advice), those without a claim
remember    of the facts found, those that `remember` finds too
replaced    of the messages that replace an earlier one, of which a claim was found: how often that one is closed by
            `add`, and by `remember`

A claim is right if it has the subject and the object of a fact, whatever the case and without articles, and its
predicate has a word in common with the relation, or both say where, when, whose or what something is.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import remanence
from remanence.index.claims.predicates import states_after_event
from remanence.models.extractors import RuleExtractor
from remanence.schema import Triple
from remanence.testing import FakeClock

CASES = Path(__file__).resolve().parent / "cases"
NOW = datetime(2026, 4, 15, 12, tzinfo=timezone.utc)
Row = dict[str, Any]
Figures = dict[str, tuple[int, int]]
"""How many of how many, by what is counted."""

_ARTICLES = re.compile(r"^(?:the|an?|our|my|its) ")
_WORD = re.compile(r"[a-z]{2,}")
_MEANINGS = (
    "in at on based runs run lives live located hosted served sits sit moved kept goes lands registered headquartered",
    "scheduled moved rescheduled slipped goes go-live live leaves meets date due renews takes starts ends",
    "switched uses use upgraded migrated moved cut powered on at version written rewritten runs run",
    "owned belongs owner assigned managed maintained handled",
    "is are was has have had as called named costs cost with shipped",
    "won winner",
)
"""Words of relations that say the same of one subject and one object."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=CASES, help="the folder with things.dev.jsonl")
    options.add_argument("--half", default="dev", help="the part of the file name after the kind")
    options.add_argument("--show", action="store_true", help="print each case that is not as it should be")
    options.add_argument("--json", type=Path, help="also write the figures here")
    chosen = options.parse_args()
    path = chosen.data / f"things.{chosen.half}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    show: Callable[[str], None] = print if chosen.show else _silent
    figures = {**measure_claims(rows, show), **measure_replacements(rows, show)}
    for what, (count, total) in figures.items():
        print(f"{what:24} {count:3} of {total:3}  {count / max(1, total):6.1%}")
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n")


def measure_claims(rows: Sequence[Row], show: Callable[[str], None]) -> Figures:
    """Precision and recall of the claims of each message."""
    right = found = met = wanted = clean = empty = remembered = 0
    for row in rows:
        claims = RuleExtractor().extract(row["text"], now=NOW).triples
        wrong = [claim for claim in claims if not any(_states(claim, fact) for fact in row["facts"])]
        missed = [fact for fact in row["facts"] if not any(_states(claim, fact) for claim in claims)]
        found, right = found + len(claims), right + len(claims) - len(wrong)
        wanted, met = wanted + len(row["facts"]), met + len(row["facts"]) - len(missed)
        empty, clean = empty + (not row["facts"]), clean + (not row["facts"] and not claims)
        if len(missed) < len(row["facts"]):
            with remanence.open(None) as space:
                again = [claim for memory in space.remember(row["text"], now=NOW) for claim in memory.triples]
            remembered += sum(
                fact not in missed and any(_states(claim, fact) for claim in again) for fact in row["facts"]
            )
        if wrong or missed:
            show(row["text"])
            _show_each(show, "wrong", wrong)
            _show_each(
                show, "missed", (" | ".join(str(fact[k]) for k in ("subject", "relation", "object")) for fact in missed)
            )
    return {
        "precision": (right, found),
        "recall": (met, wanted),
        "empty": (clean, empty),
        "remember": (remembered, met),
    }


def measure_replacements(rows: Sequence[Row], show: Callable[[str], None]) -> Figures:
    """How often a message closes what an earlier one stated."""
    closed = {"add": 0, "remember": 0}
    pairs = [(row["replaces"], row["text"]) for row in rows if "replaces" in row]
    pairs = [pair for pair in pairs if all(RuleExtractor().extract(text, now=NOW).triples for text in pair)]
    for old, new in pairs:
        for verb in closed:
            clock = FakeClock(NOW)
            with remanence.open(None, clock=clock) as space:
                getattr(space, verb)(old)
                clock.advance(days=1)
                getattr(space, verb)(new)
                clock.advance(days=1)
                before = RuleExtractor().extract(old, now=NOW).triples
                is_closed = any(not _holds(space, claim) for claim in before)
            closed[verb] += is_closed
            if not is_closed:
                show(f"not closed by {verb}: {old} / {new}")
    return {f"replaced, {verb}": (count, len(pairs)) for verb, count in closed.items()}


def _holds(space: remanence.Space, claim: Triple) -> bool:
    """Whether a relation with the subject and the object of this claim holds now."""
    predicates = {claim.predicate, *states_after_event(claim.predicate)}
    relations = [each for predicate in predicates for each in space.graph.when(claim.subject, predicate, claim.object)]
    return any(relation.valid.end is None for relation in relations)


def _states(claim: Triple, fact: Row) -> bool:
    same = _plain(claim.subject) == _plain(fact["subject"]) and _plain(claim.object) == _plain(fact["object"])
    return same and _agree(claim.predicate.replace("_", " "), fact["relation"])


def _agree(predicate: str, relation: str) -> bool:
    """Whether two relations share the beginning of a word, or words of one meaning."""
    words, others = set(_WORD.findall(predicate.lower())), set(_WORD.findall(relation.lower()))
    if {word[:4] for word in words} & {word[:4] for word in others}:
        return True
    return any(words & set(group.split()) and others & set(group.split()) for group in _MEANINGS)


def _plain(name: str) -> str:
    return _ARTICLES.sub("", name.casefold().strip(" \"'.")).strip()


def _show_each(show: Callable[[str], None], label: str, values: Iterable[object]) -> None:
    for value in values:
        show(f"  {label}: {value}")


def _silent(_: str) -> None:
    pass


if __name__ == "__main__":
    main()
