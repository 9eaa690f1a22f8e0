"""Canned queries that Python answers instead of SQL: about nights, and about two builds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.catalogue.header import Names
from tracehouse.warehouse.catalogue.name_filters import resolve_names
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import Query
from tracehouse.warehouse.errors import ParameterError
from tracehouse.warehouse.queryable import Streamable
from tracehouse.warehouse.regressions.changes import LevelChange, compare_builds
from tracehouse.warehouse.regressions.fleet import MinChange
from tracehouse.warehouse.regressions.judging import (
    Judge,
    JudgeParts,
    answer_pair,
    judge_here,
    list_heads,
)
from tracehouse.warehouse.regressions.nightly import MIN_CHANGE, Rules, Status
from tracehouse.warehouse.regressions.parts import PartResult, Selection
from tracehouse.warehouse.regressions.series_values import COUNTED, RATES
from tracehouse.warehouse.statistics.arrays import Floats

_CHANGES = "change_points"
_KEYS = ("device", "pool", "model", "backend", "run", "event_name", "delegate_id", "ordinal")
_ORDER = (*_KEYS, "unit", "kind", "op_type")
_FILTERED = {"event": "event_name"}  # columns of other names than the filters of rows
_PLACES = "SELECT DISTINCT device, coalesce(pool, device) AS place FROM named_dumps"
_MEASURES = " UNION SELECT name FROM dump_measures"  # events of whole dumps
_WORDS = {1: "regression", -1: "improvement"}


def least_changes(keys: pa.Table) -> Floats:
    """The smallest relevant change of each series where no settings say another one."""
    return np.full(len(keys), MIN_CHANGE)


class Thresholds(NamedTuple):
    """What nights are judged by.

    Attributes:
        rules: The thresholds of verdicts.
        min_change: Returns the smallest relevant change of each series, by its keys.
    """

    rules: Rules = Rules()
    min_change: MinChange = least_changes


class Judges(NamedTuple):
    """Who judges the series of a store; by default this process does.

    Attributes:
        night: Judges those of a night.
        pair: Judges those of two builds.
    """

    night: Judge | None = None
    pair: JudgeParts | None = None


def answer_computed(
    store: Streamable,
    query: Query,
    params: Mapping[str, object],
    thresholds: Thresholds | None = None,
    *,
    judges: Judges = Judges(),  # noqa: B008 - it is immutable
) -> pa.Table:
    """The rows of a query that Python answers.

    Args:
        store: The store, or a lake.
        query: The query.
        params: Its parameters.
        thresholds: What nights are judged by; None for the default ones.
        judges: Who judges the series.

    Raises:
        ParameterError: A parameter is unknown or of the wrong type, or the store has no such build,
            or no build at all.
    """
    if not query.is_nightly:
        return answer_pair(store, query, params, judges.pair)

    def read_names(names: Names) -> list[object]:
        text = f"SELECT DISTINCT {names.column} AS name FROM {names.table}"  # noqa: S608
        rows = store.sql(text + _MEASURES * (names.column == "event_name"))
        return [name for name in rows["name"].to_pylist() if name is not None]

    thresholds = thresholds or Thresholds()
    bound = resolve_names(query, bind_parameters(query, params), read_names)
    head = bound.pop("head")
    if head is None:
        heads = list_heads(store, None)
        if not heads:
            problem = "the store has no builds yet: ingest dumps first"
            raise ParameterError(query.header.name, "head", problem)
        head = heads[-1]
    judge = judges.night or partial(judge_here, store)
    view = _view_changes if query.header.name == _CHANGES else _view_series
    selection = _select_parts(store, bound)
    parts = judge(str(head), thresholds.min_change, thresholds.rules, view, selection)
    rows = _choose_rows(pa.concat_tables(parts), bound)
    names = [column.name for column in query.header.columns]
    answer = rows.sort_by([(name, "ascending") for name in _ORDER]).select(names)
    count = answer["verdict"].null_count
    if not count:
        return answer
    note = {"note": f"{count:,} other series have no change: 'tracehouse query nightly_verdicts'"}
    return answer.filter(answer["verdict"].is_valid()).replace_schema_metadata(note)


def _select_parts(store: Streamable, filters: Mapping[str, Any]) -> Selection:
    """The parts that may have rows that pass filters; a device is judged with all of its pool."""
    places = filters["pool"]
    if places is None and filters["device"] is not None:
        rows = store.sql(_PLACES).to_pylist()
        places = [row["place"] for row in rows if row["device"] in filters["device"]]
    return Selection(places, filters["model"], filters["backend"])


def _choose_rows(rows: pa.Table, filters: Mapping[str, object]) -> pa.Table:
    """The rows that have a value of each filter, unless it is None."""
    for name, wanted in filters.items():
        if wanted is not None:
            column = rows[_FILTERED.get(name, name)]
            values = wanted if isinstance(wanted, list) else [wanted]
            rows = rows.filter(pc.is_in(column, pa.array(values, column.type)))
    return rows


def _view_changes(part: PartResult) -> pa.Table:
    """The changes of a part, those of a series in order; and series without one, as nulls."""
    fleet, changes = part.fleet, part.replay.changes
    history, counts = fleet.history, part.replay.cells.dump_count
    since = [change.list_nights(counts[change.series]) for change in changes]
    pairs = [(change, change.base, nights) for change, nights in zip(changes, since, strict=True)]
    delta = np.expm1(compare_builds(history, pairs).shift)
    bases = (history.values_in(change.series, change.base) for change in changes)
    before = np.array([np.exp(np.median(values)) for values in bases], float)
    series = np.array([change.series for change in changes], np.int64)
    before[fleet.is_pool[series]] = np.nan
    keys = fleet.keys.take(pa.array(series))

    def name_builds(nights: Iterable[int | None]) -> pa.Array:
        names = [None if night is None else fleet.nights[night].build for night in nights]
        return pa.array(names, pa.string())

    found = pa.table(
        {
            **{name: keys[name] for name in _ORDER},
            "verdict": pa.array(map(_word, changes), pa.string()),
            "first_bad": name_builds(change.first_bad for change in changes),
            "last_good": name_builds(change.last_good for change in changes),
            "confirmed_in": name_builds(change.confirmed for change in changes),
            "fixed_in": name_builds(change.fixed for change in changes),
            "unit": pa.array(map(_name_unit, keys.to_pylist()), pa.string()),
            "before": _as_column(before),
            "after": _as_column(before * (1 + delta)),
            "delta": _as_column(delta),
            "error": _as_column(np.array([change.errors[0] for change in changes], float)),
        }
    )
    others = fleet.keys.take(pa.array(np.setdiff1d(np.arange(len(fleet.keys)), series)))
    return pa.concat_tables([found, others.select(_ORDER)], promote_options="default")


def _name_unit(series: Mapping[str, Any]) -> str:
    """The unit of a series' values: a counter has its own as delegate id, a rate the inverse."""
    if series["kind"] not in COUNTED:
        return str(series["unit"])
    unit = str(series["delegate_id"] or "ns")
    if series["kind"] not in RATES:
        return unit
    counted = unit.removesuffix("/s")
    return f"s/{counted}" if counted else "s"


