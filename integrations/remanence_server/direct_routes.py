"""Requests for operations with a body go straight to their route.

What FastAPI and Starlette do around a route (middleware for exceptions and compression, two stacks of contexts, trying
the routes one after the other) took an eighth of the processor time that the server needs for a recall.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from remanence_server.body_route import BodyRoute
from remanence_server.headers import header

ExceptionHandler = Callable[[Request, Any], Awaitable[Response]]

MIN_COMPRESSED = 16_384
"""Shorter answers are not compressed: they fit into the first packets of a connection, and compressing one takes longer
than sending it."""
COMPRESSION = 1


class DirectRoutes:
    """ASGI middleware: answers what a `BodyRoute` below the path of a space answers, and passes on everything else.

    Args:
        app: What answers everything else.
        prefix: The path of a space, with `{space}` for its name at the end.
        routes: The routes of the application. Those with a name in braces after the prefix go the usual way.
        handlers: What answers an exception, by its class, as the application has them.
    """

    def __init__(self, app: ASGIApp, *, prefix: str, routes: Iterable[BaseRoute], handlers: Mapping[Any, Any]) -> None:
        self._app = app
        self._start = prefix.removesuffix("{space}")
        self._handlers: Mapping[Any, ExceptionHandler] = handlers
        # Any other exception is raised, and answered with status 500.
        self._handled: tuple[type[Exception], ...] = tuple(
            handler for handler in handlers if isinstance(handler, type) and handler is not Exception
        )
        self._routes = {
            (method, route.path.removeprefix(prefix)): (route, route.get_route_handler())
            for route in routes
            if isinstance(route, BodyRoute) and route.path.count("{") == 1
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        space, found = self._find(scope)
        if found is None:
            await self._app(scope, receive, send)
            return
        route, handler = found
        scope["route"], scope["endpoint"], scope["path_params"] = route, route.endpoint, {"space": space}
        request = Request(scope, receive, send)
        try:
            response = await handler(request)
        except self._handled as error:
            handled = next(class_ for class_ in type(error).__mro__ if class_ in self._handlers)
            response = await self._handlers[handled](request, error)
        await _sent(response, scope)(scope, receive, send)

    def _find(self, scope: Scope) -> tuple[str, tuple[BodyRoute, Callable[[Request], Awaitable[Response]]] | None]:
        # Below another application the path begins with the path of that one. FastAPI's telemetry, where it is on,
        # notes the route that FastAPI chose.
        if scope["type"] != "http" or scope.get("root_path") or "fastapi.telemetry" in scope:
            return "", None
        path: str = scope["path"]
        space, slash, rest = path.removeprefix(self._start).partition("/")
        if not space or not path.startswith(self._start):
            return "", None
        return space, self._routes.get((scope["method"], slash + rest))


def _sent(response: Response, scope: Scope) -> ASGIApp:
    if len(response.body) < MIN_COMPRESSED or "gzip" not in header(scope, b"accept-encoding"):
        return response
    return GZipMiddleware(response, minimum_size=MIN_COMPRESSED, compresslevel=COMPRESSION)
