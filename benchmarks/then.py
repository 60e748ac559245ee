"""A set about then and now, made up and the same on every machine.

Twelve people move, change jobs and change their minds, and four hundred other things happen to them
meanwhile, half of which say in which month. No line says until when anything held: of what is asked, only
the order in which things were said can tell.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta

from remanence.testing.datasets import CorpusItem, Dataset, EvalQuestion

PEOPLE = "Alice Bruno Carol Dinis Erin Fausto Grace Hugo Ines Jorge Karin Lucas".split()
TOWNS = "Porto Lisbon Faro Braga Coimbra Evora Sintra Aveiro Leiria Viseu".split()
FIRMS = "Google Siemens Nokia Bosch Adidas Renault Ikea Philips Airbus Danone".split()
DRINKS = "coffee cocoa lemonade cider milk juice".split()
EVENTS = (
    "visited the museum in {town}",
    "ate grilled sardines in {town}",
    "ran a race in {town}",
    "met {other} for a walk",
    "bought a lamp",
    "read a long book about {town}",
    "painted the kitchen",
    "missed the train to {town}",
)
MATTERS = (
    ("{who} lives in {value}.", "Where did {who} live", "Where does {who} live", TOWNS),
    ("{who} works at {value}.", "Where did {who} work", "Where does {who} work", FIRMS),
    (
        "{who}'s favourite drink is {value}.",
        "What was {who}'s favourite drink",
        "What is {who}'s favourite drink",
        DRINKS,
    ),
)
YEAR, ASKED_ON = 2025, "2026-01-15"
SPANS = ((0, 28), (120, 180), (240, 270))
"""The days of the year on which the first, second and third value may be learned."""


def then_and_now() -> Dataset:
    """The set: what holds now, what held in a month, what held before something else, what held last."""
    chance = random.Random(11)
    told: list[tuple[date, str]] = []
    asked: list[tuple[str, str, str]] = []
    for who in PEOPLE:
        for says, did, does, values in MATTERS:
            some = chance.sample(values, 3)
            days = [date(YEAR, 1, 1) + timedelta(days=chance.randrange(*span)) for span in SPANS]
            facts = [says.format(who=who, value=value) for value in some]
            told += zip(days, facts, strict=True)
            did, does = did.format(who=who), does.format(who=who)
            asked += [
                (f"{did} in {_month(day, 1)}?", fact, "in a month") for day, fact in zip(days, facts, strict=True)
            ]
            asked += [(f"{did} before {later}?", fact, "before") for later, fact in zip(some[1:], facts, strict=False)]
            asked += [(f"{did} previously?", facts[-2], "previously"), (f"{does}?", facts[-1], "now")]
    told += _events(chance)
    told.sort()
    lines = [CorpusItem(str(number), text, time=day.isoformat()) for number, (day, text) in enumerate(told)]
    line_of = {line.text: line.id for line in lines}
    questions = [
        EvalQuestion(question, (line_of[fact],), category=category, time=ASKED_ON) for question, fact, category in asked
    ]
    return Dataset.from_corpus("then_and_now", lines, questions)


def _events(chance: random.Random) -> Iterator[tuple[date, str]]:
    for _ in range(400):
        who, other = chance.sample(PEOPLE, 2)
        day = date(YEAR, 1, 1) + timedelta(days=chance.randrange(365))
        text = f"{who} {chance.choice(EVENTS).format(town=chance.choice(TOWNS), other=other)}"
        yield day, f"{text} in {_month(day)}." if chance.random() < 0.5 else f"{text}."


def _month(day: date, later: int = 0) -> str:
    """The month of a day, or one so many months later."""
    return f"{day.replace(day=1, month=day.month + later):%B %Y}"
