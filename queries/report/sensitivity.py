"""The smallest change that a report would show, model by model."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.queries.report.content import Sensitivity
from tracehouse.queries.report.environment import Family
from tracehouse.queries.report.figures import operator_text
from tracehouse.queries.report.missing_data import ModelCounts, list_missing
from tracehouse.queries.report.part_night import PartNight
from tracehouse.warehouse.regressions.nightly import Rules, Status
from tracehouse.warehouse.regressions.sensitivity import smallest_changes
from tracehouse.warehouse.regressions.series_values import CONTAINERS, name_rows
from tracehouse.warehouse.statistics.arrays import Floats, Mask

BLIND_CHANGE = 0.10  # a model is blind if a larger typical change could hide
BLIND_EXPLAINED_SHARE = 0.5  # share of judged operators whose changes the shift of the run explains


class SeriesLimits(NamedTuple):
    """The smallest changes of a model's series that a report would show.

    Attributes:
        names: The operator of each series.
        smallest: The smallest change of each that the report would show, as a share; infinite
            where the series was not judged.
        time: The time of each series.
        is_explained: Whether the change was explained by the shift of the whole run.
        is_container: Whether the series only contains other operators.
    """

    names: Sequence[str]
    smallest: Floats
    time: Floats
    is_explained: Mask
    is_container: Mask


def describe_sensitivity(family: Family, limits: SeriesLimits, missing: str) -> Sensitivity:
    """The sensitivity of a model.

    `missing` are the data needed to judge the model, if it could not be judged.
    """
    smallest, judged = limits.smallest, np.isfinite(limits.smallest)
    counted = ~limits.is_container if (judged & ~limits.is_container).any() else judged
    explained = int((limits.is_explained & judged).sum())
    worst = int(np.argmax(np.where(judged, smallest, -1))) if judged.any() else None
    typical = _weighted_median(smallest[counted], limits.time[counted])
    is_blind = judged.any() and (
        typical is None
        or typical > BLIND_CHANGE
        or explained > BLIND_EXPLAINED_SHARE * int(judged.sum())
    )
    return Sensitivity(
        **family._asdict(),
        series_count=len(smallest),
        judged_count=int(judged.sum()),
        explained_count=explained,
        typical=typical,
        worst=None if worst is None else float(smallest[worst]),
        worst_operator=None if worst is None else limits.names[worst],
        is_blind=bool(is_blind),
        missing=missing if typical is None else None,
    )


def _weighted_median(values: Floats, weights: Floats) -> float | None:
    if not np.isfinite(values).any():
        return None
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    middle = float(values[order][np.searchsorted(reached, reached[-1] / 2)])
    return middle if math.isfinite(middle) else None


def part_sensitivity(night: PartNight, dumps: Mapping[Family, int]) -> list[Sensitivity]:
    """The sensitivity of each model in the head, without muted series."""
    latest, keys = night.replay.night, night.fleet.keys
    smallest = np.expm1(smallest_changes(night.fleet.history, night.replay, night.rules))
    own = night.is_own
    there = night.replay.cells.dump_count[:, own].max(axis=1, initial=0)
    level = np.nan_to_num(np.exp(night.replay.cells.median[:, own])).max(axis=1, initial=0)
    is_container = pc.is_in(keys["kind"], pa.array(CONTAINERS)).to_numpy()
    rows = _rows_of_families(night)
    names = name_rows(keys.select(["event_name", "delegate_id", "ordinal"]), operator_text)
    found = []
    for family, own_rows in rows.items():
        chosen = np.array([row for row in own_rows if there[row]], np.int64)
        if not len(chosen) and family not in dumps:
            continue
        limits = SeriesLimits(
            [names[row] for row in chosen.tolist()],
            smallest[chosen],
            level[chosen],
            latest.status[chosen] == Status.EXPLAINED_BY_RUN_SHIFT,
            is_container[chosen],
        )
        model = ModelCounts(
            dumps.get(family, 0),
            latest.status[chosen],
            latest.base.builds[chosen],
            latest.base.dumps[chosen],
            there[chosen],
        )
        found.append(describe_sensitivity(family, limits, list_missing(model, night.rules)))
    return found


def without_values(family: Family, dumps: int, rules: Rules) -> Sensitivity:
    """The sensitivity of a model of which no dump of any build has values."""
    none, no_values = np.zeros(0, np.int64), np.zeros(0)
    is_none = np.zeros(0, bool)
    limits = SeriesLimits([], no_values, no_values, is_none, is_none)
    model = ModelCounts(dumps, none, none, none, none)
    return describe_sensitivity(family, limits, list_missing(model, rules))


def _rows_of_families(night: PartNight) -> Mapping[Family, list[int]]:
    """The operators of each model that are neither muted nor of a pool."""
    names = ("device", "model", "backend", "event_name")
    is_measure = night.fleet.is_measure.tolist()
    rows: dict[Family, list[int]] = defaultdict(list)
    columns = (night.fleet.keys[name].to_pylist() for name in names)
    for row, (device, model, backend, event) in enumerate(zip(*columns, strict=True)):
        if (
            device is None
            or is_measure[row]
            or night.settings.mute_reason(device=device, model=model, event=event, on=night.day)
        ):
            continue
        rows[Family(device, model, backend)].append(row)
    return rows
