"""Spans and metrics, by the conventions of OpenTelemetry for memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

import remanence
from new_interpreter import run_program
from remanence import InvalidInput, Space, telemetry
from remanence.testing import ScriptedModel
from remanence_server import create_app
from trace_spans import recorded_spans, span_exporter

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return span_exporter()


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    with recorded_spans() as exporter:
        yield exporter


def named(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    [span] = [span for span in exporter.get_finished_spans() if span.name == name]
    return span


def children(exporter: InMemorySpanExporter, parent: ReadableSpan) -> list[str]:
    found = exporter.get_finished_spans()
    return [s.name for s in found if s.parent is not None and s.parent.span_id == parent.get_span_context().span_id]


def test_a_recall_is_a_search_with_its_parts_below(spans: InMemorySpanExporter) -> None:
    """The four signals, the embedder and the reader; with the receipt, and without any text."""
    with remanence.open(None, reader=lambda question, texts: [0.9 for _ in texts]) as space:
        space.add("Ana lives in Porto.")
        spans.clear()
        found = space.recall("Where does Ana live?")

    search = named(spans, "search_memory")
    assert dict(search.attributes or {}) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.store.id": "default",
        "gen_ai.memory.record.count": 1,
        "remanence.ledger.position": found.position,
        "remanence.receipt.id": found.receipt.id if found.receipt else None,
        "remanence.confidence": found.confidence,
    }
    below = children(spans, search)
    assert sorted(below) == ["embed", "rank graph", "rank times", "rank vectors", "rank words", "read"]
    assert (named(spans, "rank times").attributes or {})["remanence.abstained"] == "the question names no time"


def test_writes_have_the_names_of_the_conventions(spans: InMemorySpanExporter) -> None:
    """Each with the ledger below it; and what a method calls itself is no operation of its own."""
    with remanence.open(None) as space:
        memory = space.add("Ana lives in Porto.")
        space.add_many(["One.", "Two."])
        space.touch(memory)
        space.forget(memory)
        space.unforget(memory.id)
        space.revise(memory, tags="home")
        space.end([memory])
        space.revert(memory.id)
        space.erase(memory.id)
        space.erase_space()

    operations = [span for span in spans.get_finished_spans() if "gen_ai.operation.name" in (span.attributes or {})]
    assert [(span.name, (span.attributes or {}).get("gen_ai.memory.record.count")) for span in operations] == [
        ("upsert_memory", 1),
        ("upsert_memory", 2),
        ("update_memory", 1),
        ("delete_memory", 1),
        *[("update_memory", 1)] * 4,
        ("delete_memory", 1),
        ("delete_memory_store", None),
    ]
    assert all("write ledger" in children(spans, span) for span in operations)
    ids = [(span.attributes or {}).get("gen_ai.memory.record.id") for span in operations]
    assert ids == [None, None, *[memory.id] * 4, None, memory.id, memory.id, None], "only `end` was given a list"


def test_texts_are_recorded_only_if_asked_for(exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the argument, or by the variable of the conventions."""
    for texts, variable, is_recorded in (
        (None, "", False),
        (True, "", True),
        (None, "true", True),
        (False, "true", False),
    ):
        monkeypatch.setenv(telemetry.TEXTS_VARIABLE, variable)
        exporter.clear()
        telemetry.instrument(texts=texts)
        with remanence.open(None) as space:
            memory = space.add("Ana lives in Porto.")
            space.recall("Where does Ana live?")
        telemetry.uninstrument()
        written = json.dumps([dict(span.attributes or {}) for span in exporter.get_finished_spans()])
        assert ("Porto" in written) is is_recorded
        assert ("Where does Ana live?" in written) is is_recorded
        if is_recorded:
            [record] = json.loads(str((named(exporter, "search_memory").attributes or {})["gen_ai.memory.records"]))
            assert (record["id"], record["content"]) == (memory.id, "Ana lives in Porto.")
            assert 0 < record["score"] <= 1


def test_an_error_has_its_type(spans: InMemorySpanExporter) -> None:
    with remanence.open(None) as space, pytest.raises(InvalidInput):
        space.add("  ")
    failed = named(spans, "upsert_memory")
    assert (failed.attributes or {})["error.type"] == "InvalidInput"
    assert not failed.status.is_ok


