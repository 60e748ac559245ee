"""What may be typed. Loads argparse and nothing else, so that `--help` answers at once."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from remanence import __version__
from remanence.cli import admin_commands, commands, eval_command, graph_commands, remember_commands, upkeep_commands
from remanence.schema import MEMORY_KINDS

DEFAULT_FOLDER = "./memory"
_WHEN = "a date, or words such as 'last May'"

Parser = argparse.ArgumentParser
Verb = Callable[[argparse.Namespace], "int | None"]


def make_parser() -> Parser:
    """The whole command line."""
    parser = Parser(
        "remanence",
        description="Long-term memory that only grows, and says why it answers what it answers.",
        epilog='Example:\n  remanence add "Alice lives in Porto."\n  remanence recall "Where is Alice?"',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"remanence {__version__}")
    _place(parser, os.environ.get("REMANENCE_MEMORY") or DEFAULT_FOLDER, None)
    parser.set_defaults(run=None)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")

    def command(name: str, run: Verb, help: str, example: str, *, of: Any = subparsers, folder: bool = False) -> Parser:
        made: Parser = of.add_parser(
            name,
            help=help,
            description=f"{help[0].upper()}{help[1:]}.",
            epilog=f"Example:\n  remanence {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        # What is not given here is left as it was given before the verb.
        _place(made, argparse.SUPPRESS, argparse.SUPPRESS)
        if folder:
            made.add_argument("folder", nargs="?", help="the folder, in place of --memory")
        made.set_defaults(run=run)
        return made

    def as_json(parser: Parser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON")

    def as_of(parser: Parser) -> None:
        parser.add_argument("--as-of", metavar="WHEN", help="answer with what was known then")

    it = command("add", commands.add, "keep a text", 'add "Alice moved to Lisbon." --valid-from 2026-05-03')
    it.add_argument("text", help="the text; - reads it from standard input")
    it.add_argument("--key", help="the same key with another text is a new version")
    it.add_argument("--kind", choices=MEMORY_KINDS, help="what sort of memory it is")
    it.add_argument("--valid-from", metavar="WHEN", help=f"true from then on: {_WHEN}")
    it.add_argument("--valid-until", metavar="WHEN", help="true until then")
    it.add_argument("--importance", type=float, metavar="0..1", help="0.3 minor, 0.9 identity-defining")
    it.add_argument("--confidence", type=float, metavar="0..1", help="how sure it is")
    it.add_argument("--tag", action="append", default=[], dest="tags", help="a tag; may be repeated")
    it.add_argument("--source", help="where it comes from")
    it.add_argument("--observed-by", metavar="NAME", help="who says so; 'I' in the text is them")
    it.add_argument("--expires-at", metavar="WHEN", help="steps back after this moment")
    it.add_argument("--now", metavar="WHEN", help="when it was learned")
    as_json(it)

    for name, run, what, example in (
        ("add-many", commands.add_many, "texts, one JSON object a line with the fields of add", "facts.jsonl"),
        ("add-turns", commands.add_turns, "chat turns: content, and speaker or role, time, ...", "chat.jsonl"),
    ):
        it = command(name, run, f"keep many {what}", f"{name} {example}")
        it.add_argument("file", help="a file of JSON lines; - reads standard input")
        as_json(it)

    remember_commands.add_commands(command, as_json, as_of)

    it = command("recall", commands.recall, "answer a question", 'recall "Where does Alice live?" --explain')
    it.add_argument("query", help="the question")
    it.add_argument("--limit", type=int, default=10, help="how many answers at most (10)")
    it.add_argument("--during", metavar="WHEN", help=f"only what was true then: {_WHEN}")
    it.add_argument(
        "--history",
        action=argparse.BooleanOptionalAction,
        default="auto",
        help="bring versions that were replaced or have expired (else the wording decides)",
    )
    it.add_argument("--kind", action="append", choices=MEMORY_KINDS, dest="kinds", help="only this kind; repeatable")
    it.add_argument("--tag", action="append", dest="tags", help="only with this tag; repeatable: all of them")
    it.add_argument("--min-score", type=float, metavar="0..1", help="leave out weaker answers")
    it.add_argument("--now", metavar="WHEN", help="ask as if it were then: what 'last week' is read against")
    as_of(it)
    it.add_argument("--signals", metavar="A,B", help="only these of vectors,words,graph,times")
    it.add_argument("--reranker", metavar="NAME", help="a model that looks again at the first thirty")
    it.add_argument("--explain", action="store_true", help="print every reason as text")
    as_json(it)

    some_id = "01998c2f3a7b5d0c1e2f3a4b"
    it = command("get", commands.get, "show one memory", f"get {some_id}")
    it.add_argument("id")
    as_of(it)
    as_json(it)

    it = command("forget", commands.forget, "hide a memory from now on", f'forget {some_id} --why "she asked"')
    it.add_argument("id")
    it.add_argument("--why", help="the reason, kept with it")

    it = command("unforget", commands.unforget, "bring a forgotten memory back", f"unforget {some_id}")
    it.add_argument("id")

    it = command("erase", commands.erase, "blank the words of a memory for ever, in the past too", f"erase {some_id}")
    it.add_argument("id")
    it.add_argument("--yes", action="store_true", help="do not ask first")

    graph_commands.add_commands(command, as_json, as_of)

    it = command("touch", upkeep_commands.touch, "record that a memory was of use", f"touch {some_id} --boost")
    it.add_argument("id")
    it.add_argument("--boost", action="store_true", help="make it stronger, too")

    it = command("memories", commands.memories, "list every memory of a space", "memories", folder=True)
    it.add_argument(
        "--status", choices=upkeep_commands.LISTABLE_STATUSES, help="only these, such as what upkeep has archived"
    )
    as_of(it)
    as_json(it)

    command("spaces", commands.spaces, "list the spaces that hold anything", "spaces ./memory", folder=True)

    it = command("count", commands.count, "count the memories of a space", "count ./memory", folder=True)
    as_of(it)

    it = command("stats", admin_commands.stats, "count everything in a space", "stats ./memory", folder=True)
    as_of(it)
    as_json(it)
    command(
        "compact",
        admin_commands.compact,
        "build indexes anew and give back room; ledger lines stay",
        "compact ./memory",
        folder=True,
    )
    it = command("export", admin_commands.export, "write a space into a file", "export memory.jsonl.gz --children")
    it.add_argument("file", help="where to; a name that ends in .gz is packed")
    it.add_argument("--children", action="store_true", help="with the spaces below it")
    it.add_argument("--vectors", action="store_true", help="with the embeddings")
    it = command("import", admin_commands.import_, "bring an export into an empty space", "import memory.jsonl.gz")
    it.add_argument("file", help="what `remanence export` wrote")

    it = command(
        "upkeep",
        upkeep_commands.upkeep,
        "show what upkeep would do; with --apply, do it",
        "upkeep ./memory --every 1h",
        folder=True,
    )
    it.add_argument("--apply", action="store_true", help="do it, as one run that can be undone")
    it.add_argument("--every", metavar="TIME", help="do it now and at intervals such as 30m, 1h or 1d")
    it.add_argument(
        "--step",
        action="append",
        choices=upkeep_commands.STEPS,
        dest="steps",
        help="only this; repeatable (everything but gc, which forgets what has faded)",
    )
    it.add_argument("--archive", action="store_true", help="let gc archive what has faded, not forget it")
    it.add_argument("--vault", metavar="DIR", help="write what is promoted there as Markdown notes")
    it.add_argument("--runs", action="store_true", help="list what upkeep has done")
    it.add_argument("--undo", metavar="RUN", help="take back a run")

    command("verify", commands.verify, "check that no line was tampered with", "verify ./memory", folder=True)
    command(
        "check", commands.check, "hold each index against a fresh build", "check ./memory", folder=True
    ).description = "Hold each index against a fresh build, in every space or the one named by --space."
    command(
        "rebuild",
        commands.rebuild,
        "build the indexes anew from the ledger; with --embedder, change to that embedder",
        "rebuild ./memory --embedder bge-small-en-v1.5",
        folder=True,
    )

    it = command("eval", eval_command.evaluate, "measure recall on your own questions", "eval ./my-sets --json")
    it.add_argument("paths", nargs="+", help="folders or files: <name>.corpus.jsonl, <name>.questions.jsonl")
    it.add_argument("--signals", metavar="A,B", help="only these of vectors,words,graph,times")
    it.add_argument("--weights", metavar="A=1,B=2", help="other weights for the signals")
    it.add_argument("--reranker", metavar="NAME", help="a model that looks again at the first thirty")
    it.add_argument("--limit", type=int, help="at most so many questions of a set")
    it.add_argument("--apart", action="append", default=[], metavar="CATEGORY", help="count it by itself")
    as_json(it)

    it = command("models", commands.models_list, "list and get models: embedders and rerankers", "models list")
    below = it.add_subparsers(title="commands", metavar="COMMAND")
    command("list", commands.models_list, "list the models there are", "models list", of=below)
    it = command("get", commands.models_get, "fetch a model's files, once", "models get bge-small-en-v1.5", of=below)
    it.add_argument("name", help="as `remanence models list` shows it")

    it = command("demo", commands.demo, "tell a short story in a temporary folder", "demo --keep ./memory")
    it.add_argument("--keep", metavar="DIR", help="keep the memories in this new folder")
    return parser


def _place(parser: Parser, folder: str, other: str | None) -> None:
    """Where the memories are: the same three options before and after the verb."""
    group = parser.add_argument_group("where")
    group.add_argument(
        "--memory", metavar="DIR", default=folder, help=f"the folder ({DEFAULT_FOLDER}, or what REMANENCE_MEMORY says)"
    )
    group.add_argument("--space", metavar="NAME", default=other, help="the space, as `spaces` shows it")
    group.add_argument("--embedder", metavar="NAME", default=other, help="as `models list` shows it")
