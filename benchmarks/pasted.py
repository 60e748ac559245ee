"""How long the turns of an agent take when a log is pasted into the chat, and after it.

    python benchmarks/pasted.py              100, 500 and 2,000 kB
    python benchmarks/pasted.py --kilobytes 50

`turn` is the median of turns before anything is pasted, `paste` the turn with the log, `next` the slowest of the turns
right after it, while the log is read in the background, and `later` the median once it is read; in milliseconds. The
chat is one thread, so that the log is also among the messages of each later prompt. The model costs nothing: it always
gives the same answer.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from statistics import median

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver

import remanence
from langchain_remanence import RemanenceMiddleware

QUESTIONS = ("Where does my sister live?", "What am I allergic to?", "And why?", "Which queue timed out?")


def log_of(size: int) -> str:
    """A log of a server with about this many characters."""
    dice, lines = random.Random(1), list[str]()
    while len(lines) * 50 < size:  # a line has more characters than that
        lines.append(
            f"2026-11-{dice.randint(1, 28):02d} {dice.randint(0, 23):02d}:{dice.randint(0, 59):02d} WARN worker-"
            f"{dice.randint(1, 40)} timeout of queue-{dice.randint(1, 99)} after {dice.randint(1, 999)} ms"
        )
    return "\n".join(lines)[:size]


def measure(size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, remanence.open(folder) as space:
        model = FakeListChatModel(responses=["Noted."])
        agent = create_agent(model, middleware=[RemanenceMiddleware(space)], checkpointer=InMemorySaver())

        def turn(text: str) -> float:
            begin = time.perf_counter()
            agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": "1"}})
            return 1_000 * (time.perf_counter() - begin)

        for told in ("I am allergic to peanuts.", "My sister Ana lives in Porto."):
            turn(told)
        before = [turn(question) for question in QUESTIONS]
        paste = turn(f"Can you look at this log of my server?\n{log_of(size)}")
        after = [turn(question) for question in QUESTIONS]
        while space.admin.stats().unembedded:
            time.sleep(0.2)
        later = [turn(question) for question in QUESTIONS]
    return {"turn": median(before), "paste": paste, "next": max(after), "later": median(later)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kilobytes", type=int, nargs="+", default=[100, 500, 2_000])
    for size in parser.parse_args().kilobytes:
        print(f"{size:5} kB", {name: round(value) for name, value in measure(1_000 * size).items()})


if __name__ == "__main__":
    main()
