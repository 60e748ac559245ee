"""The full name of a space: the names of its levels, joined by slashes."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from remanence.core import inputs
from remanence.errors import InvalidInput
from remanence.language.text import truncate

_MAX_PART_LENGTH = 255


def child_name(parent: str, path: Iterable[str]) -> str:
    """The full name of the space below `parent` with these names, one for each level."""
    parts = [escape_level(part) for part in path]
    if not parts:
        raise InvalidInput("child() needs at least one name, for example space.child('users', 'bob').")
    return "/".join([parent, *parts])


def escape_level(name: object) -> str:
    """One part of a space's name. A slash inside it is written as %2F, so that parts cannot run together."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"a space cannot be called {name!r}. Give it a name with a visible character.")
    if len(name) > _MAX_PART_LENGTH:
        raise InvalidInput(
            f"the space name {truncate(name, 40)!r} has {len(name)} characters. Use at most {_MAX_PART_LENGTH}, "
            "for example a hash of it."
        )
    inputs.check_text(name, "space")
    return name.replace("%", quote("%")).replace("/", quote("/", safe=""))
