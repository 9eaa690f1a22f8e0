"""Statistics as SQL functions for canned and ad-hoc queries, on DuckDB and Spark.

Only the functions that a statement names are registered with an engine. Both engines compute them
with `warehouse.statistics`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import duckdb
from duckdb.func import ARROW, SPECIAL

if TYPE_CHECKING:
    import pyarrow as pa

_VARIANCE_FIGURES = (
    *("device", "firmware", "governor", "temperature", "session", "build", "process", "total"),
    *("now", "more_dumps", "more_sessions", "pairs", "pool"),
)
_VARIANCES = f"STRUCT({', '.join(f'{name} DOUBLE' for name in _VARIANCE_FIGURES)})"
_STEADY_FIGURES = ("typical", "cv", "iqr_share", "p99_over_p50", "max_over_min", "drift")
_STEADINESS = f"STRUCT({', '.join(f'{name} DOUBLE' for name in _STEADY_FIGURES)})"
_REGISTERING = Lock()


class Function(NamedTuple):
    """A function of SQL.

    Attributes:
        name: Name in SQL.
        takes: DuckDB's types of the arguments.
        gives: DuckDB's type of the result.
    """

    name: str
    takes: tuple[str, ...]
    gives: str

    @property
    def compute(self) -> Callable[..., pa.Array]:
        """The Python implementation, from arrays to an array."""
        from tracehouse.warehouse.engine import (
            computed_functions,  # imports numpy, for queries that need it
        )

        computing: Callable[..., pa.Array] = getattr(computed_functions, self.name)
        return computing

    @property
    def spark_type(self) -> str:
        """Spark's type of the result."""
        fields = re.sub(r"(\w+) DOUBLE", r"\1: DOUBLE", self.gives)
        whole = fields.replace("(", "<").replace(")", ">")
        return f"ARRAY<{whole.removesuffix('[]')}>" if whole.endswith("[]") else whole


FUNCTIONS = (
    Function("find_gap", ("DOUBLE[]",), "STRUCT(middle DOUBLE, width DOUBLE)"),
    Function("smallest_change", ("DOUBLE[]",), "DOUBLE"),
    Function("steadiness", ("BIGINT[]", "DOUBLE[]", "INTEGER"), _STEADINESS),
    Function("variance_components", ("DOUBLE[][]",), _VARIANCES),
)


def named_functions(sql: str) -> Iterator[Function]:
    """The functions that a statement may call."""
    return (function for function in FUNCTIONS if re.search(rf"(?i)\b{function.name}\W", sql))


def register_functions(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Register the functions that a statement names, for all connections to this DuckDB.

    A transaction that has already begun does not see the functions.
    """
    for function in named_functions(sql):
        with _REGISTERING, connection.cursor() as cursor, suppress(duckdb.CatalogException):
            cursor.create_function(  # an existing function stays
                function.name,
                function.compute,
                list(function.takes),
                function.gives,
                type=ARROW,
                null_handling=SPECIAL,
            )
