"""Messages of errors for people and programs that do not call Python: a command line, an MCP client, a browser.

The core names the next step as a call: "See space.entities.list().". Elsewhere nobody can make that call.
"""

from __future__ import annotations

import ast
import re
import shlex

_CALL = re.compile(r"\b(?:space|remanence)(?:\.\w+)+\(")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`]|space\.|remanence\.)")
_STEP_BEFORE = re.compile(r":\s+`?$")
_REST_OF_CLAUSE = re.compile(r"^.*?(?=[;.!?](?:\s|$)|$)", re.DOTALL)

COMMANDS = {
    "space.admin.reextract": "reextract",
    "space.entities.list": "entities list",
    "space.entities.merge": "entities merge",
    "space.entities.register": "entities register",
    "space.entities.rename": "entities rename",
    "space.entities.undo": "entities undo",
    "space.graph.timeline": "graph timeline",
    "space.jobs.list": "jobs",
    "space.recent": "recent",
    "space.unforget": "unforget",
}


def without_calls(message: str) -> str:
    """A message without Python: of "Restore it: space.unforget('m7')." the step in words, of "See space.jobs.list()."
    nothing.

    >>> without_calls("memory 'm7' is forgotten. Restore it first: space.unforget('m7').")
    "memory 'm7' is forgotten. Restore it first."
    >>> without_calls("A part was done: space.upkeep.undo('r1') reverses it.")
    'A part was done.'
    >>> without_calls("there is no job 'j'. space.jobs.list() lists them.")
    "there is no job 'j'."
    """
    return _reworded(message, {})


def with_commands(message: str) -> str:
    """A message with commands in place of Python; calls that no command makes are left out.

    >>> with_commands("there is no entity 'Ana B'. See space.entities.list(), or space.entities.register('Ana B').")
    "there is no entity 'Ana B'. See `remanence entities list`, or `remanence entities register 'Ana B'`."
    """
    return _reworded(message, COMMANDS)


def _reworded(message: str, commands: dict[str, str]) -> str:
    place = 0
    while match := _CALL.search(message, place):
        call = _call_at(message, match)
        before, after = message[: match.start()], message[match.start() + len(call) :]
        if before.endswith("`") and after.startswith("`"):
            before, after = before[:-1], after[1:]
        command = commands.get(call.partition("(")[0])
        if command is not None:
            before += f"`remanence {' '.join([command, *_arguments(call)])}`"
        elif step := _STEP_BEFORE.search(before):
            before, after = before[: step.start()], _REST_OF_CLAUSE.sub("", after, count=1)
        else:
            before += call
        message, place = before + after, len(before)
    sentences = _SENTENCE_END.split(message)
    kept = [sentence for sentence in sentences if not _CALL.search(sentence)]
    return " ".join(kept) or message


def _call_at(message: str, match: re.Match[str]) -> str:
    """The call that begins with this match; without an end, only the match."""
    ends = (found.end() for found in re.finditer(r"\)", message[match.start() : match.start() + 500]))
    calls = (message[match.start() : match.start() + end] for end in ends)
    return next((call for call in calls if _parsed(call) is not None), match[0])


def _parsed(call: str) -> ast.Call | None:
    try:
        parsed = ast.parse(call, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return parsed if isinstance(parsed, ast.Call) else None


def _arguments(call: str) -> list[str]:
    """The arguments of a call as words of a command; "..." for those that the reader has to choose."""
    parsed = _parsed(call)
    arguments = [] if parsed is None else parsed.args
    values = [argument.value if isinstance(argument, ast.Constant) else ... for argument in arguments]
    return ["..." if value is ... else shlex.quote(str(value)) for value in values]
