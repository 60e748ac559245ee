"""A route whose parameters are a path and a JSON body, which pydantic reads in one step.

FastAPI describes these routes. What it does for each request (solving dependencies, parsing the body to dicts, and
validating these) took longer than all else that the server does for a recall.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError, create_model
from starlette.requests import Request
from starlette.responses import Response

from remanence.service.operations import OPERATIONS
from remanence_server.headers import header
from remanence_server.state import authorize

BODY = "arguments"
"""The parameter of an endpoint that is the body; all others but the request are parts of the path."""
_MAX_ERRORS = 1_000
"""Of a body with more mistakes than this only their number is reported: making the list of them takes seconds."""


class BodyRoute(APIRoute):
    """Calls an endpoint with `request`, the parts of its path, and the body as `arguments`, if it has one.

    Its name is that of an operation. Who may not do this is refused before the body is read.
    """

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
        access = OPERATIONS[self.name].access

        async def handler(request: Request) -> Response:
            given = _checked("path", lambda: _fields(path, request.path_params))
            if read is not None:
                authorize(request, given["space"], access)
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
        if error.error_count() > _MAX_ERRORS:
            raise _invalid("too_many", f"{error.error_count():,} values are not valid", None, place) from None
        found = [{**problem, "loc": (place, *problem["loc"])} for problem in error.errors(include_url=False)]
        raise RequestValidationError(found) from None


def _invalid(kind: str, message: str, given: Any, place: str = "body") -> RequestValidationError:
    return RequestValidationError([{"type": kind, "loc": (place,), "msg": message, "input": given}])


def _is_json(media_type: str) -> bool:
    """Whether a media type is JSON, as application/json or application/problem+json.

    >>> _is_json("application/json; charset=utf-8"), _is_json("application/x.y+JSON"), _is_json("text/plain")
    (True, True, False)
    """
    kind, _, subtype = media_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))
