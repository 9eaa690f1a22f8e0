"""The service's figures, as Prometheus reads them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from cli.serve.access.authorization import Scope
from cli.serve.http.endpoints import TEXT, Endpoint, Operation
from cli.serve.http.line_queue import LineQueue
from cli.serve.service import Service
from warehouse.opening.snapshots import find_snapshots

disable_created_metrics()  # type: ignore[no-untyped-call]  # they tell when counting began, of every series once more

_MOST_REASONS = 300  # that are counted apart, whatever those who ask make up
_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30)


class Metrics:
    """Counts answers; everything else is looked up when it is asked for."""

    def __init__(self, service: Service, audit: LineQueue, log: LineQueue) -> None:
        """Begin at nothing, beside what a service, its audit log and its log count."""
        self._registry = CollectorRegistry()
        self._answers = Counter(
            "tracehouse_http_answers",
            "Answers, by route, method and status.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self._problems = Counter(
            "tracehouse_http_problems",
            "Requests that were refused or failed, by route and reason: uploads, SQL, all.",
            ("route", "reason"),
            registry=self._registry,
        )
        self._reasons: set[tuple[str, str]] = set()
        self._seconds = Histogram(
            "tracehouse_http_seconds",
            "From the head of a request to the end of its answer.",
            ("route", "method"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        commits = Histogram(
            "tracehouse_commit_seconds",
            "Bringing uploads to disk: many small ones together, or a large one.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        service.acceptor.observe = commits.observe
        self._registry.register(_Figures(service))
        self._registry.register(_LineFigures(audit, log))
        ProcessCollector(registry=self._registry)

    def count_answer(
        self, *, route: str, method: str, status: int, reason: str, seconds: float
    ) -> None:
        """Count one; an empty reason is none."""
        self._answers.labels(route, method, str(status)).inc()
        self._seconds.labels(route, method).observe(seconds)
        if reason:
            self._reasons |= {(route, reason)} if len(self._reasons) < _MOST_REASONS else set()
            known = reason if (route, reason) in self._reasons else "other"
            self._problems.labels(route, known).inc()

    def text(self) -> bytes:
        """All figures, in the text format of Prometheus."""
        return generate_latest(self._registry)


class _Figures(Collector):
    """What the consumer, the disk and the snapshots say now."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """The figures."""
        consumer = self._service.consumer
        for name, text, number in (
            ("accepted", "Dumps that were accepted.", consumer.accepted),
            ("indexed", "Accepted dumps that can be asked for.", consumer.indexed),
        ):
            yield CounterMetricFamily(f"tracehouse_dumps_{name}", text, value=number)
        text = "SQL statements that did not stop at their deadline, and were killed."
        yield CounterMetricFamily("tracehouse_sql_killed", text, value=self._service.sandbox.killed)
        refused = CounterMetricFamily(
            "tracehouse_dumps_refused", "Accepted dumps that were refused then.", labels=["reason"]
        )
        for reason, number in consumer.refused.items():
            refused.add_metric([reason], number)
        yield refused
        waiting = consumer.known
        for name, text, level in (
            ("backlog_dumps", "Dumps that were accepted and wait.", waiting.backlog_dumps),
            ("backlog_bytes", "Their size.", waiting.backlog_bytes),
            ("lag_seconds", "How long the oldest of them has waited.", waiting.lag_seconds),
            ("drain_seconds", "Indexing the last batch.", consumer.drain_seconds),
            ("disk_free_bytes", "Room on the store's disk.", self._free_bytes()),
            ("snapshot_age_seconds", "Age of the newest snapshot.", self._snapshot_age()),
            (
                "consumer_failing",
                "1 if what was accepted cannot be indexed.",
                bool(consumer.problem),
            ),
        ):
            yield GaugeMetricFamily(f"tracehouse_{name}", text, value=float(level))

    def _free_bytes(self) -> float:
        try:
            return shutil.disk_usage(self._service.store).free
        except OSError:
            return 0.0

    def _snapshot_age(self) -> float:
        """Seconds; infinite without a snapshot."""
        snapshots = find_snapshots(self._service.store)
        return time.time() - snapshots[-1].taken_at.timestamp() if snapshots else float("inf")


class _LineFigures(Collector):
    """Whether the logs can be written."""

    def __init__(self, audit: LineQueue, log: LineQueue) -> None:
        self._audit, self._log = audit, log

    def collect(self) -> Iterator[Metric]:
        """The figures."""
        text = "1 if the audit log cannot be written."
        is_failing = float(bool(self._audit.problem))
        yield GaugeMetricFamily("tracehouse_audit_failing", text, value=is_failing)
        text = "Lines of the log on standard error that nobody read in time."
        yield CounterMetricFamily("tracehouse_log_lines_dropped", text, value=self._log.dropped)


async def _metrics(request: Request) -> Response:
    text = await run_in_threadpool(request.app.state.metrics.text)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def routes() -> list[Endpoint]:
    """Endpoint of the figures."""
    answers = {200: {"text/plain": TEXT}}
    figures = Operation("get", "/metrics", "Figures for Prometheus.", (Scope.READ,), answers)
    return [Endpoint(_metrics, figures)]
