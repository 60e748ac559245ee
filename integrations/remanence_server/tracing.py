"""A span for each request, in the trace that its caller names by `traceparent`.

Only an application that is made after `remanence.telemetry.instrument` has this.
"""

from __future__ import annotations

from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind, StatusCode
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remanence_server.request_log import REQUEST_ID

_UNTRACED = ("/healthz", "/readyz", "/metrics")


class Tracing:
    """ASGI middleware: begins a span of a server, by the semantic conventions for HTTP."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._tracer = trace.get_tracer("remanence_server")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _UNTRACED:
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        attributes = {"http.request.method": scope["method"], "url.path": scope["path"]}
        with self._tracer.start_as_current_span(
            scope["method"], propagate.extract(headers), SpanKind.SERVER, attributes
        ) as span:

            async def watched(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(StatusCode.ERROR)
                await send(message)

            try:
                await self._app(scope, receive, watched)
            finally:
                span.set_attribute("remanence.request.id", REQUEST_ID.get())
                if path := getattr(scope.get("route"), "path", None):
                    span.update_name(f"{scope['method']} {path}")
                    span.set_attribute("http.route", path)
