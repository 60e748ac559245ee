"""What all routes of one application share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import cast

from starlette.requests import Request

from remanence.service.hosting.spaces import Spaces
from remanence_server.access import AccessControl
from remanence_server.idempotency import IdempotencyKeys
from remanence_server.metrics import Metrics
from remanence_server.pools import Pools
from remanence_server.settings import ServerSettings


@dataclass
class ServerState:
    """The spaces, the threads, and who may do what."""

    settings: ServerSettings
    spaces: Spaces
    pools: Pools
    access: AccessControl
    keys: IdempotencyKeys
    metrics: Metrics
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is asked to stop: event streams end then."""
    streams: int = 0
    """How many event streams are open."""


def state_of(request: Request) -> ServerState:
    """The state of the application that a request came to."""
    return cast(ServerState, request.app.state.server)
