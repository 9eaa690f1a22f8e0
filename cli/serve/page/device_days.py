"""The days of devices: dumps, refusals and temperatures, as sparklines and as a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from glob import escape

import pyarrow as pa

from tracehouse.cli.serve.page.cells import Row
from tracehouse.cli.serve.page.charts import spark_plot
from tracehouse.cli.serve.page.listing import Column, Table, listing, sort_page
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.report.figures import NONE

DAYS = 30  # of a sparkline


def add_days(request: PageRequest, devices: Sequence[Row]) -> pa.Table:
    """The days of devices, of which each row gets the sparklines `dump_days` and `heat_days`."""
    names = [escape(row["device"]) for row in devices if row["dump_count"]]
    table = request.table("device_days", device=names) if names else pa.table({})
    found: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for day in table.to_pylist():
        found[day["device"], day["pool"]].append(day)
    for row in devices:
        days = found[row["device"], row["pool"]]
        row["dump_days"] = _plot(days, "dumps a day", "dump_count", none=0, unit="count")
        row["heat_days"] = _plot(days, "temperature", "temperature_c", none=None, unit="°C")
    return table


def day_table(request: PageRequest, days: pa.Table) -> Table:
    """The table of the days of a device."""
    shown = sort_page(request, days, _COLUMNS, sort="-day", part="day_")
    return listing(request, "Days", _COLUMNS, shown, part="day_")


def heat_text(celsius: float | None) -> str:
    """A temperature in whole degrees."""
    return NONE if celsius is None else f"{celsius:.0f} °C"


def _plot(days: Sequence[Row], what: str, field: str, *, none: int | None, unit: str) -> str:
    """A sparkline over the newest days; a day that is not among them has the value `none`."""
    if not days:
        return ""
    last, known = days[-1]["day"], {day["day"]: day[field] for day in days}
    span = min(DAYS - 1, (last - days[0]["day"]).days)
    wanted = [last - timedelta(days=back) for back in range(span, -1, -1)]
    values = [known.get(day, none) for day in wanted]
    return spark_plot([f"{day:%Y-%m-%d}" for day in wanted], what, values, unit=unit)


_COLUMNS = (
    Column("Day", lambda row: f"{row['day']:%Y-%m-%d}", "day"),
    Column("Dumps", lambda row: f"{row['dump_count']:,}", "dump_count", is_number=True),
    Column("Refused", lambda row: f"{row['refused_count']:,}", "refused_count", is_number=True),
    Column("Temperature", lambda row: heat_text(row["temperature_c"]), "temperature_c",
           is_number=True),
    Column("Highest", lambda row: heat_text(row["max_temperature_c"]), "max_temperature_c",
           is_number=True),
)  # fmt: skip
