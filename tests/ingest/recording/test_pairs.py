from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS
from tests.support.stand_in import VERSION, install_stand_in, write_program
from tracehouse.ingest.errors import RecordingError
from tracehouse.ingest.recording.pairs import (
    PairsInterruptedError,
    Partners,
    plan_partners,
    record_pairs,
)
from tracehouse.ingest.recording.session import RecordingPlan, describe_recording

NAMES = {"device": "bench", "build": "b1", "commit": "c1", "parent": "b0", "model": "cnn"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs, and a stand-in for ExecuTorch that runs them."""
    monkeypatch.setenv("PYTHONPATH", str(install_stand_in(tmp_path / "packages")))
    (tmp_path / "made").mkdir()
    return tmp_path


def plan(folder: Path, build: str | None = "b0", **head: object) -> Partners:
    own = write_program(folder / "new.pte", **head)
    other = write_program(folder / "old.pte")
    planned = RecordingPlan(str(own))
    return plan_partners(planned, describe_recording(planned, NAMES), str(other), build)


def record(partners: Partners, folder: Path, pairs: int) -> list[tuple[int, int]]:
    """The recordings watched, each with the last iterations told."""
    told: list[tuple[int, int]] = []

    @contextmanager
    def watch(number: int) -> Iterator[Callable[[int], None]]:
        yield lambda done: told.append((number, done))

    record_pairs(partners, folder / "made", pairs, watch)
    return told


@pytest.mark.system
def test_programs_take_turns_and_state_session_and_pair(folder: Path) -> None:
    told = record(plan(folder), folder, 3)
    assert [number for number, _ in told] == [1, 2, 3, 4, 5, 6]
    manifests = [json.loads(path.read_text()) for path in (folder / "made").glob("*.json")]
    in_order = sorted(manifests, key=lambda manifest: manifest["captured_at"])
    assert [(m["build"], m["pair"]) for m in in_order] == [
        ("b0", "001"), ("b1", "001"), ("b1", "002"), ("b0", "002"), ("b0", "003"), ("b1", "003"),
    ]  # fmt: skip
    assert len({manifest["session"] for manifest in manifests}) == 1
    assert {manifest["executorch"] for manifest in manifests} == {VERSION}
    assert {manifest["model"] for manifest in manifests} == {"cnn"}
    dumps = sorted(path.name for path in (folder / "made").glob("*.etdp"))
    assert dumps == [f"{side}-{pair:03}.etdp" for side in ("base", "head") for pair in (1, 2, 3)]


def test_facts_of_the_build_hold_for_one_program_alone(folder: Path) -> None:
    base, head = plan(folder)
    assert (head.fields["commit"], head.fields["parent"]) == ("c1", "b0")
    assert base.fields["build"] == "b0"
    assert base.fields.keys() & {"commit", "parent"} == set()


def test_the_other_build_is_a_reference_called_by_its_content(folder: Path) -> None:
    first, second = (plan(folder, None).base.fields for _ in range(2))
    assert first["build"] == second["build"]
    assert str(first["build"]).startswith("reference-")
    assert first["role"] == "reference"
    assert "role" not in plan(folder).base.fields
    with pytest.raises(RecordingError, match="both programs have the build b1; wanted another"):
        plan(folder, "b1")


@pytest.mark.system
def test_a_pair_is_recorded_whole_or_not_at_all(folder: Path) -> None:
    dumps = folder / "dumps"
    dumps.mkdir()
    for number in range(2):
        (dumps / f"{number}.etdp").write_bytes((CORPUS / "real/cnn_xnnpack_n20.etdp").read_bytes())
    partners = plan(folder, dumps=dumps)
    with pytest.raises(
        PairsInterruptedError, match=r"pair 3 of 4: .*new\.pte: .* no dump is left"
    ) as it:
        record(partners, folder, 4)
    assert it.value.whole == 2
    assert sorted(path.stem for path in (folder / "made").glob("*.etdp")) == [
        "base-001", "base-002", "head-001", "head-002",
    ]  # fmt: skip


@pytest.mark.system
def test_recording_without_a_complete_pair_leaves_no_files(folder: Path) -> None:
    with pytest.raises(RecordingError, match="it broke") as told:
        record(plan(folder, fails="it broke"), folder, 4)
    assert not isinstance(told.value, PairsInterruptedError)
    assert not list((folder / "made").iterdir())
