"""Plans: records of the files that an unfinished write may leave, from before it to its commit."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from warehouse.engine.processes import is_running
from warehouse.errors import LakeError
from warehouse.lake.commits import read_state
from warehouse.lake.layout import PLANS
from warehouse.lake.place import Lake

_KEYS = {"files", "host", "pid", "at"}
_DAMAGED = (
    "is damaged, the record of an unfinished write: delete it; 'tracehouse lake compact' deletes "
    "the files of that write when they are a day old"
)
_PATIENCE = timedelta(days=1)  # with a writer on another machine


class PlannedWork(NamedTuple):
    """The work of an unfinished write.

    Attributes:
        work: The work as `write_plan` took it.
        at: Time of the plan.
        is_alive: Whether its writer may still be running.
    """

    work: Any
    at: datetime
    is_alive: bool


class _Plan(NamedTuple):
    path: str
    files: frozenset[str]
    is_alive: bool


def write_plan(lake: Lake, id_: str, files: Iterable[str], work: object = None) -> None:
    """Record which files a write may leave.

    Args:
        lake: The lake.
        id_: Id of the plan.
        files: Paths of the files.
        work: Description of the work, for its repetition after a kill; see `read_works`.
    """
    at = datetime.now(UTC).isoformat()
    value = {"files": list(files), "host": socket.gethostname(), "pid": os.getpid(), "at": at}
    value |= {"work": work} if work else {}
    lake.write(_path(id_), json.dumps(value).encode())


def read_works(lake: Lake) -> dict[str, PlannedWork]:
    """The work of unfinished writes, by the ids of their plans, where they describe it."""
    works = {}
    for path in _paths(lake):
        with suppress(FileNotFoundError):  # finished meanwhile
            value = _value(lake, path)
            planned = PlannedWork(value.get("work"), _moment(value), _is_alive(value))
            works[PurePosixPath(path).stem] = planned
    return {id_: planned for id_, planned in works.items() if planned.work}


def finish_plans(lake: Lake, ids: Iterable[str]) -> None:
    """Delete plans whose files were committed."""
    lake.delete(_path(id_) for id_ in ids)


def clear_plans(lake: Lake) -> None:
    """Delete the files that broken writes have left, except those of running writers."""
    plans = _read_plans(lake)
    if all(plan.is_alive for plan in plans):
        return
    committed = read_state(lake).files  # read after the plans, which end with a commit
    kept = {path for plan in plans if plan.is_alive for path in plan.files} | committed.keys()
    for plan in plans:
        if not plan.is_alive and _read(lake, plan.path) == plan:  # nobody took it over meanwhile
            lake.delete(plan.files - kept)
            lake.delete([plan.path])


def planned_files(lake: Lake) -> set[str]:
    """Files that unfinished writes may leave."""
    return {path for plan in _read_plans(lake) for path in plan.files}


def _read_plans(lake: Lake) -> list[_Plan]:
    return [_read(lake, path) for path in _paths(lake)]


def _paths(lake: Lake) -> list[str]:
    """Paths of all plans."""
    return [file.path for file in lake.list(PLANS) if file.path.endswith(".json")]


def _path(id_: str) -> str:
    return f"{PLANS}/{id_}.json"


def _read(lake: Lake, path: str) -> _Plan:
    try:
        value = _value(lake, path)
        return _Plan(path, frozenset(value["files"]), _is_alive(value))
    except FileNotFoundError:  # finished meanwhile
        return _Plan(path, frozenset(), is_alive=True)


def _value(lake: Lake, path: str) -> dict[str, Any]:
    try:
        value = json.loads(lake.read(path))
        if value.keys() >= _KEYS:
            return dict(value)
    except (ValueError, AttributeError) as error:
        raise LakeError(lake.name, f"{path} {_DAMAGED}") from error
    raise LakeError(lake.name, f"{path} {_DAMAGED}")


def _moment(value: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(value["at"])


def _is_alive(value: Mapping[str, Any]) -> bool:
    if value["host"] == socket.gethostname():
        return is_running(value["pid"])
    return datetime.now(UTC) - _moment(value) < _PATIENCE
