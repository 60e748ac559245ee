"""How a tool is declared, and the sets of tools that a server may have.

A tool is a function. Its docstring and the descriptions of its parameters are what the model reads. A tool that does
what one operation does is made of that (`operation_tools`); the others combine several, or have the shapes of another
server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from remanence import InvalidInput
from remanence.adapters import tool_name

if TYPE_CHECKING:
    from remanence.service.operations import Operation

Function = TypeVar("Function", bound=Callable[..., Any])

DEFAULT = "default"
_MODULES = {
    DEFAULT: ("default_tools",),
    "cortex": ("cortex_tools", "cortex_upkeep"),
    "kg": ("kg_tools",),
    "graph": ("graph_tools",),
    "files": ("file_tools",),
}
_OF_OPERATIONS = ("audit", "upkeep")
TOOL_SETS = (*_MODULES, *_OF_OPERATIONS)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool: its function, whether it writes, whether that hides or changes what was there, what a model can do if it
    fails, and with which arguments it only reads."""

    function: Callable[..., Any]
    title: str
    writes: bool = False
    destructive: bool = False
    next_step: str = ""
    prefix: str = ""
    only_reads: Callable[[dict[str, Any]], bool] | None = None
    also_called: str = ""
    """Words by which a model may look for the tool, for the error that names the right one."""

    def writes_with(self, arguments: dict[str, Any]) -> bool:
        """Whether it writes if it is called with these arguments."""
        return self.writes and not (self.only_reads is not None and self.only_reads(arguments))

    @property
    def name(self) -> str:
        return tool_name(self.prefix, self.function.__name__)

    @property
    def description(self) -> str:
        """The docstring on one line."""
        return " ".join((self.function.__doc__ or "").split())


@dataclass(slots=True)
class ToolSet:
    """Tools that are declared in one module. `error_shape` gives the fields of an error, if it is more than a text."""

    error_shape: Callable[[str], dict[str, Any]] = lambda message: {}
    tools: list[ToolSpec] = field(default_factory=list)

    def tool(self, title: str, **options: Any) -> Callable[[Function], Function]:
        """Declare a function as a tool; the options are the fields of `ToolSpec`."""

        def declare(function: Function) -> Function:
            self.tools.append(ToolSpec(function, title, **options))
            return function

        return declare


def load_tools(names: str | Sequence[str]) -> list[tuple[ToolSet, ToolSpec]]:
    """The tools of these sets, in order; an operation of the REST server is a set of its own by its name. A tool whose
    name an earlier set has already is named with its set before it.

    >>> [spec.name for _, spec in load_tools("graph,cortex") if "read_graph" in spec.name]
    ['read_graph', 'cortex_read_graph']

    Raises:
        InvalidInput: There is no such set.
    """
    wanted = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    found: dict[str, tuple[ToolSet, ToolSpec]] = {}
    for name in dict.fromkeys(wanted):
        tool_sets: list[ToolSet] = [
            import_module(f"remanence_server.mcp.{module}").TOOLS for module in _MODULES.get(name, ())
        ]
        if not tool_sets:
            from remanence_server.mcp.operation_tools import operations_in  # here, as it loads the engine

            tool_sets += [_made_of(operations)] if (operations := operations_in(name)) else []
        if not tool_sets:
            raise InvalidInput(
                f"tools={names!r} has {name!r}. The sets of tools are {', '.join(TOOL_SETS)}; or name an operation of "
                "the REST server, such as diff."
            )
        for tool_set in tool_sets:
            for spec in tool_set.tools:
                if spec.name in found:
                    spec = replace(spec, title=f"{spec.title} ({name})", prefix=f"{name}_")
                found[spec.name] = tool_set, spec
    return list(found.values())


def _made_of(operations: Sequence[Operation]) -> ToolSet:
    """The tools of some operations."""
    from remanence_server.mcp.operation_tools import operation_tool

    made = ToolSet()
    for each in operations:
        title = each.name.replace("_", " ").capitalize()
        declare = made.tool(title, writes=each.access not in ("read", "propose"), destructive=each.access == "admin")
        declare(operation_tool(each))
    return made
