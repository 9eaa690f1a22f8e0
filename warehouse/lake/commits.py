"""Commits of a lake, which consists of the files that commits have added and not removed.

Writers need no lock. Of two commits that remove the same file, the later one by name is void: its
writer repeats the work against the new state in its next run. A commit that folds others replaces
them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import duckdb

from tracehouse.warehouse.errors import LakeError, StatementError, WarehouseError
from tracehouse.warehouse.lake.layout import COMMITS, FACTS, LakePart, table_of
from tracehouse.warehouse.lake.place import JSON_FAULTS, Lake, LakeFile, retried

_MOMENT = "%Y%m%dT%H%M%S.%fZ"


class AddedFile(NamedTuple):
    """A file that a commit adds.

    Attributes:
        path: Path in the lake.
        rows: Number of rows.
        bytes: Size of the file.
    """

    path: str
    rows: int
    bytes: int


class Commit(NamedTuple):
    """One change of a lake.

    Attributes:
        id: Time and a random number; also the name of the commit's file.
        added: Files that join the lake.
        removed: Paths of files that leave the lake.
        by: The command that made the commit: export, spark or compact.
        folds: Ids of the commits that this one replaces.
    """

    id: str
    added: Sequence[AddedFile]
    removed: Sequence[str]
    by: str
    folds: Sequence[str] = ()

    @property
    def at(self) -> datetime:
        """Time of the commit."""
        return moment_of(self.id)


class LakeState(NamedTuple):
    """A lake at one moment.

    Attributes:
        files: The files, by path.
        removed: The commits that removed files, by path.
        commits: The commits by id, without folded ones.
        folded: Ids of folded commits that are not deleted yet.
    """

    files: Mapping[str, AddedFile]
    removed: Mapping[str, Commit]
    commits: Mapping[str, Commit]
    folded: frozenset[str] = frozenset()

    def of(self, table: str) -> list[AddedFile]:
        """The files of a table, in order of their paths."""
        return sorted(file for path, file in self.files.items() if table_of(path) == table)

    def files_of(self, parts: Collection[LakePart]) -> dict[str, list[str]]:
        """Paths of the files of some parts, by table."""
        tables = {table: [part.path(table) for part in sorted(parts)] for table in FACTS}
        return {table: [p for p in paths if p in self.files] for table, paths in tables.items()}

    @property
    def removed_names(self) -> set[str]:
        """Names of removed files, which must not be used again."""
        return {PurePosixPath(path).stem for path in self.removed}

    @property
    def used_names(self) -> set[str]:
        """Names of files that are there or were removed."""
        return {PurePosixPath(path).stem for path in self.files} | self.removed_names


def new_id() -> str:
    """A new id for a commit or a plan."""
    return f"{datetime.now(UTC).strftime(_MOMENT)}-{secrets.token_hex(8)}"


def moment_of(id_: str) -> datetime:
    """Time when an id was made."""
    return datetime.strptime(id_.partition("-")[0], _MOMENT).replace(tzinfo=UTC)


def read_state(lake: Lake, before: LakeState | None = None) -> LakeState:
    """The current state of a lake; commits of the state `before` are not read again.

    Raises:
        LakeError: The lake cannot be read, or a commit is malformed.
    """
    known = before.commits if before else {}
    return merge_commits(retried(lambda: _read_commits(lake, known)))


def read_filled_state(lake: Lake) -> LakeState:
    """The current state of a lake that is not empty.

    Raises:
        LakeError: The lake does not exist, cannot be read, or is empty.
    """
    lake.check()
    state = read_state(lake)
    if not state.commits:
        raise LakeError(
            lake.name, "this lake is empty: run the export or ingest that fills it again"
        )
    return state


def merge_commits(commits: Mapping[str, Commit]) -> LakeState:
    """The state that results from these commits; pure."""
    folded = {id_ for commit in commits.values() for id_ in commit.folds}
    valid = {id_: commits[id_] for id_ in sorted(commits.keys() - folded)}
    removed: dict[str, Commit] = {}
    files: dict[str, AddedFile] = {}
    for commit in valid.values():
        if removed.keys().isdisjoint(commit.removed):
            removed.update(dict.fromkeys(commit.removed, commit))
            files.update((file.path, file) for file in commit.added)
    for path in removed:
        files.pop(path, None)
    return LakeState(files, removed, valid, frozenset(folded & commits.keys()))


def write_commit(lake: Lake, commit: Commit) -> None:
    """Write a commit, whose added files must exist.

    Raises:
        LakeError: The commit cannot be written.
    """
    added = {file.path for file in commit.added}
    assert len(added) == len(commit.added), "a file is added once"
    assert added.isdisjoint(commit.removed), "files never change"
    assert commit.id not in commit.folds
    value = {
        "added": [_entry(file) for file in commit.added],
        "removed": list(commit.removed),
        "by": commit.by,
        "at": commit.at.isoformat(),
        "folds": list(commit.folds),
    }
    lake.write(commit_path(commit.id), json.dumps(value).encode())


def commit_path(id_: str) -> str:
    """Path of a commit's file."""
    return f"{COMMITS}/{id_}.json"


def _read_commits(lake: Lake, known: Mapping[str, Commit]) -> dict[str, Commit]:
    found = [file.path for file in lake.list(COMMITS) if file.path.endswith(".json")]
    commits = (
        known.get(PurePosixPath(path).stem) or _parse(lake, path, lake.read(path))
        for path in sorted(found)
    )
    return {commit.id: commit for commit in commits}


def _parse(lake: Lake, path: str, data: bytes) -> Commit:
    try:
        value: Any = json.loads(data)
        commit = Commit(
            PurePosixPath(path).stem,
            [_file(one) for one in value["added"]],
            [str(one) for one in value["removed"]],
            str(value["by"]),
            [str(one) for one in value.get("folds", ())],
        )
        commit.at  # noqa: B018 - fails if the name is no id
    except JSON_FAULTS as error:
        raise LakeError(
            lake.name,
            f"{path} is damaged: restore it from a copy of the lake, or create the lake again: "
            "'tracehouse export lake' into an empty folder",
        ) from error
    return commit


def _entry(file: AddedFile) -> dict[str, object]:
    table = table_of(file.path)
    return file._asdict() | {"table": table, "dumps": file.rows if table == "dumps" else None}


def _file(value: Mapping[str, Any]) -> AddedFile:
    return AddedFile(str(value["path"]), int(value["rows"]), int(value["bytes"]))


def sum_bytes(files: Iterable[AddedFile]) -> int:
    """Size of all files together."""
    return sum(file.bytes for file in files)


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