def _view_series(part: PartResult) -> pa.Table:
    """The rows of the series of a part, in any order."""
    latest, keys = part.replay.night, part.fleet.keys
    last = part.fleet.history.build_count - 1
    level = part.replay.cells.median[:, last]
    is_time = (np.array(keys["unit"].to_pylist(), object) == "ns") & ~part.fleet.is_pool
    is_time &= ~pc.is_in(keys["kind"], pa.array(sorted(COUNTED))).to_numpy()
    change, p = level - latest.base.raw, np.full(len(keys), np.nan)
    change[latest.tested] = latest.comparison.shift
    after = np.where(np.isfinite(change), latest.base.raw + change, level)
    p[latest.tested] = latest.p_adjusted
    verdicts, first_bad = _verdicts(part)
    return pa.table(
        {
            **{name: keys[name] for name in _ORDER},
            "base_count": pa.array(latest.base.dumps, pa.int64()),
            "head_count": pa.array(part.replay.cells.dump_count[:, last], pa.int64()),
            "base_ns": _as_column(np.where(is_time, np.exp(latest.base.raw), np.nan)),
            "head_ns": _as_column(np.where(is_time, np.exp(after), np.nan)),
            "delta": _as_column(np.expm1(change)),
            "p_adjusted": _as_column(p),
            "error": _as_column(latest.base.error),
            "is_residual": pa.array(latest.base.is_residual),
            "verdict": pa.array(verdicts, pa.string()),
            "first_bad": pa.array(first_bad, pa.string()),
        }
    )


def _as_column(values: Floats) -> pa.Array:
    return pa.array(values, pa.float64(), mask=~np.isfinite(values))


def _verdicts(part: PartResult) -> tuple[list[str], list[str | None]]:
    status = part.replay.night.status.tolist()
    names = {code: code.name.lower() for code in Status} | {Status.HIT: "returning"}
    verdicts = [names[Status(code)] for code in status]
    first_bad: list[str | None] = [None] * len(verdicts)
    for change in part.replay.changes:
        if change.fixed is None:
            verdicts[change.series] = _word(change)
            first_bad[change.series] = part.fleet.nights[change.first_bad].build
    return verdicts, first_bad


def _word(change: LevelChange) -> str:
    word = _WORDS[change.direction]
    return word if change.confirmed is not None else f"suspect_{word}"
