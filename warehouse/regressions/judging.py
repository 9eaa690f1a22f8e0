"""Judging the series of a store in this process, a part at a time: of a night, or of two builds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.catalogue.header import Names
from tracehouse.warehouse.catalogue.name_filters import resolve_names
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import Query, expand_statement, find_query
from tracehouse.warehouse.queryable import Queryable, Streamable
from tracehouse.warehouse.regressions.fleet import MinChange, order_nights
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.pair import ORDER, TwoBuilds, judge_pair, read_modules
from tracehouse.warehouse.regressions.pair_series import describe_dumps
from tracehouse.warehouse.regressions.pair_verdicts import Limits
from tracehouse.warehouse.regressions.parts import (
    ALL_PARTS,
    PART,
    PartResult,
    Selection,
    View,
    judge_part,
)
from tracehouse.warehouse.regressions.series_values import (
    encode_texts,
    list_recordings,
    read_encoded,
)
from tracehouse.warehouse.statistics.arrays import Ints

VALUES_AT_ONCE = 1_000_000  # about 200 MB while they are judged
_MOST_FILES = 128
_COUNT = "SELECT count(*) AS n FROM event_stats"
_HEADS = """SELECT build FROM builds_in_order
WHERE build_role IS NULL AND ($branch IS NULL OR branch = $branch) ORDER BY position"""
COMPARISON, DELTAS = "comparison", "regression_deltas"
_WITHOUT_EVENT = ("operator_type", "module")  # whose names are no events
_OPERATORS = ("method", "delegate", "operator")  # levels of rows of `regression_deltas`
JudgePart = Callable[[pa.Table], pa.Table]


def list_heads(store: Queryable, branch: str | None) -> list[str]:
    """The builds of the nightly series in order: without a role, of a branch if one is given."""
    return [str(build) for build in store.sql(_HEADS, {"branch": branch})["build"].to_pylist()]


class Judge(Protocol):
    """Judges the parts of a fleet, and returns a view of each."""

    def __call__(
        self,
        head: str,
        min_change: MinChange,
        rules: Rules,
        view: Callable[[PartResult], View],
        selection: Selection = ALL_PARTS,
        /,
    ) -> list[View]:
        """Judge the series of a build and of earlier builds; `view` runs where a part is judged."""


def judge_here(
    store: Streamable,
    head: str,
    min_change: MinChange,
    rules: Rules,
    view: Callable[[PartResult], View],
    selection: Selection = ALL_PARTS,
) -> list[View]:
    """Judge the series of a build and of earlier builds; values of other parts wait on disk."""
    files = count_files(store)
    with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
        with store.stream(expand_statement("fleet_values"), {"head": head}) as values:
            if files == 1 and selection == ALL_PARTS:
                return [view(judge_part(read_encoded(values), head, min_change, rules))]
            spilled = ValueFiles(Path(folder), files, values, selection)
        nights = order_nights(spilled.nights, head)
        return [view(judge_part(part, head, min_change, rules, nights)) for part in spilled.read()]


def count_files(store: Queryable) -> int:
    """The number of files for the values of a store, so that those of one can be judged at once."""
    ((count,),) = store.sql(_COUNT).to_pydict().values()
    return int(min(1 + count // VALUES_AT_ONCE, _MOST_FILES))


class ValueFiles:
    """Rows of values in files, whole parts in each; and the nights of all rows.

    Only the rows of selected parts are written.
    """

    def __init__(
        self,
        folder: Path,
        files: int,
        values: pa.RecordBatchReader,
        selection: Selection = ALL_PARTS,
    ) -> None:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._paths = [folder / f"{number}.arrows" for number in range(files)]
        no_rows = encode_texts(values.schema.empty_table())
        writers = [pa.ipc.new_stream(path, no_rows.schema, options=options) for path in self._paths]
        nights = [list_recordings(no_rows)]
        for batch in values:
            rows = encode_texts(pa.Table.from_batches([batch]))
            nights.append(list_recordings(rows))
            rows = selection.choose(rows)
            place = _place_parts(rows, files)
            order = np.argsort(place, kind="stable")
            ends = np.searchsorted(place[order], np.arange(files + 1)).tolist()
            rows = rows.take(pa.array(order))
            for number in np.unique(place).tolist():
                start, end = ends[number : number + 2]
                writers[number].write_table(rows.slice(start, end - start))
        for writer in writers:
            writer.close()
        self.nights = list_recordings(pa.concat_tables(nights))

    def read(self) -> Iterator[pa.Table]:
        """The rows of each file; at least one table, if only an empty one."""
        for path in self._paths:
            with pa.ipc.open_stream(path) as reader:
                rows = reader.read_all()
            path.unlink()
            if len(rows) or path == self._paths[0]:
                yield rows


def _place_parts(rows: pa.Table, files: int) -> Ints:
    """The number of the file of each row, equal for the rows of a part."""
    place = np.zeros(len(rows), np.uint64)
    for name in ("device", *PART):
        column = rows[name].combine_chunks()
        texts = ["" if text is None else text for text in column.dictionary.to_pylist()]
        hashes = np.array([*(crc32(text.encode()) for text in texts), 0], np.uint64)
        place = place * 31 + hashes[column.indices.fill_null(-1)]
        if name == "device":
            place[rows["pool"].is_valid()] = 0
    return (place % files).astype(np.int64)


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
    parts = (judge_parts or partial(judge_parts_here, store))(
        values, _choose_params(values, params), judge
    )
    return pa.concat_tables(parts)


def _number(value: object) -> float:
    return float(str(value))


def _describe(store: Streamable, query: Query, params: Mapping[str, object]) -> TwoBuilds:
    dumps, modules = (find_gathering(query, name) for name in ("pair_dumps", "pair_modules"))
    found = store.query(dumps, **_choose_params(dumps, params))
    has_records = found["etrecord_id"].null_count < len(found)
    rows = (
        store.query(modules, **_choose_params(modules, params)).to_pylist() if has_records else []
    )
    return TwoBuilds(describe_dumps(found), read_modules(rows))


def find_gathering(query: Query, statement: str) -> Query:
    """The query of a file of sql/statements, whose errors name the canned query that needs it."""
    found = find_query(statement, "statements")
    return found._replace(header=found.header._replace(name=query.header.name))


def _choose_params(query: Query, params: Mapping[str, object]) -> dict[str, object]:
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
