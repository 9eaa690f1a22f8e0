"""What a lake consists of: the files that its commits added, less those that they removed.

Commits are a set, and writers need no lock. Of two that remove the same file the later one, by
name, is void: what it wanted is done against what there is when its writer comes again. A commit
that folds others stands in their place.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from warehouse.engine.failpoints import failpoint
from warehouse.errors import LakeError
from warehouse.lake.layout import COMMITS, table_of
from warehouse.lake.place import Lake, retried

_MOMENT = "%Y%m%dT%H%M%S.%fZ"


class AddedFile(NamedTuple):
    """A file that a commit adds.

    Attributes:
        path: Where it is in the lake.
        rows: Rows in it.
        bytes: Its size.
        dumps: Dumps that it names, if it is of the table dumps, else None.
    """

    path: str
    rows: int
    bytes: int
    dumps: int | None = None


class Commit(NamedTuple):
    """One change of a lake.

    Attributes:
        id: Time and a random number; the name of its file.
        added: Files that are in the lake from then on.
        removed: Paths of files that are not any more.
        by: What made it: export, spark or compact.
        folds: Commits that it stands for.
    """

    id: str
    added: Sequence[AddedFile]
    removed: Sequence[str]
    by: str
    folds: Sequence[str] = ()

    @property
    def at(self) -> datetime:
        """When it was made."""
        return moment_of(self.id)


class LakeState(NamedTuple):
    """A lake at one moment.

    Attributes:
        files: The files that it consists of, by path.
        removed: Paths that commits removed, with the commit that did.
        commits: Its commits by id, without those folded.
        folded: Ids of commits that others stand for, and that were not deleted yet.
    """

    files: Mapping[str, AddedFile]
    removed: Mapping[str, Commit]
    commits: Mapping[str, Commit]
    folded: frozenset[str] = frozenset()

    def of(self, table: str) -> list[AddedFile]:
        """The files of a table, in order of their paths."""
        return [self.files[path] for path in sorted(self.files) if table_of(path) == table]


def new_id() -> str:
    """The id of a commit, and of the plan of its files, made now."""
    return f"{datetime.now(UTC).strftime(_MOMENT)}-{secrets.token_hex(8)}"


def moment_of(id_: str) -> datetime:
    """When an id was given."""
    return datetime.strptime(id_.partition("-")[0], _MOMENT).replace(tzinfo=UTC)


def read_state(lake: Lake, before: LakeState | None = None) -> LakeState:
    """What the lake consists of now.

    Args:
        lake: The lake.
        before: What it consisted of earlier, if that is known: commits never change.

    Raises:
        LakeError: It cannot be read, or a commit is malformed.
    """
    commits: dict[str, Commit] = retried(
        lambda: _read_commits(lake, before.commits if before else {})
    )
    return settle(commits)


def read_filled(lake: Lake) -> LakeState:
    """What a lake that is to be asked consists of.

    Raises:
        LakeError: It is no lake, cannot be read, or nothing is in it yet.
    """
    lake.check()
    state = read_state(lake)
    if not state.commits:
        raise LakeError(
            lake.name, "nothing is in this lake yet: run the export or ingest that fills it again"
        )
    return state


def settle(commits: Mapping[str, Commit]) -> LakeState:
    """What these commits make together; pure."""
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
    """Make a change; its files must be there.

    Raises:
        LakeError: It cannot be written.
    """
    value = {
        "added": [
            {
                "path": one.path,
                "table": table_of(one.path),
                "rows": one.rows,
                "bytes": one.bytes,
                "dumps": one.dumps,
            }
            for one in commit.added
        ],
        "removed": list(commit.removed),
        "by": commit.by,
        "at": commit.at.isoformat(),
        "folds": list(commit.folds),
    }
    failpoint("lake commit")
    lake.write(commit_path(commit.id), json.dumps(value).encode())
    failpoint("lake committed")


def commit_path(id_: str) -> str:
    """The file of a commit."""
    return f"{COMMITS}/{id_}.json"


def _read_commits(lake: Lake, known: Mapping[str, Commit]) -> dict[str, Commit]:
    """Every commit that there is; one that went meanwhile raises FileNotFoundError.

    Raises:
        LakeError: One is malformed.
    """
    found = [file.path for file in lake.list(COMMITS) if file.path.endswith(".json")]
    commits = (
        known.get(PurePosixPath(path).stem) or _parse(lake, path, lake.read(path))
        for path in sorted(found)
    )
    return {commit.id: commit for commit in commits}


def _parse(lake: Lake, path: str, data: bytes) -> Commit:
    """The commit in a file.

    Raises:
        LakeError: It is malformed.
    """
    try:
        value: Any = json.loads(data)
        commit = Commit(
            PurePosixPath(path).stem,
            [_file(one) for one in value["added"]],
            [str(one) for one in value["removed"]],
            str(value["by"]),
            [str(one) for one in value.get("folds", ())],
        )
        commit.at  # noqa: B018 - which tells whether the name is one of ours
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(
            lake.name,
            f"{path} is damaged: restore it from a copy of the lake, or make the lake anew: "
            "'tracehouse export lake' into an empty folder",
        ) from error
    return commit


def _file(value: Mapping[str, Any]) -> AddedFile:
    dumps = value["dumps"]
    return AddedFile(
        str(value["path"]), int(value["rows"]), int(value["bytes"]), dumps and int(dumps)
    )


def sum_bytes(files: Iterable[AddedFile]) -> int:
    """Bytes of files together."""
    return sum(file.bytes for file in files)
