"""A REST server for the spaces of a folder. `remanence serve` runs it; `create_app` makes the ASGI application.

app.py           the application: routes, start and end
routes.py        a route for each operation of `remanence.service`
file_and_health_routes.py  files, exports, events, health, metrics
access.py        who asks, and what they may do
problems.py      errors as application/problem+json
limits.py        sizes of bodies, requests per minute, metrics of requests
connections.py   how many connections, and how long a request may take to come; also for MCP
metrics.py       numbers for Prometheus
idempotency.py   answers by Idempotency-Key
inspector.py     the page at `/`; its files are in static/
settings.py      the settings
running.py       running it with uvicorn
state.py         what all routes share, and the threads that operations run in
mcp/             the MCP server, which needs other packages
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remanence.adapters import lazy_getattr

if TYPE_CHECKING:
    from remanence_server.app import create_app
    from remanence_server.running import serve
    from remanence_server.settings import ServerSettings

__all__ = ["ServerSettings", "create_app", "serve"]

_MODULES = {"ServerSettings": ("settings", "server"), "create_app": ("app", "server"), "serve": ("running", "server")}

__getattr__ = lazy_getattr(__name__, _MODULES, frameworks=("fastapi", "starlette", "uvicorn"))
