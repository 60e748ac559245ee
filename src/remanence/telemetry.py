"""Traces and metrics of what a space does, by OpenTelemetry's conventions for memory. Needs the extra `otel`.

`instrument` wraps the methods below while it is on, as instrumentations of Python libraries do. Until then nothing of
OpenTelemetry is imported, and no call passes through anything. Each method of `_OPERATIONS` is a span of the kind that
the conventions call a memory operation, with these below it: `rank vectors`, `rank words`, `rank graph` and
`rank times`, `embed`, `read` (the reader) and `write ledger`.

Names are those of the semantic conventions for GenAI: https://github.com/open-telemetry/semantic-conventions-genai
(docs/gen-ai/gen-ai-spans.md, Memory). What they have no name for begins with `remanence.`. No text is recorded unless
it is asked for.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remanence.errors import MissingExtra
from remanence.ledger.in_memory import InMemoryLedger
from remanence.ledger.sql import SqlLedger
from remanence.models.embedders import CheckedEmbedder
from remanence.recall import fusion, recall
from remanence.recall.reading import MAX_READ_HITS
from remanence.schema import Memory
from remanence.schema.version import __version__
from remanence.space.space import Space
from remanence.space.view import View

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ["current_trace_id", "export_by_otlp", "instrument", "is_instrumented", "outgoing_headers", "uninstrument"]

TEXTS_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_DURATION = "gen_ai.client.operation.duration"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24)
"""Seconds: the bounds of the buckets of a histogram of times. Those of the conventions, with shorter ones: a memory is
asked faster than a language model."""
_MAX_TEXT = 2_000
"""Characters of a query or a memory that a span has."""
_OPERATIONS: tuple[tuple[type, str, str], ...] = (
    (View, "_recall_with", "search_memory"),
    (Space, "add", "upsert_memory"),
    (Space, "add_many", "upsert_memory"),
    (Space, "add_turns", "upsert_memory"),
    (Space, "remember", "upsert_memory"),
    (Space, "touch", "update_memory"),
    (Space, "unforget", "update_memory"),
    (Space, "revise", "update_memory"),
    (Space, "end", "update_memory"),
    (Space, "revert", "update_memory"),
    (Space, "forget", "delete_memory"),
    (Space, "forget_many", "delete_memory"),
    (Space, "erase", "delete_memory"),
    (Space, "erase_many", "delete_memory"),
    (Space, "erase_space", "delete_memory_store"),
)
_ON_ONE_RECORD = ("touch", "unforget", "revise", "end", "revert", "forget", "erase")
_in_operation: ContextVar[bool] = ContextVar("remanence_in_operation", default=False)
"""Whether an operation runs: one that another one calls, as `forget` calls `forget_many`, is none of the caller."""
_installed: list[tuple[Any, str, Any]] = []
"""What was wrapped: the owner, the name, and what was there before. It is in `vars` of the owner, or None."""


@dataclass(frozen=True, slots=True)
class _Telemetry:
    """Where spans and numbers go, and whether texts do."""

    tracer: Tracer
    durations: Histogram
    records: Histogram
    texts: bool


def instrument(
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    texts: bool | None = None,
) -> None:
    """Record spans and metrics of every space of this process from now on. Called again, it replaces the settings.

    Args:
        tracer_provider: Where spans go; by default the global one.
        meter_provider: Where metrics go; by default the global one.
        texts: Whether questions and the texts of memories are recorded. By default they are if the environment variable
            OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is "true".

    Raises:
        MissingExtra: OpenTelemetry is not installed.

    Example:
        >>> from opentelemetry.sdk.trace import TracerProvider
        >>> from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        >>> from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        >>> import remanence
        >>> provider, spans = TracerProvider(), InMemorySpanExporter()
        >>> provider.add_span_processor(SimpleSpanProcessor(spans))
        >>> instrument(tracer_provider=provider)
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Ana lives in Porto.")
        >>> [span.name for span in spans.get_finished_spans()][-2:]
        ['write ledger', 'upsert_memory']
        >>> uninstrument()
    """
    try:
        from opentelemetry import metrics, trace
    except ModuleNotFoundError as error:
        raise MissingExtra('traces need OpenTelemetry. Run: pip install "remanence[otel]"') from error
    uninstrument()
    if texts is None:
        texts = os.environ.get(TEXTS_VARIABLE, "").strip().lower() in ("true", "1", "span_only", "span_and_event")
    meter = metrics.get_meter("remanence", __version__, meter_provider)
    telemetry = _Telemetry(
        trace.get_tracer("remanence", __version__, tracer_provider),
        meter.create_histogram(
            _DURATION,
            unit="s",
            description="How long memory operations took.",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        ),
        meter.create_histogram("remanence.memory.records", unit="{record}", description="Memories found or written."),
        texts,
    )
    for owner, name, operation in _OPERATIONS:
        _wrap(owner, name, functools.partial(_operation, telemetry, operation))
    _wrap(fusion, "_rank_with", functools.partial(_ranking, telemetry))
    _wrap(recall, "read_hits", functools.partial(_reading, telemetry))
    for name in ("embed", "embed_query"):
        _wrap(CheckedEmbedder, name, functools.partial(_embedding, telemetry))
    for ledger in (SqlLedger, InMemoryLedger):
        _wrap(ledger, "transaction", functools.partial(_transaction, telemetry))


def uninstrument() -> None:
    """Record nothing from now on, and take the wrappers away."""
    while _installed:
        owner, name, before = _installed.pop()
        if before is None:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


def is_instrumented() -> bool:
    """Whether spans are recorded."""
    return bool(_installed)


def current_trace_id() -> str:
    """The id of the trace that this code runs in, as a log has it; "" if there is none."""
    if not _installed:
        return ""
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else ""


def outgoing_headers() -> dict[str, str]:
    """The headers by which a request of this code belongs to its trace; none if nothing is recorded."""
    headers: dict[str, str] = {}
    if _installed:
        from opentelemetry import propagate

        propagate.inject(headers)
    return headers


def export_by_otlp(service_name: str) -> Callable[[], None]:
    """Send spans and metrics of this process to a collector by OTLP over HTTP, and instrument the spaces.

    The address and all else is in the environment variables of OpenTelemetry: OTEL_EXPORTER_OTLP_ENDPOINT
    (http://localhost:4318 by default), OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, OTEL_SERVICE_NAME.

    Args:
        service_name: The name of this process, if OTEL_SERVICE_NAME does not name it.

    Returns:
        A function that sends what is left, for the end of the process.

    Raises:
        MissingExtra: OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise MissingExtra('traces need OpenTelemetry. Run: pip install "remanence[otel]"') from error
    os.environ.setdefault("OTEL_SERVICE_NAME", service_name)
    resource = Resource.create()
    spans = TracerProvider(resource=resource)
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    numbers = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource)
    trace.set_tracer_provider(spans)
    metrics.set_meter_provider(numbers)
    instrument()

    def end() -> None:
        uninstrument()
        spans.shutdown()
        numbers.shutdown()

    return end


