"""`GET /metrics/fleet`: what the fleet measured, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterator
from glob import escape

import pyarrow as pa
import pyarrow.compute as pc
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from tracehouse.cli.serve.answers.questions import query_store
from tracehouse.cli.serve.answers.reads import store_version
from tracehouse.cli.serve.http.endpoints import READ_PROBLEMS, TEXT, Operation
from tracehouse.cli.serve.page.cells import METHOD
from tracehouse.cli.serve.page.page_request import page_query
from tracehouse.cli.serve.service import Service
from tracehouse.queries.printable import printable
from tracehouse.queries.report.nightly import LastNight, last_night
from tracehouse.queries.report.outline import sort_groups
from tracehouse.warehouse.errors import ParameterError
from tracehouse.warehouse.regressions.judging import list_heads
from tracehouse.warehouse.store import Store

BUILDS = 5  # the newest, which have figures
MOST_RUNS = 5_000  # runs of a model on a device in a build; each has three samples
MEDIA_TYPE = CONTENT_TYPE_LATEST.partition(";")[0]
_PLACE = ("device", "model", "backend", "run", "build")
_TIMES = {"0.5": "p50_ns", "0.9": "p90_ns"}
_NS = 1e9


class FleetMetrics:
    """What the newest builds took, and the open alerts of the newest stored night."""

    def __init__(self, builds: pa.Table, runs: pa.Table, night: LastNight | None) -> None:
        """Use rows of `page_builds` and of `build_history`, in the order of the builds."""
        self._builds, self._runs, self._night = builds, runs, night

    def collect(self) -> Iterator[Metric]:
        """The figures of the builds, of the runs, and of the night if one is stored."""
        builds = self._builds.to_pylist()
        for name, text, column in (
            ("build_position", "Place of a build in the order of all builds.", "position"),
            ("build_devices", "Devices that recorded a build.", "device_count"),
            ("build_dumps", "Dumps of a build.", "dump_count"),
        ):
            found = GaugeMetricFamily(f"tracehouse_fleet_{name}", text, labels=["build"])
            for row in builds:
                found.add_metric([printable(row["build"])], row[column])
            yield found
        yield from self._collect_runs()
        if self._night:
            yield from _collect_night(self._night)

    def _collect_runs(self) -> Iterator[Metric]:
        text = "Time of a run: median and 90th percentile of the dumps' medians."
        name, labels = "tracehouse_fleet_run_seconds", [*_PLACE, "quantile"]
        times = GaugeMetricFamily(name, text, labels=labels, unit="seconds")
        text = "Dumps that these times are of."
        dumps = GaugeMetricFamily("tracehouse_fleet_run_dumps", text, labels=_PLACE)
        for row in self._runs.slice(0, MOST_RUNS).to_pylist():
            place = [printable(row[name] or "") for name in _PLACE]
            for quantile, column in _TIMES.items():
                times.add_metric([*place, quantile], row[column] / _NS)
            dumps.add_metric(place, row["dump_count"])
        yield times
        yield dumps
        left_out = max(self._runs.num_rows - MOST_RUNS, 0)
        text = "Runs of older builds that are left out, as there are too many."
        yield GaugeMetricFamily("tracehouse_fleet_left_out_runs", text, value=left_out)


def _collect_night(night: LastNight) -> Iterator[Metric]:
    parts = sort_groups(night.report.groups)
    alerts = GaugeMetricFamily(
        "tracehouse_fleet_open_alerts", "Slower groups that nobody has settled.", labels=["state"]
    )
    for state, groups in (
        ("confirmed", parts.failures),
        ("other_environment", parts.environment),
        ("suspect", parts.suspects),
    ):
        alerts.add_metric([state], len(groups))
    yield alerts
    text = "When the night was judged whose alerts these are."
    name, seconds = "tracehouse_fleet_judged_timestamp_seconds", night.judged_at.timestamp()
    yield GaugeMetricFamily(name, text, value=seconds, unit="seconds")


@Operation(
    "/metrics/fleet",
    "What the fleet measured, for Prometheus.",
    {200: {MEDIA_TYPE: TEXT}},
    problems=READ_PROBLEMS,
)
async def fleet_figures(request: Request) -> Response:
    """The figures as OpenMetrics; they are computed again when the data have changed."""
    service: Service = request.app.state.service
    pools, texts = request.state.bearer.pools, request.app.state.fleet_texts

    def answer(reader: Store) -> Response:
        settings = service.nights.settings
        facts = service.nights.judged_count, store_version(service, reader), settings
        known, text = texts.get(pools, (None, b""))
        if known != facts:
            # An alert may be of several pools.
            night = last_night(reader, settings) if pools is None else None
            fleet = _read_fleet(reader, settings.report.branch, night)
            text = generate_latest(fleet)  # type: ignore[no-untyped-call]
            texts[pools] = facts, text
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    return await query_store(request, answer)


def _read_fleet(reader: Store, branch: str | None, night: LastNight | None) -> FleetMetrics:
    """The newest builds of the nightly series, and their runs, the newest builds first.

    Raises:
        ParameterError: A build was removed meanwhile.
    """
    builds = reader.query(page_query("page_builds")).slice(1)  # without that of all
    heads = pa.array(list_heads(reader, branch), pa.string())
    builds = builds.filter(pc.is_in(builds["build"], value_set=heads))
    builds = builds.slice(max(builds.num_rows - BUILDS, 0)).sort_by([("position", "descending")])
    names = builds["build"]
    no_runs = FleetMetrics(builds, pa.table({name: [] for name in _PLACE}), night)
    if not len(names):
        return no_runs
    try:
        of_builds = [escape(name) for name in names.to_pylist()]
        runs = reader.query("build_history", event=METHOD, ordinal=1, build=of_builds)
    except ParameterError as error:
        if error.param != "event":  # which only a store without runs does not have
            raise
        return no_runs
    runs = runs.filter(pc.is_null(runs["delegate_id"]))  # so that places are unique
    age = pc.index_in(runs["build"], value_set=names.combine_chunks())
    order = [("age", "ascending"), *((name, "ascending") for name in _PLACE[:-1])]
    return FleetMetrics(builds, runs.append_column("age", age).sort_by(order), night)
