"""What is kept of good answers of a language model about chats that strangers wrote and labelled.

    python benchmarks/chat_reading.py                       ../shared/chats/a.jsonl
    python benchmarks/chat_reading.py --chats b.jsonl --show
    python benchmarks/chat_reading.py --invented            the answers also have facts of other people

The model is scripted: it answers with the facts of each turn as the file has them, quotes the whole turn, gives a day
that stands in the text of a fact as `when`, and names the known facts that the file says end, where the prompt shows
them. What is taken back in the same chat is not among its facts, as one call has read it all. So the figures are of
the prompt, the checks and the storing, not of a model.

facts    how many of the facts are kept, word for word, and how many are stored that the file does not have
dates    how many facts with a date in their text have that date
ends     how many ended facts were shown to the model, and how many are not current afterwards; how many facts are
         not current that the file does not end
invented with --invented, each answer also has as many facts of another person as of this one, each with a turn of the
         chat as its quotation: how many of them are stored. Then the other figures are not of a good answer
calls    how many calls for how many chats, and how many characters in and out
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import figures
import remanence
from remanence.testing.fakes import facts_reply

CHATS = Path(__file__).resolve().parents[2] / "shared" / "chats"
KINDS = {"event": "episode", "plan": "plan", "preference": "viewpoint"}
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(rf"\b(on|since|from|in|date of|at Christmas) (?:(\d{{1,2}}) )?(?:({_MONTHS}) )?(\d{{4}})\b")
Row = dict[str, Any]


class Counts(Counter[str]):
    """Counts, and the texts of what went wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def miss(self, what: str, text: str) -> None:
        """Count something that went wrong."""
        self[what] += 1
        self.wrong.append(f"{what}: {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chats", default="a.jsonl")
    parser.add_argument("--people", type=int, default=None, help="only the first so many")
    parser.add_argument("--invented", action="store_true", help="add facts of other people to the answers")
    parser.add_argument("--show", action="store_true", help="print what is dropped or wrong")
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json")
    options = parser.parse_args()
    path = CHATS / options.chats
    if not path.exists():
        print(f"{path} is absent: nothing is read.")
        return
    people = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    n = Counts()
    for number, person in enumerate(people[: options.people]):
        foreign = [fact["text"] for _, _, fact in facts_of(people[number - 1])] if options.invented else []
        read_person(person, foreign, n)
    print(f"facts    {n['kept']} of {n['facts']} kept; {n['unsaid']} stored that nobody gave")
    print(f"dates    {n['right day']} of {n['days']} right; {n['other day']} other, {n['no day']} left out")
    print(f"ends     {n['ends']}, {n['not shown']} not shown, {n['ended']} not current; {n['ended wrongly']} wrongly")
    if options.invented:
        print(f"invented {n['unsaid']} of {n['invented']} stored")
    print(f"calls    {n['calls']} for {n['chats']} chats; {n['in']} characters in, {n['out']} out")
    if options.record:
        row = f"{path.stem}, invented" if options.invented else path.stem
        figures.record("chat_reading", "python benchmarks/chat_reading.py", {row: {"facts": n}})
    if options.show:
        print("", *n.wrong, sep="\n")


