"""The application: routes, start and end."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, get_args

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from remanence import RemanenceError, Space, __version__
from remanence.service.hosting.server_database import location_of
from remanence.service.hosting.spaces import Spaces
from remanence.service.hosting.tokens import TokenStore
from remanence.telemetry import is_instrumented
from remanence_server import file_and_health_routes
from remanence_server.access import AccessControl
from remanence_server.docs_page import add_docs_page
from remanence_server.idempotency import IdempotencyKeys
from remanence_server.inspector import add_inspector
from remanence_server.limits import Limits
from remanence_server.metrics import Metrics
from remanence_server.problems import Problem, RequestRejected, problem, problem_of
from remanence_server.request_log import HEADER as REQUEST_ID_HEADER
from remanence_server.request_log import RequestLog
from remanence_server.routes import BODY, operation_routes
from remanence_server.settings import ServerSettings
from remanence_server.state import Pools, ServerState

log = logging.getLogger(__name__)

_MAX_SHOWN = 200
_NOT_JSON = "json_invalid"  # the sort of error that pydantic gives it


def create_app(
    space: Space, *, settings: ServerSettings | None = None, tokens: TokenStore | None = None, close: bool = False
) -> FastAPI:
    """Make the ASGI application for the spaces of an opened folder or database.

    Args:
        space: Any space that `remanence.open` returned; all spaces of its folder or database are served.
        settings: The settings. Where a server other than `serve` runs the application, `host` must say where it
            listens: on a loopback address no token is asked for.
        tokens: The tokens; by default those of the folder or database.
        close: Whether the space is closed when the application ends.
    """
    chosen = settings or ServerSettings()
    location = location_of(space)
    known = tokens or TokenStore(location)
    spaces = Spaces(space)
    state = ServerState(
        settings=chosen,
        spaces=spaces,
        pools=Pools(chosen),
        access=AccessControl(chosen, known),
        keys=IdempotencyKeys(location, spaces.last_erasure, spaces.digest),
        metrics=Metrics(),
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        state.stopping = asyncio.Event()
        sweeping = asyncio.create_task(_sweep(state)) if chosen.sweep_seconds else None
        try:
            yield
        finally:
            state.stopping.set()
            if sweeping is not None:
                await sweeping
            await asyncio.to_thread(_end, state, known if tokens is None else None, space if close else None)

    app = FastAPI(
        title="Remanence",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        summary=_SUMMARY,
        **_WITHOUT_TELEMETRY,
    )
    app.state.server = state
    app.router.routes.extend(operation_routes())
    app.include_router(file_and_health_routes.router)
    add_inspector(app)
    add_docs_page(app)
    # The last one is the first that a request comes to.
    app.add_middleware(GZipMiddleware, minimum_size=16_384, compresslevel=1)  # bytes
    app.add_middleware(Limits, settings=chosen, access=state.access, metrics=state.metrics)
    if chosen.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(chosen.cors_origins),
            allow_methods=["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH"],
            allow_headers=["authorization", "content-type", "idempotency-key", "if-none-match", REQUEST_ID_HEADER],
            expose_headers=["etag", "retry-after", REQUEST_ID_HEADER],
        )
    if is_instrumented():
        from remanence_server.tracing import Tracing

        app.add_middleware(Tracing)
    app.add_middleware(RequestLog)
    _handle_errors(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


# Releases of FastAPI from 0.163 on trace requests themselves, with their queries, in which words of a memory may be.
_OFF = {"telemetry": dict.fromkeys(("tracing", "metrics", "logs", "operation_spans"), False)}
_WITHOUT_TELEMETRY: dict[str, Any] = _OFF if "telemetry" in inspect.signature(FastAPI).parameters else {}
_SUMMARY = "Long-term memory in an append-only ledger, over HTTP."


def _end(state: ServerState, tokens: TokenStore | None, space: Space | None) -> None:
    """Wait for running operations as long as the server may take to stop, then close all spaces."""
    left = state.pools.close(min(state.settings.shutdown_seconds, state.stop_by - time.monotonic()))
    state.keys.close()
    if tokens is not None:
        tokens.close()
    if left:  # closing would wait for them; nothing that was answered is lost without it
        log.warning("%s operations did not end in time; they end with the process", left)
    elif space is not None:
        space.close()


async def _sweep(state: ServerState) -> None:
    """Record which memories have expired, at once and then at intervals."""
    while not state.stopping.is_set():
        try:
            count = await state.pools.run("slow", state.spaces.expire)
            log.info("%s memories have expired", count)
        except RemanenceError:
            log.exception("the expired memories were not recorded; trying again later")
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(state.stopping.wait(), state.settings.sweep_seconds)


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(RemanenceError)
    async def remanence_error(request: Request, error: RemanenceError) -> Response:
        response = problem_of(error, request.headers.get("user-agent", ""))
        if response.status_code >= 500:
            log.error("%s %s: %s", request.method, request.url.path, error, exc_info=error)
        return response

    @app.exception_handler(RequestRejected)
    async def refused(request: Request, error: RequestRejected) -> Response:
        return error.response

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Response:
        found = [_described(error_detail, request.scope["route"].endpoint) for error_detail in error.errors()[:10]]
        first = found[0]
        given = "" if first["type"] == _NOT_JSON else f" (given: {first['input']})"
        detail = f"{'.'.join(map(str, first['loc']))}: {first['msg']}{given}."
        return problem(422, detail, error="InvalidInput", errors=found)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(_methods(request)) or headers.get("Allow", "")
        return problem(error.status_code, _detail(request, error, headers), headers=headers)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem(500, "the server failed; its log says why.")


def _methods(request: Request) -> list[str]:
    """The methods with which the path of a request has a route: the first one that fits, not one below it in which a
    part of the path may be anything."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    with_methods = [route for route in routes if isinstance(route, Route)]
    same = [route for route in with_methods if route.path == with_methods[0].path]
    return sorted({method for route in same for method in route.methods or () if method != "HEAD"})


