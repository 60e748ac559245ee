"""Remanence for MCP clients: a server with tools, resources and prompts over one space, or one for each token or user.

make_server     the server, to run or to mount
run_stdio       serve one client over standard input and output
run_http        serve over streamable HTTP; on this machine only, or elsewhere with tokens
KnowledgeGraph  the entities, observations and relations of the tool set "graph"

server.py            the server: which space a call uses, stdio and HTTP
access.py            tokens and users, and the space that each of them may use
user_tokens.py       tokens of an identity provider
tool_sets.py         how a tool is declared; the sets of tools
call_errors.py       what a model reads after a wrong call
default_tools.py     remember, store_many, recall, recent, update, forget, timeline, profile, explain
cortex_tools.py      the tools of CortexGraph that read and write memories; cortex_upkeep.py those of its upkeep
kg_tools.py          the tools of ai-memory
graph_tools.py       the tools of the knowledge-graph memory server
file_tools.py        Claude's memory tool
resources.py         resources and prompts
budget.py            answers that fit a number of tokens

Importing this package loads nothing. If `mcp` is not installed, the error says what to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remanence.adapters import lazy_getattr

if TYPE_CHECKING:
    from remanence_server.mcp.access import Grant as Grant
    from remanence_server.mcp.access import StoredTokens as StoredTokens
    from remanence_server.mcp.access import TokenFile as TokenFile
    from remanence_server.mcp.knowledge_graph import KnowledgeGraph as KnowledgeGraph
    from remanence_server.mcp.server import MemoryServer as MemoryServer
    from remanence_server.mcp.server import make_server as make_server
    from remanence_server.mcp.server import run_http as run_http
    from remanence_server.mcp.server import run_stdio as run_stdio
    from remanence_server.mcp.user_tokens import UserTokens as UserTokens

# For each public name: the module that defines it, and the extra that installs what it needs.
_MODULES = {
    "Grant": ("access", "mcp"),
    "KnowledgeGraph": ("knowledge_graph", "mcp"),
    "MemoryServer": ("server", "mcp"),
    "StoredTokens": ("access", "mcp"),
    "TokenFile": ("access", "mcp"),
    "UserTokens": ("user_tokens", "mcp"),
    "make_server": ("server", "mcp"),
    "run_http": ("server", "mcp"),
    "run_stdio": ("server", "mcp"),
}

__all__ = sorted(_MODULES)
__getattr__ = lazy_getattr(
    __name__, _MODULES, frameworks=("mcp", "mcp_types", "starlette", "uvicorn", "jwt", "cryptography")
)


def __dir__() -> list[str]:
    return sorted(__all__)
