"""What `inspect` shows of a blob of ExecuTorch's older profiler."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.support.blob_builder import block, build_profiler_blob
from tests.support.command import run_on_terminal
from tests.support.corpus import CORPUS

BLOB = CORPUS / "legacy" / "iterations.prof"


def test_three_tables_are_printed(run):
    outcome = run("inspect", BLOB)
    assert (outcome.code, outcome.err) == (0, "")
    assert [line for line in outcome.text.splitlines() if ": " in line] == [
        "default: profile (ms)",
        "run_model_loop: profile (ms)",
        "run_model_loop: framework tax (ms)",
        "default: memory",
        "run_model_loop: memory",
    ]
    assert [line.split() for line in outcome.text.splitlines()[-3:-1]] == [
        ["method", "allocator", "4.196", "kB", "25.18", "kB"],
        ["temp", "64", "B", "384", "B"],
    ]


def test_json_has_profile_memory_and_framework_tax(run):
    document = json.loads(run("inspect", BLOB, "--format", "json").text)
    assert document.keys() == {"profile", "memory", "framework_tax"}
    assert document["profile"]["default"] == [
        {
            "name": "Program::load_method",
            "chain_index": -1,
            "instruction_id": 0,
            "start": [1.0],
            "duration": [0.501],
        }
    ]
    assert document["framework_tax"]["run_model_loop"]["framework_tax_percent"][0] == pytest.approx(
        100 * 16 / 471, rel=1e-15
    )


@pytest.mark.parametrize(
    ("scale", "duration"),
    [("ns", "0.501"), ("us", "501.0"), ("ms", "501000"), ("CYCLES", "501000")],
)
def test_csv_has_the_profile_in_the_time_scale(run, scale, duration):
    scales = ["--source-time-scale", scale]
    scales += ["--target-time-scale", scale] if scale == "CYCLES" else []
    outcome = run("inspect", BLOB, "--format", "csv", *scales)
    header, first, *_ = csv.reader(io.StringIO(outcome.text))
    assert header[-1] == f"duration ({'cycles' if scale == 'CYCLES' else 'ms'})"
    assert first[-1] == duration


def test_time_scale_that_the_parser_lacks_is_wrong_usage(run):
    done = run("inspect", BLOB, "--source-time-scale", "s")
    assert (done.code, "'s', wanted ns, us, ms, cycles for a profiler blob" in done.err) == (
        2,
        True,
    )


def test_iterations_that_differ_are_one_line(run):
    outcome = run("inspect", CORPUS / "legacy" / "names_differ.prof")
    assert (outcome.code, outcome.out) == (1, b"")
    assert "block 'b': event 0 is 'y' and 'x' in iterations 0 and 1" in outcome.error


def test_refused_blob_is_one_line_with_file_offset_and_reason(run):
    path = CORPUS / "legacy" / "hand_truncated_events.prof"
    outcome = run("inspect", path)
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.error.startswith(f"error: {path}: offset 140: ")
    assert outcome.error.endswith("[truncated]")


def test_missing_file_is_one_line(run, tmp_path):
    outcome = run("inspect", tmp_path / "gone.prof")
    assert outcome.code == 1
    assert outcome.error.startswith(f"error: {tmp_path / 'gone.prof'}: does not exist")


def test_impossible_durations_are_reported_on_stderr(run):
    outcome = run("inspect", CORPUS / "legacy" / "hand_end_before_start.prof")
    assert outcome.code == 0
    assert outcome.err.startswith("note: impossible durations: 2; ")


@pytest.mark.system
def test_names_do_not_steer_a_terminal(tmp_path):
    path = tmp_path / "a.prof"
    path.write_bytes(build_profiler_blob(block("run\x1b]0;x", ("a\x1b[2Jb", 0, 1))))
    outcome = run_on_terminal("inspect", path)
    assert b"\x1b]" not in outcome.out
    assert r"run\x1b]0;x: profile (ms)" in outcome.text
    assert r"a\x1b[2Jb" in outcome.text
