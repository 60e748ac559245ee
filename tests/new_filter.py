"""A program that asks with a filter that `test_options.py` adds to a copy of the sources.

It prints what each way to ask finds.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any

import anyio
from mcp import Client

import langchain_remanence
import remanence
from remanence.cli import main
from remanence_server.mcp.server import make_server
from remote import connected

QUESTION, FILTER = "What does Ana drink?", {"min_importance": 0.5}


def texts(found: Any) -> list[str]:
    return [hit.memory.text for hit in found]


async def by_mcp(space: remanence.Space) -> list[str]:
    async with Client(make_server(space)) as client:
        answer = await client.call_tool("recall", {"query": QUESTION, **FILTER})
        assert answer.structured_content is not None, answer.content
        return [hit["text"] for hit in answer.structured_content["hits"]]


def by_command(folder: str, *words: str) -> list[str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["--memory", folder, *words, "--min-importance", "0.5", "--json"]) == 0
    return [hit["memory"]["text"] for hit in json.loads(printed.getvalue())]


def ask(folder: str) -> dict[str, list[str]]:
    found = {}
    with remanence.open(folder, embedder="fast", reader=None) as space:
        space.add("Ana drinks tea.", importance=0.2)
        space.add("Ana drinks milk.", importance=0.8)
        assert len(space.recall(QUESTION)) == 2
        recall = space.recall(QUESTION, **FILTER)
        found["recall"] = texts(recall)
        found["recent"] = texts(space.recent(**FILTER))
        found["memories"] = [memory.text for memory in space.memories(**FILTER)]
        assert recall.receipt is not None
        stored = remanence.Receipt.from_dict(json.loads(json.dumps(recall.receipt.to_dict())))
        found["receipt"] = texts(space.audit.replay(stored))
        retriever = langchain_remanence.RemanenceRetriever(space=space, **FILTER)
        found["retriever"] = [each.page_content for each in retriever.invoke(QUESTION)]
        with connected(space) as remote:
            found["client"] = texts(remote.recall(QUESTION, **FILTER))
            found["client, recent"] = texts(remote.recent(**FILTER))
            found["client, memories"] = [memory.text for memory in remote.memories(**FILTER)]
        found["MCP"] = anyio.run(by_mcp, space)
    found["command line"] = by_command(folder, "recall", QUESTION, "--embedder", "fast", "--reader", "none")
    return found


if __name__ == "__main__":
    print(json.dumps(ask(sys.argv[1])))