def read_person(person: Row, foreign: Sequence[str], n: Counts) -> None:
    """Read the chats of one person in their order, with facts of another one, and count what is stored then."""
    texts = {fact["id"]: fact["text"] for _, _, fact in facts_of(person)}
    chat: Row = {}
    unsaid = iter([text for text in foreign if text not in texts.values()])

    def model(prompt: str) -> str:
        rows = list(good_answer(chat, prompt, texts, n))
        invented = [{**row, "text": text, "when": None, "ends": []} for row, text in zip(rows, unsaid, strict=False)]
        n["invented"] += len(invented)
        answer = facts_reply(*rows, *invented)
        n.update({"calls": 1, "in": len(prompt), "out": len(answer)})
        return answer

    with remanence.open(None, extractor=remanence.LLMExtractor(model), worker=False) as space:
        for number, chat in enumerate(person["sessions"]):
            n["chats"] += 1
            turns = [
                {"role": turn["role"], "content": turn["text"], "time": chat["at"], "conversation": f"chat {number}"}
                for turn in chat["turns"]
            ]
            space.remember(turns, now=chat["at"])
        stored = {memory.text: memory for memory in space.memories() if memory.turn is None}
        over = {memory.text for status in ("superseded", "expired") for memory in space.memories(status)}
    count_facts(person, texts, stored, n)
    ends = {
        texts[end]
        for chat in person["sessions"]
        for turn in chat["turns"]
        for end in turn.get("ends", ())
        if end in texts
    }
    n["ended"] += len(ends & over)
    for text in over.difference(ends).intersection(texts.values()):
        n.miss("ended wrongly", text)


def good_answer(chat: Row, prompt: str, texts: dict[str, str], n: Counts) -> Iterator[Row]:
    """The facts that the file has for a chat, with what they end."""
    lines = prompt.rsplit("<known>\n", 1)[1].split("</known>")[0].splitlines()
    known = {row["text"]: row["known"] for row in map(json.loads, filter(None, lines))}
    told = [(turn, fact) for _, turn, fact in facts_of({"sessions": [chat]})]
    for number, turn in enumerate(chat["turns"]):
        ended = []
        for end in filter(texts.__contains__, turn.get("ends", ())):
            n["ends"] += 1
            if texts[end] in known:
                ended.append(known[texts[end]])
            else:
                n.miss("not shown", f"{texts[end]} | {turn['text']}")
        rows: list[Row] = [
            {"text": fact["text"], "kind": KINDS.get(fact["kind"], "semantic"), "when": date_in(fact["text"])}
            for told_in, fact in told
            if told_in is turn
        ]
        if ended and not rows:
            rows = [{"text": "The user says that this is over: " + turn["text"], "kind": "semantic"}]
        for first, row in enumerate(rows):
            yield {**row, "turn": number, "quotation": turn["text"], "ends": [] if first else ended}


def count_facts(person: Row, texts: dict[str, str], stored: dict[str, remanence.Memory], n: Counts) -> None:
    """Which of the facts are stored, with which days."""
    for chat, turn, fact in facts_of(person):
        n["facts"] += 1
        memory = stored.get(fact["text"])
        if memory is None:
            n.miss("dropped", f"{fact['text']} | {turn['text']}")
            continue
        n["kept"] += 1
        if day := date_in(fact["text"]):
            n["days"] += 1
            start = memory.valid.start
            if start is None:
                n.miss("no day", f"{fact['text']} | {chat['at']} {turn['text']}")
            elif start.date().isoformat().startswith(day):
                n["right day"] += 1
            else:
                n.miss("other day", f"{start.date()}: {fact['text']} | {chat['at']} {turn['text']}")
    for text in stored.keys() - set(texts.values()):
        if not text.startswith("The user says that this is over: "):
            n.miss("unsaid", text)


def facts_of(person: Row) -> Iterator[tuple[Row, Row, Row]]:
    """Each fact with its chat and turn, without those that are taken back in the same chat."""
    for chat in person["sessions"]:
        back = {end for turn in chat["turns"] for end in turn.get("ends", ())}
        for turn in chat["turns"]:
            for fact in turn.get("facts", ()):
                if fact["id"] not in back:
                    yield chat, turn, fact


def date_in(text: str) -> str | None:
    """The one date that stands in a text, in ISO format: a day, a month or a year."""
    dates = _DATE.findall(text)
    if len(dates) != 1:
        return None
    word, day, month, year = dates[0]
    if word.endswith("Christmas"):
        return f"{year}-12-25"
    if not month:
        return None if day else year
    number = _MONTHS.split("|").index(month) + 1
    return f"{year}-{number:02}-{int(day):02}" if day else f"{year}-{number:02}"


if __name__ == "__main__":
    main()
