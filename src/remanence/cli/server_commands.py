"""The commands about the REST server: serve, tokens."""

from __future__ import annotations

from argparse import Namespace
from contextlib import closing
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

import remanence
from remanence.cli.locations import load_extractor, memory_location, reader_option
from remanence.cli.parser import command, group, provided_options
from remanence.errors import MissingExtra
from remanence.ledger import open_ledger

if TYPE_CHECKING:
    from remanence.service.hosting.tokens import TokenStore

_SETTINGS = "host port rate_limit max_body max_file shutdown_seconds"


@command(
    "serve",
    "serve ./memory",
    "folder --host --port --require-token --rate-limit --max-body --max-file --shutdown-seconds --extractor --reader",
)
def serve(args: Namespace) -> None:
    """Answer requests over HTTP until interrupted: REST, and the inspector in a browser."""
    server: Any = import_module("remanence_server")
    try:
        settings = server.ServerSettings(**provided_options(args, _SETTINGS), require_token=args.require_token)
        run = server.serve
    except ModuleNotFoundError as error:
        raise MissingExtra(f'the server needs {error.name!r}. Run: pip install "remanence[server]"') from error
    space = remanence.open(
        memory_location(args, create=True),
        embedder=args.embedder,
        extractor=load_extractor(args.extractor),
        reader=reader_option(args),
    )
    address = f"http://{settings.host}:{settings.port}/"
    run(space, settings, on_start=lambda: print(f"{address} serves {space.admin.location} until Ctrl-C", flush=True))


group("tokens", "Who may use the server, and for what", "tokens list")


@command("tokens create", "tokens create laptop default --access write", "name spaces --access --expires-at")
def create(args: Namespace) -> None:
    """Make a token and print it. It is stored as a hash, and cannot be shown again."""
    from remanence.language.temporal import parse_moment
    from remanence.schema import UTC

    now = datetime.now(UTC)
    expires_at = None if args.expires_at is None else parse_moment(args.expires_at, now, argument="expires_at")
    open_ledger(memory_location(args, create=True)).close()  # the server may not have been started yet
    with _tokens(args) as tokens:
        secret, _ = tokens.create(args.name, spaces=args.spaces, access=args.access, expires_at=expires_at)
    print(secret)


@command("tokens list", "tokens list")
def list_(args: Namespace) -> None:
    """List the tokens: id, name, access, spaces and status."""
    from remanence.schema import UTC, format_moment

    now = datetime.now(UTC)
    with _tokens(args) as tokens:
        for token in tokens.list():
            expiry = "" if token.expires_at is None else f"until {format_moment(token.expires_at)}"
            status = "revoked" if token.revoked_at else "valid" if token.is_valid(now) else "expired"
            fields = (token.id, token.name, token.access, ",".join(token.spaces), status, expiry)
            print("\t".join(fields).rstrip())


@command("tokens revoke", "tokens revoke 5f2a90c4d1e3", "id")
def revoke(args: Namespace) -> None:
    """Refuse a token from now on."""
    with _tokens(args) as tokens:
        print(f"revoked: {tokens.revoke(args.id).name}")


def _tokens(args: Namespace) -> closing[TokenStore]:
    from remanence.service.hosting.tokens import TokenStore

    return closing(TokenStore(memory_location(args)))
