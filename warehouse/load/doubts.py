"""Doubts about new dumps: ETRecords that contradict them, and implausible clocks."""

from __future__ import annotations

from collections.abc import Collection

import duckdb

from tracehouse.warehouse.catalogue.sql_files import read_statement

_HOUR_NS = 3_600e9  # the runs of very few dumps take longer in total
_LAST_DUMP = "SELECT coalesce(max(dump_id), 0) FROM dumps"


def last_dump(connection: duckdb.DuckDBPyConnection) -> int:
    """Id of the last dump in a store; 0 in an empty store."""
    ((number,),) = connection.execute(_LAST_DUMP).fetchall()
    return int(number)


def read_doubts(
    connection: duckdb.DuckDBPyConnection, programs: Collection[int], *, after: int
) -> tuple[str, ...]:
    """Sentences about ETRecords that disagree with their dumps, and about implausible clocks.

    `programs` are ids of ETRecords; the clocks of dumps up to the id `after` are not checked.
    """
    values = {"after": after, "most_ns": _HOUR_NS}
    clocks = connection.execute(read_statement("clock_doubts"), values).fetchall()
    doubts = [_clock_doubt(*row) for row in clocks]
    if programs:
        listed = {"programs": list(programs)}
        rows = connection.execute(read_statement("doubts"), listed).fetchall()
        doubts += [row[0] for row in rows]
    return tuple(doubts)


def _clock_doubt(unit: str, count: int, source: str, ran_ns: float) -> str:
    more = f" and {count - 1:,} more" if count > 1 else ""
    return (
        f"{source}{more}: with a clock in {unit} it would have run for "
        f"{_time_text(ran_ns)}: is the clock's unit right (--clock, or clock in the manifest)? "
        "'tracehouse store amend --where ... --set clock=ns' corrects stored dumps"
    )


def _time_text(ran_ns: float) -> str:
    hours = ran_ns / _HOUR_NS
    return f"{hours:,.1f} hours" if hours < 48 else f"{hours / 24:,.1f} days"
