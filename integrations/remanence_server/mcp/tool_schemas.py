"""The schemas of tools, as short as they can be: a model reads them in every conversation."""

from __future__ import annotations

from typing import Any

PROJECT = "project"
"""The argument that names the space of a call."""
ALSO = "also"
"""The argument that names more spaces of a call."""
_PROJECT_FIELD = {"type": "string", "description": "The project (a space), if not the usual one"}


def shortened_arguments(schema: dict[str, Any], projects: bool) -> dict[str, Any]:
    """The arguments of a tool without titles; one that may be null may as well be left out, which is shorter."""
    made: dict[str, Any] = _without_nulls(without_titles(schema))
    if projects:
        made["properties"] = {**made.get("properties", {}), PROJECT: _PROJECT_FIELD}
    else:
        made.get("properties", {}).pop(ALSO, None)
    return made


def without_titles(schema: Any) -> Any:
    """A schema without the titles that repeat the names of its fields."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # A field may itself be called "title": then its value is a schema, and no text.
    return {
        key: without_titles(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))
    }


def _without_nulls(schema: dict[str, Any]) -> dict[str, Any]:
    made = dict(schema)
    for name, given in made.get("properties", {}).items():
        # Examples are for the error after a call that was wrong.
        left_out = ("examples", "default") if given.get("default") is None else ("examples",)
        field = {key: value for key, value in given.items() if key not in left_out}
        choices = [choice for choice in field.get("anyOf", ()) if choice.get("type") != "null"]
        if len(choices) == 1:
            field = {key: value for key, value in field.items() if key != "anyOf"} | choices[0]
        made["properties"] = {**made["properties"], name: field}
    return made
