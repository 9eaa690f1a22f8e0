from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile

import pyarrow as pa
import pytest

from tests.support.corpus import CORPUS
from tests.support.etdump_builder import build_etdump
from tests.support.event_blocks import run, timed
from tests.support.traced_farm import Step, traced_dump

DUMP = CORPUS / "real" / "cnn_xnnpack_n20.etdp"
MIXED = CORPUS / "real" / "mixed_xnnpack_n20.etdp"
RECORD = CORPUS / "models" / "mixed_xnnpack.etrecord"


@pytest.fixture
def inspect(run):
    """Runs `tracehouse inspect`."""
    return lambda *args: run("inspect", *args)


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
        "Execute", "native_call_add", *["30"] * 6, "[]", "no", "0", "...", "200", "(3)",
    ]  # fmt: skip


def test_inspect_all_shows_operator_calls_too(inspect, three_runs):
    assert b"OPERATOR_CALL" not in answer(inspect, three_runs, "--format", "csv")
    assert b"OPERATOR_CALL" in answer(inspect, three_runs, "--format", "csv", "--all")


def test_tsv_reads_like_the_file_of_save_data_to_tsv(inspect, three_runs):
    text = answer(inspect, three_runs, "--format", "tsv").decode()
    header, row = csv.reader(io.StringIO(text), delimiter="\t")
    assert header[:4] == ["", "event_block_name", "event_name", "p10 (ms)"]
    assert header[-4:] == ["op_types", "is_delegated_op", "delegate_backend_name", "start_time"]
    assert row[:4] == ["0", "Execute", "native_call_add", "3e-05"]
    assert row[-4:] == ["[]", "False", "", "[0, 100, 200]"]


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
    assert err == f"error: {archive}: has 2 dumps; name one of them, such as {archive}!a.etdp\n"
    assert answer(inspect, f"{archive}!b.etdp") == answer(inspect, three_runs)


def test_refused_dump_is_one_line_with_file_offset_and_reason(inspect, tmp_path):
    path = tmp_path / "cut.etdp"
    path.write_bytes(DUMP.read_bytes()[:1000])
    status, out, err = inspect(path)
    assert (status, out) == (1, b"")
    assert err.startswith(f"error: {path}: offset 0: ")
    assert err.endswith("[bad_size_prefix]\n")
    assert err.count("\n") == 1


TWINS = CORPUS / "models" / "twins_portable.etrecord"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("gone.etdp",), "gone.etdp: does not exist"),
        ((MIXED, "--etrecord", MIXED), f"{MIXED}: not an ETRecord (a zip), but an ETDump"),
        ((MIXED, "--etrecord", RECORD, "--module", "c"), "module 'c'"),
        (
            (DUMP, "--etrecord", TWINS, "--method", "gamma"),
            f"{TWINS}: has no method 'gamma', wanted one of 'alpha', 'beta'",
        ),
    ],
)
def test_an_unknown_name_is_a_one_line_error(inspect, args, error):
    outcome = inspect(*args)
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.error.startswith(f"error: {error}")


def test_samples_left_out_are_reported_on_stderr(inspect, tmp_path):
    path = tmp_path / "odd.etdp"
    path.write_bytes(build_etdump({"run_data": [run(timed("a", 0, 1), timed("b", 2**40, 5))]}))
    status, out, err = inspect(path, "--format", "csv")
    assert status == 0
    assert len(out.splitlines()) == 3
    assert err.startswith("note: impossible durations")
    assert ": 1; --format json" in err


def test_a_coarse_clock_is_reported_on_stderr(inspect, tmp_path):
    path = tmp_path / "coarse.etdp"
    path.write_bytes(traced_dump([Step("native_call_add.out", 900_000)], step_ns=1_000))
    status, out, err = inspect(path, "--format", "csv")
    assert (status, len(out.splitlines())) == (0, 4)
    assert err.startswith("note: the clock counts ns, but steps in 1 us")
    assert inspect(path, "--format", "csv", "--source-time-scale", "cycles",
                   "--target-time-scale", "cycles").err == ""  # fmt: skip


