"""Histograms of dumps that are in the store."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from warehouse.catalogue.sql_files import read_statement


def fill_histograms(connection: duckdb.DuckDBPyConnection, dumps: Sequence[int]) -> None:
    """Give dumps, by id, the histograms that short ones lack: to be done before their events go."""
    connection.execute(read_statement("fill_histograms"), {"dumps": list(dumps)})
