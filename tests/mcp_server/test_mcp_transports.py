"""The server as a process of its own, over HTTP with tokens, and in the hands of both frameworks."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp_calls import connected, serving

import remanence
from remanence import InvalidInput
from remanence.cli import main
from remanence.service.hosting.network import is_loopback
from remanence.service.hosting.tokens import TokenStore
from remanence_server.mcp import StoredTokens, TokenFile, UserTokens, make_server, run_http
from remanence_server.mcp.server import http_options

ANA, BOB, READER = "token-of-ana-0123456789", "token-of-bob-0123456789", "token-of-reader-0123456789"
ENVIRONMENT = {**os.environ, "REMANENCE_READER": "none", "PYTHONPATH": os.pathsep.join(sys.path)}


def command(home: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "remanence.cli", "--memory", str(home), "mcp", *options]


async def test_a_process_of_its_own_serves_over_standard_input(home: Path, tmp_path: Path) -> None:
    """What it stores is there for the next one. Nothing but the protocol is on standard output."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    python, *arguments = command(home, "--tools", "graph")
    parameters = StdioServerParameters(command=python, args=arguments, env=ENVIRONMENT)
    async with Client(stdio_client(parameters)) as client:
        assert len((await client.list_tools()).tools) == 18
        found = await client.call_tool("recall", {"query": "Where does Bo live?"})
        assert found.structured_content["hits"] == []
        await client.call_tool("remember", {"text": "Bo lives in Porto.", "tags": ["home"]})
    check_standard_output(home, tmp_path)


