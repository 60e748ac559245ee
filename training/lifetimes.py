"""Learn `src/remanence/models/lifetimes.json` and `lifetime_topics.npz`: how long what a memory says holds.

    python -m training.lifetimes                writes both
    python -m training.lifetimes --check        only says how well the rates tell which facts of left-out people end

From ../shared/chats (a and b), training/lives, training/projects and benchmarks/cases/durable.dev.jsonl: each fact,
when it was told, and when something ended it or the telling stopped; once in the words of its turn, once as a sentence,
each counting half. Beside them training/durations: sentences by matter, with how long such things usually hold, which
count as one end each, or as twenty years without one. They are what is known of matters that end too seldom to be seen
in chats of a year, such as birthdays.

A Poisson regression of the ends on the age, what kind of thing the text tells (`turn_classes`), and the nearest matter,
with penalties. The reader's factor is learned on every second person of chats b: facts are asked for at the
time of a later session, and what the reader says of their turn is compared with whether they had ended by then.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.profile import read
from numpy.typing import NDArray

import remanence
from remanence.models.embedders import sentence_embedder
from remanence.models.lifetimes import CURVES, DAYS_PER_YEAR, MAX_LOG_ODDS, MIN_NEARNESS, TOPICS
from remanence.models.readers import default_reader
from remanence.models.turn_classes import OUTPUTS, class_log_odds, classify_turn

HERE = Path(__file__).parent
CHATS = HERE.parents[1] / "shared" / "chats"
AGES = (10.0, 45.0, 120.0, 240.0)
"""The ages, in days, at which the usual rate may change."""
_CLASS_PENALTY, _TOPIC_PENALTY, _RATE_PENALTY = 4.0, 2.0, 0.5
_YEARS_WITHOUT_END = 20.0
"""How long a sentence of a matter that never ends is taken to have been watched."""
_WEIGHT_OF_USUAL = 1.5
"""How much a sentence of training/durations counts. With less, birthdays fade in a year, as turns near them tell other
things that end; with more, the chats hardly count."""
_SPREAD = {"space": 4.0, "topic": 8.0}
"""How alike the paces of spaces are, and those of a topic in a space: the shapes of their Gamma distributions. Assumed:
half and twice the usual pace are common. The chats cannot tell, as they were written with about as many ends each."""
_MIN_DAYS = 0.02
_ASKED = 4
"""How many facts are asked for after each session, to learn what the reader's word is worth."""
Array = NDArray[np.float64]
_VECTORS: dict[str, NDArray[np.float32]] = {}
"""The vectors of the texts of facts: each is embedded once."""


class Fact(NamedTuple):
    """A text that tells a fact, and how long that held."""

    who: str
    text: str
    days: float
    """From when it was told until it ended, or until nothing more was told."""
    has_ended: bool
    weight: float = 0.5
    """How much it counts: each fact is there as its turn and as a sentence."""


class Curves(NamedTuple):
    """What is learned: rates by age, weights of the classes, and weights of the topics."""

    rates: Array
    classes: Array
    topics: Array


