"""The role in which somebody works, where it follows the employer: "as a buyer", "as head of sales"."""

from __future__ import annotations

from typing import NamedTuple

from remanence.language.rules.lexicon import compile_pattern, load_words


class Role(NamedTuple):
    """A role, without and with its article, and where it ends."""

    name: str
    phrase: str
    end: int


def is_employer(text: str, kind: str, at: int) -> bool:
    """Whether somebody who moves to a name of this kind, which ends at `at`, works there: it is a firm, or a role
    follows ("moved to Acme as a buyer")."""
    return kind == "organization" or (kind not in ("person", "place") and role_at(text, at) is not None)


def role_at(text: str, at: int) -> Role | None:
    """The role told at a place of a text.

    >>> role_at("moved to Acme as a product manager in May", 13)
    Role(name='product manager', phrase='a product manager', end=34)
    >>> role_at("moved to Acme as a family", 13), role_at("moved to Acme as planned", 13)
    (None, None)
    """
    found = _AS_ROLE.match(text, at)
    if found is None or found["role"].rpartition(" ")[2].lower() in _NO_ROLES:
        return None
    return Role(found["role"], f"{found['article'] or ''}{found['role']}", found.end())


_AS_ROLE = compile_pattern("as_role")
_NO_ROLES = load_words("no_roles")
