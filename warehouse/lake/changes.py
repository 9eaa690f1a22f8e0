"""A change of a lake: files written and removed, which one commit makes visible."""

from __future__ import annotations

from collections.abc import Iterable

from tracehouse.warehouse.lake.commits import AddedFile, Commit, LakeState, new_id, write_commit
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.plans import finish_plans, write_plan


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
