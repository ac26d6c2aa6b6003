"""Traces and metrics for an operator's OpenTelemetry backend. Off unless asked for; the standard OTEL_* variables say
where to send.

No question, answer, value, token, or name of a person, table or column is in an attribute: `ATTRIBUTES` lists what
there is. Spans record no exceptions, whose messages might repeat a row. What a caller sends as a trace context is not
read: nobody outside writes into the operator's traces, or learns an id of theirs.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, set_span_in_context

from discreet.errors import Refused
from discreet.logs import note
from discreet.server.metrics import Metrics, Samples
from discreet.tracing import EXACT, PHASES
from discreet.version import __version__

NAME: Final = "discreet"
MAX_PHASES: Final = 100
"""Of one span: a training adds noise thousands of times."""
AGAIN: Final = 60.0
"""Seconds before it is logged again that nothing could be sent."""
LAST: Final = 5_000
"""Milliseconds for what is left to be sent, when the server stops."""
ENDPOINTS: Final = tuple(f"OTEL_EXPORTER_OTLP_{which}ENDPOINT" for which in ("", "TRACES_", "METRICS_"))
ATTRIBUTES: Final[Mapping[str, str]] = {
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
    "code": "discreet.code",
    "request": "discreet.request",
    "dataset": "discreet.dataset",
    "cached": "discreet.cached",
}
"""What is described of a request, and under which name."""


class Detail(StrEnum):
    """Which times leave the server."""

    PADDED = "padded"
    """Those that callers may notice anyway."""
    EXACT = "exact"
    """Also how long reading rows and drawing noise took: as private as the rows."""


class Traced:
    """A span of OpenTelemetry."""

    def __init__(self, tracer: Any, span: Any, *, exact: bool) -> None:
        self._tracer, self._span, self._exact = tracer, span, exact
        self._phases = 0

    def child(self, name: str) -> Traced | None:
        if name not in PHASES or (name in EXACT and not self._exact) or self._phases >= MAX_PHASES:
            return None
        self._phases += 1
        span = self._tracer.start_span(f"{NAME}.{name}", set_span_in_context(self._span), record_exception=False)
        return Traced(self._tracer, span, exact=self._exact)

    def end(self) -> None:
        self._span.end()

    def described(self, facts: Mapping[str, object]) -> None:
        """What a request turned out to be; then it ends."""
        for name, attribute in ATTRIBUTES.items():
            value = facts.get(name)
            if isinstance(value, str | int):
                self._span.set_attribute(attribute, value)
        self._span.update_name(f"{facts['method']} {facts['route']}")
        self.end()


class Telemetry:
    """What one server sends: spans of its requests, and the figures that `/metrics` has."""

    def __init__(self, metrics: Metrics, detail: Detail, *, spans: Any = None, reader: Any = None) -> None:
        """To the collector of the OTEL_* variables, unless another processor of spans and reader are given."""
        demand_safe(os.environ)
        _listen_to_failures()
        resource = Resource.create({"service.version": __version__, **_named(os.environ)})
        self._tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._tracers.add_span_processor(spans or BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._tracers.get_tracer(NAME, __version__)
        self._exact = detail is Detail.EXACT
        readers = [reader or PeriodicExportingMetricReader(OTLPMetricExporter())]
        self._meters = MeterProvider(metric_readers=readers, resource=resource, shutdown_on_exit=False)
        self._observe(metrics)

    def _observe(self, metrics: Metrics) -> None:
        """Figures are looked at when they are sent."""
        meter = self._meters.get_meter(NAME, __version__)
        make: dict[str, Callable[..., Any]] = {
            "counter": meter.create_observable_counter,
            "gauge": meter.create_observable_gauge,
        }
        for family in metrics.families():
            name = family.name.removesuffix("_total").replace("_", ".")
            make[family.kind](name, [_observer(family.samples)], description=family.help)

    def request(self) -> Traced:
        """A request that begins now: the first span of a trace of ours, whatever its sender says."""
        span = self._tracer.start_span(NAME, Context(), SpanKind.SERVER, record_exception=False)
        return Traced(self._tracer, span, exact=self._exact)

    def close(self) -> None:
        """Send what is left, for some seconds at most."""
        self._tracers.force_flush(LAST)
        self._tracers.shutdown()
        self._meters.shutdown(timeout_millis=LAST)


def _named(environment: Mapping[str, str]) -> dict[str, str]:
    """The service's name, where the environment has none."""
    is_named = "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "") or "OTEL_SERVICE_NAME" in environment
    return {} if is_named else {"service.name": NAME}


def demand_safe(environment: Mapping[str, str]) -> None:
    """Raise if what is sent, or the key that it is sent with, would cross a network in clear."""
    for variable in ENDPOINTS:
        address = urlsplit(environment.get(variable, ""))
        if address.scheme == "http" and address.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise Refused(
                "address",
                f"{variable} would send times and keys in clear to another machine",
                "use https, or a collector on this machine",
            )


def _observer(samples: Callable[[], Samples]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def observe(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(value, dict(labels)) for labels, value in samples()]

    return observe


class _Failures(logging.Handler):
    """What the exporters complain about, once a minute, without its text: that may have addresses and keys in it."""

    last = -AGAIN

    def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002
        if time.monotonic() - self.last >= AGAIN:
            self.last = time.monotonic()
            note("telemetry-failed", "spans or metrics could not be sent; see the OTEL_* variables")


def _listen_to_failures() -> None:
    logger = logging.getLogger("opentelemetry")
    logger.handlers[:], logger.propagate = [_Failures(logging.WARNING)], False
