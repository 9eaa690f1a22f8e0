"""Figures of the service for Prometheus, and whether it lives and is ready."""

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
from starlette.responses import JSONResponse, Response

from tracehouse.cli.serve.access.authorization import need_all_pools
from tracehouse.cli.serve.changes import Changes
from tracehouse.cli.serve.http.endpoints import JSON_OBJECT, TEXT, Operation
from tracehouse.cli.serve.http.logs import LineQueue
from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.admission import describe_full_backlog
from tracehouse.queries.printable import printable
from tracehouse.warehouse.engine.failed_checkpoints import read_failures
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import QueryError, StoreError
from tracehouse.warehouse.opening.snapshots import find_snapshots
from tracehouse.warehouse.upkeep.verification_record import read_record

disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the number of series

_MOST_REASONS = 300  # counted separately: clients can invent reasons
_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30)


class Metrics(Collector):
    """Counts answers, and collects all other figures when they are read."""

    def __init__(
        self, service: Service, audit: LineQueue, log: LineQueue, changes: Changes
    ) -> None:
        self._service, self._audit, self._log = service, audit, log
        self._changes = changes
        self._registry = CollectorRegistry()
        self._answers = Counter(
            "tracehouse_http_answers",
            "Answers, by route, method and status.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self._problems = Counter(
            "tracehouse_http_problems",
            "Requests that were refused or failed, by route and reason.",
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
            "Writes of uploads to disk: many small uploads together, or a large one.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        service.acceptor.observe = commits.observe
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def count_answer(
        self, *, route: str, method: str, status: int, reason: str, seconds: float
    ) -> None:
        """Count an answer; its reason is empty if the request succeeded."""
        self._answers.labels(route, method, str(status)).inc()
        self._seconds.labels(route, method).observe(seconds)
        if reason:
            self._reasons |= {(route, reason)} if len(self._reasons) < _MOST_REASONS else set()
            known = reason if (route, reason) in self._reasons else "other"
            self._problems.labels(route, known).inc()

    def text(self) -> bytes:
        """All figures, in the text format of Prometheus."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The figures of the consumer, the sandbox, the disk, the snapshots and the logs."""
        consumer, killed = self._service.consumer, self._service.sandbox.killed
        failures = read_failures(self._service.store)
        for name, text, count in (
            ("dumps_accepted", "Accepted dumps.", consumer.accepted),
            ("dumps_indexed", "Accepted dumps that were indexed.", consumer.indexed.total()),
            ("dumps_verified", "Dumps that were verified.", self._service.verifier.verified),
            ("failed_checkpoints", "Checkpoints that failed, ever.", failures.failure_count),
            ("sql_killed", "SQL statements killed because they outran their deadline.", killed),
            (
                "log_lines_dropped",
                "Log lines dropped because they were not read in time.",
                self._log.dropped,
            ),
            (
                "audit_lines_dropped",
                "Lines of the audit log dropped because it could not be written.",
                self._audit.dropped,
            ),
        ):
            yield CounterMetricFamily(f"tracehouse_{name}", text, value=count)
        refused = CounterMetricFamily(
            "tracehouse_dumps_refused", "Accepted dumps that were quarantined.", labels=["reason"]
        )
        for reason, number in consumer.refused.items():
            refused.add_metric([reason], number)
        yield refused
        known, problem = consumer.known, self._audit.problem
        last = read_record(self._service.store)
        for name, text, value in (
            ("backlog_dumps", "Accepted dumps that wait to be indexed.", known.backlog_dumps),
            ("backlog_bytes", "Size of the dumps that wait.", known.backlog_bytes),
            ("lag_seconds", "How long the oldest of them has waited.", known.lag_seconds),
            ("drain_seconds", "Time to index the last batch.", consumer.drain_seconds),
            ("listeners", "Open streams of changes.", self._changes.listeners),
            ("disk_free_bytes", "Free space on the store's disk.", self._free_bytes()),
            ("snapshot_age_seconds", "Age of the newest snapshot.", self._snapshot_age()),
            ("damaged_dumps", "Dumps whose rows are wrong.", len(last.dumps)),
            ("damaged_tables", "Tables with wrong shared rows.", len(last.tables)),
            (
                "verify_success_timestamp_seconds",
                "When a verification last found nothing wrong; 0 if none did.",
                last.succeeded_at,
            ),
            (
                "failed_checkpoint_timestamp_seconds",
                "When the last of them failed; 0 without any.",
                failures.failed_at.timestamp() if failures.failed_at else 0,
            ),
            (
                "compression_disabled",
                "1 if DuckDB's file is written without bitpacking.",
                bool(failures.disabled_compression),
            ),
            ("consumer_failing", "1 if dumps cannot be indexed.", bool(consumer.problem)),
            ("audit_failing", "1 if the audit log cannot be written.", bool(problem)),
        ):
            yield GaugeMetricFamily(f"tracehouse_{name}", text, value=float(value))

    def _free_bytes(self) -> float:
        try:
            return shutil.disk_usage(self._service.store).free
        except OSError:
            return 0.0

    def _snapshot_age(self) -> float:
        """Seconds; infinite without a snapshot."""
        snapshots = find_snapshots(self._service.store)
        return time.time() - snapshots[-1].taken_at.timestamp() if snapshots else float("inf")


@Operation("/metrics", "Figures for Prometheus.", {200: {"text/plain": TEXT}})
async def figures(request: Request) -> Response:
    """All figures as text; a Problem is passed on to a client that may not see all pools."""
    need_all_pools(request.state.bearer, "the figures of the service")
    text = await run_in_threadpool(request.app.state.metrics.text)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def find_obstacles(service: Service, audit: LineQueue) -> Iterator[tuple[str, str]]:
    """Each reason why the service cannot work, as a word and a sentence."""
    if problem := _store_problem(service):
        yield "store", problem
    if service.consumer.problem:
        yield "consumer", str(service.consumer.problem)
    try:
        free, wanted = shutil.disk_usage(service.store).free, service.settings.free_bytes
    except OSError as error:
        yield "disk", f"{service.store}: {error.strerror}"
    else:
        if free < wanted:
            yield (
                "disk",
                f"{free:,} bytes free, wanted {wanted:,}: free some space, or run retention",
            )
    if problem := describe_full_backlog(service.consumer.known, service.settings):
        yield "backlog", problem
    if audit.problem:
        yield "audit", f"the audit log cannot be written: {audit.problem}"


def _store_problem(service: Service) -> str:
    """Why the store cannot be read; empty if it can."""
    file = service.store / FILE_NAME
    try:
        with service.reader() as reader:
            reader.sql("SELECT 1 AS one")
        file.stat()
    except (StoreError, QueryError) as error:
        return str(error)
    except OSError as error:
        return f"{file}: {error.strerror}"
    return ""


# Supervisors need no token: the answers reveal nothing secret.
@Operation("/healthz", "Whether the process lives.", {200: JSON_OBJECT}, scopes=())
async def healthz(request: Request) -> Response:
    """Always 200, also while nothing can be stored: a restart would not help."""
    if problem := request.app.state.service.consumer.problem:
        return JSONResponse({"status": "stores nothing", "problem": printable(str(problem))})
    return JSONResponse({"status": "ok"})


@Operation(
    "/readyz",
    "Whether the service can work, or why not.",
    {200: JSON_OBJECT, 503: JSON_OBJECT},
    scopes=(),
)
async def readyz(request: Request) -> Response:
    """The obstacles, if there are any."""
    state = request.app.state
    found = await run_in_threadpool(lambda: list(find_obstacles(state.service, state.audit)))
    obstacles = [{"reason": reason, "detail": printable(detail)} for reason, detail in found]
    if not obstacles:
        return JSONResponse({"status": "ready"})
    request.state.reason = obstacles[0]["reason"]
    return JSONResponse({"status": "not ready", "obstacles": obstacles}, 503)
