from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.support.command import ENVIRONMENT, ROOT, run_on_terminal
from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS
from tests.support.stand_in import VERSION, install_stand_in, write_program

NAMES = ("--device", "bench", "--build", "b1")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program, and a stand-in for ExecuTorch that "runs" it."""
    monkeypatch.setenv("PYTHONPATH", str(install_stand_in(tmp_path / "packages")))
    return write_program(tmp_path / "cnn.pte")


def dumps(run, store):
    return json.loads(run("sql", "FROM named_dumps", "--store", store, "--format", "json").out)


@pytest.mark.smoke
def test_recorded_dump_is_shown_and_stored(run, program, own):
    done = run("record", program, *NAMES, "--store", own, "--format", "json")
    assert (done.code, done.err) == (0, "note: this is dump 1 of the store\n")
    rows = json.loads(done.out)
    assert {row["event_name"] for row in rows} >= {"Method::execute", "DELEGATE_CALL"}
    (dump,) = dumps(run, own)
    assert (dump["device"], dump["build"], dump["model"]) == ("bench", "b1", "cnn")


@pytest.mark.slow
def test_this_machine_is_described_unless_options_do(run, tmp_path, program, own):
    write_program(program, inputs=("tensor", "number"))
    np.savez(tmp_path / "inputs.npz", np.ones((1, 4)), np.array(3))
    kept = tmp_path / "kept.etdp"
    files = ("--inputs", tmp_path / "inputs.npz", "--output", kept, "--debug-buffer", "1")
    run("record", program, *NAMES, "--store", own, "--os", "Debian", "--pool", "p", *files)
    (dump,) = dumps(run, own)
    assert (dump["os"], dump["model"], dump["pool"]) == ("Debian", "cnn", "p")
    assert dump["arch"]
    assert dump["captured_at"]
    assert dump["tick_unit"] == "ns"
    done = run("sql", "SELECT manifest FROM dumps", "--store", own, "--format", "json")
    manifest = json.loads(json.loads(done.out)[0]["manifest"])
    assert (manifest["method"], manifest["tags"]) == ("forward", {"executorch": VERSION})
    assert kept.read_bytes() == (CORPUS / "real" / "cnn_xnnpack_n20.etdp").read_bytes()
    assert (tmp_path / "kept.debug.bin").stat().st_size == 1_000_000


def test_recording_that_the_store_does_not_take_is_kept(run, tmp_path, program, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    done = run("record", program, *NAMES, "--debug-buffer", "1", "--store", "file/store")
    assert (done.code, done.out) == (1, b"")
    kept = [str(tmp_path / name) for name in ("cnn.debug.bin", "cnn.etdp")]
    assert f"note: the recording is kept: {', '.join(kept)}\n" in done.err
    assert (tmp_path / "cnn.etdp").read_bytes()


@pytest.mark.slow
def test_reference_program_is_recorded_before_in_the_same_session(run, tmp_path, program, own):
    pinned = write_program(tmp_path / "old.pte", dump="real/cnn_portable_n20")
    stated = (*NAMES, "--branch", "main", "--parent", "b0", "--reference", pinned)
    done = run("record", program, *stated, "--store", own)
    assert done.err == "note: this is dump 2 of the store\n"
    reference, dump = dumps(run, own)
    digest = hashlib.sha256(pinned.read_bytes()).hexdigest()
    assert reference["build"] == f"reference-{digest[:12]}"
    assert (reference["build_role"], reference["branch"]) == ("reference", None)
    assert (dump["build"], dump["build_role"], dump["build_parent"]) == ("b1", None, "b0")
    for name in ("device", "model", "session", "threads", "governor"):
        assert dump[name] == reference[name]
    assert dump["session"] is not None
    assert dump["threads"] >= 1


def test_etrecord_is_stored_with_the_dump(run, program, own):
    record = MODELS / "mixed_xnnpack.etrecord"
    run("record", program, *NAMES, "--etrecord", record, "--store", own)
    done = run("sql", "SELECT etrecord_id FROM dumps", "--store", own, "--format", "csv")
    assert done.text.splitlines()[1]


@pytest.mark.slow
def test_unreadable_dump_is_refused(run, program, own):
    write_program(program, dump="hostile/truncated_00100")
    done = run("record", program, *NAMES, "--store", own)
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith("refused: ")


@pytest.mark.slow
def test_progress_shows_on_a_terminal(program, own, monkeypatch):
    packages = program.with_name("packages")
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", os.pathsep.join([str(ROOT), str(packages)]))
    done = run_on_terminal("record", program, *NAMES, "--store", own)
    assert done.code == 0
    assert "starting ExecuTorch ..." in done.text
    assert "0/50 iterations" in done.text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--inputs", "gone.npz"), "gone.npz: does not exist"),
        (("--etrecord", "gone.etrecord"), "gone.etrecord: does not exist"),
        (("--output", "gone/a.etdp"), "gone/a.etdp: its folder does not exist"),
        (("--python", "gone"), "gone: cannot be run: No such file or directory"),
        (("--method", "x"), "ExecuTorch cannot run x: it has no method 'x'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_store(run, program, own, args, message):
    done = run("record", program, *NAMES, *args, "--store", own)
    assert (done.code, done.out) == (1, b"")
    assert message in done.error
    assert not own.exists()


def test_malformed_option_is_a_usage_error(run, program, own):
    done = run("record", program, *NAMES, "--ordinal", "first", "--store", own)
    assert (done.code, done.out) == (2, b"")
    assert "options: build.ordinal: found 'first'" in done.error
    assert not own.exists()


def test_a_store_that_cannot_be_opened_is_reported_before_the_program_runs(run, program, own):
    own.mkdir()
    (own / "warehouse.duckdb").write_bytes(b"no database" * 1000)
    write_program(program, fails="was run")
    done = run("record", program, *NAMES, "--store", own)
    assert done.code == 1
    assert "was run" not in done.error


def test_device_and_build_are_needed(run, program, own):
    done = run("record", program, "--device", "bench", "--store", own)
    assert done.code == 2
    assert "wanted --device and --build" in done.err
