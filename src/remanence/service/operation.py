"""How an operation is declared: a function of a space and a request, with its address on the REST server.

The server makes its routes of these declarations and the client its calls, so that the two agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_json

from remanence.api.space import Space
from remanence.api.view import View
from remanence.service.payloads.base_requests import ReadRequest, Request

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
        if declared.name in OPERATIONS:
            raise TypeError(f"there are two operations {declared.name!r}.")
        OPERATIONS[declared.name] = declared
        return declared

    return declare


def view_of(space: Space, request: ReadRequest) -> View:
    """The space as of the moment that a request names."""
    return space if request.as_of is None else space.as_of(request.as_of)
