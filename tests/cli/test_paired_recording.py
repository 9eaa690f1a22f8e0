from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from tests.support.command import ENVIRONMENT, ROOT, run_on_terminal
from tests.support.corpus import FARM
from tests.support.stand_in import install_stand_in, write_program

NAMES = ("--device", "bench", "--build", "new", "--against-build", "old", "--model", "conv")
PAIRS = 8


def take(tmp_path: Path, build: str, count: int) -> Path:
    """Dumps that a program of a build made, of the farm."""
    folder = tmp_path / build
    folder.mkdir()
    with zipfile.ZipFile(FARM / "lab-x86-quiet-ab" / f"{build}.zip") as archive:
        names = [name for name in archive.namelist() if "conv-portable" in name and ".etdp" in name]
        for name in sorted(names)[:count]:
            (folder / Path(name).name).write_bytes(archive.read(name))
    return folder


def make_programs(folder: Path, pairs: int) -> tuple[Path, Path]:
    """A wider model and the one before it, which "run" as often as they have dumps."""
    new = write_program(folder / "new.pte", dumps=take(folder, "ch26", pairs))
    return new, write_program(folder / "old.pte", dumps=take(folder, "base", pairs))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Programs for one pair, and a stand-in for ExecuTorch that "runs" them."""
    monkeypatch.setenv("PYTHONPATH", str(install_stand_in(tmp_path / "packages")))
    return make_programs(tmp_path, 1)


def read(run, store, text):
    return json.loads(run("sql", text, "--store", store, "--format", "json").out)


def test_both_builds_are_stored_in_pairs_and_compared_though_a_later_pair_fails(
    run, tmp_path, programs, own
):
    (tmp_path / "more").mkdir()
    new, old = make_programs(tmp_path / "more", PAIRS)
    done = run("record", new, "--against", old, *NAMES, "--pairs", PAIRS + 1, "--store", own)
    assert done.code == 1
    notes, failed = done.err.splitlines()[:-1], done.err.splitlines()[-1]
    assert "note: 8 complete pairs were ingested into the store" in notes
    broken = f"error: pair 9 of 9: {old}: ExecuTorch cannot run forward: no dump is left"
    assert failed.startswith(broken)
    first, *rest = done.text.splitlines()
    assert "slower" in first
    assert rest[0].startswith("new against old")
    assert any("convolution" in line for line in rest)
    found = read(
        run, own, "SELECT pair, count(DISTINCT build) AS n, count(DISTINCT session) AS sessions "
        "FROM named_dumps GROUP BY pair ORDER BY pair",
    )  # fmt: skip
    assert [(row["pair"], row["n"]) for row in found] == [(f"{n:03}", 2) for n in range(1, 9)]
    (sessions,) = read(run, own, "SELECT count(DISTINCT session) AS n FROM named_dumps")
    assert sessions["n"] == 1


def test_an_unnamed_other_program_is_recorded_as_a_reference(run, programs, own):
    new, old = programs
    names = ("--device", "bench", "--build", "new", "--model", "conv")
    args = ("record", new, "--against", old, *names, "--pairs", "1", "--store", own)
    done = run(*args, "--format", "json")
    assert done.code == 0
    assert {row["verdict"] for row in json.loads(done.out)} == {"needs_more_dumps"}
    rows = read(run, own, "SELECT build, build_role FROM named_dumps ORDER BY build_role")
    assert [row["build_role"] for row in rows] == ["reference", None]
    assert rows[0]["build"].startswith("reference-")


def test_recording_without_a_complete_pair_makes_no_store(run, programs, own):
    new, old = programs
    write_program(new, fails="it broke")
    done = run("record", new, "--against", old, *NAMES, "--store", own)
    assert (done.code, done.out) == (1, b"")
    assert "it broke" in done.error
    assert not own.exists()


def test_pairs_that_the_store_does_not_take_are_kept_with_their_manifests(
    run, tmp_path, programs, own, monkeypatch
):
    new, old = programs
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    args = ("--against", old, *NAMES, "--pairs", "1")
    done = run("record", new, *args, "--store", "file/store")
    assert (done.code, done.out) == (1, b"")
    assert f"note: the recording is kept: {tmp_path / 'new.pairs'}\n" in done.err
    assert run("ingest", tmp_path / "new.pairs", "--store", own).code == 0
    rows = read(run, own, "SELECT build, pair FROM named_dumps ORDER BY build")
    assert rows == [{"build": "new", "pair": "001"}, {"build": "old", "pair": "001"}]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--against", "gone.pte"), 1, "gone.pte: cannot be read"),
        (("--against", "old.pte", "--reference", "old.pte"), 2, "--against or --reference"),
        ((), 2, "--against-build needs --against"),
        (("--against", "old.pte", "--output", "."), 1, ".: cannot be created: File exists"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    run, tmp_path, programs, own, monkeypatch, args, code, message
):
    monkeypatch.chdir(tmp_path)
    done = run("record", programs[0], *args, *NAMES, "--store", own)
    assert (done.code, done.out) == (code, b"")
    assert message in done.err
    assert not own.exists()


@pytest.mark.slow
def test_progress_tells_which_recording_it_is(programs, own, monkeypatch):
    new, old = programs
    packages = new.with_name("packages")
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", os.pathsep.join([str(ROOT), str(packages)]))
    args = ("--against", old, *NAMES, "--pairs", "1", "--store", own)
    done = run_on_terminal("record", new, *args)
    assert done.code == 0
    assert "recording 1 of 2: starting ExecuTorch ..." in done.text
    assert "recording 2 of 2: 0/50 iterations" in done.text
