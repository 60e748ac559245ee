"""Importing costs nothing, and nothing calls out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import remanence
import remanence.testing
from new_interpreter import run_program

HEAVY = """numpy qdrant_client qdrant_edge igraph dateparser rank_bm25 sqlalchemy tokenizers
pydantic rich langchain langchain_core llama_index torch onnxruntime fastembed requests httpx""".split()

LOOK = """
import sys
import {module}
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""

ASK = """
import sys
import remanence
from remanence.testing import HashingEmbedder

with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
    space.add("Alice lives in Porto.")
    space.recall("Where does Alice live?")
print(*sys.modules)
"""

WITHOUT = """
import sys, tempfile
import remanence
from remanence.testing import HashingEmbedder

with remanence.open(None) as space:
    space.add("Alice moved to Lisbon.", now="2026-06-01")
    assert space.recall("Where does Alice live?").missing == {}
with tempfile.TemporaryDirectory() as folder, remanence.open(folder, embedder=HashingEmbedder(8_192)) as space:
    space.add_many(f"Parcel {number} lies in hall {number % 13}." for number in range(260))
    assert space.recall("hall 7", reader=None).missing == {}
print(*sys.modules)
"""

ENDS = """
import threading
import remanence

space = remanence.open(None)  # never closed
parts = [space.child("ana"), space.child("bob")]
for part in parts:
    part.add("I live in Porto.")
parts[0].profile()  # from now on it is kept up to date, by a thread


def tell(part):
    for number in range(15):
        part.add(f"note {number} about {part.name}")


threads = [threading.Thread(target=tell, args=(part,)) for part in parts * 2]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

OFFLINE = """
import socket, sys

def refused(*args, **options):
    raise AssertionError(f"the network was asked for: {args[1:]}")

socket.socket.connect = socket.socket.connect_ex = socket.socket.sendto = refused
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refused

import remanence

with remanence.open(sys.argv[1]) as space:
    space.add("Alice moved to Lisbon on 3 May 2026.")
    space.add_turns([{"speaker": "Bob", "content": "I met Alice last Tuesday."}])
    assert space.recall("Where did Alice move in May?").missing == {}
    space.rebuild()
    print(space.verify().entries)
"""


@pytest.mark.parametrize("module", ["remanence", "remanence.testing"])
def test_importing_loads_no_engine_and_no_framework(module: str) -> None:
    """Whoever only looks pays for nothing."""
    loaded = set(run_program(LOOK.format(module=module)).split())

    assert "remanence" in loaded
    assert not loaded & set(HEAVY)


def test_a_first_recall_loads_nothing_that_only_others_need() -> None:
    """An event loop and HTTP are for those who use them."""
    loaded = set(run_program(ASK).split())

    assert "remanence.recall.recall" in loaded
    assert not loaded & {"asyncio", "http.client", "ssl", "urllib.request"}


@pytest.mark.slow
def test_what_only_a_server_or_a_download_needs_can_be_removed() -> None:
    """Nothing of it is loaded by default, also where vectors lie in the engine of Qdrant (`docs/limits.md`)."""
    loaded = {name.partition(".")[0] for name in run_program(WITHOUT).split()}
    assert "qdrant_edge" in loaded
    assert not loaded & {"qdrant_client", "grpc", "huggingface_hub", "hf_xet", "fsspec", "yaml", "tqdm"}


def test_a_program_may_end_while_its_profile_is_read() -> None:
    """Though nothing was closed: the thread that reads is stopped before Python ends."""
    names = ("OPENBLAS_NUM_THREADS", "REMANENCE_EMBEDDER", "REMANENCE_READER")
    run_program(ENDS, environment=dict.fromkeys(names))


def test_no_part_touches_the_network(home: Path) -> None:
    """Every way out is shut, and a space in a folder works from end to end."""
    assert run_program(OFFLINE, str(home)) == "2\n"


def test_every_public_name_is_there() -> None:
    """`__all__` promises nothing that cannot be had, and `dir()` shows it."""
    for module in (remanence, remanence.testing):
        for name in module.__all__:
            assert getattr(module, name).__name__ == name
        assert dir(module) == sorted(module.__all__)


def test_a_name_that_is_not_there_says_so() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="'remanence' has no attribute 'Memry'"):
        _ = remanence.Memry  # type: ignore[attr-defined]


def test_every_error_is_a_remanence_error() -> None:
    """One `except` catches all of them."""
    kinds = [each for each in vars(remanence.errors).values() if isinstance(each, type)]
    errors = [each for each in kinds if issubclass(each, BaseException)]

    assert len(errors) > 10
    assert all(issubclass(error, remanence.RemanenceError) and error.__doc__ for error in errors)


def test_the_api_of_tokenizers_that_the_models_use_is_required() -> None:
    """Version 1.0 has another one; with it embedder and reader would be switched off."""
    written = (Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8")
    [specifier] = [SpecifierSet(each) for each in re.findall('"tokenizers([^"]*)"', written)]

    assert "0.23.3" in specifier
    assert "1.0.0" not in specifier