def test_asyncio_keeps_the_trace(spans: InMemorySpanExporter) -> None:
    """The variants for asyncio run in threads, below the span of their caller."""

    async def ask(space: Space) -> None:
        with trace.get_tracer("test").start_as_current_span("agent"):
            await space.aadd("Ana lives in Porto.")
            await space.arecall("Ana")

    with remanence.open(None) as space:
        asyncio.run(ask(space))
    assert children(spans, named(spans, "agent")) == ["upsert_memory", "search_memory"]


def test_durations_are_measured_by_operation() -> None:
    """In a histogram, with the type of an error."""
    reader = InMemoryMetricReader()
    telemetry.instrument(meter_provider=MeterProvider([reader]))
    with remanence.open(None) as space:
        space.add("Ana lives in Porto.")
        space.recall("Ana")
        with pytest.raises(InvalidInput):
            space.recall("Ana", limit=0)
    telemetry.uninstrument()

    data = reader.get_metrics_data()
    assert data is not None
    metrics = {m.name: m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
    points: list[Any] = list(metrics["gen_ai.client.operation.duration"].data.data_points)
    counts = {tuple(sorted(dict(point.attributes).items())): point.count for point in points}
    assert counts == {
        (("gen_ai.operation.name", "upsert_memory"),): 1,
        (("gen_ai.operation.name", "search_memory"),): 1,
        (("error.type", "InvalidInput"), ("gen_ai.operation.name", "search_memory")): 1,
    }
    assert metrics["gen_ai.client.operation.duration"].unit == "s"


def test_chats_that_a_model_failed_to_read_are_counted() -> None:
    """Also if `remember` waits, and returns without an error."""
    reader = InMemoryMetricReader()
    telemetry.instrument(meter_provider=MeterProvider([reader]))
    model = remanence.LLMExtractor(ScriptedModel(ConnectionError("503")))
    with remanence.open(None, extractor=model) as space:
        space.remember("I live in Porto.")
    telemetry.uninstrument()

    data = reader.get_metrics_data()
    assert data is not None
    metrics = {m.name: m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
    assert [point.value for point in metrics["remanence.facts.given_up"].data.data_points] == [1]  # type: ignore[union-attr]


def test_a_request_belongs_to_the_trace_that_its_caller_names(spans: InMemorySpanExporter) -> None:
    """By `traceparent`; the span of the server has the route and the id of the request."""
    with remanence.open(None) as space, TestClient(create_app(space), base_url="http://127.0.0.1") as client:
        space.add("Ana lives in Porto.")
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "r1"}
        client.post("/v1/spaces/default/recall", json={"query": "Ana"}, headers=headers).raise_for_status()
        client.get("/healthz").raise_for_status()

    request = named(spans, "POST /v1/spaces/{space}/recall")
    assert (f"{request.parent.trace_id:032x}", f"{request.parent.span_id:016x}") == (TRACE, PARENT)
    assert children(spans, request) == ["search_memory"]
    attributes = dict(request.attributes or {})
    assert (attributes["http.response.status_code"], attributes["remanence.request.id"]) == (200, "r1")
    assert not [span for span in spans.get_finished_spans() if "healthz" in span.name]


def test_nothing_is_left_when_it_is_switched_off(exporter: InMemorySpanExporter) -> None:
    """Also after it was switched on twice."""
    telemetry.instrument()
    telemetry.instrument()
    assert telemetry.is_instrumented()
    telemetry.uninstrument()
    assert not telemetry.is_instrumented()
    exporter.clear()
    with remanence.open(None) as space:
        space.add("Ana lives in Porto.")
    assert not exporter.get_finished_spans()


def test_nothing_is_imported_without_it() -> None:
    """A program that does not ask for traces loads nothing of OpenTelemetry."""
    run_program(
        "import sys, remanence\n"
        "with remanence.open(None) as space:\n    space.add('Ana lives in Porto.'); space.recall('Ana')\n"
        "assert not [name for name in sys.modules if 'opentelemetry' in name], sys.modules.keys()\n"
        "assert 'remanence.telemetry' not in sys.modules"
    )
