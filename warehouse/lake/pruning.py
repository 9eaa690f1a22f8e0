"""The dumps of a lake that a canned query needs, so that files of other dumps are not read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import duckdb
import pyarrow as pa

from tracehouse.warehouse.catalogue.answers import resolve_parameters
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.header import Parameter
from tracehouse.warehouse.catalogue.queries import Query, find_filters
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import registered
from tracehouse.warehouse.lake.schemas import FACTS

# Tables from which a query needs only the rows of its own dumps. From runs, it needs the rows of
# all dumps of the same models and devices, because these number the run signatures.
PRUNED_TABLES = [table for table in FACTS if table not in ("dumps", "dropped_events")]
_SIDES = {"base", "head"}


def chosen_dumps(
    connection: duckdb.DuckDBPyConnection, query: Query, params: Mapping[str, object]
) -> list[int] | None:
    """Ids of the dumps that a query with these parameters needs; None for all.

    A parameter that is unknown, missing or of the wrong type raises ParameterError.
    """
    own = {parameter.name: parameter for parameter in query.header.params}
    if query.header.filters is None and "dump" not in own:
        return None
    values = resolve_parameters(connection, query, params)
    if "dump" in own:
        return [int(str(values["dump"]))]
    is_of_builds = own.keys() >= _SIDES and all(_names_builds(own[side]) for side in _SIDES)
    filters = find_filters("compared_dumps" if is_of_builds else "chosen_dumps")
    chosen = {parameter.name: values.get(parameter.name) for parameter in filters.header.params}
    if not any(value is not None for value in chosen.values()):
        return None
    relation = connection.sql(duckdb_text(filters.sql), params=chosen)
    dumps = [row[0] for row in relation.project("dump_id").fetchall()]
    return [*dumps, *select_dumps(connection, "lake_references", dumps)] if is_of_builds else dumps


def _names_builds(side: Parameter) -> bool:
    """Whether one side of a comparison is a build, rather than a backend."""
    return side.names is not None and side.names.table == "builds"


def select_dumps(
    connection: duckdb.DuckDBPyConnection, statement: str, dumps: Collection[int]
) -> list[int]:
    """The dumps that a statement selects for those in its table `chosen`."""
    chosen = pa.table({"dump_id": pa.array(list(dumps), pa.int64())})
    with registered(connection, "chosen", chosen):
        rows = connection.execute(read_statement(statement)).fetchall()
    return [row[0] for row in rows]
