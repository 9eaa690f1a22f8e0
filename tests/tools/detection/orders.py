"""Tries the nightly rule on real dumps of builds that are alike, in many orders of their nights.

    python -m tests.tools.detection.orders FOLDER [DEVICE...]

The folder is ingested as it is. Nothing changed between the builds of these devices, by default of
all, so that whatever is confirmed is a false alarm, in any order; and an operator of each model is
made slower from the last night but one on, to be confirmed by the last.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from tests.tools.benchmarks.record import Figures, render_figure
from warehouse import Warehouse
from warehouse.catalogue.sql_files import read_statement
from warehouse.regressions.fleet import CONTAINERS, Fleet, build_fleet
from warehouse.regressions.history import SeriesHistory, lay_out
from warehouse.regressions.level_changes import LevelChange
from warehouse.regressions.replay import replay

Ints = NDArray[np.int64]

LEAST_NIGHTS = 5  # for one to be changed, another to confirm it and some to be their base
ORDERS = 60
SIZES = (1.05, 1.10, 1.20)
SEED = 1
_MIN_CHANGE = 0.03


def read_fleets(store: Warehouse, devices: Sequence[str] = ()) -> Iterator[tuple[str, Fleet]]:
    """The builds of each device as nights; of those that have enough of them."""
    builds = store.sql(
        "SELECT d.device, arg_max(b.build, b.position) AS head, count(DISTINCT b.build) AS builds "
        "FROM named_dumps AS d JOIN builds_in_order AS b USING (build) GROUP BY 1 ORDER BY 1"
    ).to_pylist()
    for device, head, count in (row.values() for row in builds):
        if count >= LEAST_NIGHTS and (not devices or device in devices):
            rows = store.sql(read_statement("fleet_values"), {"head": head})
            own = rows.filter(pc.equal(rows["device"], device))
            yield device, build_fleet(own, head, lambda keys: np.full(len(keys), _MIN_CHANGE))


def reorder(
    history: SeriesHistory, order: Ints, slower: Mapping[int, float], first_bad: int
) -> SeriesHistory:
    """The nights in another order, and series so many times as slow from one of them on."""
    count, nights = history.series_count, history.build_count
    cells = (np.arange(count)[:, None] * nights + order).ravel()
    values = [history.values[history.start[cell] : history.start[cell + 1]] for cell in cells]
    for series, ratio in slower.items():
        for night in range(series * nights + first_bad, (series + 1) * nights):
            values[night] = values[night] + np.log(ratio)
    sizes = np.array([len(own) for own in values])
    dumps = [history.dump[history.start[cell] : history.start[cell + 1]] for cell in cells]
    return lay_out(
        history.series,
        nights,
        np.arange(len(cells)),
        sizes,
        np.concatenate(values),
        np.concatenate(dumps),
    )


def try_orders(fleet: Fleet, seed: int = SEED) -> dict[str, float]:
    """False alarms, and the share of slower operators that was confirmed."""
    rng = np.random.default_rng(seed)
    nights = fleet.history.build_count
    orders = [rng.permutation(nights) for _ in range(ORDERS)]
    false = [len(_confirmed(fleet, order, {})) for order in orders]
    figures = {
        "series": fleet.history.series_count,
        "orders": len(orders),
        "false alarms": sum(false),
        "orders with one": sum(map(bool, false)),
    }
    for ratio in SIZES:
        found: list[bool] = []
        for order in orders:
            slower = dict.fromkeys(_choose(fleet, rng), ratio)
            alarms = _confirmed(fleet, order, slower)
            slow = {alarm.series for alarm in alarms if alarm.direction > 0}
            found += [series in slow for series in slower]
        figures[f"+{100 * (ratio - 1):.0f} % confirmed, %"] = 100 * float(np.mean(found))
    return figures


def _confirmed(fleet: Fleet, order: Ints, slower: Mapping[int, float]) -> list[LevelChange]:
    history = reorder(fleet.history, order, slower, len(order) - 2)
    return [change for change in replay(history).changes if change.confirmed is not None]


def _choose(fleet: Fleet, rng: np.random.Generator) -> list[int]:
    """An operator of each family, of those that are long enough to be compared."""
    history, kinds = fleet.history, fleet.keys["kind"].to_pylist()
    ends = history.start[:: history.build_count]
    medians = [np.median(history.values[a:b]) for a, b in pairwise(ends)]
    can = np.array([kind not in CONTAINERS for kind in kinds]) & (medians >= history.series.floor)
    can &= ~fleet.is_measure
    families = history.series.family
    return [
        int(rng.choice(np.flatnonzero((families == family) & can)))
        for family in np.unique(families[can])
    ]


def try_folder(folder: Path, devices: Sequence[str] = ()) -> Figures:
    """Every device of a folder of dumps.

    Raises:
        SystemExit: None has enough builds.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tracehouse-orders-") as temporary,
        Warehouse.open(Path(temporary) / "store", create=True) as store,
    ):
        store.ingest([folder], archive=False)
        figures = {device: try_orders(fleet) for device, fleet in read_fleets(store, devices)}
    if not figures:
        sys.exit(f"{folder}: no device with {LEAST_NIGHTS} or more builds, wanted as many nights")
    return figures


def main(folder: Path, devices: Sequence[str]) -> None:
    """Print a row for each device."""
    figures = try_folder(folder, devices)
    table = Table("device", *next(iter(figures.values())))
    for device, by_unit in figures.items():
        table.add_row(device, *map(render_figure, by_unit.values()))
    Console(width=140).print(table)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
