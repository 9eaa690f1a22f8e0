"""Errors of questions and writes that are due to a file of a lake that is gone or cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from warehouse.errors import LakeError, StatementError, WarehouseError
from warehouse.lake.commits import AddedFile, LakeState, read_state
from warehouse.lake.place import Lake, LakeFile


@contextmanager
def lake_errors(lake: Lake, state: LakeState | None = None) -> Iterator[None]:
    """Replace an error of the body if a file of the lake turns out to be gone or cut.

    The state of the lake is the given one, or else the one when the body fails.

    Raises:
        LakeError: A file is gone or cut.
        Error: The body's own error; likewise those below.
        OSError: Likewise.
        StatementError: Likewise.
        WarehouseError: Likewise.
    """
    try:
        yield
    except (duckdb.Error, OSError, StatementError, WarehouseError) as error:
        if _is_of_the_text(error):  # files are not looked at for each mistyped name
            raise
        found = _find_damage(lake, state or read_state(lake))
        if found is None:
            raise
        remedy = f"see all that is wrong with: tracehouse lake verify {lake.name}"
        raise LakeError(lake.name, f"{found}; {remedy}") from error


def size_problem(file: AddedFile, found: LakeFile | None) -> str:
    """What is wrong with the size of a file; empty if nothing is."""
    if found is None:
        return "is gone"
    if found.byte_count != file.bytes:
        return f"has {found.byte_count:,} bytes, wanted {file.bytes:,}"
    return ""


def _is_of_the_text(error: Exception) -> bool:
    """Whether the statement is wrong, rather than the files that it reads."""
    return isinstance(error, StatementError) and not isinstance(
        error.__cause__, OSError | duckdb.OperationalError | duckdb.InvalidInputException
    )


def _find_damage(lake: Lake, state: LakeState) -> str | None:
    there = {file.path: file for file in lake.list()}
    problems = ((path, size_problem(state.files[path], there.get(path))) for path in state.files)
    return next((f"{path} {problem}" for path, problem in problems if problem), None)
