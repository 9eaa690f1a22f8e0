"""Measures how well changes are told from noise: `make bench-detection`. Reports, never gates.

    python -m tests.tools.detection.run PEERS_PYTHON RECORD [--quick]

The nightly rule on simulated farms by itself, and on pools of devices; side by side with Apache
Otava and asv, run by another Python, on the same series; one cause on many devices; and a farm of
real dumps through the whole command line, beside the rule on its arrays. Every core tries another
noise. With --quick there are fewer trials of everything: enough to see what a change of the rule
breaks, too few for a share of 1 %.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.tools.benchmarks.record import Figures, Record, render_figure
from tests.tools.benchmarks.report import publish
from tests.tools.detection.agreement import try_command_line
from tests.tools.detection.detectors import Detector, detect_nightly
from tests.tools.detection.farms import NOISES, SERIES_PER_FAMILY, Noise
from tests.tools.detection.peers import Peer, list_versions
from tests.tools.detection.pools import try_pools
from tests.tools.detection.trials import (
    BUILDS,
    FALSE,
    RATE,
    SIZES,
    Extent,
    count_suspects,
    found_unit,
    right_unit,
    try_noise,
    try_one_cause,
)
from tracehouse.warehouse.load.pipeline import count_cores

RECORD = Path(__file__).parent / "record.json"
SEED = 1
SUSPECTS = "suspects per 1,000 series-nights"
SHOWN_TO_ALL = ("normal", "Student t3", "AR(1) nights, 1 %", "two-speed processes")


class Effort(NamedTuple):
    """How much is tried.

    Attributes:
        alone: Of the nightly rule by itself.
        side_by_side: Of all detectors.
        pools: Pools of devices.
    """

    alone: Extent
    side_by_side: Extent
    pools: int


FULL = Effort(Extent(calm=50, nights=90, changed=150), Extent(calm=10, nights=90, changed=40), 10)
QUICK = Effort(Extent(calm=15, nights=90, changed=50), Extent(calm=3, nights=90, changed=15), 2)


def try_alone(noise: Noise, effort: Effort) -> Figures:
    """The nightly rule on farms of a noise; with full effort they tell 1 % of the series."""
    name = name_rule(effort.alone)
    figures = try_noise(noise, {name: detect_nightly}, effort.alone, SEED)
    fewer = effort.alone._replace(calm=effort.side_by_side.calm)
    figures[f"{noise.title}: {name}"][SUSPECTS] = count_suspects(noise, fewer, SEED + 1)
    return figures


def try_side_by_side(noise: Noise, python: Path, effort: Effort) -> Figures:
    """The nightly rule, Otava and asv on the same series."""
    detectors: dict[str, Detector] = {
        name_rule(effort.side_by_side): detect_nightly,
        "Otava": Peer(python, "otava"),
        "asv": Peer(python, "asv"),
    }
    return try_noise(noise, detectors, effort.side_by_side, SEED + 2)


def name_rule(extent: Extent) -> str:
    """What the nightly rule is called, with how many series it was tried on."""
    return f"rule, {extent.calm * SERIES_PER_FAMILY} series"


def try_reports() -> Figures:
    """Reports of a small farm through the command line."""
    with tempfile.TemporaryDirectory(prefix="tracehouse-detection-") as folder:
        return try_command_line(Path(folder), SEED)


def list_trials(python: Path, effort: Effort) -> Iterator[Callable[[], Figures]]:
    """All that is tried, in the order of the record."""
    yield try_reports
    yield partial(try_one_cause, 40, SEED)
    for noise in NOISES:
        yield partial(try_alone, noise, effort)
        yield partial(try_pools, noise, SEED + 3, pools=effort.pools)
    for noise in NOISES:
        if noise.title in SHOWN_TO_ALL:
            yield partial(try_side_by_side, noise, python, effort)


def list_rows(record: Record) -> Iterator[tuple[str, ...]]:
    """A row for every noise and detector."""
    shown = ""
    for what, figures in record.figures.items():
        if FALSE not in figures:
            continue
        noise, _, detector = what.partition(": ")
        numbers = (_render(figures, unit) for unit in (SUSPECTS, RATE, FALSE))
        found = (_slashed(figures, ratio) for ratio in SIZES)
        yield ("" if noise == shown else noise, detector, *numbers, *found)
        shown = noise


def _slashed(figures: dict[str, float], ratio: float) -> str:
    units = [*(found_unit(ratio, builds) for builds in BUILDS), right_unit(ratio)]
    return "/".join(f"{figures[unit]:.0f}" if unit in figures else "-" for unit in units)


def _render(figures: dict[str, float], unit: str) -> str:
    return render_figure(figures[unit]) if unit in figures else ""


def main(python: Path, path: Path, effort: Effort) -> None:
    """Try everything with the peers of that Python, print tables and write the record."""
    with ProcessPoolExecutor(count_cores()) as pool:
        trials = [pool.submit(trial) for trial in list_trials(python, effort)]
        figures = {what: units for trial in trials for what, units in trial.result().items()}
    record, before = Record.of(figures, **list_versions(python)), Record.read(RECORD)
    columns = ("noise", "detector", "suspects", "alarms", "false, %", "+5 % found", "+10 % found")
    publish(record, before, path, columns=columns, rows=list_rows(record))
    print("suspects, alarms: per 1,000 series-nights without a change; false: share of the series")
    print("found: within 1/2/5 builds/of them those whose first bad build is right, %")
    for what, by_unit in record.figures.items():
        if FALSE not in by_unit:
            print(what, *(f"{unit}: {render_figure(value)}" for unit, value in by_unit.items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), QUICK if "--quick" in sys.argv[3:] else FULL)
