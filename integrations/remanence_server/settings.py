"""The settings of the server."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Literal, get_args

from remanence import InvalidInput
from remanence.service.hosting.network import is_loopback

MEBIBYTE = 1 << 20
LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
_ORIGIN = re.compile(r"https?://[^/\s?#]+")


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """How the server behaves.

    Attributes:
        host: The address that it listens on. Other than a loopback address only with tokens.
        require_token: Whether a token is needed on a loopback address, too.
        max_body: The most bytes of the body of a request.
        max_file: The most bytes of a file.
        max_head: The most bytes of the headers of a request.
        idle_seconds: How long a connection may take to send the headers of a request, and between two parts of its
            body. It is closed then.
        max_connections: The most connections at once, and at most half of the file descriptors that the process may
            have. If there are more, one that waits for its client is closed.
        rate_limit: The most requests a minute of one token, or without one of one address; 0 means no limit.
        quick_threads: How many operations that take milliseconds run at once.
        recall_threads: How many recalls run at once. A reader may make them slow.
        slow_threads: How many operations that may take seconds run at once.
        max_waiting: How many operations may wait for a thread; more are refused with status 503.
        sweep_seconds: How often expired memories are recorded; 0 is never.
        shutdown_seconds: How long requests may go on after the server was told to end.
        max_streams: The most event streams at once.
        cors_origins: The web sites whose pages may use the server from a browser: "https://app.example"; "*" is every
            site, and needs tokens. Others cannot.
        log_format: "text", or "json" for a JSON object a line.
        log_level: What is logged: from "info" on a line for each request.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    require_token: bool = False
    max_body: int = 16 * MEBIBYTE
    max_file: int = 256 * MEBIBYTE
    max_head: int = 65_536
    idle_seconds: float = 20.0
    max_connections: int = 4_096
    rate_limit: int = 0
    quick_threads: int = 16
    recall_threads: int = 16
    slow_threads: int = 4
    max_waiting: int = 512
    sweep_seconds: float = 3600.0
    shutdown_seconds: float = 30.0
    max_streams: int = 100
    cors_origins: tuple[str, ...] = ()
    log_format: LogFormat = "text"
    log_level: LogLevel = "warning"

    def __post_init__(self) -> None:
        zero_allowed = ("rate_limit", "sweep_seconds", "port")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                least = 0 if field.name in zero_allowed else 1
                if value < least:
                    raise InvalidInput(f"{field.name}={value!r} is less than {least}.")
        for origin in self.cors_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise InvalidInput(f"cors_origins: {origin!r} is no origin. Give for example 'https://app.example'.")
        if "*" in self.cors_origins and not self.needs_token:
            raise InvalidInput(
                "cors_origins: '*' would let every web site use this server through the browser of whoever visits it. "
                "Name the sites, or require tokens (--require-token)."
            )
        for name, known in (("log_format", LogFormat), ("log_level", LogLevel)):
            if getattr(self, name) not in get_args(known):
                raise InvalidInput(f"{name}={getattr(self, name)!r} is none of {', '.join(get_args(known))}.")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def needs_token(self) -> bool:
        """Whether every request needs a token."""
        return self.require_token or not self.is_loopback
