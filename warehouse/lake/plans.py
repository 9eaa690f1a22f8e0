"""Plans: records of the files that an unfinished write may leave behind."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from tracehouse.warehouse.engine.store_lock import is_running
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.commits import (
    AddedFile,
    Commit,
    LakeState,
    new_id,
    read_state,
    write_commit,
)
from tracehouse.warehouse.lake.layout import PLANS
from tracehouse.warehouse.lake.place import JSON_FAULTS, Lake

_DAMAGED = (
    "is the damaged record of an unfinished write: delete it; 'tracehouse lake compact' deletes "
    "the files of that write when they are a day old"
)
_PATIENCE = timedelta(days=1)  # after which a writer on another machine counts as dead


class Plan(NamedTuple):
    """The record of an unfinished write.

    Attributes:
        id: Its id.
        files: Paths of the files that the write may leave.
        work: The work as `write_plan` took it; None if it was not described.
        at: Time of the plan.
        is_alive: Whether the writer may still be running.
    """

    id: str
    files: frozenset[str]
    work: Any
    at: datetime
    is_alive: bool


def write_plan(lake: Lake, id_: str, files: Iterable[str], work: object = None) -> None:
    """Record which files a write may leave, and the work for its repetition after a kill.

    Raises:
        LakeError: The plan cannot be written.
    """
    at = datetime.now(UTC).isoformat()
    value = {"files": list(files), "host": socket.gethostname(), "pid": os.getpid(), "at": at}
    value |= {"work": work} if work else {}
    lake.write(_path(id_), json.dumps(value).encode())


def list_plans(lake: Lake) -> list[Plan]:
    """The plans of unfinished writes, the oldest first."""
    paths = sorted(file.path for file in lake.list(PLANS) if file.path.endswith(".json"))
    return [plan for path in paths if (plan := _read(lake, path))]


def finish_plans(lake: Lake, ids: Iterable[str]) -> None:
    """Delete plans whose files were committed.

    Raises:
        LakeError: A plan cannot be deleted.
    """
    lake.delete(_path(id_) for id_ in ids)


def clear_plans(lake: Lake) -> None:
    """Delete the files that broken writes have left, except those of running writers.

    Raises:
        LakeError: The lake cannot be read or written.
    """
    plans = list_plans(lake)
    if all(plan.is_alive for plan in plans):
        return
    committed = read_state(lake).files  # read after the plans, which a commit deletes
    kept = {path for plan in plans if plan.is_alive for path in plan.files} | committed.keys()
    for plan in plans:
        if not plan.is_alive and _read(lake, _path(plan.id)) == plan:  # nobody took it over
            lake.delete(plan.files - kept)
            finish_plans(lake, [plan.id])


def planned_files(lake: Lake) -> set[str]:
    """Files that unfinished writes may leave.

    Raises:
        LakeError: The lake cannot be read.
    """
    return {path for plan in list_plans(lake) for path in plan.files}


def _path(id_: str) -> str:
    return f"{PLANS}/{id_}.json"


def _read(lake: Lake, path: str) -> Plan | None:
    try:
        value = json.loads(lake.read(path))
        at = datetime.fromisoformat(value["at"])
        if value["host"] == socket.gethostname():
            is_alive = is_running(value["pid"])
        else:
            is_alive = datetime.now(UTC) - at < _PATIENCE
        id_, files = PurePosixPath(path).stem, frozenset(value["files"])
        return Plan(id_, files, value.get("work"), at, is_alive)
    except FileNotFoundError:  # finished meanwhile
        return None
    except JSON_FAULTS as error:
        raise LakeError(lake.name, f"{path} {_DAMAGED}") from error


class LakeChange:
    """Files that are added and removed together, or not at all.

    Attributes:
        lake: The lake.
        state: The lake before the change.
        added: Files written so far.
        removed: Paths of files to remove.
    """

    def __init__(self, lake: Lake, state: LakeState, by: str) -> None:
        self.lake, self.state = lake, state
        self.added: list[AddedFile] = []
        self.removed: list[str] = []
        self._by = by
        self._plans: list[str] = []

    def plan(self, id_: str, files: Iterable[str]) -> None:
        """Record files before they are written, for whoever cleans up after a kill.

        Raises:
            LakeError: The lake cannot be written.
        """
        if paths := list(files):
            write_plan(self.lake, id_, paths)
            self._plans.append(id_)

    def commit(self) -> None:
        """Commit the change, unless it is empty.

        Raises:
            LakeError: The lake cannot be written.
        """
        assert {file.path for file in self.added}.isdisjoint(self.state.files), "files never change"
        assert self.state.files.keys() >= set(self.removed), "only files of the lake are removed"
        if self.added or self.removed:
            write_commit(self.lake, Commit(new_id(), self.added, sorted({*self.removed}), self._by))
        finish_plans(self.lake, self._plans)
