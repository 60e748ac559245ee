"""Traces and metrics of what a space does, by OpenTelemetry's conventions for memory. Needs the extra `otel`.

`instrument` installs a hook (`hooks.py`) that makes a span of each step. A step whose name is in the conventions is an
operation, with these below it: `rank vectors`, `rank words`, `rank graph` and `rank times`, `embed`, `read` (the
reader) and `write ledger`. Until then nothing of OpenTelemetry is imported.

Names are those of the semantic conventions for GenAI: https://github.com/open-telemetry/semantic-conventions-genai
(docs/gen-ai/gen-ai-spans.md, Memory). What they have no name for begins with `remanence.`. No text is recorded unless
it is asked for.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remanence.errors import MissingExtra
from remanence.hooks import install_hook, installed_hook
from remanence.recall.reading import MAX_READ_HITS
from remanence.schema import Memory
from remanence.schema.version import __version__

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ["current_trace_id", "export_by_otlp", "instrument", "is_instrumented", "outgoing_headers", "uninstrument"]

TEXTS_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_DURATION = "gen_ai.client.operation.duration"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24)
"""Seconds: the bounds of the buckets of a histogram of times. Those of the conventions, with shorter ones: a memory is
asked faster than a language model."""
_MAX_TEXT = 2_000
_in_operation: ContextVar[bool] = ContextVar("remanence_in_operation", default=False)
"""Whether an operation runs: one that another one calls, as `forget` calls `forget_many`, is none of the caller."""


@dataclass(frozen=True, slots=True)
class _Telemetry:
    """Where spans and numbers go, and whether texts do."""

    tracer: Tracer
    durations: Histogram
    records: Histogram
    given_up: Counter
    texts: bool

    def follow(self, step: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Call a step in a span of its own."""
        if step.endswith(("_memory", "_memory_store")):
            return self._operation(step, function, args, options)
        if step == "write ledger":
            return self._transaction(function(*args, **options), type(args[0]).__name__)
        name = f"rank {args[1].name}" if step == "rank" else step
        with self.tracer.start_as_current_span(name) as span:
            if step == "embed":
                embedder, texts = args
                span.set_attribute("gen_ai.request.model", embedder.name)
                span.set_attribute("remanence.texts", 1 if isinstance(texts, str) else len(texts))
            result = function(*args, **options)
            if step == "rank":
                reasons = {"abstained": result.abstention_reason, "missing": result.missing_reason}
                span.set_attribute("remanence.rows", len(result.rows))
                span.set_attributes({f"remanence.{name}": reason for name, reason in reasons.items() if reason})
            elif step == "give up":
                self.given_up.add(1)
            elif step == "read":
                span.set_attribute("remanence.lines", min(len(args[0]), MAX_READ_HITS))
                span.set_attributes({f"remanence.missing.{name}": reason for name, reason in result.missing.items()})
            return result

    def _operation(
        self, operation: str, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        if _in_operation.get():  # one that another one calls is none of the caller
            return function(*args, **options)
        attributes = {"gen_ai.operation.name": operation, "gen_ai.memory.store.id": args[0].name}
        subject = args[1] if len(args) > 1 else options.get("id", options.get("ids"))
        if operation in ("update_memory", "delete_memory") and isinstance(subject, str | Memory):
            attributes["gen_ai.memory.record.id"] = subject if isinstance(subject, str) else subject.id
        if self.texts and operation == "search_memory":
            attributes["gen_ai.memory.query.text"] = args[1][:_MAX_TEXT]
        begun, labels, token = time.perf_counter(), {"gen_ai.operation.name": operation}, _in_operation.set(True)
        with self.tracer.start_as_current_span(operation, attributes=attributes, record_exception=False) as span:
            try:
                result = function(*args, **options)
                self._describe(span, operation, result)
                return result
            except Exception as problem:
                labels["error.type"] = type(problem).__name__
                span.set_attribute("error.type", labels["error.type"])
                raise
            finally:
                self.durations.record(time.perf_counter() - begun, labels)
                _in_operation.reset(token)

    def _describe(self, span: Span, operation: str, result: Any) -> None:
        """What an operation found or wrote, as attributes of its span."""
        scores: list[float] = []
        count = result if isinstance(result, int) else 1
        if operation == "search_memory":
            memories, scores = [hit.memory for hit in result], [hit.score for hit in result]
            span.set_attribute("remanence.ledger.position", result.position)
            span.set_attribute("remanence.receipt.id", result.receipt.id if result.receipt is not None else "")
            span.set_attributes({f"remanence.missing.{signal}": reason for signal, reason in result.missing.items()})
            if result.confidence is not None:
                span.set_attribute("remanence.confidence", result.confidence)
        else:
            memories = [each for each in (result if isinstance(result, list) else [result]) if isinstance(each, Memory)]
        for several in (result, getattr(result, "memories", None)):  # a recall or a list; a certificate of erasure
            count = len(several) if isinstance(several, Sequence) else count
        if operation != "delete_memory_store":
            span.set_attribute("gen_ai.memory.record.count", count)
            self.records.record(count, {"gen_ai.operation.name": operation})
        if self.texts and memories:
            # By the schema of the conventions (gen-ai-memory-records.json).
            shown = [{"id": memory.id, "content": memory.text[:_MAX_TEXT]} for memory in memories]
            scored = [{**each, "score": score} for each, score in zip(shown, scores, strict=True)] if scores else shown
            span.set_attribute("gen_ai.memory.records", json.dumps(scored, ensure_ascii=False))

    @contextmanager
    def _transaction(self, transaction: AbstractContextManager[Any], ledger: str) -> Iterator[Any]:
        """A write transaction with its commit."""
        span = self.tracer.start_as_current_span("write ledger", attributes={"remanence.ledger": ledger})
        with span, transaction as opened:
            yield opened


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
    """
    try:
        from opentelemetry import metrics, trace
    except ModuleNotFoundError as error:
        raise MissingExtra('traces need OpenTelemetry. Run: pip install "remanence-memory[otel]"') from error
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
        meter.create_counter(
            "remanence.facts.given_up", description="Chats whose facts a language model did not give."
        ),
        texts,
    )
    install_hook(telemetry.follow)


def uninstrument() -> None:
    """Record nothing from now on."""
    install_hook(None)


def is_instrumented() -> bool:
    """Whether spans are recorded."""
    return installed_hook() is not None


def current_trace_id() -> str:
    """The id of the trace that this code runs in, as a log has it; "" if there is none."""
    if not is_instrumented():
        return ""
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else ""


def outgoing_headers() -> dict[str, str]:
    """The headers by which a request of this code belongs to its trace; none if nothing is recorded."""
    headers: dict[str, str] = {}
    if is_instrumented():
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
        raise MissingExtra('traces need OpenTelemetry. Run: pip install "remanence-memory[otel]"') from error
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
