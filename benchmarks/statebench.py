"""Whether what holds comes first, on StateBench (MIT licence, not shipped with this package), beside other memories.

    pip download statebench==2.0.0 --no-deps --no-binary :all: && tar xzf statebench-2.0.0.tar.gz
    python benchmarks/external.py --statebench statebench-2.0.0/data/releases/v1.0/test.jsonl

StateBench judges the answers of a language model. Without one, what is judged is which line comes first. In the tracks
on replaced decisions a turn is right that has the decision of the benchmark in its words; if none has, the turn that
announces the last change ("Bad news - VP rescinded approval."); of the notes that the benchmark writes to its state,
the last one. In the other tracks a turn is right that has a phrase that the answer must mention and none that it must
not. Questions in which all lines are right, or none, are left out; so are tracks in which fewer than five are left:
those on who may see what are answered by spaces, not by an order. The split `train` is among what the reader was
trained on (training/README.md), and one generator made all splits.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from remanence.testing.datasets import Conversation, CorpusItem, EvalQuestion

REPLACED = ("supersession", "supersession_detection")
NOTES = "supersession, as notes"
YES_OR_NO = ("yes", "no")
MIN_QUESTIONS = 5


def read_conversations(file: Path) -> list[tuple[str, Conversation]]:
    """The conversations of a split with their track, and a question for each query that an order can answer."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    found = [(track, conversation) for row in rows for track, conversation in _conversations(row)]
    counts = Counter(track for track, conversation in found for _ in conversation.questions)
    return [(track, one) for track, one in found if one.questions and counts[track] >= MIN_QUESTIONS]


def _conversations(row: dict[str, Any]) -> Iterator[tuple[str, Conversation]]:
    events, track = row["events"], row["track"]
    turns = [
        CorpusItem(str(place), event["text"], session="chat", speaker=event["speaker"], time=event["ts"])
        for place, event in enumerate(events)
        if event["type"] == "conversation_turn"
    ]
    queries = [event for event in events if event["type"] == "query"]
    judge = _of_the_decision if track in REPLACED else _with_phrases
    asked = [_question(query, turns, judge(query["ground_truth"], turns, events)) for query in queries]
    yield track, Conversation(turns, [question for question in asked if question])
    if track == REPLACED[0]:
        written = [(write["value"], event["ts"]) for event in events for write in event.get("writes") or ()]
        notes = [CorpusItem(str(place), text, time=at) for place, (text, at) in enumerate(written)]
        right = {note.id for note in notes if note.text == written[-1][0]}
        asked = [_question(query, notes, right) for query in queries]
        yield NOTES, Conversation(notes, [question for question in asked if question])


def _question(query: dict[str, Any], lines: list[CorpusItem], right: set[str]) -> EvalQuestion | None:
    """The query, if some of the lines are right and some are not."""
    if not right or len(right) == len(lines):
        return None
    return EvalQuestion(query["prompt"], tuple(sorted(right, key=int)), time=query["ts"])


def _of_the_decision(truth: dict[str, Any], turns: list[CorpusItem], events: list[dict[str, Any]]) -> set[str]:
    """The user's turns that have the decision; else the one that announces the last change."""
    by_user = [turn for turn in turns if turn.speaker == "user"]
    changes = [place for place, event in enumerate(events) if event["type"] == "supersession"]
    decision = truth["decision"]
    naming = re.compile(rf"(?<![\w$]){re.escape(decision)}(?![\w,]*\w)", re.IGNORECASE)
    right = [] if decision in YES_OR_NO else [turn for turn in by_user if naming.search(turn.text)]
    if not right and changes:
        right = [turn for turn in by_user if int(turn.id) > changes[-1]][:1] or by_user[-1:]
    return {turn.id for turn in right}


def _with_phrases(truth: dict[str, Any], turns: list[CorpusItem], events: list[dict[str, Any]]) -> set[str]:
    """The turns that have a phrase that the answer must mention, and none that it must not."""
    return {
        turn.id for turn in turns if _has(turn, truth["must_mention"]) and not _has(turn, truth["must_not_mention"])
    }


def _has(turn: CorpusItem, phrases: Iterable[str]) -> bool:
    text = turn.text.casefold()
    return any(phrase.casefold() in text for phrase in phrases)
