"""Canned queries that Python answers instead of SQL: verdicts on a night, and on two builds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.catalogue.header import Names
from warehouse.catalogue.name_filters import resolve_names
from warehouse.catalogue.parameters import bind_parameters
from warehouse.catalogue.queries import Query
from warehouse.errors import ParameterError
from warehouse.queryable import Streamable
from warehouse.regressions.fleet import MinChange
from warehouse.regressions.judging import Judge, judge_here, list_heads
from warehouse.regressions.level_changes import LevelChange
from warehouse.regressions.nightly import MIN_CHANGE, Rules, Status
from warehouse.regressions.parts import PartResult
from warehouse.regressions.series_values import COUNTED, KEY
from warehouse.regressions.two_builds import JudgeParts, answer_pair
from warehouse.statistics.arrays import Floats

_KEYS = ("device", "pool", "model", "backend", "run", "event_name", "delegate_id", "ordinal")
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
        rows = store.sql(f"SELECT DISTINCT {names.column} AS name FROM {names.table}")  # noqa: S608
        return [name for name in rows["name"].to_pylist() if name is not None]

    thresholds = thresholds or Thresholds()
    head = resolve_names(query, bind_parameters(query, params), read_names)["head"]
    if head is None:
        heads = list_heads(store, None)
        if not heads:
            problem = "the store has no builds yet: ingest dumps first"
            raise ParameterError(query.header.name, "head", problem)
        head = heads[-1]
    judge = judges.night or partial(judge_here, store)
    parts = judge(str(head), thresholds.min_change, thresholds.rules, _view_part)
    order = [(name, "ascending") for name in KEY]
    return pa.concat_tables(parts).sort_by(order).drop_columns(["unit", "kind", "op_type"])


def _view_part(part: PartResult) -> pa.Table:
    """The rows of a part, in any order, with all of `KEY`."""
    latest, keys = part.replay.night, part.fleet.keys
    last = part.fleet.history.build_count - 1
    level = part.replay.cells.median[:, last]
    is_time = (np.array(keys["unit"].to_pylist(), object) == "ns") & ~part.fleet.is_pool
    is_time &= ~pc.is_in(keys["kind"], pa.array(sorted(COUNTED))).to_numpy()
    delta, p = np.expm1(level - latest.base.raw), np.full(len(keys), np.nan)
    delta[latest.tested] = np.expm1(latest.comparison.shift)
    p[latest.tested] = latest.p_adjusted
    verdicts, first_bad = _verdicts(part)
    return pa.table(
        {
            **{name: keys[name] for name in (*_KEYS, "unit", "kind", "op_type")},
            "base_count": pa.array(latest.base.dumps, pa.int64()),
            "head_count": pa.array(part.replay.cells.dump_count[:, last], pa.int64()),
            "base_ns": _known(np.where(is_time, np.exp(latest.base.raw), np.nan)),
            "head_ns": _known(np.where(is_time, np.exp(level), np.nan)),
            "delta": _known(delta),
            "p_adjusted": _known(p),
            "error": _known(latest.base.error),
            "is_residual": pa.array(latest.base.is_residual),
            "verdict": pa.array(verdicts, pa.string()),
            "first_bad": pa.array(first_bad, pa.string()),
        }
    )


def _known(values: Floats) -> pa.Array:
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
