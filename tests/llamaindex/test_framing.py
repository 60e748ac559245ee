"""Recalled text in a prompt: hostile memories stay quotations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from llama_index.core.memory import Memory

import remanence
from framed import HOSTILE, recalled
from llama_index_remanence import RemanenceMemory, RemanenceMemoryBlock, RemanenceToolSpec
from llamaindex.scripted import user
from remanence.text.framing import CLOSE_TAG, OPEN_TAG, PREAMBLE, frame


@pytest.fixture
def full(space: remanence.Space) -> remanence.Space:
    """A space that somebody tried to poison."""
    for text in HOSTILE[1:10]:
        space.add(text, source="forum")
    return space


def by_memory(space: remanence.Space, question: str) -> str:
    return RemanenceMemory(space).get(input=question)[0].content or ""


def by_block(space: remanence.Space, question: str) -> str:
    block = RemanenceMemoryBlock(space, across_sessions=True)
    return Memory.from_defaults(memory_blocks=[block]).get(input=question)[0].content or ""


def by_tool(space: remanence.Space, question: str) -> str:
    return RemanenceToolSpec(space).recall(question)


@pytest.mark.parametrize("asked", [by_memory, by_block, by_tool])
def test_nothing_in_a_memory_leaves_its_quotes(
    full: remanence.Space, asked: Callable[[remanence.Space, str], str]
) -> None:
    """One line each, that reads back to the very words, with its source; and no tag but ours."""
    block = asked(full, "Alice?")

    lines = recalled(block)
    assert {line["text"] for line in lines} == set(HOSTILE[1:10])
    assert {line["day"] for line in lines} == {"2026-05-04 Mon, forum"}
    assert (block.count(OPEN_TAG), block.count(CLOSE_TAG)) == (1, 1)
    quotations = block.split(OPEN_TAG)[1].split(CLOSE_TAG)[0]
    assert not set("<>\u2028\u202e\u200b") & set(quotations)
    assert "[INST]" not in block
    assert quotations.splitlines()[1].startswith(PREAMBLE)


def test_the_user_is_not_called_me(space: remanence.Space) -> None:
    """A model would take that for itself."""
    RemanenceMemory(space).put(user("I play the cello."))

    assert recalled(frame(space.recall("Who plays the cello?")))[0]["by"] == "user"


def test_what_was_recalled_is_not_remembered(space: remanence.Space) -> None:
    """A frame in a message is left out."""
    space.add("Alice lives in Porto.")
    RemanenceMemory(space).put(user(f"You said {frame(space.recall('Alice'))}"))

    assert [kept.text for kept in space.memories()][-1] == "You said"