def main() -> None:
    """Read the arguments, and learn or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    names, places = topic_places()
    facts = list(all_facts())
    if options.check:
        check(facts, places)
        return
    np.savez_compressed(TOPICS, names=np.array(names), vectors=np.rint(127 * places).astype(np.int8))
    curves = at_level_of_chats(learn(facts, places), places)
    classes, nearest = features(facts, places)
    weight = np.array([fact.weight for fact in facts])
    ended = weight * [fact.has_ended for fact in facts]
    kinds = defaultdict(list)
    texts = {fact.text: place for place, fact in enumerate(facts)}
    paces = classes @ curves.classes + curves.topics[nearest]
    for text, place in texts.items():
        kinds[classify_turn(text, _VECTORS[text]).kind].append(paces[place])
    bias, slope = learn_reader(curves, places)
    stored = {
        "ages": AGES,
        "rates": np.exp(curves.rates).round(4).tolist(),
        "classes": dict(zip(OUTPUTS, curves.classes.round(4).tolist(), strict=True)),
        "topics": {
            name: {
                "factor": round(math.exp(curves.topics[place]), 4),
                "ended": round(ended[nearest == place].sum()),
                "told": round(weight[nearest == place].sum()),
            }
            for place, name in enumerate(names)
        },
        "kinds": {kind: round(float(np.exp(np.mean(found))), 4) for kind, found in sorted(kinds.items())},
        "spread": _SPREAD,
        "reader": {"bias": round(bias, 4), "weight": round(slope, 4)},
    }
    CURVES.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def durations() -> list[tuple[str, float, str]]:
    """The sentences of training/durations: the matter, how long it usually holds (0: for good), the sentence."""
    lines = (HERE / "durations" / "a.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(matter, float(years), text) for matter, years, text in rows]


def topic_places() -> tuple[list[str], Array]:
    """The matters, each with the mean vector of its sentences."""
    sentences = defaultdict(list)
    for matter, _, text in durations():
        sentences[matter].append(text)
    rows = np.array([sentence_embedder().embed(texts).mean(0) for texts in sentences.values()], float)
    return list(sentences), rows / np.linalg.norm(rows, axis=1, keepdims=True)


def usual() -> Iterator[Fact]:
    """The sentences of training/durations as facts that were watched until they ended, or for long."""
    for _, years, text in durations():
        yield Fact("", text, (years or _YEARS_WITHOUT_END) * DAYS_PER_YEAR, years > 0, _WEIGHT_OF_USUAL)


def all_facts() -> Iterator[Fact]:
    """The facts of all sources."""
    for name in ("a", "b"):
        yield from facts_of(CHATS / f"{name}.jsonl")
        yield from facts_of(HERE / "lives" / f"{name}.jsonl")
    yield from facts_of(HERE / "projects" / "a.jsonl")
    yield from facts_of(HERE.parent / "benchmarks" / "cases" / "durable.dev.jsonl")


def facts_of(file: Path) -> Iterator[Fact]:
    """The facts of a file of chats, lives or projects. One ends in the middle between the last telling at which it held
    and the one that ended it."""
    for record in read(file):
        born: dict[str, tuple[str, str, datetime]] = {}
        ended: dict[str, datetime] = {}
        moments = []
        for at, text, facts, ends in tellings(record):
            moments.append(at)
            for fact in ends:
                ended.setdefault(fact, at)
            born |= {fact: (text, sentence, at) for fact, sentence in facts.items()}
        who = record.get("person") or record.get("project") or record.get("life")
        for fact, (text, sentence, at) in born.items():
            end = ended.get(fact)
            last = max((moment for moment in moments if end is None or moment < end), default=at)
            until = last if end is None else max(at, last) + (end - max(at, last)) / 2
            days = max((until - at).total_seconds() / 86_400, _MIN_DAYS)
            yield from (Fact(str(who), words, days, end is not None) for words in (text, sentence))


def tellings(record: dict[str, Any]) -> Iterator[tuple[datetime, str, dict[str, str], list[str]]]:
    """What was told, in order: when, the text, the sentences of its facts by their ids, and the facts that it ends."""
    for session in record.get("sessions", ()):
        for turn in session["turns"]:
            facts = {fact["id"]: fact["text"] for fact in turn.get("facts", ())}
            yield datetime.fromisoformat(session["at"]), turn["text"], facts, turn.get("ends", [])
    for note in record.get("notes", ()):
        facts = {fact["id"]: fact["text"] for fact in note["facts"]}
        yield datetime.fromisoformat(note["at"]), note["text"], facts, note["ends"]
    counts: dict[str, int] = {}
    for said in record.get("told", ()):
        ends = [
            f"{on['id']}.{number}"
            for on in said.get("on", ())
            if on["how"] in ("ends", "replaces")
            for number in ([on["fact"]] if "fact" in on else range(counts[on["id"]]))
        ]
        counts[said["id"]] = len(said["facts"])
        facts = {f"{said['id']}.{number}": sentence for number, sentence in enumerate(said["facts"])}
        yield datetime.fromisoformat(said["time"]), said["said"], facts, ends


def features(facts: Sequence[Fact], places: Array) -> tuple[Array, NDArray[np.intp]]:
    """The log odds of the classes of each text, and its nearest matter; their number if none is near."""
    if new := list({fact.text: None for fact in facts if fact.text not in _VECTORS}):
        _VECTORS.update(zip(new, sentence_embedder().embed(new), strict=True))
    rows = np.stack([_VECTORS[fact.text] for fact in facts])
    classes = np.clip(class_log_odds(rows), -MAX_LOG_ODDS, MAX_LOG_ODDS).astype(float)
    nearness = rows @ places.T
    return classes, np.where(nearness.max(1) < MIN_NEARNESS, len(places), nearness.argmax(1))


def exposures(days: Array) -> Array:
    """The years that each fact was in each part of its age."""
    bounds = np.array([0.0, *AGES, np.inf])
    return np.clip(days[:, None] - bounds[:-1], 0, np.diff(bounds)) / DAYS_PER_YEAR


def learn(facts: Sequence[Fact], places: Array) -> Curves:
    """The rates and weights by Newton's method, with penalties on all that differs from the usual."""
    facts = [*facts, *usual()]
    classes, nearest = features(facts, places)
    weight = np.array([fact.weight for fact in facts])
    days, ended = np.array([fact.days for fact in facts]), weight * [fact.has_ended for fact in facts]
    inputs = np.c_[classes, np.eye(len(places) + 1)[nearest, : len(places)]]
    exposed = exposures(days) * weight[:, None]
    parts, count = exposed.shape[1], inputs.shape[1]
    events = np.zeros_like(exposed)
    events[np.arange(len(days)), np.searchsorted(AGES, days)] = ended
    penalty = np.r_[
        np.full(parts, _RATE_PENALTY), np.full(classes.shape[1], _CLASS_PENALTY), np.full(len(places), _TOPIC_PENALTY)
    ]
    weights = np.zeros(parts + count)
    for _ in range(30):
        rates = exposed * np.exp(np.clip(weights[:parts] + (inputs @ weights[parts:])[:, None], -12, 8))
        gap, total = events - rates, rates.sum(1)
        slope = np.r_[gap.sum(0), inputs.T @ gap.sum(1)] - penalty * weights
        curvature = np.block(
            [[np.diag(rates.sum(0)), rates.T @ inputs], [inputs.T @ rates, (inputs * total[:, None]).T @ inputs]]
        )
        weights += np.linalg.solve(curvature + np.diag(penalty), slope)
    of_classes, of_topics = np.split(weights[parts:], [classes.shape[1]])
    return Curves(weights[:parts], of_classes, np.r_[of_topics, 0.0])


