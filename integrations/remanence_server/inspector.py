"""The inspector: a page at `/` that shows a space and lets people decide about it.

The page is static files of this package; it asks the same routes as any other client. Its content security policy
allows nothing but what this server sends, and no script or style within the page, so that the text of a memory cannot
become code.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent / "static"
_POLICY = (
    *("default-src 'none'", "script-src 'self'", "style-src 'self'", "font-src 'self'"),
    *("img-src 'self' data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
    *("require-trusted-types-for 'script'", "trusted-types 'none'"),
)
HEADERS = {
    "content-security-policy": "; ".join(_POLICY),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}


class _Files(StaticFiles):
    """The files of the page, each with the headers of the page."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response


def add_inspector(app: FastAPI) -> None:
    """Serve the page of the inspector at `/`, and its files below `/inspector`."""

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", media_type="text/html", headers=HEADERS)

    app.mount("/inspector", _Files(directory=STATIC), name="inspector")
