"""The tool `recall` over several projects, and proposals: only what the token opens."""

from __future__ import annotations

import pytest

import remanence

pytest.importorskip("mcp", reason="mcp is not installed: pip install remanence-memory[mcp]")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_calls import connected, serving

from remanence.service.hosting.tokens import TokenStore
from remanence_server.mcp import StoredTokens, make_server

HERON = "The staging server is called heron."


def client_of(url: str, token: str) -> Client:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return Client(streamable_http_client(url, http_client=http))


async def test_a_recall_searches_more_projects(space: remanence.Space) -> None:
    """Each hit names its space; clients of one space are not told of the argument."""
    space.child("team").add(HERON), space.add("My staging server account is ana7.")
    async with connected(space, projects=True) as client:
        found = await client.call("recall", query="staging server", also=["team"])
        assert {(hit["space"], hit["text"]) for hit in found["hits"]} == {
            ("default/team", HERON),
            ("default", "My staging server account is ana7."),
        }
        assert "hits" in await client.call("recall", query="staging server", also=["team"], as_of="2020-01-01")
        refused = await client.fail("recall", query="staging server", also=["nowhere"])
        assert "no project 'nowhere'" in refused.content[0].text
        tools = {tool.name: tool for tool in (await client.client.list_tools()).tools}
        assert "also" in tools["recall"].input_schema["properties"]
    async with connected(space) as client:
        tools = {tool.name: tool for tool in (await client.client.list_tools()).tools}
        assert "also" not in tools["recall"].input_schema["properties"]


async def test_a_token_joins_only_what_it_opens(space: remanence.Space) -> None:
    """By `recall` and by `union_recall`; the refusal is the same whether there is such a space or not. Proposals are
    made with `propose`, and listed with `write`."""
    space.child("users", "bob").add("The zebra password is 4711.")
    space.child("team").add(HERON)
    store = TokenStore(None)
    names = ["default/users/ana", "default/team"]
    secret, writer = (store.create(access, spaces=names, access=access)[0] for access in ("propose", "write"))
    server = make_server(space, tools="union_recall,proposals,erase_about", tokens=StoredTokens(space, store))
    with serving(server) as url:
        async with client_of(url, secret) as ana, client_of(url, writer) as lead:
            assert HERON in str(await ana.call_tool("recall", {"query": "staging server", "also": ["default/team"]}))
            joined = await ana.call_tool("union_recall", {"query": "staging server", "spaces": ["default/team"]})
            assert HERON in str(joined)
            refusals = set()
            for other in ("default/users/bob", "default/users/nobody", "default/team/%proposals"):
                for tool, argument in (("recall", "also"), ("union_recall", "spaces")):
                    refused = await ana.call_tool(tool, {"query": "password", argument: [other]})
                    assert refused.is_error or "4711" not in str(refused)
                    if "users" in other:
                        refusals.add((tool, str(refused.content[0].text).replace(other, "NAME")))
            assert len(refusals) == 2

            offered = {"text": "The plan is heron two.", "origin_space": names[0], "origin_memory": "m1", "by": "ana"}
            made = await ana.call_tool("propose_memory", {**offered, "project": "default/team"})
            assert not made.is_error
            for tool in ("list_proposals", "erase_about"):
                arguments = {"project": "default/team"} | ({"subject": "Ana"} if tool == "erase_about" else {})
                assert (await ana.call_tool(tool, arguments)).is_error
            assert "heron two" not in str(await ana.call_tool("recall", {"query": "plan", "project": "default/team"}))
            listed = await lead.call_tool("list_proposals", {"project": "default/team"})
            assert "heron two" in str(listed)
            assert (await lead.call_tool("erase_about", {"subject": "Ana", "project": "default/team"})).is_error
    store.close()
