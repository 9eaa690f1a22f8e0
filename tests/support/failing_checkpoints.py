"""DuckDB whose checkpoints fail: in this process, or in one that has `environment`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb

from tests.support.disk_shim import ALWAYS as ALWAYS_FULL
from tests.support.disk_shim import Fault, FaultControl

ROOT = Path(__file__).parents[2]
CAUSE = "Corrupted bitpacking segment: unknown bitpacking mode"
ERROR = (
    'IO Error: Checkpoint failed for database "warehouse". The database has been invalidated. '
    f"Original error: {CAUSE}"
)
ALWAYS, WITH_BITPACKING = "always", "with bitpacking"

_VARIABLE = "TRACEHOUSE_TEST_CHECKPOINTS"
_FULL = "full after "
_FILES = "*/warehouse.duckdb*"
_SETTING = "SELECT current_setting('disabled_compression_methods')"
_SITE = "from tests.support.failing_checkpoints import fail_from_environment as f\nf()\n"
_execute: Callable[..., Any] = duckdb.DuckDBPyConnection.execute


@contextmanager
def failing_checkpoints(when: str, *, times: int = 1 << 30, error: str = ERROR) -> Iterator[None]:
    """Let checkpoints fail while the body runs.

    Args:
        when: ALWAYS, or WITH_BITPACKING: unless that compression is off.
        times: How many fail, from the first on.
        error: DuckDB's error.
    """
    with patch.object(duckdb.DuckDBPyConnection, "execute", _failing(when, times, error)):
        yield


def environment(folder: Path, when: str) -> Mapping[str, str]:
    """The environment of a process whose checkpoints fail; a folder for its start-up file."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_SITE)
    path = os.pathsep.join(filter(None, (str(folder), str(ROOT), os.environ.get("PYTHONPATH"))))
    return {_VARIABLE: when, "PYTHONPATH": path}


def full_after(byte_count: int) -> str:
    """A value for `environment`: the disk becomes full after so many bytes.

    They count from the beginning of the process's first checkpoint. The control of the faults,
    which the process must have, ends it.
    """
    return f"{_FULL}{byte_count}"


def fail_from_environment() -> None:
    """Let checkpoints of this process fail as its environment says."""
    when = os.environ[_VARIABLE]
    if when.startswith(_FULL):
        fill = _filling(Path(os.environ["DISK_FAULT"]), int(when.removeprefix(_FULL)))
        duckdb.DuckDBPyConnection.execute = fill  # type: ignore[method-assign]
        return
    duckdb.DuckDBPyConnection.execute = _failing(when, 1 << 30, ERROR)  # type: ignore[method-assign]


def _filling(control: Path, byte_count: int) -> Callable[..., Any]:
    faults = [FaultControl(control)]

    def execute(connection: duckdb.DuckDBPyConnection, text: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(text, str) and text.startswith("CHECKPOINT") and faults:
            faults.pop().begin(Fault("bytes", _FILES, byte_count, ALWAYS_FULL, errno.ENOSPC))
        return _execute(connection, text, *rest, **named)

    return execute


def _failing(when: str, times: int, error: str) -> Callable[..., Any]:
    met = 0

    def execute(connection: duckdb.DuckDBPyConnection, text: Any, *rest: Any, **named: Any) -> Any:
        nonlocal met
        if isinstance(text, str) and text.startswith("CHECKPOINT"):
            met += 1
            ((disabled,),) = _execute(connection, _SETTING).fetchall()
            is_met = when == ALWAYS or not disabled
            if is_met and met <= times:
                _execute(connection, "PRAGMA disable_checkpoint_on_shutdown")
                raise duckdb.IOException(error)
        return _execute(connection, text, *rest, **named)

    return execute
