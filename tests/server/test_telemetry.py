"""Traces and metrics: what an operator's backend is told, and what neither it nor an analyst ever is."""

from __future__ import annotations

import gzip
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from discreet.curator import task as reading
from discreet.errors import Refused
from discreet.logs import LOGGERS
from discreet.policy import read
from discreet.server.app import application
from discreet.server.datasets import Dataset, Datasets
from discreet.server.telemetry import ATTRIBUTES, MAX_PHASES, Detail, Telemetry, demand_safe
from discreet.tracing import CURRENT, EXACT, PHASES, begun, phase
from tests.cli.runs import run
from tests.server.running import POLICY, build, serving, token, until
from tests.server.visitor import Site, Visitor

CANARY = "xyzzy-4711"
HOME = "/api/v1/datasets/hospital/"
PADDED = POLICY.replace("pad_ms = 0", "pad_ms = 40")


class Watched:
    """An application whose spans and figures are kept here."""

    def __init__(self, policy: Path, detail: Detail) -> None:
        import asyncio

        self.spans, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        made: list[Telemetry] = []

        def observe(metrics: Any) -> Telemetry:
            made.append(Telemetry(metrics, detail, spans=SimpleSpanProcessor(self.spans), reader=self.reader))
            return made[0]

        self.app = application(Datasets([Dataset(read(policy))]), workers=2, observe=observe)
        self.tokens = {role: token(policy, role) for role in ("owner", "auditor")}
        self.tokens["epidemiology"] = token(policy, "analyst", "epidemiology")
        self.site = Site(self.app, policy, self.tokens, asyncio.new_event_loop())
        self.telemetry = made[0]
        self.visitor: Visitor = self.site.visitor()

    def ask(self, sql: str, who: str = "epidemiology", **more: Any) -> httpx.Response:
        headers = {
            "authorization": f"Bearer {self.tokens[who]}",
            "accept": "application/json",
            **more.pop("headers", {}),
        }
        body = {"sql": sql, "epsilon": 0.012345, **more}
        return self.visitor.post(f"{HOME}query", content=None, json=body, headers=headers)

    def phases(self) -> list[str]:
        """In the order of their beginnings, without the request itself."""
        spans = sorted(self.spans.get_finished_spans(), key=lambda span: span.start_time)
        return [span.name.removeprefix("discreet.") for span in spans if span.parent is not None]

    def seconds(self, name: str) -> float:
        (span,) = (span for span in self.spans.get_finished_spans() if span.name == f"discreet.{name}")
        return float(span.end_time - span.start_time) / 1e9

    def figures(self) -> dict[str, dict[Any, float]]:
        data = self.reader.get_metrics_data()
        metrics = data.resource_metrics[0].scope_metrics[0].metrics
        return {
            each.name: {tuple(sorted(point.attributes.items())): point.value for point in each.data.data_points}
            for each in metrics
        }

    def close(self) -> None:
        self.site.close()
        self.telemetry.close()


@pytest.fixture(scope="module")
def padded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    made = Watched(build(tmp_path_factory.mktemp("padded"), patients=50, text=PADDED), Detail.PADDED)
    yield made
    made.close()


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    made = Watched(build(tmp_path_factory.mktemp("exact"), patients=50, text=PADDED), Detail.EXACT)
    yield made
    made.close()


def test_a_trace_goes_from_the_request_to_what_is_shown(padded: Watched) -> None:
    padded.spans.clear()
    answer = padded.ask("SELECT COUNT(*) FROM patients")
    assert answer.status_code == 200
    spans = padded.spans.get_finished_spans()
    (request,) = (span for span in spans if span.parent is None)
    assert request.name == "POST /api/v1/datasets/{dataset}/query"
    assert {span.context.trace_id for span in spans} == {request.context.trace_id}
    assert [name for name in padded.phases() if name not in ("queue", "plan")] == ["charge", "run", "keep", "show"]
    assert set(padded.phases()) == PHASES - EXACT
    assert dict(request.attributes) == {
        "http.request.method": "POST",
        "http.route": "/api/v1/datasets/{dataset}/query",
        "http.response.status_code": 200,
        "discreet.code": "",
        "discreet.request": answer.headers["x-request-id"],
        "discreet.dataset": "hospital",
        "discreet.cached": False,
    }
    assert all(not span.attributes and not span.events for span in spans if span.parent is not None)


