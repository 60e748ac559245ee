"""Reading a text takes time linear in its length: no pattern of the package is quadratic in text that people give it.

`re` holds the lock of the interpreter, so that one slow pattern stops every thread of a process.
"""

from __future__ import annotations

import ast
import json
import re
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

import pytest

import remanence
from new_interpreter import run_program
from remanence import Space

PACKAGES = ("remanence", "langchain_remanence", "llama_index_remanence", "remanence_server")
FRAGMENTS = (
    *(
        " ",
        "\n",
        "\t",
        "\r\n",
        " \n",
        "\u00a0",
        "\u200b",
        ".",
        ". ",
        ", ",
        ",",
        "-",
        "- ",
        "!",
        "? ",
        "...",
        "; ",
        ": ",
        ":",
    ),
    *(
        '"',
        "'",
        "’",
        "`",
        "```",
        "(",
        ")",
        "[",
        "{",
        "<",
        "</a>",
        "&lt;",
        "#",
        "* ",
        "*",
        "_",
        "~",
        "|",
        "/",
        "\\",
        "=",
        "@",
    ),
    *(
        "%",
        "$1",
        "1",
        "1 ",
        "1.",
        "1,",
        "2026-01-01 ",
        "1st ",
        "12:30 ",
        "a",
        "a ",
        "A",
        "Ab ",
        "ä",
        "中",
        "a b, ",
        "a.b",
    ),
    *(
        "i am ",
        "and ",
        "the ",
        "Ana ",
        "Mr. ",
        "Ana's ",
        "my dog ",
        "in case ",
        "to ",
        "don't ",
        "(a ",
        "[a](",
        '{"a":',
    ),
)
"""Repeated, what texts may have: spaces, marks, digits, letters and short words."""
BEFORE_AND_AFTER = (("", ""), ("Z ", "1"))
SHORT, LONG = 500, 2_000
"""Characters of the two texts. Four times the length takes a quadratic pattern sixteen times as long."""
MAX_RATIO = 9
MIN_SECONDS = 0.002
"""Less than that, for the long text, is too little to be measured."""
COLLECT = """
import importlib, json, pkgutil, re, sys, warnings

warnings.simplefilter("ignore")
packages, found, compile_pattern = sys.argv[1].split(","), {}, re._compile

def note(pattern, flags):
    compiled, frame = compile_pattern(pattern, flags), sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in ("re", "__main__"):
        frame = frame.f_back
    module = "" if frame is None else frame.f_globals.get("__name__", "")
    if isinstance(pattern, str) and module.split(".")[0] in packages:
        found[pattern, compiled.flags] = module
    return compiled

re._compile = note
for package in packages:
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError:  # a framework that needs a later Python
            pass

from remanence.text.lexicon.word_lists import _PatternCompiledOnUse
from remanence.text.temporal import translation_patterns

names = {}
for module in [each for name, each in sys.modules.items() if name.split(".")[0] in packages]:
    for name, value in list(vars(module).items()):
        if isinstance(value, _PatternCompiledOnUse):
            compiled = re.compile(*value._arguments)
            found[compiled.pattern, compiled.flags] = module.__name__
            value = compiled
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            names.setdefault(f"{value.pattern}{value.flags}", []).append(name)
for language in translation_patterns._LANGUAGES:
    translation_patterns._compiled(language)
print(json.dumps([(*key, module, names.get(f"{key[0]}{key[1]}", [])) for key, module in found.items()]))
"""


def methods_of_patterns() -> dict[tuple[str, str], set[str]]:
    """The methods that are called of each private constant of a module; "" if it is used in any other way."""
    used = defaultdict[tuple[str, str], set[str]](set)
    source = Path(remanence.__file__).parents[1]
    for root in (source, source.parent / "integrations"):
        for path in root.rglob("*.py"):
            module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            tree = ast.parse(path.read_text())
            called = {id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id.startswith("_"):
                    used[module, node.id].add(called.get(id(node), ""))
    return used


def seconds_of(pattern: re.Pattern[str], text: str, *, at_start: bool) -> float:
    """The processor time in which a pattern looks through a text."""
    begun = time.thread_time()
    if at_start:
        pattern.match(text)
        pattern.fullmatch(text)
    else:
        for _found in pattern.finditer(text):
            pass
    return time.thread_time() - begun


def is_superlinear(pattern: re.Pattern[str], short: str, long: str, *, at_start: bool) -> bool:
    """Whether a pattern takes much more than four times as long for the long text, also the third time."""
    for _ in range(3):
        seconds = seconds_of(pattern, long, at_start=at_start)
        if seconds < MIN_SECONDS or seconds < MAX_RATIO * seconds_of(pattern, short, at_start=at_start):
            return False
    return True


@pytest.mark.slow
def test_every_pattern_is_linear() -> None:
    """Those that are only matched at one place are looked for there, all others everywhere."""
    methods, slow = methods_of_patterns(), []
    patterns = json.loads(run_program(COLLECT, ",".join(PACKAGES)))
    for source, flags, module, names in patterns:
        pattern = re.compile(source, flags)
        at_start = bool(names) and all(methods.get((module, name), {""}) <= {"match", "fullmatch"} for name in names)
        for fragment, (before, after) in product(FRAGMENTS, BEFORE_AND_AFTER):
            long, short = (before + fragment * (size // len(fragment)) + after for size in (LONG, SHORT))
            if is_superlinear(pattern, short, long, at_start=at_start):
                slow.append(f"{module} {', '.join(names)} {source[:80]!r} on {fragment!r}")
                break
    assert len(patterns) > 300
    assert slow == []


@pytest.mark.parametrize("text", ["Wo wohnt die Ana" + "\n" * 9_000 + "1", "Z " + ". " * 4_500, "Z " + "-" * 9_000])
def test_a_question_of_marks_and_spaces_takes_no_longer_than_another(space: Space, text: str) -> None:
    space.add("Ana wohnt in Porto.")
    turns = [{"role": "user", "content": "My sister Ana."}]
    begun = time.thread_time()
    space.recall(text, context=turns)
    space.for_prompt(text, turns=turns)
    assert time.thread_time() - begun < 2
