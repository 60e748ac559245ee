"""Single headers of a request. Starlette's `Headers` takes several times as long, and a request needs eight of them."""

from __future__ import annotations

from starlette.types import Scope


def header(scope: Scope, name: bytes) -> str:
    """A header of a request, by its name in small letters; "" if there is none.

    >>> scope = {"headers": [(b"host", b"127.0.0.1"), (b"origin", b"http://127.0.0.1")]}
    >>> header(scope, b"host"), header(scope, b"authorization")
    ('127.0.0.1', '')
    """
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""