def test_times_that_rows_decide_are_not_in_a_padded_trace(padded: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a row makes reading slow. What is exported is the padded end, and no span within it."""
    real, lengths, phases = reading.EngineReader.rows, [], []
    for number, seconds in enumerate((0.0, 0.01)):

        def rows(self: Any, query: Any, seconds: float = seconds) -> Any:
            time.sleep(seconds)
            return real(self, query)

        padded.spans.clear()
        monkeypatch.setattr(reading.EngineReader, "rows", rows)
        assert padded.ask(f"SELECT COUNT(*) FROM patients WHERE age > {number}").status_code == 200
        lengths.append(padded.seconds("run"))
        phases.append(padded.phases())
    assert phases[0] == phases[1]
    assert not EXACT & set(phases[0])
    assert all(length >= 0.04 for length in lengths), "both end with the padding"


def test_an_exact_trace_has_them_for_operators_who_asked_for_it(exact: Watched) -> None:
    exact.spans.clear()
    assert exact.ask("SELECT COUNT(*) FROM patients").status_code == 200
    assert set(exact.phases()) == PHASES
    assert exact.seconds("read") + exact.seconds("noise") <= exact.seconds("run")
    inside = {span.name: span.parent.span_id for span in exact.spans.get_finished_spans() if span.parent is not None}
    (run_,) = (span for span in exact.spans.get_finished_spans() if span.name == "discreet.run")
    assert inside["discreet.read"] == inside["discreet.noise"] == run_.context.span_id


def test_callers_see_nothing_of_it_and_write_nothing_into_it(exact: Watched) -> None:
    """No id of a trace in an answer or its headers; a trace context that somebody sends is not taken."""
    exact.spans.clear()
    trace = "0af7651916cd43dd8448eb211c80319c"
    sent = {"traceparent": f"00-{trace}-b7ad6b7169203331-01", "tracestate": CANARY, "baggage": f"user={CANARY}"}
    answer = exact.ask("SELECT COUNT(*) FROM patients WHERE age > 7", headers=sent)
    spans = exact.spans.get_finished_spans()
    ids = {f"{span.context.trace_id:032x}" for span in spans} | {f"{span.context.span_id:016x}" for span in spans}
    assert trace not in ids
    assert not any(each in answer.text or each in str(answer.headers) for each in ids)
    assert not any(name.startswith("trace") for name in answer.headers)
    assert CANARY not in "".join(span.to_json() for span in spans)


def _long_number(exact: Watched) -> int:
    """A noisy answer that is nowhere by chance: a few digits are, in times and counts."""
    for age in range(100):
        question = f"SELECT SUM(CLAMP(age, 0, 110)) * 1000003 FROM patients WHERE age > {age} AND zip <> '{CANARY}'"
        answer = exact.ask(question)
        number = int(abs(answer.json()["rows"][0][0]))
        if number >= 10**8:
            return number
    raise AssertionError("noise was small a hundred times")


def test_nothing_that_was_asked_answered_or_held_secret_is_exported(exact: Watched) -> None:
    exact.spans.clear()
    number = _long_number(exact)
    exact.ask(f"SELECT {CANARY}")
    exact.ask("SELECT SUM(age) FROM patients", headers={"idempotency-key": CANARY, "user-agent": CANARY})
    exact.visitor.get(f"/{CANARY}?{CANARY}={CANARY}")
    exact.visitor.get("/api/v1/datasets", headers={"authorization": f"Bearer {CANARY}"})
    exact.visitor.post("/sign-in", {"token": CANARY})
    text = "".join(span.to_json() for span in exact.spans.get_finished_spans()) + str(exact.figures())
    hidden = [CANARY, "SELECT", "0.012345", "patients", "zip", "epidemiology", "7'", *exact.tokens.values()]
    hidden += [each.split("_")[1] for each in exact.tokens.values()]
    hidden += [f"{number}"]
    assert [each for each in hidden if each in text] == []
    assert {name for span in exact.spans.get_finished_spans() for name in span.attributes} <= set(ATTRIBUTES.values())


def test_an_error_that_nobody_foresaw_leaves_no_message(exact: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise ValueError(f"could not convert {CANARY}")

    exact.spans.clear()
    monkeypatch.setattr(reading.EngineReader, "rows", fail)
    assert exact.ask("SELECT COUNT(*) FROM patients WHERE age > 11").json()["code"] == "failed"
    spans = exact.spans.get_finished_spans()
    assert CANARY not in "".join(span.to_json() for span in spans)
    assert not any(span.events for span in spans)
    assert all(span.status.description is None for span in spans)


def test_figures_are_those_of_the_server(padded: Watched) -> None:
    before = padded.figures().get("discreet.answers", {})
    for _ in range(3):
        assert padded.ask("SELECT COUNT(*) FROM patients WHERE age > 5").status_code == 200
    padded.ask("SELECT COUNT(*) FROM patients WHERE age > 5", dummy=True)
    after = padded.figures()

    def more(kind: str) -> float:
        key = (("dataset", "hospital"), ("kind", kind))
        return after["discreet.answers"][key] - before.get(key, 0)

    assert (more("charged"), more("cached"), more("dummy")) == (1, 2, 1)
    assert 0 < after["discreet.budget.used.ratio"][(("dataset", "hospital"),)] < 1
    assert set(after) == {
        *(
            "discreet.requests",
            "discreet.answers",
            "discreet.waiting",
            "discreet.running",
            "discreet.budget.used.ratio",
        ),
        *(f"discreet.budget.{part}.epsilon" for part in ("total", "spent", "remaining")),
    }


def test_a_span_has_so_many_phases_and_no_others(exact: Watched) -> None:
    exact.spans.clear()
    request = exact.telemetry.request()
    assert request.child(CANARY) is None
    held = CURRENT.set(request)
    try:
        for _ in range(MAX_PHASES + 5):
            with phase("noise"):
                pass
        assert begun("read") is None
    finally:
        CURRENT.reset(held)
    assert len(exact.spans.get_finished_spans()) == MAX_PHASES
    with phase("read"):
        assert CURRENT.get() is None


@pytest.mark.parametrize("address", ["http://collector.example:4318", "http://10.0.0.7:4318", "HTTP://example.org"])
def test_times_and_keys_cross_no_network_in_clear(address: str) -> None:
    for which in ("", "TRACES_", "METRICS_"):
        with pytest.raises(Refused, match="in clear"):
            demand_safe({f"OTEL_EXPORTER_OTLP_{which}ENDPOINT": address})
    demand_safe({"OTEL_EXPORTER_OTLP_ENDPOINT": address.lower().replace("http:", "https:")})
    demand_safe({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"})


def test_where_it_is_not_installed_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = build(tmp_path, patients=1)
    run("token", "create", policy, "--role", "owner")
    monkeypatch.setitem(sys.modules, "discreet.server.telemetry", None)
    shown = run("serve", policy, "--port", "0", "--telemetry", "padded", code=3).output
    assert "pip install 'discreet[telemetry]'" in shown
    run("serve", policy, "--telemetry", "everything", code=2)


# a collector


class Collector:
    """An OTLP receiver on this machine: what was sent to it."""

    def __init__(self) -> None:
        self.traces: list[ExportTraceServiceRequest] = []
        self.metrics: list[ExportMetricsServiceRequest] = []
        self.keys: set[str | None] = set()
        self.others: list[str] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
                collector.keys.add(self.headers.get("x-key"))
                if self.path == "/v1/traces":
                    collector.traces.append(ExportTraceServiceRequest.FromString(body))
                elif self.path == "/v1/metrics":
                    collector.metrics.append(ExportMetricsServiceRequest.FromString(body))
                else:
                    collector.others.append(self.path)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def spans(self) -> list[Any]:
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def observed(policy: Path, address: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> Any:
    for name, value in {
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-key={CANARY}",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
        "OTEL_METRIC_EXPORT_INTERVAL": "200",
        "OTEL_SERVICE_NAME": "hospital-east",
        "FASTAPI_OTEL_AUTO_CONFIGURE": "true",
    }.items():
        monkeypatch.setenv(name, value)
    return serving(policy, *options)


def test_a_real_collector_gets_it(tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = build(tmp_path, patients=10, text=PADDED)
    with observed(policy, collector.address, monkeypatch, "--telemetry", "padded") as server:
        body = {"sql": f"SELECT COUNT(*) FROM patients WHERE zip <> '{CANARY}'", "epsilon": 0.01}
        with server.client() as client:
            assert client.post("datasets/hospital/query", json=body).status_code == 200
        until(lambda: collector.metrics and any(span.name == "discreet.show" for span in collector.spans()))
        server.stop()
        log = server.log.read_text(encoding="utf-8")
    assert collector.keys == {CANARY}
    assert CANARY not in log
    sent = str(collector.traces) + str(collector.metrics)
    assert CANARY not in sent
    assert "hospital-east" in sent
    assert not {f"discreet.{name}" for name in EXACT} & {span.name for span in collector.spans()}
    assert "discreet.budget.used.ratio" in sent
    scopes = [scope for each in collector.traces for resource in each.resource_spans for scope in resource.scope_spans]
    assert {scope.scope.name for scope in scopes} == {"discreet"}, "libraries below have traces of their own"
    assert not collector.others


def test_without_telemetry_nothing_is_sent_whatever_the_environment_says(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FastAPI has telemetry of its own, which would export messages of exceptions and what was wrong with a body."""
    policy = build(tmp_path, patients=10)
    with observed(policy, collector.address, monkeypatch) as server:
        with server.client() as client:
            assert client.post("datasets/hospital/query", json={CANARY: CANARY}).status_code == 422
            assert client.get(CANARY).status_code == 404
        server.stop()
    assert (collector.traces, collector.metrics, collector.others) == ([], [], [])


def test_a_collector_that_is_gone_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions are answered, and the log says once that nothing could be sent: not where to, nor with which key."""
    policy = build(tmp_path, patients=10)
    with observed(policy, "http://127.0.0.1:1", monkeypatch, "--telemetry", "padded") as server:
        with server.client() as client:
            body = {"sql": "SELECT COUNT(*) FROM patients", "epsilon": 0.01}
            assert client.post("datasets/hospital/query", json=body).status_code == 200
        until(lambda: "telemetry-failed" in server.log.read_text(encoding="utf-8"))
        server.kill()
        text = server.log.read_text(encoding="utf-8")
        said = server.process.stderr.read()
    assert text.count("telemetry-failed") == 1
    assert CANARY not in text + said
    assert "127.0.0.1:1" not in text + said
    assert set(LOGGERS) == {"discreet.access", "discreet.server", "discreet.command"}
