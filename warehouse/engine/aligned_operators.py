"""The rows of the view aligned_operators, on a connection to a store or lake.

The view is a table of the connection, as is the view of names that it is made from, so that a
statement that reads both does not compute the names twice.

For a comparison of two builds, their programs are aligned directly, rather than through those of
the builds between them. Where both ways lead to the same, the names are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import duckdb

from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.catalogue.views import named_views, view_text
from tracehouse.warehouse.engine.connection import register_temporarily

if TYPE_CHECKING:
    from tracehouse.warehouse.alignment.histories import Sighting, Times
    from tracehouse.warehouse.alignment.programs import Name, Program

VIEW, RUNS = "aligned_operators", "named_run_signatures"
_KEEP_RUNS = f"""
CREATE OR REPLACE TEMP TABLE kept_run_signatures AS {{}};
CREATE OR REPLACE TEMP VIEW {RUNS} AS FROM kept_run_signatures;
"""
_KEEP_OPERATORS = f"""
CREATE OR REPLACE TEMP TABLE kept_operators AS {{}};
CREATE OR REPLACE TEMP VIEW {VIEW} AS FROM kept_operators;
"""
_STATEMENTS = ("varied_runs", "program_sightings", "events_of_programs", "times_of_programs")
_KEYS = ("model", "backend", "run", "run_signature_id", "event_signature_id")
_History = tuple[str, str | None, str]
_Histories = Mapping[_History, Sequence["Sighting"]]
_Names = Mapping[_History, Mapping[tuple[int, int], "Name"]]  # of events, by program and id
Pair = tuple[str, str]  # names of two builds that are compared


def needed_views(others: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Names of the views that this one is made from, as by `named_views`."""
    return named_views(" ".join(map(read_statement, _STATEMENTS)), others)


def keep_names(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the names of runs be those of the store as it is now, computed once.

    The connection must have the views that the view of names is made from.
    """
    connection.execute(_KEEP_RUNS.format(view_text(RUNS)))


def empty_view(connection: duckdb.DuckDBPyConnection) -> None:
    """Take its rows from the view, and let statements compute the names of runs themselves."""
    for view in (RUNS, VIEW):
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {view_text(view)}")


def load_modules() -> None:
    """Load what the view needs, for a process that cannot read files afterwards."""
    needed_views()
    import tracehouse.warehouse.alignment.histories  # noqa: F401 - imports numpy, for stores that need it


class AlignedOperators:
    """The operators of all builds of a store as it is now, by the view on a connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, is_kept: bool = False) -> None:
        """Let the view have the names of the whole store, unless it shows them already.

        The connection must have the views of `needed_views`; names of runs should be kept.
        """
        self._connection = connection
        self._pair: Pair | None = None
        self._renamed = False  # whether the view has other names for a pair
        self._builds: dict[int, str] = {}
        self._histories: dict[_History, list[Sighting]] = defaultdict(list)
        self._programs: dict[int, Program] = {}
        self._read_histories()
        if is_kept:
            self._names = _read_names(connection) if self._histories else {}
            return
        self._names = self._name(self._histories)
        connection.execute(_KEEP_OPERATORS.format(view_text(VIEW)))
        if self._names:
            self._fill(self._names)

    def show(self, pair: Pair | None = None) -> None:
        """Let the view have the names for all builds, or for a comparison of two."""
        if pair == self._pair:
            return
        own = self._name(self._of_builds(pair), self._names) if pair else {}
        if own or self._renamed:
            self._fill({**self._names, **own})
        self._pair, self._renamed = pair, bool(own)

    def _fill(self, names: _Names) -> None:
        import pyarrow as pa

        rows = [
            {**dict(zip(_KEYS, (*history, *event), strict=True)), **name._asdict()}
            for history, named in names.items()
            for event, name in named.items()
        ]
        empty = self._connection.table(VIEW).limit(0).to_arrow_table()
        table = pa.Table.from_pylist(rows, empty.schema)
        with register_temporarily(self._connection, "aligned_rows", table):
            self._connection.execute(_KEEP_OPERATORS.format("FROM aligned_rows"))

    def _read_histories(self) -> None:
        """Read where programs ran, unless each run has had a single one."""
        text = duckdb_text(read_statement("varied_runs"))
        varied = self._connection.sql(text).to_arrow_table()
        if not varied.num_rows:
            return
        from tracehouse.warehouse.alignment.histories import Sighting

        with register_temporarily(self._connection, "varied", varied):
            ran = _read(self._connection, "program_sightings")
        self._programs = _read_programs(self._connection, sorted({row["program"] for row in ran}))
        for row in ran:
            key = row["model"], row["backend"], row["run"]
            self._histories[key].append(Sighting(*(row[name] for name in Sighting._fields)))
            self._builds[row["position"]] = row["build"]

    def _of_builds(self, pair: Pair) -> _Histories:
        """The histories of two builds alone, of runs that had other programs in between."""
        found = {
            key: [one for one in own if self._builds[one.position] in pair]
            for key, own in self._histories.items()
        }
        return {key: own for key, own in found.items() if len({one.program for one in own}) > 1}

    def _name(self, histories: _Histories, known: _Names = MappingProxyType({})) -> _Names:
        """The names of operators in some histories, parts of which may have names already."""
        if not histories:
            return {}
        from tracehouse.warehouse.alignment.histories import name_operators

        times = _read_times(self._connection, histories, self._builds, self._programs)
        found: dict[_History, dict[tuple[int, int], Name]] = {}
        for history, own in histories.items():
            named = known.get(history, {})
            ran = {one.program for one in own}
            others = {event: name for event, name in named.items() if event[0] not in ran}
            new = name_operators(own, self._programs, times[history], named)
            found[history] = others | {(program, event): name for program, event, name in new}
        return found


