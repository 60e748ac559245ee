"""Questions that are asked in a chat, for the training: hand-written ones, and those of other sets put into a chat.

chats/follow*.jsonl   conversations whose last message is understood only with the turns before it
chats/helps*.jsonl    what users once told, and later messages, with what of it helps to answer them
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from remanence.read.follow_up import reader_text

CHATS = Path(__file__).with_name("chats")
CUTS = (0, -2, -4)
"""How many of the turns a follow-up is asked after: all of them, the last two, the last four."""
MENTIONS = (
    "{} called this morning.", "I was just talking to {}.", "Dinner with {} on friday", "{} is coming over later",
    "ok so about {}", "I need to sort something out for {}", "Still thinking about {}.", "{} again, sorry",
    "I'm writing to {} now", "Got a message from {} today", "Let's talk about {} for a bit.", "{} sent me a photo",
    "I want to surprise {}", "we saw {} at the weekend", "I owe {} a call",
    "Could you help me with something? It's {}.",
    "There is this thing with {}.", "{} seems a bit quiet lately", "tell me what you know about {}", "hm, {} then",
)  # fmt: skip
REPLIES = (
    "Sure, what would you like to know?", "Of course.", "Happy to help.", "How nice!", "Okay. What about it?",
    "I see. Anything in particular?", "Got it.", "That sounds lovely.", "Alright, go on.", "Oh, how did that go?",
    "Let me know what you need.", "Noted.", "Fine, I'm listening.", "Is everything all right?", "What can I do?",
)  # fmt: skip
ELSEWHERE = (
    "what's the weather going to be like tomorrow", "Can you translate 'good night' into Danish?",
    "thanks, that worked",
    "I slept badly.", "The printer is broken again.", "how long do eggs keep", "That film was far too long.",
    "Write me a limerick about a goose.", "my phone is at 4 percent lol", "We finally got the parcel.",
    "is there a shorter word for approximately", "The train was late again today.",
)  # fmt: skip
_SUBJECT = re.compile(r"\b(?:does|did|is|was|has|had|will|can|could|should|would|do|were|are)\s+$", re.IGNORECASE)


def read_chats(seed: int = 11) -> Iterator[dict[str, Any]]:
    """The hand-written questions with their candidates."""
    rng = random.Random(seed)
    for file in sorted(CHATS.glob("follow*.jsonl")):
        for case in map(json.loads, file.read_text("utf-8").splitlines()):
            turns = [f"{role}: {text}" for role, text in case["turns"]]
            cands = [{"t": text, "y": int(place in case["right"])} for place, text in enumerate(case["memories"])]
            for asked in dict.fromkeys(reader_text(case["question"], turns[cut:]) for cut in CUTS):
                yield _pack(rng, "chats", asked, cands)
            yield _pack(rng, "chats", case["alone"], cands)
    for file in sorted(CHATS.glob("helps*.jsonl")):
        for user in map(json.loads, file.read_text("utf-8").splitlines()):
            for message in user["messages"]:
                cands = [
                    {"t": text, "s": "user", "y": int(place in message["helps"])}
                    for place, text in enumerate(user["memories"])
                ]
                yield _pack(rng, "helps", message["text"], cands)


def in_chats(packs: Iterable[dict[str, Any]], count: int, seed: int = 12) -> Iterator[dict[str, Any]]:
    """Questions of other sets as the last message of a chat: half of them with a pronoun for somebody who was named
    before, half as they are after talk about something else."""
    rng = random.Random(seed)
    usable = [pack for pack in packs if not pack.get("measure") and not pack.get("soft")]
    rng.shuffle(usable)
    for pack in usable[:count]:
        others = sorted({cand["s"] for cand in pack["cands"] if cand.get("s")} - {"user", "assistant"})
        named = _named(pack["q"])
        if named is not None and rng.random() < 0.6:
            asked, name = _with_pronoun(rng, pack["q"], named), named
            turns = [f"user: {rng.choice(MENTIONS).format(name)}", f"assistant: {rng.choice(REPLIES)}"]
            others = [other for other in others if other != name]
            if others and rng.random() < 0.5:  # somebody else was talked about before
                turns = [
                    f"user: {rng.choice(MENTIONS).format(rng.choice(others))}",
                    f"assistant: {rng.choice(REPLIES)}",
                    *turns,
                ]
        else:
            asked = pack["q"]
            about = (
                rng.choice(MENTIONS).format(rng.choice(others))
                if others and rng.random() < 0.5
                else rng.choice(ELSEWHERE)
            )
            turns = [f"user: {about}", f"assistant: {rng.choice(REPLIES)}"]
        yield pack | {"set": "in_chats", "q": reader_text(asked, turns)}


def _named(question: str) -> str | None:
    """The one name in a question, if there is one and it does not begin with it."""
    names = re.findall(r"(?<=[a-z] )[A-Z][a-z]{2,}\b", question)
    return names[0] if len(set(names)) == 1 else None


def _with_pronoun(rng: random.Random, question: str, name: str) -> str:
    she = " her " in question or " she " in question or (" his " not in question and rng.random() < 0.5)
    subject, possessive, object_ = ("she", "her", "her") if she else ("he", "his", "him")
    question = re.sub(rf"\b{name}['’]s\b", possessive, question)

    def pronoun(found: re.Match[str]) -> str:
        return subject if _SUBJECT.search(question[: found.start()]) else object_

    return re.sub(rf"\b{name}\b", pronoun, question)


def _pack(rng: random.Random, name: str, question: str, cands: list[dict[str, Any]]) -> dict[str, Any]:
    shuffled = rng.sample(cands, len(cands))
    return {"set": name, "q": question, "answerable": any(cand["y"] for cand in cands), "cands": shuffled}
