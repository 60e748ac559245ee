"""The docstrings of the public API name parameters and fields as they are."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import remanence
from remanence.space.facets.admin_facet import Admin
from remanence.space.facets.audit_facet import Audit
from remanence.space.facets.entity_facet import Entities
from remanence.space.facets.graph_facet import Graph
from remanence.space.facets.job_facet import Jobs
from remanence.space.facets.proposal_facet import Proposals
from remanence.space.facets.upkeep_facet import Upkeep

_FACETS = (Admin, Audit, Entities, Graph, Jobs, Proposals, Upkeep)
_NO_RESULT = ("None", "NoReturn", inspect.Signature.empty)


def _exports() -> Iterator[tuple[str, Any]]:
    yield from ((name, getattr(remanence, name)) for name in remanence.__all__)
    yield from ((facet.__name__, facet) for facet in _FACETS)


def _classes() -> Iterator[type]:
    for _, value in _exports():
        if inspect.isclass(value) and not issubclass(value, BaseException):
            yield value


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The exported functions and the public methods, without properties and async variants."""
    yield from ((name, value) for name, value in _exports() if inspect.isfunction(value) and name != "aopen")
    for owner in _classes():
        for name, value in inspect.getmembers(owner):
            function = inspect.unwrap(getattr(value, "__func__", value))
            is_ours = str(getattr(function, "__module__", "")).startswith("remanence.")
            is_async_variant = name.startswith("a") and hasattr(owner, name[1:])
            if inspect.isfunction(function) and is_ours and not name.startswith("_") and not is_async_variant:
                yield f"{owner.__name__}.{name}", function


def _section(docstring: str, heading: str) -> str:
    """The indented lines after `heading:`; "" if there is no such section."""
    found = re.search(rf"^{heading}:\n((?:[ ]+.*\n|\n)+)", inspect.cleandoc(docstring) + "\n", re.M)
    return "" if found is None else found[1]


def _described(docstring: str, heading: str) -> list[str]:
    return re.findall(r"^    \*{0,2}(\w+): \S", _section(docstring, heading), re.M)


FUNCTIONS = dict(_functions())
DATACLASSES = {each.__name__: each for each in _classes() if is_dataclass(each)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_parameters_are_described(name: str) -> None:
    """`Args:` has parameters of the signature, in its order, each on a line of its own. A name may say enough."""
    function = FUNCTIONS[name]
    described = _described(function.__doc__ or "", "Args")
    assert described == [each for each in inspect.signature(function).parameters if each in described]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_results_are_described(name: str) -> None:
    """A function that returns none has no `Returns:`. The first line may say enough of a result."""
    function = FUNCTIONS[name]
    if inspect.signature(function).return_annotation in _NO_RESULT:
        assert not _section(function.__doc__ or "", "(?:Returns|Yields)")


@pytest.mark.parametrize("name", DATACLASSES)
def test_only_fields_are_described(name: str) -> None:
    """`Attributes:` has public fields of an exported dataclass, in their order. A name may say enough."""
    exported = DATACLASSES[name]
    described = _described(exported.__doc__ or "", "Attributes")
    assert described == [each.name for each in fields(exported) if each.name in described]


_ROOT = Path(remanence.__file__).parent
_LISTS = [
    path.parent
    for path in sorted(_ROOT.rglob("__init__.py"))
    if re.search(r"^[a-z_]+(?:\.py|/) ", path.read_text(), re.M)
]


@pytest.mark.parametrize("package", _LISTS, ids=lambda path: str(path.relative_to(_ROOT)))
def test_a_package_that_lists_its_modules_lists_all_of_them(package: Path) -> None:
    """And none that is gone."""
    text = (package / "__init__.py").read_text().split('"""')[1]
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py", "__main__.py"}
    packages = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    assert set(re.findall(r"\b[a-z_0-9]+(?:\.py\b|/(?= ))", text)) == modules | packages
