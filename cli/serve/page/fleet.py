"""The fleet: its devices, how fresh their data is, and which builds they have seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from cli.serve.page.charts import coverage_plot
from cli.serve.page.site import Cell, Table, Visit, link, view
from queries.report.figures import NONE, count_text, number_text

NEWEST = 20  # builds that are shown
MOST_DEVICES = 500
_BUILDS = "SELECT build FROM builds_in_order ORDER BY position"


def build_order(visit: Visit) -> list[str]:
    """All builds of the store, the newest last."""
    builds: list[str] = visit.store.sql(_BUILDS)["build"].to_pylist()
    return builds


@view
def fleet(visit: Visit) -> tuple[str, dict[str, Any]]:
    """A line for each device."""
    rows = visit.rows("coverage")
    recorded = {row["build"] for row in rows}
    order = [build for build in build_order(visit) if build in recorded]
    devices: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        devices[row["device"]].append(row)
    stale = sum(1 for found in devices.values() if _newest(found, order) != order[-1])
    tiles = [
        ("", len(devices), "device"),
        ("", len(order), "build"),
        ("", len({(row["model"], row["backend"]) for row in rows}), "model"),
        ("", sum(row["dump_count"] for row in rows), "dump"),
        ("", sum(row["event_count"] for row in rows), "event"),
        ("warn" if stale else "", stale, "device without the newest build"),
    ]
    shown = order[-NEWEST:]
    table = Table(
        "Devices",
        ("Device", "Pool", "Models", "Dumps", "Newest build", "Last recorded", "Coverage"),
        [_row(device, devices[device], shown, order) for device in sorted(devices)[:MOST_DEVICES]],
        frozenset({2, 3}),
        note=(
            f"Coverage: a square for each of the newest {count_text(len(shown), 'build')}, the "
            "newest on the right; full where all models of the device were recorded."
        ),
    )
    cut = len(devices) - MOST_DEVICES
    return "tables.html.jinja", {
        "title": "Fleet",
        "tiles": [(kind, number_text(count), _noun(count, what)) for kind, count, what in tiles],
        "tables": [table] if rows else [],
        "empty": "Nothing is recorded here yet: upload dumps, or widen the filters.",
        "cut": f"{cut:,} more devices: filter them." if cut > 0 else "",
    }


def _noun(count: int, what: str) -> str:
    return what if count == 1 or " " in what else f"{what}s"


def _newest(rows: Sequence[dict[str, Any]], order: Sequence[str]) -> str:
    builds = {row["build"] for row in rows}
    return next(build for build in reversed(order) if build in builds)


def _row(
    device: str, rows: Sequence[dict[str, Any]], shown: Sequence[str], order: Sequence[str]
) -> list[Cell]:
    models = {(row["model"], row["backend"]) for row in rows}
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        counts[row["build"]] += 1
    newest = _newest(rows, order)
    behind = len(order) - 1 - order.index(newest)
    late = f" ({behind} behind)" if behind else ""
    times = [row["last_captured_at"] or row["last_ingested_at"] for row in rows]
    return [
        Cell(device, link("/latency", device=device)),
        Cell(rows[0]["pool"] or NONE),
        Cell(f"{len(models):,}"),
        Cell(f"{sum(row['dump_count'] for row in rows):,}"),
        Cell(f"{newest}{late}", link("/operators", device=device, build=newest)),
        Cell(age_text(max(times))),
        Cell("", picture=coverage_plot(shown, counts, len(models))),
    ]


def age_text(when: datetime | None) -> str:
    """How long ago something was."""
    if when is None:
        return NONE
    seconds = max((datetime.now(UTC) - when).total_seconds(), 0.0)
    for unit, size in (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}s ago"
    return f"{seconds:.0f} s ago"