def _wrap(owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **options: Any) -> Any:
        return wrapper(original, *args, **options)

    _installed.append((owner, name, vars(owner).get(name)))
    setattr(owner, name, wrapped)


def _operation(
    telemetry: _Telemetry, operation: str, original: Callable[..., Any], view: View, *args: Any, **options: Any
) -> Any:
    """Call a method of a space in a span of its own."""
    from opentelemetry.trace import SpanKind

    if _in_operation.get():
        return original(view, *args, **options)
    attributes = {"gen_ai.operation.name": operation, "gen_ai.memory.store.id": view.name}
    record = args[0] if args else options.get("id", options.get("ids"))
    if original.__name__ in _ON_ONE_RECORD and isinstance(record, str | Memory):
        attributes["gen_ai.memory.record.id"] = record if isinstance(record, str) else record.id
    if telemetry.texts and operation == "search_memory":
        attributes["gen_ai.memory.query.text"] = args[0][:_MAX_TEXT]
    begun, error, token = time.perf_counter(), "", _in_operation.set(True)
    with telemetry.tracer.start_as_current_span(
        operation, kind=SpanKind.INTERNAL, attributes=attributes, record_exception=False
    ) as span:
        try:
            result = original(view, *args, **options)
            _describe(telemetry, span, operation, result)
            return result
        except Exception as problem:
            error = type(problem).__name__
            span.set_attribute("error.type", error)
            raise
        finally:
            labels = {"gen_ai.operation.name": operation, **({"error.type": error} if error else {})}
            telemetry.durations.record(time.perf_counter() - begun, labels)
            _in_operation.reset(token)


