from __future__ import annotations

import json
import shutil
import sys

import pytest

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS

REAL = CORPUS / "real"
PORTABLE = REAL / "prefill_decode_portable_debug.etdp"
XNNPACK = REAL / "prefill_decode_xnnpack_debug.etdp"
RECORDS = (
    "--etrecord", MODELS / "prefill_decode_portable.etrecord",
    "--head-etrecord", MODELS / "prefill_decode_xnnpack.etrecord",
)  # fmt: skip


def test_table_shows_what_tells_rows_apart_and_the_metrics_asked_for(run):
    done = run("numeric-gap", PORTABLE, XNNPACK, *RECORDS, "--metric", "snr")
    assert (done.code, done.err) == (0, "")
    lines = done.text.splitlines()
    assert lines[0].split() == [
        "method", "base_run_index", "head_run_index", "debug_handle", "base_event", "head_event",
        "shape", "snr", "verdict", "reason",
    ]  # fmt: skip
    relu = next(line for line in lines if "relu" in line)
    assert relu.split()[3:6] == ["3", "native_call_relu.out", "DELEGATE_CALL"]
    assert relu.split()[-2:] == ["140.1", "different"]


def test_json_has_all_columns_and_every_run(run):
    done = run("numeric-gap", PORTABLE, PORTABLE, "--all-runs", "--format", "json")
    rows = json.loads(done.out)
    assert {row["base_run_index"] for row in rows} == {1, 3, 4, 5, 6}
    assert {row["verdict"] for row in rows} == {"equal"}
    assert {row["joined_by"] for row in rows} == {"instruction"}


def test_without_debug_handles_the_table_shows_instructions(run):
    header = run("numeric-gap", PORTABLE, PORTABLE).text.splitlines()[0]
    assert "base_instruction_id" in header
    assert "debug_handle" not in header


def test_debug_buffer_elsewhere_is_named(run, tmp_path):
    dump = shutil.copy(PORTABLE, tmp_path / "dump.etdp")
    buffer = PORTABLE.with_suffix(".debug.bin")
    alone = run("numeric-gap", dump, PORTABLE, "--format", "csv").text
    assert "base: no debug buffer" in alone
    named = run("numeric-gap", dump, PORTABLE, "--debug-buffer", buffer, "--format", "csv").text
    assert "no debug buffer" not in named


def test_etrecord_of_another_program_is_told(run):
    wrong = MODELS / "mixed_xnnpack.etrecord"
    done = run("numeric-gap", PORTABLE, PORTABLE, "--etrecord", wrong)
    assert done.code == 0
    assert done.err.startswith("note: base: ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((PORTABLE, "gone.etdp"), "error: gone.etdp: does not exist"),
        ((PORTABLE, PORTABLE, "--debug-buffer", "gone.bin"), "error: gone.bin: does not exist"),
        ((PORTABLE, PORTABLE, "--etrecord", PORTABLE), f"error: {PORTABLE}: is an ETDump"),
    ],
)
def test_bad_input_is_one_line(run, args, message):
    done = run("numeric-gap", *args)
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith(message)


def test_unknown_metric_is_a_usage_error_before_a_file_is_read(run):
    done = run("numeric-gap", "gone.etdp", "gone.etdp", "--metric", "psnr")
    assert (done.code, done.out) == (2, b"")
    assert done.error.startswith("error: metric 'psnr': unknown, wanted one of")


def test_one_dump_needs_an_etrecord(run):
    done = run("numeric-gap", PORTABLE)
    assert done.code == 2
    assert "wanted --etrecord, to run its program, or HEAD" in done.err


def test_one_dump_needs_executorch(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "executorch", None)
    done = run("numeric-gap", PORTABLE, *RECORDS[:2])
    assert done.code == 1
    assert "pip install 'tracehouse[executorch]'" in done.error
