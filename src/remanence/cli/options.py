"""The options of the commands: the name of each, and its arguments for `ArgumentParser.add_argument`.

An option whose meaning depends on the command is declared with the command.
"""

from __future__ import annotations

from argparse import BooleanOptionalAction
from typing import Any

WHEN = "a date, or words such as 'last May'"
VALIDITY = "--valid-from --valid-until --confidence --observed-by"
UPKEEP_STEPS = ("decay", "gc", "clusters", "consolidate", "promote", "discover")
STATUSES = ("current", "superseded", "expired", "archived", "forgotten")

_WHEN = {"metavar": "WHEN"}
_SWITCH = {"action": "store_true"}
_FRACTION = {"type": float, "metavar": "0..1"}
_REPEATABLE: dict[str, Any] = {"action": "append", "default": []}

OPTIONS: dict[str, dict[str, Any]] = {
    "--alias": _REPEATABLE | {"dest": "aliases", "help": "another name; repeatable"},
    "--apart": _REPEATABLE | {"metavar": "CATEGORY", "help": "report this category separately; repeatable"},
    "--apply": _SWITCH | {"help": "do it, as one run that can be undone"},
    "--archive": _SWITCH | {"help": "gc archives memories and does not forget them"},
    "--as-of": _WHEN | {"help": "answer with what was known then"},
    "--at": _WHEN | {"help": f"what was true then: {WHEN}"},
    "--boost": _SWITCH | {"help": "also increase its strength"},
    "--children": _SWITCH | {"help": "with the spaces below it"},
    "--confidence": _FRACTION | {"help": "how certain it is"},
    "--depth": {"type": int, "default": 3, "help": "how many steps (3)"},
    "--during": _WHEN | {"help": f"only what was true then: {WHEN}"},
    "--every": {"metavar": "TIME", "help": "do it now and at intervals such as 30m, 1h or 1d"},
    "--evidence": _REPEATABLE | {"metavar": "ID", "help": "a memory; repeatable"},
    "--expires-at": _WHEN | {"help": "not recalled after this moment"},
    "--explain": _SWITCH | {"help": "print every reason as text"},
    "--extractor": {"metavar": "MODULE:NAME", "help": "a chat model or extractor of yours, in place of the rules"},
    "--history": {
        "action": BooleanOptionalAction,
        "default": "auto",
        "help": "include versions that were replaced or have expired (by default the question decides)",
    },
    "--importance": _FRACTION | {"help": "0.3 minor, 0.9 identity-defining"},
    "--include": _REPEATABLE | {"choices": ("archive", "vault"), "help": "also search these; repeatable"},
    "--inverse": {"metavar": "NAME", "help": "the name of the inverse predicate"},
    "--json": _SWITCH | {"help": "print JSON"},
    "--keep": {"metavar": "DIR", "help": "keep the memories in this new folder"},
    "--key": {"help": "the same key with another text is a new version"},
    "--max-tokens": {"type": int, "default": 400, "help": "the maximum length (400)"},
    "--min-score": _FRACTION | {"help": "leave out hits with a lower score"},
    "--no-wait": _SWITCH | {"help": "only queue the extraction; `remanence work` does it"},
    "--now": _WHEN | {"help": "the present moment: 'last week' is read against it"},
    "--observed-by": {"metavar": "NAME", "help": "the person who says it; 'I' in the text is this person"},
    "--once": _SWITCH | {"help": "do the jobs that are due, and stop"},
    "--page": {"type": int, "default": 1, "help": "the number of the page (1)"},
    "--page-size": {"type": int, "default": 100, "help": "how many on a page (100)"},
    "--relation": {"action": "append", "dest": "relations", "metavar": "NAME", "help": "only this one; repeatable"},
    "--reranker": {"metavar": "NAME", "help": "a model that reorders the first thirty hits"},
    "--runs": _SWITCH | {"help": "list the runs so far"},
    "--signals": {"metavar": "A,B", "help": "only these of vectors,words,graph,times"},
    "--since": _WHEN | {"help": WHEN},
    "--single-valued": {"action": BooleanOptionalAction, "help": "one value at a time, or many"},
    "--source": {"help": "where the text comes from"},
    "--start": {"help": "only what is near this node"},
    "--status": {"choices": STATUSES, "help": "only these, such as what upkeep has archived"},
    "--step": {
        "action": "append",
        "choices": UPKEEP_STEPS,
        "dest": "steps",
        "help": "only this step; repeatable (by default all but gc, which forgets memories with a low score)",
    },
    "--turns": {"metavar": "FILE", "help": "chat turns in place of a text, one JSON object a line"},
    "--undo": {"metavar": "RUN", "help": "undo a run"},
    "--until": _WHEN | {"help": f"{WHEN}; now, if left out"},
    "--valid-from": _WHEN | {"help": f"true from then on: {WHEN}"},
    "--valid-until": _WHEN | {"help": "true until then"},
    "--vault": {"metavar": "DIR", "help": "write promoted memories there as Markdown notes"},
    "--vectors": _SWITCH | {"help": "with the embeddings"},
    "--weights": {"metavar": "A=1,B=2", "help": "other weights for the signals"},
    "--why": {"help": "the reason, stored with it"},
    "--yes": _SWITCH | {"help": "do not ask first"},
    "folder": {"nargs": "?", "help": "the folder, in place of --memory"},
}