def check_standard_output(home: Path, tmp_path: Path) -> None:
    """Every line is JSON-RPC, also if something is imported, a line is not JSON, or a tool fails."""
    graph = tmp_path / "memory.jsonl"
    graph.write_text('{"type": "entity", "name": "Ana", "entityType": "person", "observations": ["Drinks tea"]}\n')
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "open_nodes", "arguments": {"names": ["Ana"]}},
        },
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tools/call",
            "params": {"name": "forget", "arguments": {"memory_ids": "x"}},
        },
        {
            "jsonrpc": "2.0",
            "id": 4,
            "method": "tools/call",
            "params": {"name": "recall", "arguments": {"query": "Where does Bo live?"}},
        },
    ]
    process = subprocess.Popen(
        command(home, "--tools", "graph"),
        env=ENVIRONMENT | {"MEMORY_FILE_PATH": str(graph)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: dict[int, Any] = {}
    for message in messages:
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        while "id" in message and message["id"] not in answers:
            answer = json.loads(process.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            answers[answer.get("id")] = answer
    rest, _ = process.communicate("no json\n", timeout=60)
    for line in rest.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert answers[2]["result"]["structuredContent"]["entities"][0]["observations"] == ["Drinks tea"]
    assert answers[3]["result"]["isError"] is True
    assert answers[4]["result"]["structuredContent"]["hits"][0]["text"] == "Bo lives in Porto."
    assert process.returncode == 0


def client_of(url: str, token: str | None) -> Any:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return Client(streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers, timeout=60)))


async def test_two_tokens_never_see_each_other(space: remanence.Space) -> None:
    """Not by recall, nor by an id, a resource, a namespace or a file; also when they call at the same time."""
    names = {ANA: "default/users/ana", BOB: "default/users/bob"}
    tokens = TokenFile({**names, READER: {"space": "default/users/ana", "right": "read"}})
    with serving(make_server(space, tools="cortex,kg,files", tokens=tokens)) as url:
        async with client_of(url, ANA) as ana, client_of(url, BOB) as bob, client_of(url, READER) as reader:
            stored = await ana.call_tool("remember", {"text": "Ana's door code is 4711."})
            memory_id = stored.structured_content["id"]
            await ana.call_tool("memory", {"command": "create", "path": "/memories/a.md", "file_text": "4711"})
            for tool, arguments in [
                ("recall", {"query": "door code"}),
                ("search_memory", {"query": "door code"}),
                ("open_memories", {"memory_ids": memory_id}),
                ("read_graph", {"status": "all"}),
                ("memory", {"command": "view", "path": "/memories"}),
                ("memory_kg_query", {"start_id": "Ana"}),
                ("memory_kg_query", {"start_id": memory_id, "namespace": "../ana"}),
                ("explain", {"memory_id": memory_id}),
                ("touch_memory", {"memory_id": memory_id}),
                ("forget", {"memory_ids": memory_id}),
            ]:
                answer = await bob.call_tool(tool, arguments)
                assert "4711" not in str(answer), tool
            with pytest.raises(Exception, match="unknown"):
                await bob.read_resource(f"remanence://memory/{memory_id}")

            async def mixed(number: int) -> None:
                client, own, other = (ana, "ana", "bob") if number % 2 else (bob, "bob", "ana")
                await client.call_tool("save_memory", {"content": f"note {number} of {own}"})
                found = await client.call_tool("search_memory", {"query": "note", "top_k": 50})
                assert f"of {other}" not in str(found)

            await asyncio.gather(*(mixed(number) for number in range(12)))
            assert "4711" in str(await reader.call_tool("recall", {"query": "door code"}))
            refused = await reader.call_tool("remember", {"text": "x"})
            assert refused.is_error
            assert "may only read" in refused.content[0].text
            for tool, read, write in [
                ("memory", {"command": "view", "path": "/memories"}, {"command": "delete", "path": "/memories/a.md"}),
                ("gc", {}, {"dry_run": False}),
                ("promote_memory", {"auto_detect": True, "dry_run": True}, {"auto_detect": True}),
                ("consolidate_memories", {"auto_detect": True}, {"auto_detect": True, "mode": "apply"}),
            ]:
                done = [(await reader.call_tool(tool, arguments)).is_error for arguments in (read, write)]
                assert done == [False, True], tool
        for wrong in (None, "token-of-nobody-0123456789"):
            with pytest.raises(BaseException, match=r".") as caught:
                async with client_of(url, wrong) as nobody:
                    await nobody.list_tools()
            assert not isinstance(caught.value, AssertionError)
    assert space.count() == 0


async def test_the_tokens_of_the_rest_server_are_valid_here(space: remanence.Space) -> None:
    """Each in its own space, to read, to write, or also to apply upkeep; a revoked one is refused."""
    store = TokenStore(None)
    ana, _ = store.create("ana", spaces=["default/users/ana", "team"], access="write")
    reader, _ = store.create("reader", spaces=["default/users"], access="read")
    admin, admin_token = store.create("admin", spaces=["*"], access="admin")
    with serving(make_server(space, tools="cortex", tokens=StoredTokens(space, store))) as url:
        async with client_of(url, ana) as client, client_of(url, reader) as below, client_of(url, admin) as whole:
            await client.call_tool("remember", {"text": "Ana's door code is 4711."})
            await whole.call_tool("remember", {"text": "The office opens at nine."})
            refused = [
                await below.call_tool("remember", {"text": "x"}),
                await client.call_tool("gc", {"dry_run": False}),
                await client.call_tool("promote_memory", {"auto_detect": True}),
                await client.call_tool("consolidate_memories", {"auto_detect": True, "mode": "apply"}),
            ]
            assert [each.is_error for each in refused] == [True] * 4
            assert "needs a token with the access 'admin'" in json.loads(refused[1].content[0].text)["message"]
            assert not (await client.call_tool("gc", {})).is_error
            assert not (await whole.call_tool("gc", {"dry_run": False})).is_error
        store.revoke(admin_token.id)
        with pytest.raises(BaseException, match=r".") as caught:
            async with client_of(url, admin) as nobody:
                await nobody.list_tools()
        assert not isinstance(caught.value, AssertionError)
    assert [each.text for each in space.memories()] == ["The office opens at nine."]
    assert space.child("users", "ana").count() == 1


async def test_each_user_of_a_provider_has_a_space(space: remanence.Space) -> None:
    from mcp.server.auth.provider import AccessToken

    class Provider:
        async def verify_token(self, token: str) -> AccessToken | None:
            return AccessToken(token=token, client_id="app", scopes=[], subject=token.removeprefix("user-"))

    server = make_server(space, verifier=Provider(), issuer="https://login.example.org")
    with serving(server) as url:
        async with client_of(url, "user-ana") as ana, client_of(url, "user-bob") as bob:
            await ana.call_tool("remember", {"text": "Ana lives in Porto."})
            assert (await bob.call_tool("recall", {"query": "Ana"})).structured_content["hits"] == []
    assert space.child("users", "ana").count() == 1


ISSUER, AUDIENCE = "https://login.example.org", "remanence"


def provider_keys(folder: Path) -> tuple[Any, Path]:
    """A private key of an identity provider, and the file with its public key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key, file = Ed25519PrivateKey.generate(), folder / "provider.pem"
    form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    file.write_bytes(key.public_key().public_bytes(*form))
    return key, file


def user_token(key: Any, subject: object = "ana", algorithm: str = "EdDSA", **claims: Any) -> str:
    import jwt

    stated = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": int(time.time()) + 600, **claims}
    return jwt.encode({name: value for name, value in stated.items() if value is not None}, key, algorithm)


def refuses_large_head(port: int) -> bool:
    """Whether a server ends the connection on which the head of a request does not end."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            connection.sendall(b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 2**20)
            return connection.recv(100).startswith(b"HTTP/1.1 400")
        except ConnectionError:
            return True


async def test_the_command_gives_each_user_a_space(home: Path, tmp_path: Path) -> None:
    """By the tokens of an identity provider; whoever has none is refused, and so is a head without an end."""
    key, file = provider_keys(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--user-keys", str(file), "--issuer", ISSUER, "--audience", AUDIENCE, "--port", str(port)]
    process = subprocess.Popen(command(home, "--http", *options), stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    try:
        assert "serving" in process.stderr.readline()
        url = f"http://127.0.0.1:{port}/mcp"
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
        assert refuses_large_head(port)
        names = {"ana": user_token(key), "bob": user_token(key, "bob"), "../ana": user_token(key, "../ana")}
        async with client_of(url, names["ana"]) as ana:
            await ana.call_tool("remember", {"text": "Ana lives in Porto."})
        for other in ("bob", "../ana"):
            async with client_of(url, names[other]) as client:
                assert (await client.call_tool("recall", {"query": "Ana"})).structured_content["hits"] == []
        with pytest.raises(BaseException) as caught:  # anyio wraps it in a group
            async with client_of(url, user_token(provider_keys(tmp_path)[0])) as nobody:
                await nobody.list_tools()
        assert not isinstance(caught.value, AssertionError)
    finally:
        process.terminate()
        process.communicate(timeout=60)
    with remanence.open(home) as space:
        assert space.child("users", "ana").count() == 1


async def test_only_valid_tokens_of_the_provider_are_taken(tmp_path: Path) -> None:
    import jwt

    key, file = provider_keys(tmp_path)
    verifier = UserTokens(file, issuer=ISSUER, audience=AUDIENCE)
    found = await verifier.verify_token(user_token(key))
    assert (found.subject, found.client_id) == ("ana", "user:ana")
    public = file.read_text()
    header, body, signature = user_token(key).split(".")
    unsigned = jwt.encode(jwt.decode(user_token(key), options={"verify_signature": False}), None, "none")
    forged = [
        *("", "x", "a.b.c", f"{header}.{body}.", f"{header}.{body}x.{signature}", unsigned),
        user_token(key, exp=int(time.time()) - 60),
        user_token(key, nbf=int(time.time()) + 600),
        user_token(key, iss="https://other.example.org"),
        user_token(key, aud="another server"),
        *(user_token(key, **{name: None}) for name in ("iss", "aud", "exp")),
        *(user_token(key, subject) for subject in (None, "", "  ", "x" * 300)),
        user_token(provider_keys(tmp_path)[0]),
    ]
    # The public key as a shared secret: jwt itself refuses to make such a token, so it is made here.
    content = f"{b64url(json.dumps({'alg': 'HS256', 'typ': 'JWT'}).encode())}.{body}"
    forged.append(f"{content}.{b64url(hmac.digest(public.encode(), content.encode(), 'sha256'))}")
    for token in forged:
        assert await verifier.verify_token(token) is None, token


async def test_keys_of_a_provider_are_chosen_by_their_id(tmp_path: Path) -> None:
    import jwt
    from cryptography.hazmat.primitives.asymmetric import rsa

    keys = {each: rsa.generate_private_key(65537, 2048) for each in ("a", "b")}
    published = [jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) for key in keys.values()]
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": [{**each, "kid": kid} for each, kid in zip(published, keys, strict=True)]}))
    verifier = UserTokens(file, issuer=ISSUER, audience=AUDIENCE)
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ana", "exp": int(time.time()) + 600}
    for signing, named, valid in (("a", "a", True), ("b", "b", True), ("b", None, True), ("b", "a", False)):
        token = jwt.encode(claims, keys[signing], "RS256", headers={} if named is None else {"kid": named})
        assert (await verifier.verify_token(token) is not None) is valid


def test_keys_that_are_not_safe_are_refused(tmp_path: Path) -> None:
    import jwt

    file = tmp_path / "keys"
    weak = jwt.algorithms.RSAAlgorithm.to_jwk(weak_key(), as_dict=True)
    secret = {"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}
    for text, message in (
        ("nothing", "has no public key"),
        ("{}", "has no public key"),
        (json.dumps({"keys": [secret]}), "has a key that is not a public key"),
        (json.dumps({"keys": [weak]}), "has a key that is not a public key"),
    ):
        file.write_text(text)
        with pytest.raises(InvalidInput, match=message):
            UserTokens(file, issuer=ISSUER, audience=AUDIENCE)
    with pytest.raises(InvalidInput, match="cannot be read"):
        UserTokens(tmp_path / "none", issuer=ISSUER, audience=AUDIENCE)


def weak_key() -> Any:
    from cryptography.hazmat.primitives.asymmetric import rsa

    return rsa.generate_private_key(65537, 1024).public_key()


def b64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


async def test_without_tokens_this_machine_is_served(space: remanence.Space) -> None:
    with serving(make_server(space)) as url:
        async with client_of(url, None) as client:
            await client.call_tool("remember", {"text": "Ana lives in Porto."})
    assert space.count() >= 1


def test_made_up_tokens_count_for_their_address(space: remanence.Space) -> None:
    """As with the REST server: a token that was valid before is answered all the same."""
    import httpx

    made_up = [f"{number:016}" for number in range(4)]
    with serving(make_server(space, tokens=TokenFile({ANA: "default"})), rate_limit=3) as url:
        answers = [
            httpx.post(url, headers={"authorization": f"Bearer {token}"}, timeout=30) for token in (ANA, *made_up, ANA)
        ]
    assert [answer.status_code for answer in answers[1:5]] == [401, 401, 401, 429]
    assert {answers[0].status_code, answers[5].status_code}.isdisjoint({401, 429})


@pytest.mark.parametrize("sent", [b"POST /mcp HTTP/1.1\r\nX-a: ", b"POST /mcp HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"])
def test_half_sent_requests_are_ended(space: remanence.Space, sent: bytes) -> None:
    """They keep no connection for ever, and many of them block nobody."""
    import httpx

    with serving(make_server(space), idle_seconds=1, max_connections=20) as url, contextlib.ExitStack() as opened:
        address = ("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        flood = [opened.enter_context(socket.create_connection(address, timeout=20)) for _ in range(60)]
        for each in flood[-10:]:
            each.sendall(sent)
        assert httpx.post(url, timeout=20).status_code < 500
        while flood[-1].recv(1_000):
            pass


def test_other_machines_need_a_token(space: remanence.Space) -> None:
    assert [is_loopback(host) for host in ("localhost", "127.0.0.2", "192.168.1.2", "example.org")] == [
        *(True, True),
        *(False, False),
    ]
    with pytest.raises(InvalidInput, match=r"host='0\.0\.0\.0' can be reached from other machines"):
        run_http(make_server(space), "0.0.0.0", 1)
    http_options(make_server(space, tokens=TokenFile({ANA: "default"})), "0.0.0.0")


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ({}, "names no token"),
        ({"short": "a"}, "a token has 5 characters"),
        ({ANA: 7}, "a token has 7"),
        ({ANA: {"space": "a", "right": "own"}}, "the right 'own'"),
        ({"sha256:abc": "a"}, "is not a SHA-256"),
    ],
)
def test_wrong_tokens_are_refused(tokens: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        TokenFile(tokens)


def test_a_file_of_tokens_is_read(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({ANA: "default"}))
    assert TokenFile(file).spaces == ["default"]
    for text, message in (("[]", "is not a JSON object"), ("x", "is not JSON")):
        file.write_text(text)
        with pytest.raises(InvalidInput, match=message):
            TokenFile(file)
    with pytest.raises(InvalidInput, match="cannot be read"):
        TokenFile(tmp_path / "none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--token", ANA], "are for --http"),
        (["--http", "--token", ANA, "--tokens", "x"], "Give one of them"),
        (["--http", "--host", "0.0.0.0"], "there are no tokens. Make one: remanence tokens create"),
        (["--http", "--require-token"], "there are no tokens"),
        (["--require-token"], "are for --http"),
        (["--user-keys", "x"], "are for --http"),
        (["--http", "--user-keys", "x"], "needs --issuer and --audience"),
        (["--http", "--user-keys", "x", "--token", ANA], "and no others"),
        (["--http", "--user-keys", "x", "--issuer", "https://a.b", "--audience", "c"], "cannot be read"),
        (["--tools", "cortexx"], "The sets of tools are"),
    ],
)
def test_the_command_says_what_is_wrong(home: Path, capsys: Any, options: list[str], message: str) -> None:
    assert main(["--memory", str(home), "mcp", *options]) == 1
    assert message in capsys.readouterr().err


