"""`remanence mcp`: serve a space to MCP clients."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from contextlib import ExitStack, closing
from importlib import import_module

from remanence.cli.locations import open_space
from remanence.cli.parser import command
from remanence.errors import InvalidInput

_OPTIONS = (
    "folder --tools --no-default-tools --read-only --http --host --port --require-token --token --tokens "
    "--user-keys --issuer --audience"
)
_TOKEN_VARIABLE = "REMANENCE_MCP_TOKEN"
_GRAPH_FILE_VARIABLE = "MEMORY_FILE_PATH"


@command("mcp", "mcp --tools graph", _OPTIONS)
def mcp(args: Namespace) -> None:
    """Serve a space to MCP clients."""
    from remanence.service.hosting.network import is_loopback

    server_package = import_module("remanence_mcp")  # by name: the core imports no framework
    token = args.token or os.environ.get(_TOKEN_VARIABLE)
    if not args.http and (args.token or args.tokens or args.require_token or args.user_keys):
        raise InvalidInput("tokens are for --http: over standard input there is one client, the caller.")
    if token and args.tokens:
        raise InvalidInput(f"both --tokens and --token (or {_TOKEN_VARIABLE}) are given. Give one of them.")
    if args.user_keys and (token or args.tokens or args.require_token):
        raise InvalidInput("--user-keys takes the tokens of an identity provider, and no others. Leave the others out.")
    if args.user_keys and not (args.issuer and args.audience):
        raise InvalidInput(
            "--user-keys needs --issuer and --audience: a token must say who made it, and that it is for this server."
        )
    with open_space(args, create=True) as space, ExitStack() as opened:
        tokens = verifier = None
        if args.user_keys:
            verifier = server_package.UserTokens(args.user_keys, issuer=args.issuer, audience=args.audience)
        elif args.http and (token or args.tokens):
            tokens = server_package.TokenFile(args.tokens or {token: {"space": space.name, "right": "admin"}})
        elif args.http and (args.require_token or not is_loopback(args.host)):
            tokens = opened.enter_context(closing(server_package.StoredTokens(space)))
        server = server_package.make_server(
            space,
            tools=args.tools,
            default_tools=not args.no_default_tools,
            read_only=args.read_only,
            tokens=tokens,
            verifier=verifier,
            issuer=args.issuer if verifier is not None else None,
            url=f"http://{args.host}:{args.port}/mcp",
        )
        graph_file = os.environ.get(_GRAPH_FILE_VARIABLE)
        if graph_file and "graph" in args.tools.split(",") and not args.read_only:
            imported = server_package.KnowledgeGraph(space).import_once(graph_file)
            print(f"imported {imported} lines of {graph_file}" if imported else "", file=sys.stderr, end="\n")
        if args.http:
            text = f"serving {space.name!r} at http://{args.host}:{args.port}/mcp"
            server_package.run_http(server, args.host, args.port, on_start=lambda: print(text, file=sys.stderr))
        else:
            server_package.run_stdio(server)