def at_level_of_chats(curves: Curves, places: Array) -> Curves:
    """The same curves with as many ends as the chats have: in these all facts are marked, and what ends them."""
    facts = [fact for name in ("a", "b") for fact in facts_of(CHATS / f"{name}.jsonl")]
    level = sum(fact.has_ended for fact in facts) / expected_ends(curves, facts, *features(facts, places)).sum()
    return curves._replace(rates=curves.rates + math.log(level))


def expected_ends(curves: Curves, facts: Sequence[Fact], classes: Array, nearest: NDArray[np.intp]) -> Array:
    """How many ends of each fact are expected in the time in which it was watched."""
    by_age = exposures(np.array([fact.days for fact in facts])) @ np.exp(curves.rates)
    found: Array = by_age * np.exp(classes @ curves.classes + curves.topics[nearest])
    return found


def learn_reader(curves: Curves, places: Array) -> tuple[float, float]:
    """The bias and the weight of the log odds of `replaced` in the log odds that a fact has ended, beside those by its
    age."""
    rows = list(readings(curves, places))
    offset, inputs = np.array([row[0] for row in rows]), np.array([[1.0, row[1]] for row in rows])
    ended, found = np.array([row[2] for row in rows], float), np.zeros(2)
    for _ in range(20):
        chance = 1 / (1 + np.exp(-offset - inputs @ found))
        curvature = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + 0.1 * np.eye(2)
        found += np.linalg.solve(curvature, inputs.T @ (ended - chance) - 0.1 * found)
    return float(found[0]), float(found[1])