def test_etrecord_tells_operators_and_backends(inspect):
    text = answer(inspect, MIXED, "--etrecord", RECORD, "--format", "csv").decode()
    calls = [row for row in csv.DictReader(io.StringIO(text)) if "CALL" in row["event_name"]]
    assert calls[0]["op_types"] == '["aten.convolution.default", "aten.relu.default"]'
    assert {row["delegate_backend_name"] for row in calls} == {"XnnpackBackend"}


def test_etrecord_of_another_program_is_noted(inspect):
    status, out, err = inspect(CORPUS / "real" / "cnn_portable_n20.etdp", "--etrecord", RECORD)
    assert status == 0
    assert out
    assert err.startswith("note: block Execute: method 'forward' of the ETRecord has other")
    assert err.count("\n") == 1


def test_debug_buffer_gives_the_elements_of_tensors(inspect, tmp_path):
    original = CORPUS / "real" / "traced_int_n1_debug.etdp"
    dump = shutil.copy(original, tmp_path)
    shown = []
    for options in ((), ("--debug-buffer", original.with_suffix(".debug.bin"))):
        document = json.loads(answer(inspect, dump, "--format", "json", *options))
        shown.append(document["event_blocks"][1]["run_output"][0])
    assert shown[0]["missing"] == "no debug buffer"
    assert len(shown[1]["values"]) == 6
    assert shown[0]["shape"] == shown[1]["shape"] == [6]


def test_module_shows_time_per_block_and_in_all(inspect):
    text = answer(inspect, MIXED, "--etrecord", RECORD, "--module", "c1", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text.decode())))
    assert [row["event_block_name"] for row in rows] == ["Execute", "(all)"]
    assert [float(row["total (ms)"]) for row in rows] == pytest.approx([0.0051858] * 2)
    exact = answer(inspect, MIXED, "--etrecord", RECORD, "--module", "c1", "--exact")
    assert exact.count(b"\n") == 3


def test_results_are_compared_with_the_reference_outputs(inspect):
    dump = CORPUS / "real" / "bundled_cpp_dyn_portable.etdp"
    record = CORPUS / "models" / "dyn_portable_bundled.etrecord"
    text = answer(
        inspect, dump, "--etrecord", record, "--compare-results", "snr,mse", "--format", "csv"
    )
    header = text.decode().splitlines()[0].split(",")
    assert {"snr", "mse", "verdict"} <= set(header)
    status, _, err = inspect(dump, "--etrecord", record, "--compare-results", "nope")
    assert status == 2
    assert err.startswith("error: metric 'nope': unknown")


@pytest.mark.parametrize(
    "option",
    [
        ("--compare-results", "snr,psnr"),
        ("--delegate-clock", "years"),
        ("--target-time-scale", "cycles"),
        ("--source-time-scale", "cycles"),
    ],
)
def test_bad_values_of_options_are_usage_errors_before_a_file_is_read(inspect, tmp_path, option):
    status, out, err = inspect(tmp_path / "gone.etdp", *option)
    assert (status, out) == (2, b"")
    assert "gone.etdp" not in err
    assert err.count("\n") == 1


def test_delegates_can_have_a_clock_of_their_own(inspect):
    def delegated(*options):
        document = json.loads(answer(inspect, MIXED, "--format", "json", *options))
        events = document["event_blocks"][1]["events"]
        return [sum(event["raw"]) for event in events if event["is_delegated_op"]]

    plain = delegated()
    slow = [pytest.approx(1000 * total) for total in plain]
    assert delegated("--delegate-clock", "us") == slow
    named = ("--etrecord", RECORD, "--delegate-clock", "XnnpackBackend=1000000")
    assert delegated(*named) == slow
    status, _, err = inspect(MIXED, "--etrecord", RECORD, "--delegate-clock", "Xnn=us")
    assert status == 1
    assert err == "error: delegate clock of Xnn: no event ran on it; did you mean XnnpackBackend?\n"


def test_stated_method_is_the_one_of_which_the_events_are(inspect):
    dump = CORPUS / "real" / "twins_portable.etdp"
    methods = {}
    for stated in ("alpha", "beta"):
        args = (dump, "--etrecord", TWINS, "--method", stated, "--format", "json")
        blocks = json.loads(answer(inspect, *args))["event_blocks"]
        methods[stated] = [(block["method"], block["method_candidates"]) for block in blocks]
    assert methods == {name: [(name, [name])] * 2 for name in ("alpha", "beta")}