def _describe(telemetry: _Telemetry, span: Span, operation: str, result: Any) -> None:
    """What an operation found or wrote, as attributes of its span."""
    if operation == "search_memory":
        records = [hit.memory for hit in result]
        span.set_attributes(
            {
                "remanence.ledger.position": result.position,
                "remanence.receipt.id": result.receipt.id if result.receipt is not None else "",
                **({} if result.confidence is None else {"remanence.confidence": result.confidence}),
                **{f"remanence.missing.{signal}": reason for signal, reason in result.missing.items()},
            }
        )
        scores: list[float | None] = [hit.score for hit in result]
    else:
        records = [result] if isinstance(result, Memory) else _memories(result)
        scores = [None] * len(records)
    if operation != "delete_memory_store":
        count = len(records) if operation == "search_memory" else _count(result, records)
        span.set_attribute("gen_ai.memory.record.count", count)
        telemetry.records.record(count, {"gen_ai.operation.name": operation})
    if telemetry.texts and records:
        shown = [_record(memory, score) for memory, score in zip(records, scores, strict=True)]
        span.set_attribute("gen_ai.memory.records", json.dumps(shown, ensure_ascii=False))


def _count(result: Any, records: Sequence[Memory]) -> int:
    """How many memories an operation was about; `forget_many` and a certificate of erasure say so."""
    if isinstance(result, int):
        return result
    if isinstance(result, list):
        return len(result)
    return 1 if result is None else len(getattr(result, "memories", records))


def _memories(result: Any) -> list[Memory]:
    return [each for each in result if isinstance(each, Memory)] if isinstance(result, list) else []


def _record(memory: Memory, score: float | None) -> Mapping[str, Any]:
    """A memory by the schema of the conventions (gen-ai-memory-records.json)."""
    found = {"id": memory.id, "content": memory.text[:_MAX_TEXT]}
    return found if score is None else {**found, "score": score}


def _ranking(telemetry: _Telemetry, original: Callable[..., Any], index: Any, signal: Any, *args: Any) -> Any:
    with telemetry.tracer.start_as_current_span(f"rank {signal.name}") as span:
        ranking = original(index, signal, *args)
        reasons = {"abstained": ranking.abstention_reason, "missing": ranking.missing_reason}
        span.set_attribute("remanence.rows", len(ranking.rows))
        span.set_attributes({f"remanence.{name}": reason for name, reason in reasons.items() if reason})
        return ranking


def _reading(telemetry: _Telemetry, original: Callable[..., Any], hits: Sequence[Any], *args: Any) -> Any:
    with telemetry.tracer.start_as_current_span("read") as span:
        result = original(hits, *args)
        span.set_attribute("remanence.lines", min(len(hits), MAX_READ_HITS))
        span.set_attributes({f"remanence.missing.{name}": reason for name, reason in result.missing.items()})
        return result


def _embedding(telemetry: _Telemetry, original: Callable[..., Any], embedder: CheckedEmbedder, texts: Any) -> Any:
    with telemetry.tracer.start_as_current_span("embed") as span:
        span.set_attribute("gen_ai.request.model", embedder.name)
        span.set_attribute("remanence.texts", 1 if isinstance(texts, str) else len(texts))
        return original(embedder, texts)


def _transaction(telemetry: _Telemetry, original: Callable[..., Any], ledger: Any) -> AbstractContextManager[Any]:
    return _in_span(telemetry, original(ledger), type(ledger).__name__)


@contextmanager
def _in_span(telemetry: _Telemetry, transaction: AbstractContextManager[Any], ledger: str) -> Iterator[Any]:
    """A write transaction with its commit."""
    span = telemetry.tracer.start_as_current_span("write ledger", attributes={"remanence.ledger": ledger})
    with span, transaction as opened:
        yield opened
