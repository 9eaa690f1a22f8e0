"""The view of the fleet: its pools and devices, their health, and what they recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.cli.serve.page.cells import Cell, Row, age_text, link
from tracehouse.cli.serve.page.charts import coverage_plot
from tracehouse.cli.serve.page.device_days import add_days, day_table, heat_text
from tracehouse.cli.serve.page.last_night import night_parts
from tracehouse.cli.serve.page.listing import Column, Table, listing, sort_page
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.report.figures import NONE, count_text, number_text

NEWEST = 20  # builds in a coverage
_FEW = 10  # devices, which are shown even if all are well
FIELDS = ("sort", "page", "pool_sort", "pool_page", "day_sort", "day_page")


def fleet(request: PageRequest) -> dict[str, Any]:
    """The last night, unless the fleet is filtered; then its pools and devices."""
    builds = request.rows("page_builds")
    if not builds:
        return {"title": "Fleet", "empty": "No dumps here yet: upload some, or widen the filters."}
    whole, *builds = builds
    devices = request.table("device_health")
    if "device" in request.filters:  # which must not change what they are compared with
        others = request.table("device_health", device=None)
        devices = others.filter(pc.is_in(others["device"], value_set=devices["device"]))
    late = pc.sum(pc.greater(devices["builds_behind"], 0)).as_py() or 0
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
    """The devices; of several pools, the pools and the devices with problems."""
    pools = _pools(devices)
    if pools.num_rows > 1:  # a pool leads to its other devices
        devices = devices.filter(_is_sick(devices))
    has_heat = devices["temperature_c"].null_count < devices.num_rows
    unneeded = [*([] if has_heat else [_HEAT]), *([_POOL] if pools.num_rows == 1 else [])]
    columns = [one for one in _DEVICE_COLUMNS if one not in unneeded]
    shown_pools = sort_page(request, pools, _POOL_COLUMNS, sort="-sick_count", part="pool_")
    shown = sort_page(request, devices, columns, sort="-problem_count")
    newest = builds[-NEWEST:]
    names = [row["device"] for row in shown.rows] or [""]  # which no device has
    counts: dict[tuple[str | None, str | None], dict[str, int]] = defaultdict(dict)
    for row in request.rows("page_coverage", build=newest, shown=names):
        count = row["device_count"] if row["device"] is None else row["model_count"]
        counts[row["device"], row["pool"]][row["build"]] = count
    for row in shown.rows:
        own = counts[row["device"], row["pool"]]
        row["squares"] = coverage_plot(newest, own, row["model_count"])
    days = add_days(request, shown.rows)
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
        is_well = devices.num_rows > _FEW and not pc.any(_is_sick(devices)).as_py()
        title = f"Devices: none of {devices.num_rows:,} has a problem" if is_well else "Devices"
        is_folded = is_well and not (request.fields or request.filters)
        whole = replace(listing(request, title, columns, shown, note=text), is_folded=is_folded)
        return [whole, *([day_table(request, days)] if devices.num_rows == 1 else [])]
    title = "Devices with problems"
    late = [listing(request, title, columns, shown, note=text)] if shown.rows else []
    text = note.format("devices of the pool")
    return [listing(request, "Pools", _POOL_COLUMNS, shown_pools, part="pool_", note=text), *late]


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
    """The problems of a device, in words; the link leads to the device's days."""
    own, pool = heat_text(row["temperature_c"]), heat_text(row["pool_temperature_c"])
    texts = {
        "silent": f"silent for {count_text(row['builds_behind'] or 0, 'build')}",
        "refused": f"{_refused(row)} refused, {_share(row['pool_refused_share'])} in its pool",
        "hot": f"{own}, its pool {pool}",
    }
    wrong = [texts[problem] for problem in (row["problems"] or "").split(", ") if problem]
    device = row["device"] if row["dump_count"] else None
    return Cell("; ".join(wrong) or "none", link("/", device=device, pool=row["pool"]))


def _refused(row: Row) -> str:
    return f"{row['refused_count']:,} ({_share(row['refused_share'])})"


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
_HEAT = Column(
    "Temperature",
    lambda row: Cell(heat_text(row["temperature_c"]), picture=row["heat_days"]),
    "temperature_c",
)
_POOL = Column("Pool", lambda row: row["pool"] or NONE, "pool")
_COVERAGE = Column("Coverage", lambda row: Cell("", picture=row["squares"]))
_DUMPS = Column("Dumps", lambda row: f"{row['dump_count']:,}", "dump_count", is_number=True)
_DEVICE_COLUMNS = (
    Column("Device", _device, "device"),
    Column("Problems", _problems, "problem_count"),
    Column("Newest build", _newest, "builds_behind"),
    _COVERAGE,
    _LAST,
    Column("Dumps a day", lambda row: Cell("", picture=row["dump_days"])),
    Column("Refused", _refused, "refused_share", is_number=True),
    _HEAT,
    _POOL,
    _DUMPS,
)  # fmt: skip
_POOL_COLUMNS = (
    Column("Pool", lambda row: Cell(row["pool"] or NONE, row["href"] if row["pool"] else ""),
           "pool"),
    Column("Devices", lambda row: f"{row['device_count']:,}", "device_count", is_number=True),
    Column("Problems", lambda row: f"{row['sick_count']:,}", "sick_count", is_number=True),
    _COVERAGE,
    _LAST,
    _DUMPS,
)  # fmt: skip
