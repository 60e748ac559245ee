"""The commands that serve a space: mcp, serve, and the tokens for both."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence.cli.locations import memory_location, open_options, open_space, open_with
from remanence.cli.output import Lines, Result
from remanence.cli.parser import command, group, provided_options, section
from remanence.errors import InvalidInput, MissingExtra
from remanence.ledger import open_ledger

if TYPE_CHECKING:
    from remanence import Space
    from remanence.service.hosting.tokens import TokenStore


section("Serve")

_OPTIONS = (
    "folder --tools --no-default-tools --read-only --http --host --port --require-token --token --tokens "
    "--user-keys --issuer --audience --rate-limit --otel "
    "--qdrant --projects"
)
_TOKEN_VARIABLE = "REMANENCE_MCP_TOKEN"
_GRAPH_FILE_VARIABLE = "MEMORY_FILE_PATH"


@command("mcp", "mcp --tools graph", _OPTIONS)
def mcp(args: Namespace) -> None:
    """Serve a space to MCP clients."""
    server_package = import_module("remanence_server.mcp")  # by name: the core imports no framework
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
    is_lazy = not (args.http or args.tools or os.environ.get(_GRAPH_FILE_VARIABLE))
    with _traced(args), ExitStack() as opened:
        if is_lazy:  # over standard input, the tools are listed before the engine is loaded
            memory_location(args, create=True)
            server_package.run_stdio(_lazy_server(server_package, args, opened))
            return
        space = opened.enter_context(_long_lived_space(args))
        tokens = verifier = None
        if args.user_keys:
            verifier = server_package.UserTokens(args.user_keys, issuer=args.issuer, audience=args.audience)
        elif args.http and (token or args.tokens):
            tokens = server_package.TokenFile(args.tokens or {token: {"space": space.name, "right": "admin"}})
        elif args.http and (args.require_token or not _is_loopback(args.host)):
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
            projects=args.projects or None,
        )
        graph_file = os.environ.get(_GRAPH_FILE_VARIABLE)
        if graph_file and "graph" in args.tools.split(",") and not args.read_only:
            imported = server_package.KnowledgeGraph(space).import_once(graph_file)
            print(f"imported {imported} lines of {graph_file}" if imported else "", file=sys.stderr, end="\n")
        if args.http:
            text = f"serving {space.name!r} at http://{args.host}:{args.port}/mcp"
            options = provided_options(args, "rate_limit")
            server_package.run_http(
                server, args.host, args.port, **options, on_start=lambda: print(text, file=sys.stderr)
            )
        else:
            server_package.run_stdio(server)


@contextmanager
def _long_lived_space(args: Namespace) -> Iterator[Space]:
    """The space of a server, in which memories are read for profiles when nobody waits."""
    from remanence.recall.profile import read_when_quiet

    with open_space(args, create=True) as space:
        read_when_quiet(space._engine)
        yield space


def _is_loopback(host: str) -> bool:
    from remanence.service.hosting.network import is_loopback

    return is_loopback(host)


def _lazy_server(server_package: Any, args: Namespace, opened: ExitStack) -> Any:
    """A server with the default tools that opens the space with the first call."""

    def open_now() -> Space:
        return opened.enter_context(_long_lived_space(args))

    return server_package.make_server(
        open_now, default_tools=not args.no_default_tools, read_only=args.read_only, projects=args.projects or None
    )


_SETTINGS = "host port rate_limit max_body max_file shutdown_seconds log_format log_level"


@command(
    "serve",
    "serve ./memory",
    "folder --host --port --require-token --rate-limit --cors --max-body --max-file --shutdown-seconds --job-seconds "
    "--log-format --log-level --otel --extractor --reader --qdrant",
)
def serve(args: Namespace) -> None:
    """Answer requests over HTTP until interrupted: REST, and the inspector in a browser."""
    server: Any = import_module("remanence_server")
    try:
        given = provided_options(args, _SETTINGS)
        given["log_level"] = args.log_level or ("info" if args.log_format == "json" else "warning")
        settings = server.ServerSettings(**given, require_token=args.require_token, cors_origins=tuple(args.cors))
        run = server.serve
    except ModuleNotFoundError as error:
        raise MissingExtra(f'the server needs {error.name!r}. Run: pip install "remanence-memory[server]"') from error
    options = open_options(args)
    space = open_with(options)
    location = space.admin.location

    def started(port: int) -> None:
        address = f"http://{settings.host}:{port}/"
        text = f"{address} serves {location} until Ctrl-C"
        print(json.dumps({"address": address, "location": location}) if args.json else text, flush=True)

    with _jobs_done_in_a_process(space, options, args.job_seconds), _traced(args):
        run(space, settings, on_start=started)


@contextmanager
def _traced(args: Namespace) -> Iterator[None]:
    """Send traces and metrics meanwhile, with `--otel`."""
    if not args.otel:
        yield
        return
    from remanence.telemetry import export_by_otlp

    end = export_by_otlp("remanence")
    try:
        yield
    finally:
        end()


@contextmanager
def _jobs_done_in_a_process(space: Space, options: dict[str, Any], seconds: float) -> Iterator[None]:
    """Do the queued jobs of all spaces meanwhile."""
    from remanence.cli.job_process import JobProcess
    from remanence.index.engine.periodic_thread import PeriodicThread
    from remanence.recall.profile import read_when_quiet
    from remanence.service.hosting.spaces import Spaces

    process = JobProcess(options, seconds)
    run_due_jobs = Spaces(space, process.try_job).run_due_jobs

    def run_once() -> float:
        if not run_due_jobs():
            process.end_if_idle()
        return 0.5

    thread = PeriodicThread("remanence-jobs", run_once, problem="the jobs could not be done", retry_seconds=5.0)
    thread.start()
    read_when_quiet(space._engine)
    try:
        yield
    finally:
        thread.stop()
        process.close()


group("tokens", "Who may use the server, and for what", "tokens list")


@command("tokens create", "tokens create laptop default --access write", "name spaces --access --expires-at")
def create(args: Namespace) -> Result:
    """Make a token and print it. It is stored as a hash, and cannot be shown again."""
    from remanence.schema import UTC
    from remanence.text.temporal import parse_moment

    now = datetime.now(UTC)
    expires_at = None if args.expires_at is None else parse_moment(args.expires_at, now, argument="expires_at")
    open_ledger(memory_location(args, create=True)).close()  # the server may not have been started yet
    with _tokens(args) as tokens:
        secret, token = tokens.create(args.name, spaces=args.spaces, access=args.access, expires_at=expires_at)
    return Result({"token": secret, "id": token.id, "name": token.name}, secret)


@command("tokens list", "tokens list")
def list_(args: Namespace) -> Lines:
    """List the tokens: id, name, access, spaces and status."""
    from remanence.schema import UTC, format_moment

    now, rows = datetime.now(UTC), []
    with _tokens(args) as tokens:
        for token in tokens.list():
            expiry = None if token.expires_at is None else format_moment(token.expires_at)
            status = "revoked" if token.revoked_at else "valid" if token.is_valid(now) else "expired"
            row = {"id": token.id, "name": token.name, "access": token.access, "spaces": [*token.spaces]}
            rows.append(row | {"status": status, "expires_at": expiry})
    return Lines(rows, _token_line)


def _token_line(row: dict[str, Any]) -> str:
    expiry = f"until {row['expires_at']}" if row["expires_at"] else ""
    fields = (row["id"], row["name"], row["access"], ",".join(row["spaces"]), row["status"], expiry)
    return "\t".join(fields).rstrip()


@command("tokens revoke", "tokens revoke 5f2a90c4d1e3", "id")
def revoke(args: Namespace) -> Result:
    """Refuse a token from now on."""
    with _tokens(args) as tokens:
        name = tokens.revoke(args.id).name
    return Result({"revoked": args.id, "name": name}, f"revoked: {name}")


def _tokens(args: Namespace) -> closing[TokenStore]:
    from remanence.service.hosting.tokens import TokenStore

    return closing(TokenStore(memory_location(args)))
