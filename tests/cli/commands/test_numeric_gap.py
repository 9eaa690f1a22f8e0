from __future__ import annotations

import json
import re
import shutil
import sys

import pytest

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS

REAL = CORPUS / "real"
GAPS = CORPUS.parent / "gap"
SELECT_9, LINEAR_27, TENSOR_BYTES = 8880, 10864, 384  # places in the debug buffer of mha_x
PORTABLE = REAL / "prefill_decode_portable_debug.etdp"
XNNPACK = REAL / "prefill_decode_xnnpack_debug.etdp"
RECORDS = (
    "--etrecord", MODELS / "prefill_decode_portable.etrecord",
    "--head-etrecord", MODELS / "prefill_decode_xnnpack.etrecord",
)  # fmt: skip


def test_table_shows_what_tells_rows_apart_and_the_metrics_asked_for(run):
    done = run("numeric-gap", PORTABLE, XNNPACK, *RECORDS, "--metric", "snr")
    assert done.code == 0
    assert re.fullmatch(
        r"note: compared 6 of 14 values: all within 60 dB \(worst [\d.]+ dB\)", done.error
    )
    lines = done.text.splitlines()
    assert lines[0].split() == [
        "method", "base_run_index", "head_run_index", "debug_handle", "base_event", "head_event",
        "shape", "snr", "verdict", "reason",
    ]  # fmt: skip
    relu = next(line for line in lines if "relu" in line)
    assert relu.split()[3:6] == ["3", "native_call_relu.out", "DELEGATE_CALL"]
    assert relu.split()[-2:] == ["140.1", "within_tolerance"]


def test_verdicts_go_by_the_tolerance_and_first_says_when_nothing_diverges(run):
    command = ("numeric-gap", PORTABLE, XNNPACK, *RECORDS, "--format", "csv")
    strict = run(*command, "--tolerance", "1000").text
    assert (",within_tolerance," in run(*command).text, ",within_tolerance," in strict) == (
        True,
        False,
    )
    assert ",different," in strict
    first = run(*command[:-2], "--first")
    assert first.code == 0
    assert "compared 6 of 14 values: all within 60 dB (worst " in first.text


@pytest.mark.parametrize("method", ["prefill", "decode"])
def test_runs_of_other_methods_than_the_stated_one_are_left_out(run, method):
    command = ("numeric-gap", PORTABLE, XNNPACK, *RECORDS, "--format", "json")
    every = json.loads(run(*command).out)
    assert {row["method"] for row in every} == {"prefill", "decode"}
    stated = json.loads(run(*command, "--method", method).out)
    assert stated == [row for row in every if row["method"] == method]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            (PORTABLE, XNNPACK, "--method", "decode"),
            "--method needs the ETRecord that defines the method",
        ),
        ((PORTABLE, *RECORDS[:2], "--method", "decode"), "wanted forward without HEAD"),
        ((PORTABLE, XNNPACK, *RECORDS, "--method", "encode"), "has no method 'encode'"),
    ],
)
def test_a_method_that_cannot_be_meant_is_refused(run, arguments, problem):
    done = run("numeric-gap", *arguments)
    assert done.code != 0
    assert problem in " ".join(done.err.replace("│", " ").split())


def test_json_has_all_columns_and_every_run(run):
    done = run("numeric-gap", PORTABLE, PORTABLE, "--all-runs", "--format", "json")
    rows = json.loads(done.out)
    assert {row["base_run_index"] for row in rows} == {1, 3, 4, 5, 6}
    assert {row["verdict"] for row in rows} == {"equal"}
    assert {row["joined_by"] for row in rows} == {"instruction"}


def test_a_gap_table_without_debug_handles_shows_instructions(run):
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


@pytest.mark.parametrize("more", [(), ("--first",)])
def test_dumps_of_different_programs_are_an_error_and_do_not_agree(run, more):
    done = run("numeric-gap", REAL / "gru_portable_n3_debug.etdp", PORTABLE, *more)
    assert done.code == 1
    n = len(run("numeric-gap", REAL / "gru_portable_n3_debug.etdp", PORTABLE).text.splitlines()) - 1
    assert done.error == (
        f"error: none of {n} values could be compared (see the column reason); wanted two dumps of "
        "one program, or the ETRecord of each, and their debug buffers"
    )


def test_a_tolerance_that_is_no_number_is_refused(run):
    done = run("numeric-gap", PORTABLE, PORTABLE, "--tolerance", "nan")
    assert (done.code, done.out) == (2, b"")
    assert "'--tolerance': 'nan', wanted a number" in done.err


