"""Normalizes paths of a file store and rejects paths outside its root."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from remanence.errors import InvalidInput
from remanence.language.text import truncate

MAX_PATH_LENGTH = 480
"""The most characters of a path below the root: with a prefix it is the key of a memory."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Root:
    """The folder that all paths are below, as callers name it: "/memories", or "/".

    A path is stored without it, so that two roots are two names for the same files.
    """

    path: str

    @classmethod
    def parse(cls, path: object) -> Root:
        """Check the path of a root.

        Raises:
            InvalidInput: It is not an absolute path.
        """
        if not isinstance(path, str) or not path.startswith("/") or ".." in path or _CONTROL.search(path):
            raise InvalidInput(f"root={path!r} is not an absolute path. Give for example '/memories', or '/'.")
        return cls("/" + "/".join(part for part in path.split("/") if part))

    def relative(self, path: object) -> str:
        """A path without the root; "" is the root itself.

        Raises:
            InvalidInput: The path is not below the root, or would lead out of it.

        >>> Root("/memories").relative("/memories//notes/./today.md")
        'notes/today.md'
        """
        if not isinstance(path, str):
            raise InvalidInput(f"Path must be text that starts with {self.path}, got: {path!r}")
        shown, parts, own = truncate(path, 200), path.split("/"), self.path.split("/")[1:] if self.path != "/" else []
        if not path.startswith("/") or [part for part in parts if part not in ("", ".")][: len(own)] != own:
            raise InvalidInput(f"Path must start with {self.path}, got: {shown}")
        if any(unquote(part).replace("\\", "/").split("/").count("..") for part in parts) or "\\" in path:
            raise InvalidInput(f"Path {shown} would escape {self.path} directory")
        if _CONTROL.search(path):
            raise InvalidInput(f"Path {shown!r} contains a control character. Use letters, digits, '-', '_' and '.'.")
        below = "/".join([part for part in parts if part not in ("", ".")][len(own) :])
        if len(below) > MAX_PATH_LENGTH:
            raise InvalidInput(f"Path {shown} has {len(below)} characters below {self.path}, at most {MAX_PATH_LENGTH}")
        return below

    def absolute(self, relative: str) -> str:
        """A stored path as callers name it.

        >>> Root("/").absolute("notes.md"), Root("/memories").absolute("")
        ('/notes.md', '/memories')
        """
        return f"{self.path.rstrip('/')}/{relative}" if relative else self.path
