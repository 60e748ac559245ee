"""Sentences of answers with dated lines: supported, contradicted, or told by none of them.

From ../shared/chats (a and b) and training/lives come facts with the turns that they rest on. A sentence is such a
fact as one would tell it to the user ("You live in Leeds."), among 3 to 8 turns of the same person:

true          as it is, some with a word in place of a related one
outdated      a fact that a later turn among them ended
changed       with another number, name, date or word, or negated
left out      its turn is not among them, the turns before and after are
of another    a fact of another person, with names of these lines

From training/matters come statements of one matter in other words, with the same value, another, an earlier one, or of
another person; that something ended or never was; and what settles nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from training.material.files import CHATS, TRAINING, read_folder, read_rows
from training.material.matters import PEOPLE, fill, read_matters

from remanence.models.embedders import TABLE, load_table
from remanence.ports import ReaderLine
from remanence.text.lexicon.word_lists import related_words, words_of_series
from remanence.text.named_entities.name_rules import find_names
from remanence.text.temporal.time_vocabulary import DAY_NAMES, MONTH_NAMES, NUMBERS
from remanence.text.text import STOP_WORDS, tokens

KINDS = ("true", "outdated", "changed", "left out", "of another")
SHARES = (0.44, 0.1, 0.2, 0.18, 0.08)
MINIMAL_SHARES = (0.42, 0.05, 0.45, 0.05, 0.03)
"""The same for examples that mostly differ in one thing."""
SUPPORTED, CONTRADICTED, UNSUPPORTED = range(3)
OF_MATTERS = 0.55
"""The share of examples that are made of the matters."""
MEASURED = 15
"""How many people of b are not learned from, the last ones."""
SYNONYMS = 0.5
"""The share of sentences in which related words take the place of others."""
UTC = timezone.utc


class Told(NamedTuple):
    """A turn with the facts in it."""

    at: datetime
    text: str
    facts: list[dict[str, Any]]


class Example(NamedTuple):
    """A sentence, the lines, what it is, and the line it is about: of an outdated one the earlier line."""

    sentence: str
    lines: list[ReaderLine]
    asked_at: datetime
    label: int
    line: int
    kind: str


def people() -> Iterator[tuple[str, list[Told]]]:
    """The turns of each person, with their facts; of each fact the place of the turn that ended it."""
    for name in ("a", "b"):
        for row in read_rows(CHATS / f"{name}.jsonl"):
            turns = [(s["at"], turn) for s in row["sessions"] for turn in s["turns"] if turn.get("facts")]
            ended = {fact: place for place, (_, turn) in enumerate(turns) for fact in turn["ends"]}
            yield (
                f"{name} {row['person']}",
                [
                    Told(_moment(at), t["text"], [{**f, "ended": ended.get(f["id"])} for f in t["facts"]])
                    for at, t in turns
                ],
            )
    for row in read_folder(TRAINING / "lives"):
        over = {
            (link["id"], link.get("fact", 0)): place
            for place, turn in enumerate(row["told"])
            for link in turn.get("on", ())
            if link["how"] in ("ends", "replaces")
        }
        yield (
            f"lives {row['life']}",
            [
                Told(
                    _moment(turn["time"]),
                    turn["said"],
                    [
                        {"text": text, "kind": "state", "ended": over.get((turn["id"], number))}
                        for number, text in enumerate(turn["facts"])
                    ],
                )
                for turn in row["told"]
                if turn["facts"]
            ],
        )


def examples(
    count: int, seed: int = 5, shares: Sequence[float] = SHARES, of_matters: float = OF_MATTERS, facts: float = 0.15
) -> Iterator[tuple[str, Example]]:
    """Examples in a random order, each with the person they are of.

    Args:
        count: How many.
        seed: Of the random order.
        shares: How often each of the `KINDS` is made.
        of_matters: The share of examples that are made of the matters.
        facts: How often the lines are facts in place of the turns that they were found in.
    """
    rng, everybody = random.Random(seed), list(people())
    names = [n.text for _, told in everybody for t in told for f in t.facts for n in find_names(f["text"])]
    names = sorted({name for name in names if name.lower() not in ("user", "the user")})
    words = sorted({w for _, told in everybody for t in told for f in t.facts for w in _plain_words(f["text"])})
    chats = [each for each in everybody if not each[0].startswith("lives")]
    lives = [each for each in everybody if each[0].startswith("lives")]
    matters = read_matters()
    made = 0
    while made < count:
        if rng.random() < of_matters:
            person, example = "matters", _of_matters(rng, matters)
        else:
            person, told = rng.choice(chats if rng.random() < 0.6 else lives)
            kind = rng.choices(KINDS, shares)[0]
            _, other = rng.choice(everybody)
            example = _example(rng, kind, told, other, names, words, facts)
        if example is not None:
            made += 1
            yield person, example


def _example(
    rng: random.Random, kind: str, told: list[Told], other: list[Told], names: list[str], words: list[str], facts: float
) -> Example | None:
    size = rng.randint(3, 8)
    if len(told) < size + 2 or other is told:
        return None
    center = rng.randrange(len(told))
    first = min(max(0, center - rng.randint(0, size - 1)), len(told) - size)
    places = list(range(first, first + size))
    fact = rng.choice(told[center].facts)
    own = rng.random() < facts  # the memories are facts, not turns
    line, label = center, SUPPORTED
    ended = fact["ended"]
    if kind == "outdated":
        if ended is None or fact["kind"] not in ("state", "preference"):
            return None
        label = CONTRADICTED
        if ended not in places:
            places[-1 if places[-1] != center else 0] = ended
    elif ended is not None:
        places = [place for place in places if place < ended]
        if center not in places:
            return None
    sentence = fact["text"]
    if kind == "changed":
        changed = _changed(rng, sentence, told[center].text, names, words)
        if changed is None:
            return None
        sentence, label = changed, CONTRADICTED
    elif kind == "left out":
        places = [place for place in places if place != center]
        line, label = -1, UNSUPPORTED
    elif kind == "of another":
        sentence, line, label = rng.choice(rng.choice(other).facts)["text"], -1, UNSUPPORTED
        known = [name.text for place in places for f in told[place].facts for name in find_names(f["text"])]
        known = [name for name in known if name.lower() not in ("user", "the user")]
        for name in reversed(find_names(sentence)):
            if known and "user" not in name.text.lower():
                sentence = sentence[: name.start] + rng.choice(known) + sentence[name.end :]
    places = sorted(set(places))
    if line >= 0 and line not in places:
        return None
    if len(places) < 2:
        return None
    lines = []
    for place in places:
        text = told[place].text
        if own:
            text = fact["text"] if place == center else rng.choice(told[place].facts)["text"]
            if place == ended and kind == "outdated":
                text = told[place].text
        lines.append(ReaderLine(text, told[place].at))
    if label == UNSUPPORTED:
        stems = set(tokens(sentence)) - {"user"}
        if not stems or any(len(stems & set(tokens(each.text))) > 0.5 * len(stems) for each in lines):
            return None
    sentence = to_user(sentence)
    if rng.random() < SYNONYMS:
        sentence = _with_synonyms(rng, sentence, words)
    asked = max(each.told_at for each in lines if each.told_at) + timedelta(days=rng.choice((1, 3, 20, 60)))
    return Example(sentence, lines, asked, label, places.index(line) if line >= 0 else -1, kind)


def _of_matters(rng: random.Random, matters: list[dict[str, Any]]) -> Example | None:
    """A sentence about one matter, among lines of it and of others."""
    matter = rng.choice(matters)
    me = "state_1" in matter and rng.random() < 0.6
    person = "_1" if me else "_3"
    names = matter.get("names") or list(PEOPLE)
    name, other_name = rng.sample(names, 2)
    value, old, third = rng.sample(matter["values"], 3)

    def said(kind: str, now: str, before: str, who: str = name) -> str:
        return fill(rng.choice(matter[kind]), who, now, before)

    def told(kind: str, now: str, before: str = "") -> str:
        """A sentence in the third person, or to the user."""
        return fill(rng.choice(matter[f"{kind}_3"]), "The user" if me else name, now, before)

    case = rng.choices(list(_CASES), list(_CASES.values()))[0]
    many = matter["many"]
    lines: list[str]
    if case == "same":
        lines, sentence, label, line = [said(f"state{person}", value, old)], told("state", value), SUPPORTED, 0
    elif case == "new value":
        lines = [said(f"state{person}", old, third), said(f"change{person}", value, old)]
        sentence, label, line = told("state", value), SUPPORTED, 1
    elif case == "another value" and not many:
        lines, sentence, label, line = [said(f"state{person}", value, old)], told("state", third), CONTRADICTED, 0
    elif case == "old value" and not many:
        lines = [said(f"state{person}", old, third), said(f"change{person}", value, old)]
        sentence, label, line = told("state", old), CONTRADICTED, 0
    elif case == "ended":
        lines = [said(f"state{person}", old, third), said(f"end{person}", value, old)]
        sentence, label, line = told("state", old), CONTRADICTED, 0
    elif case == "never" and f"none{person}" in matter:
        lines, line = [said(f"none{person}", value, old)], 0
        sentence, label = rng.choice([(told("state", value), CONTRADICTED), (told("none", value), SUPPORTED)])
    elif case == "unsettled":
        lines, sentence, label, line = [said(f"not{person}", value, old)], told("state", value), UNSUPPORTED, -1
    elif case == "near":
        lines, sentence, label, line = [said(f"state{person}", value, old)], "", UNSUPPORTED, -1
        sentence = fill(rng.choice(matter["near"]), "The user" if me else name, value, old)
    elif case == "other person" and not me:
        lines, sentence, label, line = [said("state_3", value, old, other_name)], told("state", value), UNSUPPORTED, -1
    elif case == "not told":
        lines, sentence, label, line = [], told("state", value), UNSUPPORTED, -1
    else:
        return None
    others = [each for each in matters if each is not matter and f"state{person}" in each and each.get("names") is None]
    more = []
    for each in rng.sample(others, rng.randint(2, 5)):
        more.append(
            fill(
                rng.choice(each[rng.choice((f"state{person}", f"change{person}"))]),
                name,
                *rng.sample(each["values"], 2),
            )
        )
    order = sorted(rng.sample(range(len(lines) + len(more)), len(lines)))
    texts: list[str] = []
    own = iter(lines)
    for place in range(len(lines) + len(more)):
        texts.append(next(own) if place in order else more.pop())
    days = sorted(rng.sample(range(10, 700), len(texts)))
    begin = datetime(2025, 12, 1, tzinfo=UTC) - timedelta(days=days[-1])
    if rng.random() < 0.5:
        texts = [text.lower().rstrip(".") if rng.random() < 0.5 else text for text in texts]
    return Example(
        to_user(sentence[0].upper() + sentence[1:]),
        [ReaderLine(text, begin + timedelta(days=day)) for text, day in zip(texts, days, strict=True)],
        datetime(2025, 12, 1, tzinfo=UTC) + timedelta(days=rng.choice((3, 20, 60))),
        label,
        order[line] if line >= 0 else -1,
        f"matter: {case}",
    )


_CASES = {
    "same": 5,
    "new value": 3,
    "another value": 3,
    "old value": 1.5,
    "ended": 1,
    "never": 1.5,
    "unsettled": 1.5,
    "near": 3,
    "other person": 1.5,
    "not told": 1.5,
}
"""How often each kind of case is made, of the matters."""
_VERB = re.compile(r"\bYou ((?:\w+ly |also |now |no longer |still )?)(\w+)")
_FORMS = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "goes": "go",
    "isn't": "aren't",
    "wasn't": "weren't",
    "doesn't": "don't",
    "hasn't": "haven't",
}


def to_user(fact: str) -> str:
    """A fact as one tells it to the user.

    >>> to_user("The user's wife cooks, and the user works in Graz."), to_user("User tries padel")
    ('Your wife cooks, and you works in Graz.', 'You try padel.')
    """
    text = re.sub(r"^(?:The u|U)ser's\b", "Your", fact)
    text = re.sub(r"^(?:The u|U)ser\b", "You", text)
    text = re.sub(r"\b(?:[Tt]he user's|User's)", "your", text)
    text = re.sub(r"\b(?:[Tt]he user|User)\b", "you", text)
    text = _VERB.sub(lambda found: f"You {found[1]}{_without_s(found[2])}", text, count=1)
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _without_s(verb: str) -> str:
    if verb in _FORMS or not verb.endswith("s") or verb.endswith("ss"):
        return _FORMS.get(verb, verb)
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(("ches", "shes", "sses", "xes", "zes")) else verb[:-1]


def _changed(rng: random.Random, fact: str, turn: str, names: list[str], words: list[str]) -> str | None:
    """The fact with one thing changed."""
    ways = ["number", "name", "date", "negation", "word", "word"]
    rng.shuffle(ways)
    for way in ways:
        changed = _WAYS[way](rng, fact, turn, names if way == "name" else words)
        if changed is not None and changed != fact:
            return changed
    return None


def _other_number(rng: random.Random, fact: str, turn: str, words: list[str]) -> str | None:
    found = [each for each in re.finditer(r"\d+", fact) if each[0] in turn]
    spoken = [each for each in re.finditer(r"[a-z]+", fact) if NUMBERS.get(each[0], 0) > 1]
    if not found and not spoken:
        return None
    one = rng.choice(found or spoken)
    if one[0].isdigit():
        value = int(one[0])
        swapped = one[0][:-2] + one[0][:-3:-1]
        new = rng.choice(
            [swapped, str(value + rng.randint(1, 9)), str(max(1, round(value * rng.choice((0.5, 0.7, 1.4, 2, 10)))))]
        )
    else:
        new = rng.choice([word for word, value in NUMBERS.items() if value > 1 and word != one[0]])
    return None if new == one[0] else fact[: one.start()] + new + fact[one.end() :]


def _other_name(rng: random.Random, fact: str, turn: str, names: list[str]) -> str | None:
    found = [n for n in find_names(fact) if "user" not in n.text.lower() and n.text.lower() in turn.lower()]
    if not found:
        return None
    one = rng.choice(found)
    alike = [name for name in names if len(name.split()) == len(one.text.split()) and name.lower() not in turn.lower()]
    return fact[: one.start] + rng.choice(alike) + fact[one.end :]


def _other_date(rng: random.Random, fact: str, turn: str, words: list[str]) -> str | None:
    series = (
        MONTH_NAMES,
        DAY_NAMES,
        ["morning", "afternoon", "evening", "night"],
        ["spring", "summer", "autumn", "winter"],
    )
    found = [(w, s) for w in re.finditer(r"[A-Za-z]+", fact) for s in series if w[0].lower().removesuffix("s") in s]
    if not found:
        return None
    one, group = rng.choice(found)
    new = rng.choice([w for w in group if w != one[0].lower().removesuffix("s")])
    new += "s" if one[0].endswith("s") else ""
    return fact[: one.start()] + (new.capitalize() if one[0][0].isupper() else new) + fact[one.end() :]


_TO_NEGATE = re.compile(r"\b(is|are|was|were|has|can|will)\b")


def _negated(rng: random.Random, fact: str, turn: str, words: list[str]) -> str | None:
    plain = re.sub(r"\b(?:does not|doesn't|did not|didn't|not|never|no longer) ", "", fact, count=1)
    if plain != fact:
        return plain
    start = re.match(r"((?:The u|U)ser )(\w+)", fact)
    if start and start[2] in ("is", "was", "can", "will"):
        return fact[: start.end()] + rng.choice((" not", " no longer")) + fact[start.end() :]
    if start:
        return (
            f"{start[1]}{rng.choice(('does not', 'no longer', 'never'))} {_without_s(start[2])}" + fact[start.end() :]
        )
    found = _TO_NEGATE.search(fact)
    return None if found is None else fact[: found.end()] + " not" + fact[found.end() :]


def _other_word(rng: random.Random, fact: str, turn: str, words: list[str]) -> str | None:
    said = set(tokens(turn))
    found = [w for w in re.finditer(r"[a-z]{3,}", fact) if w[0] in words and said.intersection(tokens(w[0]))]
    if not found:
        return None
    one = rng.choice(found)
    sample = rng.sample(words, min(1_500, len(words)))
    near = _vectors(tuple(sample)) @ _vectors((one[0],))[0]
    alike = [w for w, s in zip(sample, near, strict=True) if 0.33 < s < 0.6 and not said.intersection(tokens(w))]
    return fact[: one.start()] + rng.choice(alike) + fact[one.end() :] if alike else None


_WAYS = {"number": _other_number, "name": _other_name, "date": _other_date, "negation": _negated, "word": _other_word}


def _with_synonyms(rng: random.Random, sentence: str, words: list[str]) -> str:
    """The sentence with up to two words in the place of related ones."""
    by_stem = _by_stem(tuple(words))
    found = []
    for word in re.findall(r"\b[a-z]{4,}\b", sentence):
        stems = () if words_of_series(word) else tokens(word)[:1]
        near = [other for stem in stems for other, likeness in related_words(stem) if likeness > 0.55]
        if others := [by_stem[other] for other in near if other in by_stem]:
            found.append((word, others))
    for word, others in rng.sample(found, min(2, len(found))):
        sentence = re.sub(rf"\b{word}\b", rng.choice(others), sentence, count=1)
    return sentence


@cache
def _by_stem(words: tuple[str, ...]) -> dict[str, str]:
    """A word for each stem, the shortest."""
    return {stem: word for word in sorted(words, key=len, reverse=True) for stem in tokens(word)}


def _vectors(words: tuple[str, ...]) -> np.ndarray[Any, Any]:
    rows = np.array([_vector(word) for word in words])
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@cache
def _vector(word: str) -> np.ndarray[Any, Any]:
    return load_table(TABLE).mean(word)


def _plain_words(text: str) -> list[str]:
    return [word for word in re.findall(r"\b[a-z]{4,}\b", text) if word not in STOP_WORDS and word not in ("user",)]


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