def test_an_etrecord_of_another_program_is_noted(run):
    wrong = MODELS / "mixed_xnnpack.etrecord"
    done = run("numeric-gap", PORTABLE, PORTABLE, "--etrecord", wrong)
    assert done.code == 0
    assert done.err.startswith("note: base: ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((PORTABLE, "gone.etdp"), "error: gone.etdp: does not exist"),
        ((PORTABLE, PORTABLE, "--debug-buffer", "gone.bin"), "error: gone.bin: does not exist"),
        (
            (PORTABLE, PORTABLE, "--etrecord", PORTABLE),
            f"error: {PORTABLE}: not an ETRecord (a zip), but an ETDump",
        ),
    ],
)
def test_bad_input_is_one_line(run, args, message):
    done = run("numeric-gap", *args)
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith(message)


def test_unknown_metric_is_a_usage_error_before_a_file_is_read(run):
    done = run("numeric-gap", "gone.etdp", "gone.etdp", "--metric", "psnr")
    assert (done.code, done.out) == (2, b"")
    assert done.error.startswith("error: metric 'psnr': unknown; choose from")


def test_one_dump_needs_an_etrecord(run):
    done = run("numeric-gap", PORTABLE)
    assert done.code == 2
    assert "wanted HEAD, or --etrecord to run the program in it" in done.err


def test_one_dump_needs_executorch(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "executorch", None)
    done = run("numeric-gap", PORTABLE, *RECORDS[:2])
    assert done.code == 1
    assert "pip install '.[executorch]' in a checkout" in done.error


def of_pair(model):
    base, head = GAPS / f"{model}_p", GAPS / f"{model}_x"
    return (
        base / "run.etdp", head / "run.etdp",
        "--etrecord", base / "model.etrecord", "--head-etrecord", head / "model.etrecord",
    )  # fmt: skip


def with_zeros(folder, *offsets):
    """The mha pair, whose head is copied there with a tensor of zeros at each offset."""
    shutil.copytree(GAPS / "mha_x", folder)
    buffer = folder / "run.debug.bin"
    data = bytearray(buffer.read_bytes())
    for offset in offsets:
        data[offset : offset + TENSOR_BYTES] = bytes(TENSOR_BYTES)
    buffer.write_bytes(data)
    base, _, *records = of_pair("mha")
    return base, folder / "run.etdp", *records


def test_first_shows_where_the_runs_begin_to_diverge(run, tmp_path):
    args = with_zeros(tmp_path / "head", SELECT_9, LINEAR_27)
    [row] = json.loads(run("numeric-gap", *args, "--first", "--format", "json").out)
    assert (row["debug_handle"], row["head_event"]) == (9, "native_call_select_copy.int_out")
    assert (row["divergence"], row["input_debug_handles"], row["snr"]) == ("origin", [7], 0)
    lines = run("numeric-gap", *args).text.splitlines()
    assert lines[0].split()[-2:] == ["divergence", "input_debug_handles"]
    assert any("inherited" in line for line in lines)


def test_a_difference_that_nothing_inherits_is_suspect(run, tmp_path):
    args = with_zeros(tmp_path / "head", SELECT_9)
    rows = json.loads(run("numeric-gap", *args, "--format", "json").out)
    assert [r["debug_handle"] for r in rows if r["divergence"] == "suspect"] == [9]
    assert run("numeric-gap", *args, "--first", "--format", "json").out == b"[]\n"


def test_tolerance_moves_where_values_diverge(run):
    args = (*of_pair("mish"), "--first", "--format", "json")
    assert json.loads(run("numeric-gap", *args).out) == []
    [row] = json.loads(run("numeric-gap", *args, "--tolerance", "150").out)
    assert row["debug_handle"] == 5


@pytest.mark.slow
def test_dumps_of_the_store_answer_as_their_files_do(run, tmp_path):
    base, head, *records = of_pair("mha")
    names = ("--device", "here", "--model", "mha", "--store", tmp_path / "store")
    for build, dump in ("b1", base), ("b2", head):
        assert run("ingest", dump, "--build", build, *names).code == 0
    stored = run("numeric-gap", 1, 2, "--store", tmp_path / "store", "--format", "json")
    files = run("numeric-gap", base, head, *records, "--format", "json")
    assert json.loads(stored.out) == json.loads(files.out)
    mixed = run("numeric-gap", base, 2, *records[:2], "--store", tmp_path / "store")
    assert mixed.text == run("numeric-gap", base, head, *records).text


def test_a_dump_of_the_store_brings_its_own_companions(run, tmp_path):
    done = run("numeric-gap", 1, PORTABLE, "--etrecord", MODELS / "mixed_xnnpack.etrecord")
    assert done.code == 2
    assert "dump 1 of the store already has its debug buffer and ETRecord" in done.err