class _Listening:
    """The default reader, which keeps what it said of each text last."""

    def __init__(self) -> None:
        self._reader = default_reader()
        self.fingerprint = self._reader.fingerprint
        self.replaced: dict[str, float] = {}

    def read(self, question: str, lines: Sequence[Any], *, asked_at: datetime, moment: datetime | None = None) -> Any:
        reading = self._reader.read(question, lines, asked_at=asked_at, moment=moment)
        self.replaced = {line.text: replaced for line, replaced in zip(lines, reading.replaced, strict=True)}
        return reading


def readings(curves: Curves, places: Array) -> Iterator[tuple[float, float, bool]]:
    """For facts asked for at the time of a later session that is not told yet: the log odds by age alone that it has
    ended by then, those of the reader that its turn is replaced, and whether it has ended."""
    chosen, reader = random.Random(1), _Listening()
    for record in read(CHATS / "b.jsonl")[::2]:
        sessions = record["sessions"]
        moments = [datetime.fromisoformat(session["at"]) for session in sessions]
        ends: dict[str, int] = {}
        for place, session in enumerate(sessions):
            ends |= {fact: place for turn in session["turns"] for fact in turn.get("ends", ()) if fact not in ends}
        born: dict[str, tuple[str, str, datetime]] = {}
        with remanence.open(None, worker=False, reader=reader) as space:
            for place, session in enumerate(sessions[:-1]):
                at = session["at"]
                for turn in session["turns"]:
                    said = {"role": turn["role"], "content": turn["text"]}
                    space.add_turns([{**said, "time": at, "conversation": at}])
                    born |= {fact["id"]: (turn["text"], fact["text"], moments[place]) for fact in turn.get("facts", ())}
                for fact in chosen.sample(sorted(born), min(len(born), _ASKED)):
                    text, asked, told = born[fact]
                    later = chosen.randrange(place + 1, len(sessions))
                    space.recall(asked, now=moments[later], limit=1)
                    if text not in reader.replaced:
                        continue
                    known = [Fact("", text, max((moments[later] - told).total_seconds() / 86_400, _MIN_DAYS), False)]
                    expected = float(expected_ends(curves, known, *features(known, places))[0])
                    replaced = reader.replaced[text]
                    odds = math.log((replaced + 0.01) / (1.01 - replaced))
                    yield math.log(math.expm1(expected)), odds, ends.get(fact, len(sessions)) <= later


def check(facts: Sequence[Fact], places: Array) -> None:
    """Print how likely the ends of left-out people of the chats are, with and without classes and matters."""
    people = sorted({fact.who for fact in facts})
    totals, count = defaultdict(float), 0
    for part in range(5):
        left_out = set(people[part::5])
        curves = learn([fact for fact in facts if fact.who not in left_out], places)
        other = [fact for fact in facts if fact.who in left_out]
        classes, nearest = features(other, places)
        ended = np.array([fact.has_ended for fact in other], float)
        exposed = exposures(np.array([fact.days for fact in other]))
        ages = np.searchsorted(AGES, [fact.days for fact in other])
        count += len(other)
        for name, weights in (
            ("age", 0 * nearest),
            ("age, class", classes @ curves.classes),
            ("age, class, matter", classes @ curves.classes + curves.topics[nearest]),
        ):
            scale = ended.sum() / (exposed @ np.exp(curves.rates) * np.exp(weights)).sum()  # the level is not compared
            rate = np.exp(curves.rates[ages] + weights) * scale
            totals[name] += float((ended * np.log(rate)).sum() - ended.sum())
    for name, total in totals.items():
        print(f"{name}: {total / count:.4f} log likelihood a fact, {count} facts")


if __name__ == "__main__":
    main()
