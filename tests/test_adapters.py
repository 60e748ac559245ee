"""What all adapters share: names that load late, and memory that costs no answer."""

from __future__ import annotations

import ast
import logging
from pathlib import Path

import pytest

import remanence
from model_replies import USER_FACTS
from remanence import adapters, telemetry
from remanence.adapters import lazy_getattr, log_and_continue, recall_distinct, update_memory
from remanence.errors import MissingExtra
from remanence.index.engine import inputs

HOMES = {"Thing": ("thing", "things")}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A package whose one module begins with the line that a test gives it."""
    name = f"late_{abs(hash(request.node.name))}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / name / "thing.py").write_text(f"{request.param}\nclass Thing: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.parametrize("package", ["import json"], indirect=True)
def test_a_name_is_loaded_when_it_is_asked_for(package: str) -> None:
    """And one that is not there says so."""
    load = lazy_getattr(package, HOMES, frameworks=())

    assert load("Thing").__module__ == f"{package}.thing"
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Thnig'"):
        load("Thnig")


@pytest.mark.parametrize("package", ["import nowhere.near"], indirect=True)
def test_a_framework_that_is_missing_is_answered_with_the_line_to_type(package: str) -> None:
    """Which package, and the exact command."""
    load = lazy_getattr(package, HOMES, frameworks=("nowhere",))

    with pytest.raises(MissingExtra, match=r'^Thing needs .*nowhere.*pip install "remanence-memory\[things\]"$'):
        load("Thing")


@pytest.mark.parametrize("package", ["import nowhere.near"], indirect=True)
def test_anything_else_that_is_missing_rises_as_it_is(package: str) -> None:
    """Installing the extra would not help."""
    load = lazy_getattr(package, HOMES, frameworks=("somewhere",))

    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        load("Thing")


def test_memory_that_is_down_is_said_in_the_log_of_whoever_asked(caplog: pytest.LogCaptureFixture) -> None:
    """With what could not be done, and why."""
    with log_and_continue(logging.getLogger("somebody"), "recall"):
        raise OSError("the disk is gone")

    (record,) = caplog.records
    assert (record.name, record.levelname) == ("somebody", "WARNING")
    assert "could not recall" in caplog.text
    assert "the disk is gone" in caplog.text


def test_whoever_is_stopped_stops() -> None:
    """To go on is for what fails, not for who is told to end."""
    with pytest.raises(KeyboardInterrupt), log_and_continue(logging.getLogger("somebody"), "recall"):
        raise KeyboardInterrupt


def test_the_integrations_use_public_names_only() -> None:
    """Those of `remanence.__all__`, of `remanence.adapters` and of `remanence.telemetry`; the contract in .importlinter
    sees modules alone. The servers also use `remanence.service` and `remanence.operating_system`."""
    public = {
        "remanence": {*remanence.__all__, "__version__", "adapters"},
        "remanence.adapters": set(adapters.__all__),
        "remanence.telemetry": set(telemetry.__all__),
    }
    also_of_servers = ("remanence.service", "remanence.operating_system")
    modules = list((Path(__file__).parent.parent / "integrations").rglob("*.py"))
    assert len(modules) > 20
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "remanence":
                if "remanence_server" in module.parts and (node.module or "").startswith(also_of_servers):
                    continue
                assert {alias.name for alias in node.names} <= public[node.module or ""], module


def test_the_integrations_use_no_private_attribute_of_the_core() -> None:
    """`space._engine`, `space._now` and the like belong to the core. `self`, `cls` and attributes that a module sets
    itself are its own."""
    found: list[str] = []
    for module in (Path(__file__).parent.parent / "integrations").rglob("*.py"):
        tree = ast.parse(module.read_text("utf-8"))
        private = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
        own = {node.attr for node in private if _is_own(node)} | {"_replace"}  # a method of named tuples
        foreign = (node for node in private if node.attr not in own and not node.attr.startswith("__"))
        found += [f"{module.name}:{node.lineno}: {ast.unparse(node)}" for node in foreign]
    assert found == []


def _is_own(node: ast.Attribute) -> bool:
    return ast.unparse(node.value) in ("self", "cls", "super()")


def test_every_name_for_adapter_authors_is_there() -> None:
    """And has a docstring, or is a type."""
    for name in adapters.__all__:
        assert name in ("TokenCounter", "Keep") or getattr(adapters, name).__doc__


def test_the_limit_of_adapters_is_that_of_a_memory() -> None:
    """The number is written twice, as adapters load no engine."""
    assert adapters.MAX_TEXT_LENGTH == inputs.MAX_TEXT_LENGTH


@pytest.mark.parametrize("is_fact", [True, False])
def test_an_update_replaces_a_text_with_the_facts_found_in_it(is_fact: bool) -> None:
    """Whichever of the two the model was shown: the other one would still answer with the old value."""
    with remanence.open(None, extractor=USER_FACTS) as space:
        told = "I am allergic to peanuts."
        [fact] = space.remember([{"role": "user", "content": told}])
        [text] = [memory for memory in space.memories() if memory.text == told]
        new = update_memory(space, (fact if is_fact else text).id, "The user is allergic to pistachios.", source="tool")
        assert [hit.memory.id for hit in space.recall("What is the user allergic to?")] == [new.id]


def test_a_retriever_gives_a_text_and_its_facts_once() -> None:
    """The place of the other one is given to the next hit."""
    with remanence.open(None, extractor=USER_FACTS) as space:
        space.remember([{"role": "user", "content": "I am allergic to peanuts."}])
        space.add("Peanuts grow under the ground.")
        found = recall_distinct(space, "Am I allergic to peanuts?", limit=2)
        assert len(found) == 2
        assert found[1].memory.text == "Peanuts grow under the ground."
        assert len(space.recall("Am I allergic to peanuts?", limit=20)) == 3
        with pytest.raises(remanence.InvalidInput, match="limit='x'"):
            recall_distinct(space, "peanuts", limit="x")  # type: ignore[arg-type]


def test_no_method_takes_keywords_that_it_does_not_use() -> None:
    """`delete(where=...)` that ignores its filter deletes everything."""
    ignored = [
        f"{path.name}:{function.lineno} {function.name}(**{function.args.kwarg.arg})"
        for folder in ("integrations", "src/remanence/compat", "src/remanence/space")
        for path in sorted((Path(__file__).parent.parent / folder).rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and function.args.kwarg is not None
        and not isinstance(function.body[-1], ast.Raise)  # it refuses them, or is only declared
        and ast.unparse(function.body[-1]) != "..."
        and (function.name, function.args.kwarg.arg) != ("extract", "context")  # a Protocol with more arguments
        and not any(isinstance(node, ast.Name) and node.id == function.args.kwarg.arg for node in ast.walk(function))
    ]
    assert ignored == []
