"""The first view: the last night, then the fleet: its devices, their health and their builds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.cli.serve.page.cells import Cell, Row, age_text, link
from tracehouse.cli.serve.page.charts import coverage_plot
from tracehouse.cli.serve.page.last_night import night_parts
from tracehouse.cli.serve.page.listing import Column, Table, listing, sort_page
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.report.figures import NONE, count_text, number_text

NEWEST = 20  # builds in a coverage
_RELOAD_SECONDS = 10  # until an empty store is looked at again
FEW = 20  # devices, which all are shown even if they are of several pools
FIELDS = ("sort", "page", "pool_sort", "pool_page")


def fleet(request: PageRequest) -> dict[str, Any]:
    """The last night, unless the fleet is filtered; then its pools and devices."""
    builds = request.rows("page_builds")
    if not builds:
        return _nothing(request)
    whole, *builds = builds
    devices = request.table("device_health")
    if "device" in request.filters:  # which must not change what they are compared with
        others = request.table("device_health", device=None)
        devices = others.filter(pc.is_in(others["device"], value_set=devices["device"]))
    late = pc.sum(pc.greater(devices["builds_behind"], 0)).as_py() or 0
    counts = [
        ("", whole["device_count"], "device", ""),
        ("", len(builds), "build", ""),
        ("", whole["model_count"], "model", ""),
        ("", whole["dump_count"], "dump", ""),
        ("", pc.sum(devices["event_count"]).as_py(), "event", ""),
        ("warn", late, "device", " without the newest build"),
    ]
    is_whole = not request.filters and request.bearer.pools is None
    return {
        **(night_parts(request) if is_whole else {}),
        "template": "tonight",
        "title": "Fleet",
        "tiles": [
            (kind, number_text(count), f"{noun}{'' if count == 1 else 's'}{rest}")
            for kind, count, noun, rest in counts
            if count
        ],
        "tables": _tables(request, devices, [row["build"] for row in builds]),
    }


def _nothing(request: PageRequest) -> dict[str, Any]:
    """The first steps; with filters, the way back."""
    if request.filters:
        return {"title": "Fleet", "empty": "No dumps pass these filters: widen them."}
    return {"template": "empty", "title": "No dumps yet", "reload_seconds": _RELOAD_SECONDS}


def _tables(request: PageRequest, devices: pa.Table, builds: Sequence[str]) -> list[Table]:
    """The devices; of a large fleet, the pools and the devices with problems."""
    pools, newest = _pools(devices), builds[-NEWEST:]
    is_large = pools.num_rows > 1 and devices.num_rows > FEW
    if is_large:  # a pool leads to its other devices
        devices = devices.filter(_is_sick(devices))
    shown = sort_page(request, devices, _DEVICE_COLUMNS, sort="-problem_count")
    names = [row["device"] for row in shown.rows] or [""]  # which no device has
    counts: dict[tuple[str | None, str | None], dict[str, int]] = defaultdict(dict)
    for row in request.rows("page_coverage", build=newest, shown=names):
        count = row["device_count"] if row["device"] is None else row["model_count"]
        counts[row["device"], row["pool"]][row["build"]] = count
    for row in shown.rows:
        own = counts[row["device"], row["pool"]]
        row["squares"] = coverage_plot(newest, own, row["model_count"])
    title = "Devices with problems" if is_large else "Devices"
    columns = [one for one in _DEVICE_COLUMNS if one is not _POOL or pools.num_rows > 1]
    tables = [listing(request, title, columns, shown)] if shown.rows else []
    if not is_large:
        return tables
    shown = sort_page(request, pools, _POOL_COLUMNS, sort="-sick_count", part="pool_")
    for row in shown.rows:
        own = counts[None, row["pool"]]
        row["squares"] = coverage_plot(newest, own, row["device_count"], "device")
        row["href"] = request.here(pool=row["pool"], page="", pool_page="")
    return [*tables, listing(request, "Pools", _POOL_COLUMNS, shown, part="pool_")]


def _is_sick(devices: pa.Table) -> pa.ChunkedArray:
    return pc.greater(devices["problem_count"], 0)


def _pools(devices: pa.Table) -> pa.Table:
    """A row for each pool, in the order of their names."""
    is_sick = pc.cast(_is_sick(devices), pa.int64())
    sums = [
        ("device", "count"),
        ("is_sick", "sum"),
        ("dump_count", "sum"),
        ("last_ingested_at", "max"),
    ]
    pools = devices.append_column("is_sick", is_sick).group_by("pool").aggregate(sums)
    names = ["pool", "device_count", "sick_count", "dump_count", "last_ingested_at"]
    return pools.rename_columns(names).sort_by("pool")


def _device(row: Row) -> Cell:
    return Cell(row["device"], link("/history", device=row["device"]) if row["dump_count"] else "")


def _problems(row: Row) -> Cell:
    """The problems of a device, in words; the link leads to its days."""
    own, pool = heat_text(row["temperature_c"]), heat_text(row["pool_temperature_c"])
    others = row["pool_refused_share"]
    against = "" if others is None else f", {_share(others)} in its pool"
    texts = {
        "silent": f"silent for {count_text(row['builds_behind'] or 0, 'build')}",
        "refused": f"{row['refused_count']:,} ({_share(row['refused_share'])}) refused{against}",
        "hot": f"{own}, its pool {pool}",
    }
    wrong = [texts[problem] for problem in (row["problems"] or "").split(", ") if problem]
    days = link("/explore/device_days", device=row["device"], pool=row["pool"])
    return Cell("; ".join(wrong), days if wrong and row["dump_count"] else "")


def _refused(row: Row) -> Cell:
    if not row["refused_count"]:
        return Cell("0")
    return Cell(f"{row['refused_count']:,}", link("/explore/ingest_errors"))


def heat_text(celsius: float | None) -> str:
    """A temperature in whole degrees."""
    return NONE if celsius is None else f"{celsius:.0f} °C"


def _share(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.0f} %"


def _newest(row: Row) -> Cell:
    if row["last_build"] is None:
        return Cell(NONE)
    late = row["builds_behind"]
    text = f" ({count_text(late, 'build')} behind)" if late else ""
    href = link("/explore/operator_hotspots", device=row["device"], build=row["last_build"])
    return Cell(f"{row['last_build']}{text}", href)


_LAST = Column("Last upload", lambda row: age_text(row["last_ingested_at"]), "last_ingested_at")
_POOL = Column("Pool", lambda row: row["pool"] or NONE, "pool")
_COVERAGE = Column(
    "Builds",
    lambda row: Cell("", picture=row["squares"]),
    doc="A square for each of the newest builds, the newest on the right: full if all was recorded",
)
_DUMPS = Column("Dumps", lambda row: f"{row['dump_count']:,}", "dump_count", is_number=True)
_DEVICE_COLUMNS = (
    Column("Device", _device, "device"),
    Column("Problems", _problems, "problem_count"),
    Column("Newest build", _newest, "builds_behind"),
    _COVERAGE,
    _LAST,
    _POOL,
    _DUMPS,
    Column("Refused", _refused, "refused_count", is_number=True),
)
_POOL_COLUMNS = (
    Column("Pool", lambda row: Cell(row["pool"] or NONE, row["href"] if row["pool"] else ""),
           "pool"),
    Column("Devices", lambda row: f"{row['device_count']:,}", "device_count", is_number=True),
    Column("Problems", lambda row: f"{row['sick_count']:,}", "sick_count", is_number=True),
    _COVERAGE,
    _LAST,
    _DUMPS,
)  # fmt: skip
