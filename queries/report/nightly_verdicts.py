"""A night's verdict on every series, with the numbers behind it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queries.report.judging import judge_here
from queries.report.night import find_head, min_changes, nightly_rules
from queries.report.settings import Settings
from warehouse.queryable import Streamable
from warehouse.regressions.level_changes import LevelChange
from warehouse.regressions.nightly import Status
from warehouse.regressions.parts import PartResult
from warehouse.regressions.series_values import COUNTED, KEY
from warehouse.statistics.arrays import Floats

_KEYS = ("device", "pool", "model", "backend", "run", "event_name", "delegate_id", "ordinal")
_WORDS = {1: "regression", -1: "improvement"}


def nightly_verdicts(store: Streamable, head: str | None, settings: Settings) -> pa.Table:
    """A row per series of the head (by default the last build) or an earlier build, by name.

    Measures of whole dumps have rows without a run; rates are inverted to times.

    Series of pools come last: they have no device; `base_count` and `head_count` count devices.

    Columns: device, pool, model, backend, run, event_name, delegate_id, ordinal; base_count
    and head_count (dumps); base_ns and head_ns (medians; null for clocks of unknown rate); delta
    (head over base less 1, null without values on both sides); p_adjusted (null unless tested);
    error (usual distance of builds from their bases, as a share) and is_residual (whether without
    the shift of the whole device); verdict; first_bad (of an open change, otherwise null).

    Verdicts: regression and improvement (confirmed and there), suspect_regression and
    suspect_improvement; returning (from an open change that may be gone); otherwise the `Status` in
    lower case.

    Raises:
        OptionError: The store has no such build, or no builds.
    """
    head = find_head(store, head, settings)
    min_change = partial(min_changes, settings=settings)
    parts = judge_here(store, head, min_change, nightly_rules(settings), _view_part)
    order = [(name, "ascending") for name in KEY]
    return pa.concat_tables(parts).sort_by(order).drop_columns(["unit", "kind"])


def _view_part(part: PartResult) -> pa.Table:
    """The rows of a part, in any order, with `unit` and `kind`."""
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
            **{name: keys[name] for name in (*_KEYS, "unit", "kind")},
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
