"""Answers about two builds: their values are read part by part, and judged here or on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.catalogue.header import Names
from tracehouse.warehouse.catalogue.name_filters import resolve_names
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import Query, find_query
from tracehouse.warehouse.queryable import Streamable
from tracehouse.warehouse.regressions.judging import VALUES_AT_ONCE, ValueFiles, count_files
from tracehouse.warehouse.regressions.pair import ORDER, TwoBuilds, judge_pair
from tracehouse.warehouse.regressions.pair_dumps import describe_dumps
from tracehouse.warehouse.regressions.pair_groups import read_modules
from tracehouse.warehouse.regressions.pair_verdicts import Limits

COMPARISON, DELTAS = "comparison", "regression_deltas"
_WITHOUT_EVENT = ("operator_type", "module")  # whose names are no events
_OPERATORS = ("method", "delegate", "operator")  # levels of rows of `regression_deltas`

JudgePart = Callable[[pa.Table], pa.Table]


class JudgeParts(Protocol):
    """Judges the rows of a query part by part: whole families, with all devices of a pool."""

    def __call__(
        self, values: Query, params: Mapping[str, object], judge: JudgePart, /
    ) -> list[pa.Table]:
        """The rows of `judge` for each part, at least one."""


def answer_pair(
    store: Streamable,
    query: Query,
    params: Mapping[str, object],
    judge_parts: JudgeParts | None = None,
) -> pa.Table:
    """The rows of a query about two builds.

    Args:
        store: The store, or a lake.
        query: `comparison` or `regression_deltas`.
        params: Its parameters.
        judge_parts: Judges the values; by default this process does.

    Raises:
        ParameterError: A parameter is unknown, missing, of the wrong type or out of range, or names
            something that the store does not have.
    """
    events = _chosen_events(store, query, params)
    rows = judge_builds(store, query, params, judge_parts)
    if events is not None:
        has_event = pc.invert(pc.is_in(rows["level"], pa.array(_WITHOUT_EVENT)))
        is_chosen = pc.is_in(rows["event_name"], pa.array(events, pa.string()))
        rows = rows.filter(pc.and_(has_event, is_chosen))
    if query.header.name == DELTAS:
        rows = rows.filter(pc.is_in(rows["level"], pa.array(_OPERATORS)))
    names = [column.name for column in query.header.columns]
    order = [(name, "ascending") for name in ORDER if name in names]
    return rows.sort_by(order).select(names)


def _chosen_events(
    store: Streamable, query: Query, params: Mapping[str, object]
) -> list[str] | None:
    """The names of the events whose rows are wanted; None for all.

    All operators are judged whatever the choice: how many there are decides what stands out.
    """
    bound = bind_parameters(query, params)
    if bound["event"] is None:
        return None

    def read_names(names: Names) -> list[object]:
        text = f"SELECT DISTINCT {names.column} AS name FROM {names.table}"  # noqa: S608
        return [name for name in store.sql(text)["name"].to_pylist() if name is not None]

    only = dict.fromkeys(bound) | {"event": bound["event"]}
    events = resolve_names(query, only, read_names)["event"]
    return events if isinstance(events, list) else None


def compare_builds(store: Streamable, **params: object) -> pa.Table:
    """The rows of the query `comparison` with `base_values` and `head_values`; see `judge_pair`."""
    rows = judge_builds(store, find_query(COMPARISON), params, with_values=True)
    return rows.sort_by([(name, "ascending") for name in ORDER])


def judge_builds(
    store: Streamable,
    query: Query,
    params: Mapping[str, object],
    judge_parts: JudgeParts | None = None,
    *,
    with_values: bool = False,
) -> pa.Table:
    """The rows about two builds, in any order, with all columns; see `judge_pair`."""
    bound = bind_parameters(query, params)
    limits = Limits(_number(bound["q"]), _number(bound["min_change"]))
    builds = _describe(store, query, params)
    values = find_gathering(query, "pair_values")
    judge = partial(judge_pair, builds=builds, limits=limits, with_values=with_values)
    parts = (judge_parts or partial(judge_parts_here, store))(values, _own(values, params), judge)
    return pa.concat_tables(parts)


def _number(value: object) -> float:
    return float(str(value))


def _describe(store: Streamable, query: Query, params: Mapping[str, object]) -> TwoBuilds:
    dumps, modules = (find_gathering(query, name) for name in ("pair_dumps", "pair_modules"))
    found = store.query(dumps, **_own(dumps, params))
    has_records = found["etrecord_id"].null_count < len(found)
    rows = store.query(modules, **_own(modules, params)).to_pylist() if has_records else []
    return TwoBuilds(describe_dumps(found), read_modules(rows))


def find_gathering(query: Query, statement: str) -> Query:
    """The query of a file of sql/statements, whose errors name the canned query that needs it."""
    found = find_query(statement, "statements")
    return found._replace(header=found.header._replace(name=query.header.name))


def _own(query: Query, params: Mapping[str, object]) -> dict[str, object]:
    """The parameters that a query has."""
    known = {parameter.name for parameter in query.header.params}
    return {name: value for name, value in params.items() if name in known}


def judge_parts_here(
    store: Streamable, values: Query, params: Mapping[str, object], judge: JudgePart
) -> list[pa.Table]:
    """The rows of `judge` for each part; values of other parts wait on disk."""
    with store.stream_query(values, params) as rows:
        held: list[pa.RecordBatch] = []
        for batch in rows:
            held.append(batch)
            if sum(each.num_rows for each in held) > VALUES_AT_ONCE:
                break
        else:
            return [judge(pa.Table.from_batches(held, rows.schema))]
        every = pa.RecordBatchReader.from_batches(rows.schema, chain(held, rows))
        with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
            spilled = ValueFiles(Path(folder), count_files(store), every)
            held.clear()
            return [judge(part) for part in spilled.read()]
