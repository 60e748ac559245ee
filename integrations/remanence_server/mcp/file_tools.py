"""Claude's memory tool: notes in files below /memories, each edit a version."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from remanence import MemoryFiles
from remanence_server.mcp.access import current_space
from remanence_server.mcp.tool_sets import ToolSet

TOOLS = ToolSet()


@TOOLS.tool("Memory files", writes=True, destructive=True, only_reads=lambda given: given.get("command") == "view")
def memory(
    command: Annotated[
        Literal["view", "create", "str_replace", "insert", "delete", "rename"],
        Field(
            description="view a file or folder; create a file; str_replace a text that occurs once; insert after a line"
        ),
    ],
    path: Annotated[str | None, Field(description="The file or folder, for example /memories/project.md")] = None,
    view_range: Annotated[list[int] | None, Field(description="For view: the first and the last line")] = None,
    file_text: Annotated[str | None, Field(description="For create: the text of the file")] = None,
    old_str: Annotated[str | None, Field(description="For str_replace: the text to replace, exactly")] = None,
    new_str: Annotated[str | None, Field(description="For str_replace: the text in its place")] = None,
    insert_line: Annotated[int | None, Field(description="For insert: after which line; 0 is the beginning")] = None,
    insert_text: Annotated[str | None, Field(description="For insert: the text")] = None,
    old_path: Annotated[str | None, Field(description="For rename: the file or folder")] = None,
    new_path: Annotated[str | None, Field(description="For rename: its new path")] = None,
) -> str:
    """Read and write the files below /memories, in which you keep notes for later conversations. View it first."""
    return MemoryFiles(current_space()).run(dict(locals()))
