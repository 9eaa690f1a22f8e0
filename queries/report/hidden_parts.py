"""The operators of a delegate in which a change of its call may hide.

A call is timed in nanoseconds, its operators often in whole microseconds each: the call shows
changes that no operator does.
"""

from __future__ import annotations

import numpy as np

from queries.report.figures import operator_text
from queries.report.night import HeadNight
from warehouse.regressions.level_changes import LevelChange
from warehouse.regressions.sensitivity import smallest_changes

_MOST_NAMED = 3
_SHARE = 0.5  # of the call's change that an operator must be able to hide
_OPERATOR = ("event_name", "delegate_id", "ordinal", "run")


def name_hidden_parts(night: HeadNight, change: LevelChange) -> list[str]:
    """The longest operators that could hide half of the change of a delegate's call, at most three.

    Empty unless the change is of a delegate's call, and where an operator of the delegates of the
    same runs shows it.
    """
    keys, base = night.fleet.keys, night.replay.night.base
    if keys["kind"][change.series].as_py() != "delegate_call":
        return []
    kinds, runs = (np.array(keys[name].to_pylist(), object) for name in ("kind", "run"))
    family = night.fleet.history.series.family
    parts = (family == family[change.series]) & (runs == runs[change.series])
    parts &= kinds == "delegate_op"
    shown = [
        other.series
        for other in night.replay.changes
        if other.fixed is None and other.direction == change.direction
    ]
    if parts[shown].any():
        return []
    hidden = np.exp(base.raw) * np.expm1(
        smallest_changes(night.fleet.history, night.replay, night.rules)
    )
    moved = np.exp(base.raw[change.series]) * abs(np.expm1(change.shift))
    possible = np.flatnonzero(parts & (hidden >= _SHARE * moved))
    longest = possible[np.argsort(-base.raw[possible], kind="stable")][:_MOST_NAMED]
    names = (night.fleet.name(series) for series in longest.tolist())
    return [operator_text(*(own[name] for name in _OPERATOR)) for own in names]
