"""The rows of the view aligned_operators, on a connection to a store or lake.

The view is a table of the connection, as is the view of names that it is made from, so that a
statement that reads both does not compute the names twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb

from warehouse.catalogue.dialect import duckdb_text
from warehouse.catalogue.sql_files import read_statement
from warehouse.catalogue.views import named_views, view_text
from warehouse.engine.connection import registered

if TYPE_CHECKING:
    import pyarrow as pa

    from warehouse.alignment.histories import Sighting, Times
    from warehouse.alignment.programs import Program

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
_History = tuple[str, str | None, str]


def needed_views() -> list[str]:
    """Names of the views that this one is made from, in an order in which they can be created."""
    return named_views(" ".join(map(read_statement, _STATEMENTS)))


def load_modules() -> None:
    """Load what `fill_view` needs, for a process that cannot read files afterwards."""
    needed_views()
    import warehouse.alignment.histories  # noqa: F401 - imports numpy, for stores that need it


def keep_names(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the names of runs be those of the store as it is now, computed once.

    The connection must have the views that the view of names is made from.
    """
    connection.execute(_KEEP_RUNS.format(view_text(RUNS)))


def fill_view(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the view have the rows of the store as it is now, whose names of runs are kept.

    The connection must have the views of `needed_views`.
    """
    rows = _align(connection)
    if rows is None:
        connection.execute(_KEEP_OPERATORS.format(view_text(VIEW)))
        return
    with registered(connection, "aligned_rows", rows):
        connection.execute(_KEEP_OPERATORS.format("FROM aligned_rows"))


def empty_view(connection: duckdb.DuckDBPyConnection) -> None:
    """Take its rows from the view, and let statements compute the names of runs themselves."""
    for view in (RUNS, VIEW):
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {view_text(view)}")


def _align(connection: duckdb.DuckDBPyConnection) -> pa.Table | None:
    """The rows of the view; None if each run has had a single program."""
    varied = connection.sql(duckdb_text(read_statement("varied_runs"))).to_arrow_table()
    if not varied.num_rows:
        return None
    with registered(connection, "varied", varied):
        ran = _read(connection, "program_sightings")
    import pyarrow as pa

    from warehouse.alignment.histories import Sighting, name_operators

    programs = _read_programs(connection, sorted({row["program"] for row in ran}))
    histories: dict[_History, list[Sighting]] = defaultdict(list)
    builds: dict[int, str] = {}
    for row in ran:
        key = row["model"], row["backend"], row["run"]
        histories[key].append(Sighting(*(row[name] for name in Sighting._fields)))
        builds[row["position"]] = row["build"]
    times = _read_times(connection, histories, builds, programs)
    found = [
        {
            **dict(zip(("model", "backend", "run"), key, strict=True)),
            "run_signature_id": program,
            "event_signature_id": event,
            **name._asdict(),
        }
        for key, own in histories.items()
        for program, event, name in name_operators(own, programs, times[key])
    ]
    empty = connection.sql(duckdb_text(view_text(VIEW))).to_arrow_table()
    return pa.Table.from_pylist(found, empty.schema)


def _read_programs(connection: duckdb.DuckDBPyConnection, ids: Sequence[int]) -> dict[int, Program]:
    from warehouse.alignment.programs import Event, Name, Program

    events: dict[int, list[Event]] = {id_: [] for id_ in ids}
    for row in _read(connection, "events_of_programs", {"programs": ids}):
        name = Name(*(row[field] for field in Name._fields))
        event = Event(row["id"], row["instruction"], row["logged_name"], row["module"], name)
        events[row["program"]].append(event)
    return {id_: Program(own) for id_, own in events.items()}


def _read_times(
    connection: duckdb.DuckDBPyConnection,
    histories: Mapping[_History, Sequence[Sighting]],
    builds: Mapping[int, str],
    programs: Mapping[int, Program],
) -> Mapping[_History, Times]:
    """The times of each history where it goes from one program to another."""
    import pyarrow as pa

    from warehouse.alignment.histories import list_steps

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
    with registered(connection, "steps", pa.table(rows)):
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