def _read_names(connection: duckdb.DuckDBPyConnection) -> _Names:
    """The names that the view shows."""
    from tracehouse.warehouse.alignment.programs import Name

    found: dict[_History, dict[tuple[int, int], Name]] = defaultdict(dict)
    for row in connection.table(VIEW).to_arrow_table().to_pylist():
        event = row["run_signature_id"], row["event_signature_id"]
        history = row["model"], row["backend"], row["run"]
        found[history][event] = Name(*(row[field] for field in Name._fields))
    return found


def _read_programs(connection: duckdb.DuckDBPyConnection, ids: Sequence[int]) -> dict[int, Program]:
    from tracehouse.warehouse.alignment.programs import Event, Name, Program

    events: dict[int, list[Event]] = {id_: [] for id_ in ids}
    for row in _read(connection, "events_of_programs", {"programs": ids}):
        name = Name(*(row[field] for field in Name._fields))
        event = Event(row["id"], row["instruction"], row["logged_name"], row["module"], name)
        events[row["program"]].append(event)
    return {id_: Program(own) for id_, own in events.items()}


def _read_times(
    connection: duckdb.DuckDBPyConnection,
    histories: _Histories,
    builds: Mapping[int, str],
    programs: Mapping[int, Program],
) -> Mapping[_History, Times]:
    """The times of each history where it goes from one program to another."""
    import pyarrow as pa

    from tracehouse.warehouse.alignment.histories import list_steps

    steps = [(key, one) for key, own in histories.items() for one in list_steps(own, programs)]
    rows = {
        "step": pa.array(range(len(steps)), pa.int64()),
        "model": pa.array([key[0] for key, _ in steps], pa.string()),
        "backend": pa.array([key[1] for key, _ in steps], pa.string()),
        "device": pa.array([one.device for _, one in steps], pa.string()),
        "build": pa.array([builds[one.position] for _, one in steps], pa.string()),
        "program": pa.array([one.program for _, one in steps], pa.int64()),
    }
    times: dict[_History, dict[tuple[str, int, int], dict[int, float]]]
    times = defaultdict(lambda: defaultdict(dict))
    with register_temporarily(connection, "steps", pa.table(rows)):
        for row in _read(connection, "times_of_programs"):
            key, one = steps[row["step"]]
            times[key][one.device, one.position, one.program][row["id"]] = row["ns"]
    return times


def _read(
    connection: duckdb.DuckDBPyConnection, statement: str, params: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    text = duckdb_text(read_statement(statement))
    rows: list[dict[str, Any]] = connection.sql(text, params=params).to_arrow_table().to_pylist()
    return rows
