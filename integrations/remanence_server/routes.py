"""A route for each operation of `remanence.service`."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query
from fastapi.routing import APIRoute
from pydantic import create_model
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from remanence import NotFound, Space
from remanence.service import requests
from remanence.service.endpoints import admin_operations
from remanence.service.endpoints.admin_operations import as_allowed
from remanence.service.operation import Access
from remanence.service.operations import OPERATIONS, Operation
from remanence.service.requests import Name
from remanence_server.access import Caller
from remanence_server.idempotency import HEADER, MAX_KEY_LENGTH, Outcome, body_of, outcome_of
from remanence_server.problems import MEDIA_TYPE, RequestRejected, problem
from remanence_server.state import PoolName, ServerState, authorize

PREFIX = "/v1/spaces/{space}"
SpaceSegment = Annotated[
    str,
    Path(
        min_length=1,
        max_length=2_000,
        description="The full name of a space; a slash in it is written as ~1, and a tilde as ~0: default~1users~1bob.",
        examples=["default"],
    ),
]
BODY = "arguments"
"""The parameter of an endpoint that is the body, or the query of a GET."""
_RECALLS = ("recall", "list_recent", "replay")
_REASONS = {
    400: "The request is not valid HTTP",
    401: "The token is missing or not valid",
    403: "The token does not allow this",
    404: "There is no such thing",
    405: "This route has no such method",
    409: "It does not fit the present state",
    410: "It was done before, and what it wrote was erased since",
    413: "The body is too large",
    422: "A value is not valid; `detail` names it",
    429: "Too many requests",
    500: "The server failed",
    501: "An optional package is not installed on the server",
    502: "A model gave no valid answer",
    503: "Not now; try again later",
    504: "A model gave no answer in time",
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": reason, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, reason in _REASONS.items()
}
_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "What If-None-Match names is still the answer"}}


class OperationRoute(APIRoute):
    """The route of the operation that has its name. Who may not do that is refused before the body is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        access = OPERATIONS[self.name].access

        async def authorized(request: Request) -> Response:
            request.state.authorized = authorize(request, request.path_params["space"], access)
            return await handle(request)

        return authorized


@functools.cache
def operation_routes() -> Sequence[BaseRoute]:
    """The routes of all operations. They are made once: each takes its state from the application of its request."""
    router = APIRouter()
    # Those with a part that may be anything come last: /memories/find is not an id of a memory.
    for operation in sorted(OPERATIONS.values(), key=lambda each: "{" in each.path):
        router.add_api_route(
            PREFIX + operation.path,
            _endpoint(operation),
            route_class_override=OperationRoute,
            methods=[operation.http_method],
            name=operation.name,
            summary=operation.description,
            description=operation.description,
            operation_id=operation.name,
            status_code=operation.http_status,
            response_model=operation.answer,
            responses=RESPONSES | (_NOT_MODIFIED if operation.http_method == "GET" else {}),
            tags=[operation.group],
            openapi_extra=None if operation.http_method == "GET" else {"parameters": [_KEY_PARAMETER]},
        )
    return tuple(router.routes)


_KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A write that is sent again with the same key is not done again, and gets the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[!-~]+$"},
}


def _endpoint(operation: Operation) -> Callable[..., Awaitable[Response]]:
    """A function for FastAPI, with the parameters of the operation in its signature."""
    in_path = re.findall(r"{(\w+)}", operation.path)
    arguments = _arguments_model(operation, in_path)
    pool: PoolName = "slow" if operation.slow else "recall" if operation.name in _RECALLS else "quick"

    async def endpoint(
        *, request: Request, space: str, arguments: requests.Request | None = None, **path: str
    ) -> Response:
        state, caller, name = request.state.authorized
        asked = _request(operation, arguments, path)

        def work() -> bytes:
            opened = state.spaces.get(name)
            if operation is admin_operations.stats:
                _check_that_it_exists(state, caller, name)
            answer = as_allowed(operation.run(opened, asked, open_space), admin=caller.allows("admin"))
            return operation.adapter.dump_json(answer)

        def open_space(other: str) -> Space:
            caller.require(other, operation.access)
            opened: Space = state.spaces.get(other)
            return opened

        if operation.http_method == "GET":
            return conditional(request, await state.pools.run(pool, work, request))
        # A write is done, whether or not somebody waits for the answer.
        run = functools.partial(state.pools.run, pool, work, request if operation.access == "read" else None)
        return await run_idempotent(state, request, caller, name, operation.http_status, operation.returns, run)

    endpoint.__name__ = operation.name
    endpoint.__doc__ = operation.description
    endpoint.__signature__ = _signature(operation, arguments, in_path)  # type: ignore[attr-defined]
    return endpoint


