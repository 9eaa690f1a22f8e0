from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import zipfile

import pyarrow as pa
import pytest

from cli.main import main
from tests.support.corpus import CORPUS
from tests.support.etdump_builder import build_etdump
from tests.support.event_blocks import run, timed

DUMP = CORPUS / "real" / "cnn_xnnpack_n20.etdp"


@pytest.fixture
def inspect(capsysbinary):
    """Runs `tracehouse inspect`: its exit status, standard output and standard error."""

    def call(*args):
        try:
            status = main(["inspect", *map(str, args)])
        except SystemExit as end:
            status = end.code
        captured = capsysbinary.readouterr()
        return status, captured.out, captured.err.decode()

    return call


def answer(inspect, *args):
    status, out, err = inspect(*args)
    assert (status, err) == (0, "")
    return out


@pytest.fixture
def three_runs(tmp_path):
    path = tmp_path / "three.etdp"
    runs = [
        run(timed("native_call_add", i * 100, i * 100 + 30), timed("OPERATOR_CALL", 0, 40))
        for i in range(3)
    ]
    path.write_bytes(build_etdump({"run_data": runs}))
    return path


def test_table_is_that_of_the_inspector_with_start_times_shortened(inspect, three_runs):
    lines = answer(inspect, three_runs, "--target-time-scale", "ns").decode().splitlines()
    assert lines[0].split("  ")[0] == "event_block_name"
    assert "p10 (ns)" in lines[0]
    assert len(lines) == 2
    assert lines[1].split() == [
        "Execute", "native_call_add", *["30"] * 6, "[]", "false", "0", "...", "200", "(3)",
    ]  # fmt: skip


def test_all_shows_operator_calls_too(inspect, three_runs):
    assert b"OPERATOR_CALL" not in answer(inspect, three_runs, "--format", "csv")
    assert b"OPERATOR_CALL" in answer(inspect, three_runs, "--format", "csv", "--all")


def test_tsv_reads_like_the_file_of_save_data_to_tsv(inspect, three_runs):
    text = answer(inspect, three_runs, "--format", "tsv").decode()
    header, row = csv.reader(io.StringIO(text), delimiter="\t")
    assert header[:4] == ["", "event_block_name", "event_name", "p10 (ms)"]
    assert header[-4:] == ["op_types", "is_delegated_op", "delegate_backend_name", "start_time"]
    assert row[:4] == ["0", "Execute", "native_call_add", "3e-05"]
    assert row[-4:] == ["[]", "false", "", "[0, 100, 200]"]


def test_json_has_every_event_and_sample(inspect, three_runs):
    [block] = json.loads(answer(inspect, three_runs, "--format", "json"))["event_blocks"]
    assert [event["name"] for event in block["events"]] == ["native_call_add", "OPERATOR_CALL"]
    assert block["events"][0]["start_time"] == [0, 100, 200]


def test_arrow_has_exact_numbers_and_lists(inspect, three_runs):
    table = pa.ipc.open_stream(answer(inspect, three_runs, "--format", "arrow")).read_all()
    assert table["start_time"].to_pylist() == [[0, 100, 200]]
    assert table["avg (ms)"].to_pylist() == [3e-05]


def test_dump_in_a_zip_is_inspected(inspect, tmp_path, three_runs):
    archive = tmp_path / "artifact.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(three_runs, "inner/one.etdp")
    assert answer(inspect, archive) == answer(inspect, three_runs)


def test_member_of_a_zip_with_several_dumps_is_chosen_by_name(inspect, tmp_path, three_runs):
    archive = tmp_path / "artifact.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(DUMP, "a.etdp")
        file.write(three_runs, "b.etdp")
    status, out, err = inspect(archive)
    assert (status, out) == (1, b"")
    assert err == f"error: {archive}: holds 2 dumps, wanted one, such as {archive}!a.etdp\n"
    assert answer(inspect, f"{archive}!b.etdp") == answer(inspect, three_runs)


def test_refused_dump_is_one_line_with_file_offset_and_reason(inspect, tmp_path):
    path = tmp_path / "cut.etdp"
    path.write_bytes(DUMP.read_bytes()[:1000])
    status, out, err = inspect(path)
    assert (status, out) == (1, b"")
    assert err.startswith(f"error: {path}: offset 0: ")
    assert err.endswith("[bad_size_prefix]\n")
    assert err.count("\n") == 1


def test_missing_file_is_one_line(inspect, tmp_path):
    status, out, err = inspect(tmp_path / "gone.etdp")
    assert (status, out) == (1, b"")
    assert err.startswith(f"error: {tmp_path / 'gone.etdp'}: does not exist")


def test_cycles_with_another_scale_are_refused(inspect, three_runs):
    status, _, err = inspect(three_runs, "--source-time-scale", "cycles")
    assert status == 1
    assert err.startswith("error: cannot convert cycles to ms")


def test_samples_left_out_are_told_on_stderr(inspect, tmp_path):
    path = tmp_path / "odd.etdp"
    path.write_bytes(build_etdump({"run_data": [run(timed("a", 0, 1), timed("b", 2**40, 5))]}))
    status, out, err = inspect(path, "--format", "csv")
    assert status == 0
    assert len(out.splitlines()) == 3
    assert err.startswith("note: durations that cannot be right")
    assert ": 1; --format json" in err


def test_neither_duckdb_nor_rich_is_loaded():
    code = (
        "import sys; from cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "sys.exit(' '.join(sys.modules.keys() & {'duckdb', 'rich', 'pandas'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", DUMP], capture_output=True, text=True, check=False
    )
    assert done.stderr == "\n"
    assert done.stdout