def _detail(request: Request, error: HTTPException, headers: Mapping[str, str]) -> str:
    """Why there is no such route, or else what the exception says."""
    if error.status_code == HTTPStatus.NOT_FOUND and error.detail == HTTPStatus.NOT_FOUND.phrase:
        return f"there is no route {request.url.path!r}. GET /openapi.json lists them."
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{request.method} is not possible for {request.url.path!r}. Use {headers['Allow'] or 'another method'}."
    return str(error.detail)


def _described(error: dict[str, Any], endpoint: Callable[..., Any]) -> dict[str, Any]:
    """What was wrong with one field of the arguments of an endpoint, in JSON types."""
    message = error["msg"]
    if isinstance(error.get("input"), bytes):  # FastAPI reads no body of another media type
        message = "Send the body as application/json"
    if error["type"] == _NOT_JSON:
        message = f"The body is not JSON from this character on ({error['ctx']['error']})"
    if error["type"] == "extra_forbidden":
        parameter = inspect.signature(endpoint, eval_str=True).parameters[BODY]
        message = f"There is no such field. The fields are {', '.join(_fields_at(parameter.annotation, error['loc']))}"
    place = [_shown(part) if isinstance(part, str) else part for part in error["loc"]]
    return {"loc": place, "msg": message, "type": error["type"], "input": _shown(repr(error.get("input")))}


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _fields_at(annotation: Any, place: Sequence[str | int]) -> list[str]:
    """The names of the fields of the innermost model on the way to a place in a request."""
    model = next(_models(annotation))
    for part in place:
        if isinstance(part, str) and part in model.model_fields:
            model = next(_models(model.model_fields[part].annotation), model)
    return list(model.model_fields)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation: Turn in `list[Turn] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        schemas = schema.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        schemas.pop("HTTPValidationError", None)
        schemas.pop("ValidationError", None)
        schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{}, {"token": []}]
        app.openapi_schema = schema
    return app.openapi_schema