def _check_that_it_exists(state: ServerState, caller: Caller, name: str) -> None:
    """Refuse a space in which nothing is stored, unless it is that of the server or the token of the caller names it.

    Raises:
        NotFound: There is no such space.
    """
    given = (state.spaces.root.name, *(() if caller.token is None else caller.token.spaces))
    if name not in given and not state.spaces.exists(name):
        raise NotFound(f"there is no space {name!r}: nothing is stored there. GET /v1/spaces lists all.")


def _arguments_model(operation: Operation, in_path: list[str]) -> type[requests.Request] | None:
    """The request without the fields that are in the path; None if there are no others."""
    fields = operation.request.model_fields
    if not in_path:
        return operation.request if fields else None
    others: dict[str, Any] = {name: (field.annotation, field) for name, field in fields.items() if name not in in_path}
    if not others:
        return None
    name = operation.name.title().replace("_", "") + "Arguments"
    return create_model(name, __base__=requests.Request, __doc__=operation.request.__doc__, **others)


def _signature(operation: Operation, arguments: type[requests.Request] | None, in_path: list[str]) -> Signature:
    kind = Parameter.KEYWORD_ONLY
    parameters = [Parameter("request", kind, annotation=Request), Parameter("space", kind, annotation=SpaceSegment)]
    for name in in_path:
        parameters.append(Parameter(name, kind, annotation=Annotated[Name, Path(description="Its id.")]))
    if arguments is not None:
        optional = not any(field.is_required() for field in arguments.model_fields.values())
        if operation.http_method == "GET":
            parameters.append(Parameter("arguments", kind, annotation=Annotated[arguments, Query()]))
        else:
            default = arguments() if optional else Parameter.empty
            parameters.append(Parameter("arguments", kind, annotation=Annotated[arguments, Body()], default=default))
    return Signature(parameters)


def _request(operation: Operation, arguments: requests.Request | None, path: dict[str, str]) -> requests.Request:
    if not path and arguments is not None:
        return arguments
    made: requests.Request = operation.request(**path, **({} if arguments is None else arguments.provided_fields()))
    return made


def conditional(request: Request, body: bytes) -> Response:
    """An answer with an ETag; without its body if the caller has it already."""
    etag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"etag": etag, "cache-control": "private, no-cache", "vary": "authorization"}
    known = {part.strip() for part in request.headers.get("if-none-match", "").split(",")}
    if etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


async def run_idempotent(
    state: ServerState,
    request: Request,
    caller: Caller,
    space: str,
    status: int,
    returns: Any,
    work: Callable[[], Awaitable[bytes]],
    sent: bytes | None = None,
) -> Response:
    """Do a write in a space; one with an Idempotency-Key that was done before gets its first answer.

    `returns` is the type of what the work returns; `sent` stands for the body where that was read already.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return Response(await work(), status, media_type="application/json")
    if not 0 < len(key) <= MAX_KEY_LENGTH:
        raise RequestRejected(problem(422, f"Idempotency-Key has {len(key)} characters. Use 1 to {MAX_KEY_LENGTH}."))
    sent = await request.body() if sent is None else sent
    route = f"{request.method} {request.url.path}?{request.url.query}"
    name, known = await asyncio.to_thread(state.keys.begin, caller.name, route, key, sent)
    if known is not None:
        body = await state.pools.run("quick", lambda: body_of(known, state.spaces.get(space), returns, key))
        headers = {"idempotency-replayed": "true"}
        return Response(body, known.status, headers, media_type="application/json")
    outcome: Outcome | None = None
    try:
        outcome = outcome_of(status, await work(), returns)
    finally:
        await asyncio.to_thread(state.keys.end, name, sent, outcome)
    return Response(outcome.body, status, media_type="application/json")


def only_with(access: Access) -> Any:
    """A dependency of a route: who has no such access is refused before the query and the body are looked at."""

    async def refuse_others(request: Request) -> None:
        request.state.authorized = authorize(request, request.path_params["space"], access)

    return Depends(refuse_others)


def space_of(request: Request) -> tuple[ServerState, Caller, Space]:
    """The space that a path names and the caller, whom `only_with` has let through."""
    state, caller, name = request.state.authorized
    return state, caller, state.spaces.get(name)
