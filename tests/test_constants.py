"""Each number with a name at the top of a module says what it is."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import remanence

SOURCES = sorted(Path(remanence.__file__).parent.rglob("*.py"))
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
_REFERS_TO_ANOTHER = re.compile(
    r"(?:the )?same\b|as (?:above|for|with)\b|likewise\b|ditto\b|also\b|see\b", re.IGNORECASE
)


def is_numeric(value: ast.expr, known: set[str]) -> bool:
    """Whether a value is a number, several, a length of time, or made of such constants of the module."""
    match value:
        case ast.Constant(value=number):
            return isinstance(number, int | float) and not isinstance(number, bool)
        case ast.Name(id=name):
            return name in known
        case ast.UnaryOp(operand=operand):
            return is_numeric(operand, known)
        case ast.BinOp(left=left, right=right):
            return is_numeric(left, known) and is_numeric(right, known)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return bool(parts) and all(is_numeric(part, known) for part in parts)
        case ast.Call(func=ast.Name(id="timedelta" | "range"), args=given, keywords=named):
            return all(is_numeric(part, known) for part in (*given, *(keyword.value for keyword in named)))
    return False


def numeric_constants(source: str) -> Iterator[tuple[str, str | None]]:
    """The names of each assignment of numbers to constants at the top of a module, and the docstring below it."""
    known: set[str] = set()
    body = ast.parse(source).body
    for statement, after in zip(body, [*body[1:], None], strict=True):
        match statement:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                names = [ast.unparse(name) for name in (target.elts if isinstance(target, ast.Tuple) else [target])]
            case _:
                continue
        if not all(map(_CONSTANT.fullmatch, names)) or not is_numeric(value, known):
            continue
        known.update(names)
        match after:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield ", ".join(names), text
            case _:
                yield ", ".join(names), None


def problems(constants: Iterable[tuple[str, str | None]]) -> list[str]:
    return [
        f"{names}: {'no docstring' if text is None else text}"
        for names, text in constants
        if not text or _REFERS_TO_ANOTHER.match(text)
    ]


def test_each_numeric_constant_has_a_docstring_that_stands_alone():
    """What it is, its unit, and for a fitted number the set it was fitted on."""
    constants = {path: list(numeric_constants(path.read_text("utf-8"))) for path in SOURCES}
    assert not {str(path): wrong for path, named in constants.items() if (wrong := problems(named))}
    assert sum(map(len, constants.values())) > 400


@pytest.mark.parametrize(
    "source",
    [
        "_LIMIT = 3",
        "LIMIT: int = 3  # of names",
        "_A, _B = 1, 2.5",
        "_PAUSE = timedelta(days=2)",
        '_A = 1\n"""One."""\n_B = 2 * _A',
        '_LIMIT = 3\n"""The same for other names."""',
        '_LIMIT = 3\n"""As above, for names."""',
    ],
)
def test_a_number_that_is_not_explained_is_noticed(source: str):
    """A comment, or a docstring that needs another one, does not explain a number."""
    assert len(problems(numeric_constants(source))) == 1


@pytest.mark.parametrize(
    "source", ['_LIMIT = 3\n"""Names that are listed."""', '_NAME = "x"', "_FLAG = True", "limit = 3"]
)
def test_what_is_explained_or_no_number_is_left_alone(source: str):
    assert problems(numeric_constants(source)) == []
