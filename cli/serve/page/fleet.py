"""The view of the fleet: its pools and devices, the age of their data, and what they recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cli.serve.page.cells import Cell, Row, age_text, link
from cli.serve.page.charts import coverage_plot
from cli.serve.page.last_night import night_parts
from cli.serve.page.listing import Column, Table, listing, sort_page
from cli.serve.page.page_request import PageRequest
from queries.report.figures import NONE, count_text, number_text

NEWEST = 20  # builds in a coverage
FIELDS = ("sort", "page", "pool_sort", "pool_page")


def fleet(request: PageRequest) -> dict[str, Any]:
    """The last night, unless the fleet is filtered; then its pools and devices."""
    builds = request.rows("page_builds")
    if not builds:
        return {"title": "Fleet", "empty": "No dumps here yet: upload some, or widen the filters."}
    whole, *builds = builds
    positions = pa.array([row["position"] for row in builds], pa.int32())
    devices = request.table("page_devices")
    delays = pc.subtract(len(builds) - 1, pc.index_in(devices["last_position"], positions))
    devices = devices.append_column("behind", delays)
    late = pc.sum(pc.greater(delays, 0)).as_py()
    tiles = [
        ("", whole["device_count"], "device", ""),
        ("", len(builds), "build", ""),
        ("", whole["model_count"], "model", ""),
        ("", whole["dump_count"], "dump", ""),
        ("", pc.sum(devices["event_count"]).as_py(), "event", ""),
        ("warn" if late else "", late, "device", " without the newest build"),
    ]
    is_whole = not request.filters and request.bearer.pools is None
    return {
        **(night_parts(request) if is_whole else {}),
        "template": "first",
        "title": "Fleet",
        "tiles": [
            (kind, number_text(count), f"{noun}{'' if count == 1 else 's'}{rest}")
            for kind, count, noun, rest in tiles
        ],
        "tables": _tables(request, devices, [row["build"] for row in builds]),
    }


def _tables(request: PageRequest, devices: pa.Table, builds: Sequence[str]) -> list[Table]:
    """The devices; of several pools, the pools and the devices without the newest build."""
    pools = _pools(devices)
    if pools.num_rows > 1:  # a pool leads to its other devices
        devices = devices.filter(pc.greater(devices["behind"], 0))
    shown_pools = sort_page(request, pools, _POOL_COLUMNS, sort="-late_count", part="pool_")
    shown = sort_page(request, devices, _DEVICE_COLUMNS, sort="-behind")
    newest = builds[-NEWEST:]
    names = [row["device"] for row in shown.rows]
    counts: dict[tuple[str | None, str | None], dict[str, int]] = defaultdict(dict)
    for row in request.rows("page_coverage", build=newest, shown=names):
        count = row["device_count"] if row["device"] is None else row["model_count"]
        counts[row["device"], row["pool"]][row["build"]] = count
    for row in shown.rows:
        own = counts[row["device"], row["pool"]]
        row["squares"] = coverage_plot(newest, own, row["model_count"])
        row["newest"] = builds[-1 - row["behind"]]
    for row in shown_pools.rows:
        own = counts[None, row["pool"]]
        row["squares"] = coverage_plot(newest, own, row["device_count"], "device")
        row["href"] = request.here(pool=row["pool"], page="", pool_page="")
    note = (
        f"Coverage has a square for each of the newest {count_text(len(newest), 'build')}, the "
        "newest on the right. A full square: all {} recorded."
    )
    text = note.format("models of the device were")
    if pools.num_rows == 1:
        return [listing(request, "Devices", _DEVICE_COLUMNS, shown, note=text)]
    title = "Devices without the newest build"
    late = [listing(request, title, _DEVICE_COLUMNS, shown, note=text)] if shown.rows else []
    text = note.format("devices of the pool")
    return [listing(request, "Pools", _POOL_COLUMNS, shown_pools, part="pool_", note=text), *late]


def _pools(devices: pa.Table) -> pa.Table:
    """A row for each pool, in the order of their names."""
    is_late = pc.cast(pc.greater(devices["behind"], 0), pa.int64())
    sums = [("device", "count"), ("is_late", "sum"), ("dump_count", "sum"), ("last_at", "max")]
    pools = devices.append_column("is_late", is_late).group_by("pool").aggregate(sums)
    names = ["pool", "device_count", "late_count", "dump_count", "last_at"]
    return pools.rename_columns(names).sort_by("pool")


def _newest(row: Row) -> Cell:
    late = f" ({count_text(row['behind'], 'build')} behind)" if row["behind"] else ""
    href = link("/operators", device=row["device"], build=row["newest"])
    return Cell(f"{row['newest']}{late}", href)


_LAST = Column("Last recorded", lambda row: age_text(row["last_at"]), "last_at")
_COVERAGE = Column("Coverage", lambda row: Cell("", picture=row["squares"]))
_DUMPS = Column("Dumps", lambda row: f"{row['dump_count']:,}", "dump_count", is_number=True)
_DEVICE_COLUMNS = (
    Column("Device", lambda row: Cell(row["device"], link("/latency", device=row["device"])),
           "device"),
    Column("Newest build", _newest, "behind"),
    _COVERAGE,
    _LAST,
    Column("Pool", lambda row: row["pool"] or NONE, "pool"),
    Column("Models", lambda row: f"{row['model_count']:,}", "model_count", is_number=True),
    _DUMPS,
)  # fmt: skip
_POOL_COLUMNS = (
    Column("Pool", lambda row: Cell(row["pool"] or NONE, row["href"] if row["pool"] else ""),
           "pool"),
    Column("Devices", lambda row: f"{row['device_count']:,}", "device_count", is_number=True),
    Column("Behind", lambda row: f"{row['late_count']:,}", "late_count", is_number=True),
    _COVERAGE,
    _LAST,
    _DUMPS,
)  # fmt: skip
