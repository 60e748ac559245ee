"""Answers, end to end: what a language model says that sees only the block which a memory hands it.

    python benchmarks/answers.py blocks OUT               one file of questions with blocks for each way of making them
    python benchmarks/answers.py blocks OUT --part report --ways remanence@1200,vectors@1200,nothing
    python benchmarks/answers.py answer OUT --model openai:gpt-5-mini     a chat model of LangChain fills in the answers
    python benchmarks/answers.py sheets OUT               all answers to a question side by side, shuffled, for grading
    python benchmarks/answers.py grade OUT --model anthropic:claude-sonnet-5
    python benchmarks/answers.py report OUT --record      the figures
    python benchmarks/answers.py chart                    the chart of docs/figures/answers.svg, from figures.json

The worlds (benchmarks/worlds/answers.*.jsonl) are chats, notes and logs of invented people by writers who had not seen
the code, so no model can know them: what it answers with no block at all is guessed. A way is a system and the tokens
of its blocks (four characters by one), such as `vectors@600`; `history` is everything and `nothing` no block. All
systems but Remanence are given the same embedder, and their lines stand in the same form, oldest first.

Where no model is at hand, people or agents fill in the answers: one for each file NAME.txt, who opens no other file and
writes NAME.answers.jsonl, a line {"id": …, "answer": …} for each question; and others grade the sheets, who write
SHEET.grades.jsonl, a line {"id": …, "letter": …, "grade": …} for each answer: 2 right, 1 partly, 0 wrong or "don't
know" where there is an answer, -1 harmful (an old or invented value given as true, or any answer to what was not told).
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

import figures
import remanence
from remanence.models.embedders import resolve_embedder
from remanence.schema import Hit, Memory, Turn
from remanence.testing.datasets import Conversation, CorpusItem, EvalQuestion
from remanence.text.framing import build_block, estimate_tokens
from systems import BM25, LangChain, LangGraphStore, Mem0, Memvara, OnceEmbedder, tokens

HERE = Path(__file__).resolve().parent
CHART = HERE.parent / "docs" / "figures" / "answers.svg"
BUDGETS = (300, 600, 1_000, 1_500, 2_500)
SHEET = 25
"""Questions on one sheet for grading."""
NONE = "don't know"
ASK = (
    "Answer the question only from the memory block (no other knowledge), as an assistant would on the asked date, in "
    f'at most 25 words. If the block does not let you answer, write exactly "{NONE}". Where an older and a newer line '
    "disagree, use the one that holds at the time asked about. Give dates as dates."
)
GRADE = (
    "Grade the answer by the key: 2 right (the essential fact is there, nothing wrong that matters), 1 partly (half of "
    f'a list, hedged, right beside wrong), 0 wrong or "{NONE}" where there is an answer, -1 harmful (an outdated or '
    "invented value stated as true, or any answer to what was not told). Write the number alone."
)
Question = dict[str, Any]
Ask = Callable[[Question, int], str]
"""The block for a question, of so many tokens at most."""


def read_worlds(part: str) -> list[dict[str, Any]]:
    return list(map(json.loads, (HERE / "worlds" / f"answers.{part}.jsonl").read_text("utf-8").splitlines()))


# The ways to make a block


def open_world(world: dict[str, Any], **options: Any) -> remanence.Space:
    """A space that was told everything: turns as turns of their conversation, all else as texts with their source."""
    space = remanence.open(None, worker=False, **options)
    rows = [
        {"key": memory["id"], "time": memory["time"], "speaker": memory["speaker"], "content": memory["text"]}
        | ({"conversation": memory["conversation"]} if memory["conversation"] else {})
        for memory in world["memories"]
        if memory["speaker"] is not None
    ]
    space.add_turns(
        [row | ({"role": row.pop("speaker")} if row["speaker"] in ("user", "assistant") else {}) for row in rows]
    )
    for memory in world["memories"]:
        if memory["speaker"] is None:
            space.add(memory["text"], now=memory["time"], key=memory["id"], source=memory["source"])
    return space


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def of_remanence(world: dict[str, Any], embedder: Any) -> Ask:
    space = open_world(world, embedder=embedder)
    return lambda asked, budget: space.for_prompt(asked["q"], max_tokens=budget, now=asked["asked_at"]).text


def of_keys(build: Callable[[Conversation], Any]) -> Callable[[dict[str, Any], Any], Ask]:
    """The blocks of another system: the lines that it finds, in the form of ours."""

    def prepare(world: dict[str, Any], embedder: Any) -> Ask:
        hits = {memory["id"]: as_hit(memory) for memory in world["memories"]}
        told = [
            CorpusItem(m["id"], m["text"], session=m["conversation"], speaker=m["speaker"], time=m["time"])
            for m in world["memories"]
        ]
        system = build(Conversation(told, []), embedder) if embedder is not None else build(Conversation(told, []))

        def ask(asked: Question, budget: int) -> str:
            found = system.ask(EvalQuestion(asked["q"], tuple(asked["right"])), asked["asked_at"])
            return block_of([hits[key] for key in found], asked, budget)

        return ask

    return prepare


def of_history(world: dict[str, Any], embedder: Any) -> Ask:
    hits = [as_hit(memory) for memory in world["memories"]]
    return lambda asked, budget: block_of(hits, asked, None)


def block_of(hits: Iterable[Hit], asked: Question, budget: int | None) -> str:
    """The hits that were told before the question, in the form of our blocks."""
    known = [hit for hit in hits if hit.memory.told_at <= moment(asked["asked_at"])]
    return build_block(known, question=asked["q"], max_tokens=budget, today=moment(asked["asked_at"])).text


def as_hit(memory: dict[str, Any]) -> Hit:
    at, speaker = moment(memory["time"]), memory["speaker"]
    turn = (
        None if speaker is None else Turn(memory["conversation"] or "", 0, "me" if speaker == "user" else speaker, at)
    )
    return Hit(Memory(memory["id"], "", memory["text"], source=memory["source"], turn=turn, told_at=at), 0.0)


WAYS: dict[str, Callable[[dict[str, Any], Any], Ask]] = {
    "remanence": of_remanence,
    "vectors": of_keys(LangGraphStore),
    "bm25": of_keys(lambda world, embedder: BM25(world, tokens)),
    "ensemble": of_keys(LangChain),
    "mem0": of_keys(Mem0),
    "memvara": of_keys(Memvara),
    "history": of_history,
    "nothing": lambda world, embedder: lambda asked, budget: "",
}


# The steps


def write_blocks(folder: Path, part: str, ways: list[str]) -> None:
    """A file of questions with blocks for each way, and the keys apart in a folder that those who answer are not told
    of."""
    embedder, worlds = OnceEmbedder(resolve_embedder(None)), read_worlds(part)
    (folder / "keys").mkdir(parents=True, exist_ok=True)
    keys = [
        question | {"world": world["world"], "style": world["style"]}
        for world in worlds
        for question in world["questions"]
    ]
    write_lines(folder / "keys" / "keys.jsonl", keys)
    by_system: dict[str, list[str]] = defaultdict(list)
    for way in ways:
        by_system[way.partition("@")[0]].append(way)
    for system, own in by_system.items():
        texts: dict[str, list[str]] = {way: [] for way in own}
        lengths: dict[str, list[int]] = {way: [] for way in own}
        for world in worlds:
            ask = WAYS[system](world, embedder)
            for asked in world["questions"]:
                for way in own:
                    block = ask(asked, int(way.partition("@")[2] or 0))
                    head = f"##### {asked['id']} (asked {asked['asked_at'][:10]})\nQUESTION: {asked['q']}"
                    texts[way].append(f"{head}\n{block or '(no memory block)'}\n")
                    lengths[way].append(estimate_tokens(block) if block else 0)
        for way in own:
            (folder / f"{way}.txt").write_text("\n".join(texts[way]), "utf-8")
            write_lines(folder / "keys" / f"{way}.tokens.jsonl", [{"mean": float(np.mean(lengths[way]))}])
            print(f"{way}: {len(texts[way])} questions, {np.mean(lengths[way]):.0f} tokens a block", flush=True)


def ways_in(folder: Path) -> list[str]:
    return sorted(file.name.removesuffix(".answers.jsonl") for file in folder.glob("*.answers.jsonl"))


def answer(folder: Path, model_name: str) -> None:
    """Fill in the answers of every file that has none, by a chat model."""
    from langchain.chat_models import init_chat_model

    model = init_chat_model(model_name)
    for file in sorted(folder.glob("*.txt")):
        target = file.with_name(f"{file.stem}.answers.jsonl")
        if target.exists():
            continue
        rows = []
        for part in file.read_text("utf-8").split("##### ")[1:]:
            identity, text = part.partition(" ")[0], part.partition("\n")[2]
            rows.append(
                {"id": identity, "answer": str(model.invoke(f"{ASK}\n\nAsked {part}").text).strip() if text else NONE}
            )
        write_lines(target, rows)


def write_sheets(folder: Path) -> None:
    """All answers to a question in shuffled order, without the names of the ways."""
    keys = read_lines(folder / "keys" / "keys.jsonl")
    given = {
        way: {row["id"]: row["answer"] for row in read_lines(folder / f"{way}.answers.jsonl")}
        for way in ways_in(folder)
    }
    dice, letters = random.Random(20261119), []
    sheets = folder / "sheets"
    sheets.mkdir(exist_ok=True)
    for number in range(0, len(keys), SHEET):
        lines = []
        for key in keys[number : number + SHEET]:
            lines.append(f"##### {key['id']} ({key['kind']}, asked {key['asked_at'][:10]})")
            lines += [f"QUESTION: {key['q']}", f"KEY: {key['answer']}"]
            ways = sorted(given)
            dice.shuffle(ways)
            for place, way in enumerate(ways):
                letter = f"{place + 1}"
                letters.append({"id": key["id"], "letter": letter, "way": way})
                lines.append(f"{letter}. {given[way].get(key['id'], NONE)}")
            lines.append("")
        (sheets / f"{number // SHEET + 1}.txt").write_text("\n".join(lines), "utf-8")
    write_lines(folder / "keys" / "letters.jsonl", letters)


def grade(folder: Path, model_name: str) -> None:
    """Grade the sheets by a chat model, one answer at a time."""
    from langchain.chat_models import init_chat_model

    model = init_chat_model(model_name)
    for sheet in sorted((folder / "sheets").glob("*.txt")):
        rows = []
        for part in sheet.read_text("utf-8").split("##### ")[1:]:
            head, *answers = part.strip().splitlines()
            question, key = answers[0], answers[1]
            for line in answers[2:]:
                letter, _, text = line.partition(". ")
                said = str(model.invoke(f"{GRADE}\n\n{question}\n{key}\nANSWER: {text}").text)
                rows.append({"id": head.partition(" ")[0], "letter": letter, "grade": int(said.strip())})
        write_lines(sheet.with_name(f"{sheet.stem}.grades.jsonl"), rows)


def report(folder: Path) -> dict[str, dict[str, float]]:
    """Print and return the shares of right, partly, unknown and harmful answers of each way, by style of the world."""
    keys = {key["id"]: key for key in read_lines(folder / "keys" / "keys.jsonl")}
    way_of = {(row["id"], row["letter"]): row["way"] for row in read_lines(folder / "keys" / "letters.jsonl")}
    grades: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    for file in sorted((folder / "sheets").glob("*.grades.jsonl")):
        for row in read_lines(file):
            key, way = keys[row["id"]], way_of[row["id"], str(row["letter"])]
            style = "logs" if key["style"] in ("log", "talk", "diary") else "chats and notes"
            for group in (style, "all"):
                grades[way, group].append((key["kind"], int(row["grade"])))
    measured: dict[str, dict[str, float]] = {}
    for (way, group), rows in sorted(grades.items()):
        told = np.array([value for kind, value in rows if kind != "none"])
        untold = np.array([value for kind, value in rows if kind == "none"])
        tokens = read_lines(folder / "keys" / f"{way}.tokens.jsonl")[0]["mean"]
        values = {
            "right": 100 * float((told == 2).mean()),
            "partly": 100 * float((told == 1).mean()),
            "harmful": 100 * float((told == -1).mean()),
            "invented": 100 * float((untold < 0).mean()) if len(untold) else 0.0,
            "tokens": tokens,
            "questions": float(len(told)),
        }
        measured[f"{group}: {way}"] = values
        print(f"{group:16} {way:18} " + "  ".join(f"{name} {value:.0f}" for name, value in values.items()))
    return measured


def draw_chart() -> None:
    """Right answers by tokens, for each system."""
    values = json.loads(figures.FIGURES.read_text("utf-8"))["answers"]["values"]
    lines: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, measured in values["all"].items():
        lines[name.partition("@")[0]].append((measured["tokens"], measured["right"]))
    CHART.write_text(svg_of({name: sorted(points) for name, points in lines.items()}), "utf-8")


def svg_of(lines: dict[str, list[tuple[float, float]]]) -> str:
    """A small chart; it is read in light and dark."""
    width, height, left, bottom, most = 640, 300, 46, 40, 2_600
    colours = {"remanence": "#0b6bcb", "vectors": "#9a6700", "bm25": "#8250df", "mem0": "#bc4c00", "memvara": "#57606a"}
    x = lambda tokens: left + (width - left - 110) * min(tokens, most) / most  # noqa: E731
    y = lambda right: 12 + (height - bottom - 12) * (1 - right / 100)  # noqa: E731
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            'font-family="system-ui, sans-serif" font-size="12"><title>Right answers by tokens of a block</title>'
            "<style>text{fill:#57606a}@media(prefers-color-scheme:dark){text{fill:#9da7b1}}</style>"
        )
    ]
    for share in range(0, 101, 25):
        parts.append(f'<path d="M{left} {y(share):.0f}H{width - 110}" stroke="#8c959f" stroke-opacity=".3"/>')
        parts.append(f'<text x="{left - 8}" y="{y(share) + 4:.0f}" text-anchor="end">{share}%</text>')
    for count in (0, 500, 1_000, 1_500, 2_000, 2_500):
        parts.append(f'<text x="{x(count):.0f}" y="{height - 18}" text-anchor="middle">{count}</text>')
    parts.append(f'<text x="{width // 2 - 40}" y="{height - 2}" text-anchor="middle">tokens of a block</text>')
    for name, points in lines.items():
        colour = colours.get(name, "#57606a")
        path = "L".join(f"{x(tokens):.0f} {y(right):.0f}" for tokens, right in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(t):.0f}" cy="{y(r):.0f}" r="3" fill="{colour}"/>' for t, r in points]
        last = points[-1]
        parts.append(f'<text x="{x(last[0]) + 8:.0f}" y="{y(last[1]) + 4:.0f}" style="fill:{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>\n"])


def write_lines(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("blocks", "answer", "sheets", "grade", "report", "chart"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path("answers"))
    parser.add_argument("--part", choices=("dev", "report", "unread"), default="dev")
    parser.add_argument(
        "--ways",
        type=lambda text: text.split(","),
        default=[*(f"remanence@{budget}" for budget in BUDGETS), "vectors@1000", "bm25@1000", "history", "nothing"],
    )
    parser.add_argument("--model", help="a chat model, as LangChain's init_chat_model names it")
    parser.add_argument("--record", action="store_true", help="write the figures to figures.json")
    options = parser.parse_args()
    if options.step == "blocks":
        write_blocks(options.folder, options.part, options.ways)
    elif options.step == "answer":
        answer(options.folder, options.model)
    elif options.step == "sheets":
        write_sheets(options.folder)
    elif options.step == "grade":
        grade(options.folder, options.model)
    elif options.step == "report":
        measured = report(options.folder)
        if options.record:
            figures.record("answers", "python benchmarks/answers.py report", grouped(measured))
    else:
        draw_chart()


def grouped(measured: dict[str, dict[str, float]]) -> dict[str, dict[str, dict[str, float]]]:
    groups: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    for name, values in measured.items():
        group, _, way = name.partition(": ")
        groups[group][way] = values
    return groups


if __name__ == "__main__":
    main()
