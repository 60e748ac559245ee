"""The spans of a test. OpenTelemetry takes one global provider for a process, so all tests share it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from remanence import telemetry


@cache
def span_exporter() -> InMemorySpanExporter:
    """What receives the spans of this process."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@contextmanager
def recorded_spans() -> Iterator[InMemorySpanExporter]:
    """The spans of a block, in which spaces are instrumented."""
    exporter = span_exporter()
    exporter.clear()
    telemetry.instrument()
    try:
        yield exporter
    finally:
        telemetry.uninstrument()
