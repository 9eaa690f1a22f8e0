"""Errors of queries and writes whose cause is a missing or truncated file of a lake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from tracehouse.warehouse.errors import LakeError, StatementError, WarehouseError
from tracehouse.warehouse.lake.commits import AddedFile, LakeState, read_state
from tracehouse.warehouse.lake.place import Lake, LakeFile


@contextmanager
def lake_errors(lake: Lake, state: LakeState | None = None) -> Iterator[None]:
    """Replace an error of the body if its cause is a missing or truncated file of the lake.

    The state of the lake is the given one, or else the one when the body fails.

    Raises:
        LakeError: A file is missing or truncated.
        Error: The body's own error.
        OSError: The body's own error.
        StatementError: The body's own error.
        WarehouseError: The body's own error.
    """
    try:
        yield
    except (duckdb.Error, OSError, StatementError, WarehouseError) as error:
        if _is_statement_error(error):  # do not examine files for each mistyped name
            raise
        found = _find_damage(lake, state or read_state(lake))
        if found is None:
            raise
        remedy = f"list all problems with: tracehouse lake verify {lake.name}"
        raise LakeError(lake.name, f"{found}; {remedy}") from error


def size_problem(file: AddedFile, found: LakeFile | None) -> str:
    """The problem with the size of a file; empty if the size is right."""
    if found is None:
        return "is gone"
    if found.byte_count != file.bytes:
        return f"has {found.byte_count:,} bytes, wanted {file.bytes:,}"
    return ""


def _is_statement_error(error: Exception) -> bool:
    """Whether the error is in the statement, not in the files that it reads."""
    return isinstance(error, StatementError) and not isinstance(
        error.__cause__, OSError | duckdb.OperationalError | duckdb.InvalidInputException
    )


def _find_damage(lake: Lake, state: LakeState) -> str | None:
    there = {file.path: file for file in lake.list()}
    problems = ((path, size_problem(state.files[path], there.get(path))) for path in state.files)
    return next((f"{path} {problem}" for path, problem in problems if problem), None)
