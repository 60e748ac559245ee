"""Routes whose parameters are a path and a JSON body, which pydantic reads in one step.

FastAPI describes these routes. What it does for each request (solving dependencies, parsing the body to dicts, and
validating these) took longer than all else that the server does for a recall. What FastAPI and Starlette do around a
route (middleware for exceptions and compression, two stacks of contexts, trying the routes one after the other) took an
eighth of the processor time that the server needs for a recall: `DirectRoutes` sends requests straight to their route.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import cached_property
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError, create_model
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send


def header(scope: Scope, name: bytes) -> str:
    """A header of a request, by its name in small letters; "" if there is none.

    >>> scope = {"headers": [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1")]}
    >>> header(scope, b"host"), header(scope, b"authorization")
    ('127.0.0.1', '')
    """
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""


BODY = "arguments"
"""The parameter of an endpoint that is the body; all others but the request are parts of the path."""


class BodyRoute(APIRoute):
    """Calls an endpoint with `request`, the parts of its path, and the body as `arguments`, if it has one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Called by FastAPI when the route is made, and by every application for `DirectRoutes`."""
        return self._handler

    @cached_property
    def _handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint: Any = self.endpoint
        parameters = dict(inspect.signature(endpoint).parameters)
        del parameters["request"]
        body = parameters.pop(BODY, None)
        path = create_model("Path", **{name: (parameter.annotation, ...) for name, parameter in parameters.items()})  # type: ignore[call-overload]
        read = None if body is None else _body_reader(body)

        async def handler(request: Request) -> Response:
            given = _checked("path", lambda: _fields(path, request.path_params))
            if read is not None:
                content = await request.body()
                given[BODY] = read(content, header(request.scope, b"content-type"))
            response: Response = await endpoint(request=request, **given)
            return response

        return handler


def _fields(model: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    return model.model_validate(given).__dict__


def _body_reader(parameter: inspect.Parameter) -> Callable[[bytes, str], Any]:
    """A function that validates a body, given its media type."""
    adapter: TypeAdapter[Any] = TypeAdapter(parameter.annotation)
    default = parameter.default

    def read(content: bytes, media_type: str) -> Any:
        if not content:
            if default is inspect.Parameter.empty:
                raise _invalid("missing", "Field required", None)
            return default
        if not _is_json(media_type):
            raise _invalid("media_type", "Send the body as application/json", media_type)
        return _checked("body", lambda: adapter.validate_json(content))

    return read


def _checked(place: str, validate: Callable[[], Any]) -> Any:
    """The validated value. Raises RequestValidationError, as FastAPI does."""
    try:
        return validate()
    except ValidationError as error:
        found = [{**problem, "loc": (place, *problem["loc"])} for problem in error.errors(include_url=False)]
        raise RequestValidationError(found) from None


def _invalid(kind: str, message: str, given: Any) -> RequestValidationError:
    return RequestValidationError([{"type": kind, "loc": ("body",), "msg": message, "input": given}])


def _is_json(media_type: str) -> bool:
    """Whether a media type is JSON, as application/json or application/problem+json.

    >>> _is_json("application/json; charset=utf-8"), _is_json("application/x.y+JSON"), _is_json("text/plain")
    (True, True, False)
    """
    kind, _, subtype = media_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


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
