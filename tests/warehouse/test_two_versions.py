"""The last release and this version take turns on one store, beside its model.

What the release wrote, this version reads and migrates. A release that is too old for the store
says so, and changes nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from tests.support.last_release import Release, find_release
from tests.support.store_machine import BUILDS, FILE, StoreMachine, after_cheap_steps
from tests.support.store_model import MANIFESTS, File, name_files
from tests.tools.reliability.model import SETTINGS
from tracehouse import Warehouse

pytestmark = [pytest.mark.slow, pytest.mark.system]


class Turns(StoreMachine):
    """Steps of this version, and some of the release.

    Attributes:
        release: The release.
        answers: Kinds of errors that the release gave, "" for none.
    """

    release: ClassVar[Release]
    answers: ClassVar[set[str]] = set()
    may_differ = frozenset({"dump_digests"})  # a release that knows no digests computes none

    def make(self, files: list[File], *, is_archived: bool) -> None:
        self.warehouse.close()
        shutil.rmtree(self.store)
        try:
            self.ingest_with_release(files or [File(0, 0)])
        finally:
            self.warehouse = Warehouse.open_to_write(self.store, create=True)

    @after_cheap_steps(5)
    @rule(files=st.lists(FILE, min_size=1, max_size=3))
    def release_ingests(self, files: list[File]) -> None:
        self.warehouse.close()
        try:
            self.ingest_with_release(files)
        finally:
            self.warehouse = Warehouse.open_to_write(self.store)

    @after_cheap_steps(5)
    @rule(build=BUILDS, operation=st.sampled_from(["forget", "decide", "read"]))
    def release_acts(self, build: str, operation: str) -> None:
        if operation == "forget" and not self.model.matching(build):
            return
        self.warehouse.close()
        try:
            if not self.act_with_release(operation, build):
                return
        finally:
            self.warehouse = Warehouse.open_to_write(self.store)
        if operation == "forget":
            self.model.forget(build)
        elif operation == "decide":
            self.model.decide(build, "accepted", "why")

    def ingest_with_release(self, files: list[File]) -> None:
        """Have the release ingest dumps, each once."""
        plain = {file.number: file._replace(etrecord=None, debug_buffer=None) for file in files}
        named = name_files(list(plain.values()))
        argument = [
            (source, file.data.hex(), MANIFESTS[file.manifest].canonical_json())
            for source, file in named
        ]
        if self.act_with_release("ingest", argument):
            self.model = self.model.copy().ingest(named, is_archived=True)[-1]

    def act_with_release(self, operation: str, argument: object) -> bool:
        """Whether the release does an operation; otherwise the store is too new, and unchanged."""
        self.n_cheap_steps = 0
        before = _files(self.store)
        kind, text = self.release.act(self.store, operation, argument)
        self.answers.add(kind)
        if kind:
            assert (kind, _files(self.store)) == ("StoreVersionError", before), text
            assert "written by a newer tracehouse" in text
        return not kind


def _files(store: Path) -> dict[str, bytes]:
    files = (path for path in store.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path): path.read_bytes() for path in files}


@pytest.fixture
def release(tmp_path: Path) -> Iterator[Release]:
    """The last release."""
    commit = find_release()
    if not commit:
        pytest.skip("git knows neither a release nor an older schema")
    running = Release(commit, tmp_path)
    yield running
    running.close()


def test_two_versions_take_turns_on_a_store(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Turns, "release", release, raising=False)
    limits = settings(
        SETTINGS, max_examples=5, stateful_step_count=40, derandomize=True, phases=[Phase.generate]
    )
    run_state_machine_as_test(Turns, settings=limits)
    assert "" in Turns.answers