def test_a_taken_port_is_refused_before_it_says_that_it_serves(home: Path, capsys: Any) -> None:
    """With the port and the next step, as `remanence serve` does."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert main(["--memory", str(home), "mcp", "--http", "--port", port]) == 1
    told = capsys.readouterr().err
    assert f"Port {port} of 127.0.0.1 cannot be used" in told
    assert "choose another port with --port" in told
    assert "serving" not in told


async def test_tools_of_llamaindex(space: remanence.Space) -> None:
    """The tools of the server as tools of LlamaIndex."""
    llama_index = pytest.importorskip("llama_index.tools.mcp", reason="needs llama-index-tools-mcp")
    with serving(make_server(space, tools="graph")) as url:
        tools = await llama_index.McpToolSpec(client=llama_index.BasicMCPClient(url)).to_tool_list_async()
        by_name = {tool.metadata.name: tool for tool in tools}
        await by_name["remember"].acall(text="Ana lives in Porto.")
        answer = await by_name["recall"].acall(query="Where does Ana live?")
    assert len(tools) == 18
    assert "Ana lives in Porto." in str(answer)


async def test_nothing_is_shared_between_two_servers_of_one_process(space: remanence.Space) -> None:
    async with connected(space.child("a")) as a, connected(space.child("b")) as b:
        await a.call("remember", text="Ana lives in Porto.")
        assert (await b.call("recall", query="Ana"))["hits"] == []
