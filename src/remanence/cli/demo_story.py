"""A year of Maya's life, as somebody close to her would note it down; and what is asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remanence.schema import UTC

TODAY = datetime(2026, 11, 15, 9, tzinfo=UTC)

NOTES: tuple[tuple[str, str, str | None], ...] = (
    # when it was learned, what, and a key for what may change
    ("2025-11-16", "Maya lives in Porto, in a flat above a bakery.", "home"),
    ("2025-11-20", "Maya's favourite drink is a cortado with oat milk.", "drink"),
    ("2025-11-28", "The reading lamp is on its way: order code ZX-4417.", None),
    ("2025-12-06", "Jonas is allergic to hazelnuts, so no praline at dinner.", None),
    ("2025-12-19", 'Finished "The Left Hand of Darkness" last night and cried on the tram.', None),
    ("2026-01-04", "First cello lesson today; the bow shook the whole hour.", None),
    ("2026-01-15", "Ana works at Brightwater, just behind the old fish market.", None),
    ("2026-01-18", "Brightwater builds water pumps for desert farms.", None),
    ("2026-02-02", "Maya's job is night nurse at Santo António Hospital.", "job"),
    ("2026-02-21", "Grandmother Elvira turned ninety today and the whole family sang.", None),
    ("2026-03-08", "A grey kitten called Pixel moved in and sleeps in the fruit bowl.", None),
    ("2026-03-22", "Ran the half marathon along the river this morning, in just under two hours.", None),
    ("2026-04-11", "Rui lent his good tent for the trip to the Azores.", None),
    ("2026-05-03", "Maya lives in Lisbon, up four flights of stairs.", "home"),
    ("2026-05-09", "The new balcony has a lemon tree in a cracked blue pot.", None),
    ("2026-05-21", "The moving boxes went back: order code ZX-4714.", None),
    ("2026-06-13", "Danced at the street party last night until the band went home.", None),
    ("2026-07-09", "The landlord is Mr Tavares; the rent is due on the fifth.", None),
    ("2026-08-14", "Fell off a borrowed bicycle yesterday and broke a wrist.", None),
    ("2026-09-01", "Maya's job is teaching first aid at the Red Cross.", "job"),
    ("2026-09-18", "Maya's favourite drink is jasmine tea.", "drink"),
    ("2026-10-02", "Two seats are booked on the flight to Kyoto, for the cherry blossom.", None),
    ("2026-10-24", "The heating works again: it was only a stuck valve.", None),
    ("2026-11-07", "The wifi password at the cabin is juniper-owl-52.", None),
)

CHAT_TURNS = (
    {"speaker": "Ana", "content": "Shall we take the night train to Madrid for your birthday?", "time": "20:14"},
    {"speaker": "Maya", "content": "Yes! But only if we get the compartment with a window.", "time": "20:15"},
    {"speaker": "Ana", "content": "Window it is. I will bring the cards and the cheese.", "time": "20:17"},
)
CHAT_DAY = "2026-10-30"


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question, the words that its right answer holds, and what makes it hard."""

    question: str
    answer: str
    difficulty: str


QUESTIONS = (
    DemoQuestion("Who cannot eat nuts?", "hazelnuts", "The answer shares no word with the question"),
    DemoQuestion("What was order ZX-4417?", "ZX-4417", "Two codes of the same letters and digits"),
    DemoQuestion(
        "What does the company Ana works for make?",
        "pumps",
        "The answer does not name Ana; another memory ties the two",
    ),
    DemoQuestion("What happened in August?", "wrist", "The answer names no month: it says 'yesterday'"),
)

PAST_DATE = "2026-04-01"
CHANGED_QUESTIONS = (
    # asked of that day and of today, with what each answer holds
    DemoQuestion("Where does Maya live?", "Porto|Lisbon", ""),
    DemoQuestion("What is Maya's job?", "nurse|first aid", ""),
    DemoQuestion("What is Maya's favourite drink?", "cortado|jasmine", ""),
)

SECRET_QUESTION = DemoQuestion("What is the wifi password?", "juniper-owl-52", "")
