"""The page `/docs`: every route with its arguments and answers, made of the OpenAPI description.

It is written here, as the usual pages load their scripts from another site. It has no script at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import FastAPI
from starlette.responses import HTMLResponse

from remanence_server.inspector import HEADERS

_STYLE_PATH = "/docs/style.css"
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
summary { cursor: pointer; padding: .3rem 0; }
code, pre { font: 14px/1.4 ui-monospace, monospace; }
pre { overflow: auto; padding: .6rem; border: 1px solid #8884; border-radius: .3rem; }
.method { display: inline-block; min-width: 4rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-top: 1px solid #8884; }
nav a { margin-right: 1rem; }
"""


def add_docs_page(app: FastAPI) -> None:
    """Serve the page at `/docs`."""

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(_page(app.openapi()), headers=HEADERS)

    @app.get(_STYLE_PATH, include_in_schema=False)
    def style() -> HTMLResponse:
        return HTMLResponse(_STYLE, headers=HEADERS, media_type="text/css")


def _page(api: Mapping[str, Any]) -> str:
    """The page of an API."""
    routes: dict[str, list[str]] = {}
    for path, methods in api["paths"].items():
        for method, route in methods.items():
            tag = (route.get("tags") or ["server"])[0]
            routes.setdefault(tag, []).append(_route(api, method.upper(), path, route))
    links = "".join(f'<a href="#{escape(tag)}">{escape(tag)}</a>' for tag in routes)
    sections = "".join(f'<h2 id="{escape(tag)}">{escape(tag)}</h2>{"".join(found)}' for tag, found in routes.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(api["info"]["title"])}: routes'
        '</title><meta name="viewport" content="width=device-width">'
        f'<link rel="stylesheet" href="{_STYLE_PATH}"></head><body><main><h1>{escape(api["info"]["title"])} '
        f"{escape(api['info']['version'])}</h1><p>{escape(api['info'].get('summary') or '')} The same for programs: "
        f'<a href="/openapi.json">openapi.json</a>.</p><nav>{links}</nav>{sections}</main></body></html>'
    )


def _route(api: Mapping[str, Any], method: str, path: str, route: Mapping[str, Any]) -> str:
    """One route, which opens when it is clicked."""
    description = route.get("description") or ""
    parameters = "".join(_parameter_row(api, each) for each in route.get("parameters", ()))
    body = _content(route.get("requestBody") or {})
    answers = [(status, each) for status, each in route.get("responses", {}).items() if status.startswith("2")]
    parts = [f"<p>{escape(description)}</p>" if description else ""]
    if parameters:
        parts.append(f"<table><tr><th>argument</th><th>where</th><th>what</th></tr>{parameters}</table>")
    if body:
        parts.append(f"<p>Body:</p>{_shown(api, body)}")
    for status, answer in answers:
        if content := _content(answer):
            parts.append(f"<p>Answer {escape(status)}:</p>{_shown(api, content)}")
    name = route.get("operationId") or f"{method} {path}"
    return (
        f'<details id="{escape(name)}"><summary><span class="method">{method}</span> <code>{escape(path)}</code> '
        f"{escape(route.get('summary') or '')}</summary>{''.join(parts)}</details>"
    )


def _parameter_row(api: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    needed = "" if given.get("required") else " (optional)"
    what = given.get("description") or given.get("schema", {}).get("description") or _kind(api, given.get("schema", {}))
    cells = (f"<code>{escape(given['name'])}</code>", f"{escape(given['in'])}{needed}", escape(what))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _content(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((each.get("schema", {}) for each in holder.get("content", {}).values()), {})


def _shown(api: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    example = json.dumps(_example(api, schema, 3), ensure_ascii=False, indent=2)
    return f"<pre>{escape(example)}</pre>"


def _resolved(api: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a reference leads to; of several, the first that is not null."""
    if reference := schema.get("$ref"):
        return _resolved(api, api["components"]["schemas"][reference.rpartition("/")[2]])
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        if choice.get("type") != "null":
            return _resolved(api, choice)
    return schema


def _kind(api: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    found = _resolved(api, schema)
    return " or ".join(map(str, found["enum"])) if "enum" in found else str(found.get("type", "any"))


def _example(api: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> Any:
    """A value of the shape of a schema, with the kind of each field in place of its value."""
    found = _resolved(api, schema)
    if found.get("type") == "array":
        return [_example(api, found.get("items", {}), depth - 1)] if depth else ["…"]
    if properties := found.get("properties"):
        if not depth:
            return "{…}"
        return dict(_fields(api, properties, set(found.get("required", ())), depth))
    return _kind(api, schema)


def _fields(
    api: Mapping[str, Any], properties: Mapping[str, Any], required: set[str], depth: int
) -> Iterator[tuple[str, Any]]:
    for name, schema in list(properties.items())[:40]:
        value = _example(api, schema, depth - 1)
        yield name, f"{value} (optional)" if isinstance(value, str) and name not in required else value
