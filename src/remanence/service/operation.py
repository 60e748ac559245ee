"""How an operation is declared: a function of a space and a request, with its address on the REST server.

The server makes its routes of these declarations and the client its calls, so that the two agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_type_hints

from pydantic import TypeAdapter, create_model
from pydantic_core import to_json

from remanence.service.payloads.base_requests import ReadRequest, Request, default_of, request_of
from remanence.space.space import Space
from remanence.space.view import View

Access = Literal["read", "write", "admin"]
AnyRequest = TypeVar("AnyRequest", bound=Request)
AnswerT = TypeVar("AnswerT")
AnswerType: TypeAlias = Any
"""The type of an answer: a model, a list of models, or a dataclass."""

OPERATIONS: dict[str, Operation[Any, Any]] = {}
"""Every operation by its name. Importing `remanence.service.operations` fills it."""


@dataclass(frozen=True)
class Operation(Generic[AnyRequest, AnswerT]):
    """One operation. Called with a space and a request, it returns the answer.

    Attributes:
        function: The implementation.
        method: The HTTP method: "GET" for what only reads and has few arguments.
        path: The path below that of the space; names in braces are fields of the request.
        access: What a token has to allow.
        slow: Whether it may take seconds, and should not keep others waiting.
        status: The HTTP status of success.
        request: The class of the request.
        answer: The type of the answer.
        fields: What gives the fields of the answer as plain JSON types, for an answer that is large and often asked
            for: making models of all its parts takes longer than writing it.
    """

    function: Callable[[Space, AnyRequest], AnswerT]
    method: str
    path: str
    access: Access
    slow: bool
    status: int
    request: type[AnyRequest]
    answer: AnswerType
    fields: Callable[[Space, AnyRequest], dict[str, Any]] | None = None

    def __call__(self, space: Space, request: AnyRequest) -> AnswerT:
        return self.function(space, request)

    def json(self, space: Space, request: AnyRequest) -> bytes:
        """The answer as JSON."""
        if self.fields is not None:
            return to_json(self.fields(space, request), inf_nan_mode="null")
        return self.adapter.dump_json(self.function(space, request))

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """Writes and reads the answer."""
        return TypeAdapter(self.answer)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]


def operation(
    method: str,
    path: str,
    access: Access = "read",
    *,
    slow: bool = False,
    status: int = 200,
    fields: Callable[[Space, Any], dict[str, Any]] | None = None,
) -> Callable[[Callable[[Space, AnyRequest], AnswerT]], Operation[AnyRequest, AnswerT]]:
    """Declare a function as an operation; its request and answer are those of its annotations."""

    def declare(function: Callable[[Space, AnyRequest], AnswerT]) -> Operation[AnyRequest, AnswerT]:
        types = get_type_hints(function)
        declared = Operation(function, method, path, access, slow, status, types["request"], types["return"], fields)
        return _register(declared)

    return declare


def method_operation(
    http_method: str,
    path: str,
    method: Callable[..., Any],
    summary: str,
    answer: AnswerType,
    access: Access = "read",
    *,
    name: str = "",
    facet: str = "",
    past: bool = False,
    slow: bool = False,
    http_status: int = 200,
    tag: str,
    **limits: Any,
) -> Operation[Any, Any]:
    """Declare a method of `Space`, or of a facet of it, as an operation: its parameters are those of the request.

    Args:
        http_method: The HTTP method.
        path: The path below that of the space.
        method: The method.
        summary: What it does.
        answer: What is made of its result, which has `of`; or the class of the result itself.
        access: What a token has to allow.
        name: The name of the operation; by default that of the method.
        facet: The facet that has the method.
        past: Whether it may be asked of an earlier moment.
        slow: Whether it may take seconds.
        http_status: The HTTP status of success.
        tag: The group of operations that it belongs to.
        limits: Types of parameters that allow less than the method.
    """
    operation_name = name or method.__name__
    made = request_of(method, *limits)
    base: Any = (ReadRequest, made) if past else made
    fields: dict[str, Any] = {name: (limits[name], default_of(method, name)) for name in limits}
    request: Any = create_model(
        operation_name.title().replace("_", "") + "Request", __base__=base, __doc__=summary, **fields
    )

    def run(space: Space, request: Any) -> Any:
        view = view_of(space, request) if past else space
        owner = getattr(view, facet) if facet else view
        result = getattr(owner, method.__name__)(**request.provided_fields("as_of"))
        return answer.of(result) if hasattr(answer, "of") else result

    run.__name__, run.__doc__, run.__module__ = operation_name, summary, tag
    return _register(Operation(run, http_method, path, access, slow, http_status, request, answer))


def _register(declared: Operation[AnyRequest, AnswerT]) -> Operation[AnyRequest, AnswerT]:
    if declared.name in OPERATIONS:
        raise TypeError(f"there are two operations {declared.name!r}.")
    OPERATIONS[declared.name] = declared
    return declared


def view_of(space: Space, request: ReadRequest) -> View:
    """The space as of the moment that a request names."""
    return space if request.as_of is None else space.as_of(request.as_of)
