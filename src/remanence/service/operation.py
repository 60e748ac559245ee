"""How an operation is declared: a method of a space, or a function of a space, with its address on the REST server.

The request is made of its parameters, the answer of the type that it returns. The server makes its routes of these
declarations, the client its methods and the MCP server its tools, so that all agree.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from typing import Any, Generic, Literal, get_args, get_origin

from pydantic import TypeAdapter
from typing_extensions import TypeVar

from remanence.errors import InvalidInput, NotFound
from remanence.index.engine.docstrings import first_paragraph
from remanence.service.json_forms import DONE, wrapped
from remanence.service.noun_forms import json_form
from remanence.service.requests import ReadRequest, Request, camel_case, request_of, types_of
from remanence.space.facets.admin_facet import Admin, AdminView
from remanence.space.facets.audit_facet import Audit, AuditView
from remanence.space.facets.entity_facet import Entities, EntitiesView
from remanence.space.facets.graph_facet import Graph
from remanence.space.facets.graph_view import GraphView
from remanence.space.facets.job_facet import Jobs
from remanence.space.facets.procedure_facet import Procedures, ProceduresView
from remanence.space.facets.proposal_facet import Proposals
from remanence.space.facets.upkeep_facet import Upkeep
from remanence.space.space import Space
from remanence.space.view import View

Access = Literal["read", "propose", "write", "admin"]
Method = Callable[..., Any]
T = TypeVar("T", default=Any)
OpenSpace = Callable[[str], Space]
"""Opens the space with a full name, or raises an error that does not tell whether there is one."""

OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name. Importing `remanence.service.operations` fills it."""
OPERATION_OF: dict[Method, Operation] = {}
_FACETS: dict[str, tuple[str, type, type]] = {
    "": ("memory", View, Space),
    "entities": ("entity", EntitiesView, Entities),
    "graph": ("graph", GraphView, Graph),
    "audit": ("admin", AuditView, Audit),
    "admin": ("admin", AdminView, Admin),
    "jobs": ("memory", object, Jobs),
    "procedures": ("procedure", ProceduresView, Procedures),
    "proposals": ("proposal", object, Proposals),
    "upkeep": ("upkeep", object, Upkeep),
}
"""The group of the operations of each facet, and its classes: of a view, which can be asked of the past, and of a
space."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation(Generic[T]):
    """One operation. Called with a space, or a view, and arguments, it returns what its function returns.

    Attributes:
        group: The group of operations that it belongs to.
        http_method: "GET" for what only reads and has few arguments.
        path: The path below that of the space; names in braces are fields of the request.
        access: What a token has to allow.
        slow: Whether it may take seconds, and should not keep others waiting.
        tools: The set of tools for MCP that it is in, if any.
        opens: The field of the request with the names of other spaces; the function gets these spaces.
        request: The class of the request.
        returns: The type of what the function returns.
        answer: The type of the answer, as `json_form` makes it.
    """

    function: Callable[..., T]
    name: str
    group: str
    http_method: str
    path: str
    access: Access
    slow: bool
    http_status: int
    tools: str
    opens: str
    request: type[Request]
    returns: Any
    answer: Any

    def __call__(self, space: View, *arguments: Any, **options: Any) -> T:
        return self.function(space, *arguments, **options)

    def run(self, space: Space, request: Request, open_space: OpenSpace | None = None) -> T:
        """What a request asks for. `open_space` opens another space that it names, if the caller may do this there."""
        as_of = request.as_of if isinstance(request, ReadRequest) else None
        arguments = request.provided_fields("as_of")
        spaces = [space]
        if self.opens:
            if open_space is None:
                raise InvalidInput(f"{self.name} opens other spaces, which cannot be done here. Ask for each of them.")
            spaces += map(open_space, arguments[self.opens])
        views: list[View] = [each if as_of is None else each.as_of(as_of) for each in spaces]
        return self.function(views[0], **arguments | ({self.opens: views[1:]} if self.opens else {}))

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """Writes and reads the answer."""
        return TypeAdapter(self.answer)

    @property
    def description(self) -> str:
        """The first paragraph of its docstring."""
        return first_paragraph(self.function)


def operation(
    http_method: str,
    path: str,
    access: Access = "read",
    *,
    method: Method | None = None,
    options: type | None = None,
    field: str = "",
    slow: bool = False,
    http_status: int = 200,
    tools: str = "",
    opens: str = "",
    **limits: Any,
) -> Callable[[Callable[..., T]], Operation[T]]:
    """Declare a function as an operation. Its first parameter is the space, or a `View` if it can be asked of the past.

    Args:
        path: The path below that of the space.
        access: What a token has to allow.
        method: The method of a space that it stands for, with the same parameters: the client does that one by it.
        options: A dataclass whose fields are arguments, too; the function takes those that are given as `**options`.
        field: The name of the only field of the answer, if the function returns no object. By default a list is
            `items`.
        slow: Whether it may take seconds.
        tools: The set of tools for MCP that it is in, if any. By its name it can be had as a tool in any case.
        opens: The required field with the names of other spaces, in which the caller has to have the same access.
        limits: Types of parameters that allow less than the function.
    """

    def declare(function: Callable[..., T]) -> Operation[T]:
        first = next(iter(inspect.signature(function).parameters))
        types = types_of(function, [first, "return"])
        bases: list[type[Request]] = [ReadRequest] if types[first] is View else []
        bases += [] if options is None else [request_of(options, described_by=method)]
        declared: Operation[T] = Operation(
            function=function,
            name=function.__name__,
            group=function.__module__.rpartition(".")[2].removesuffix("_operations"),
            http_method=http_method,
            path=path,
            access=access,
            slow=slow,
            http_status=http_status,
            tools=tools,
            opens=opens,
            request=request_of(function, *bases, described_by=method, **limits),
            returns=types["return"],
            answer=_answer(types["return"], field, f"{camel_case(function.__name__)}Answer"),
        )
        if declared.name in OPERATIONS:
            raise TypeError(f"there are two operations {declared.name!r}.")
        OPERATIONS[declared.name] = declared
        if method is not None:
            OPERATION_OF[method] = declared
        return declared

    return declare


def method_operation(
    http_method: str,
    path: str,
    method: Callable[..., T],
    access: Access = "read",
    *,
    name: str = "",
    missing: str = "",
    **options: Any,
) -> Operation[T]:
    """Declare a method of `Space`, or of a facet of it, as an operation. Its first paragraph says what it does.

    Args:
        path: The path below that of the space.
        access: What a token has to allow.
        name: The name of the operation; by default that of the method.
        missing: What `NotFound` says where the method returns None, with the arguments in braces.
        options: What else `operation` takes.
    """
    group, facet, past = _place_of(method)

    def run(view: View, *arguments: Any, **given: Any) -> T:
        found: T = getattr(getattr(view, facet) if facet else view, method.__name__)(*arguments, **given)
        if found is None and missing:
            raise NotFound(missing.format(space=view.name, **given))
        return found

    update_wrapper(run, method)
    run.__name__, run.__module__ = name or method.__name__, f"{group}_operations"
    run.__annotations__ = {**method.__annotations__, "self": View if past else Space}
    if missing:
        run.__annotations__["return"] = method.__annotations__["return"].removesuffix(" | None")
    return operation(http_method, path, access, method=method, **options)(run)


def _place_of(method: Method) -> tuple[str, str, bool]:
    """The group and the facet of a method, "" for the space itself; and whether views have it, too."""
    for facet, (group, of_view, of_space) in _FACETS.items():
        if getattr(of_space, method.__name__, None) is method:
            return group, facet, getattr(of_view, method.__name__, None) is method
    raise TypeError(f"{method.__qualname__} is no method of a space or of one of its facets.")


def _answer(kind: Any, field: str, title: str) -> Any:
    """The type of an answer: an object. A list is its `items`, and any other value the only field of one."""
    if kind is type(None):
        return DONE
    origin = get_origin(kind)
    is_list = origin is list or (origin is tuple and get_args(kind)[-1:] == (...,))
    is_list = is_list or (isinstance(kind, type) and issubclass(kind, list))
    field = field or ("items" if is_list else "")
    return wrapped(kind, field, title) if field else json_form(kind)
