from __future__ import annotations

import shutil

import pytest

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS
from tests.support.timelines import read_trace

DUMP = CORPUS / "real/prefill_decode_portable_debug.etdp"
RECORD = MODELS / "prefill_decode_portable.etrecord"
OTHER_RECORD = MODELS / "mixed_xnnpack.etrecord"
MIXED = CORPUS / "real/mixed_xnnpack_n20.etdp"


def test_a_trace_goes_to_a_file(run, tmp_path):
    done = run("export", "trace", DUMP, "-o", tmp_path / "trace.json")
    assert (done.code, done.out, done.err) == (0, b"", "")
    assert read_trace((tmp_path / "trace.json").read_text())
    piped = run("export", "trace", DUMP).text
    assert read_trace(piped) == read_trace((tmp_path / "trace.json").read_text())


def test_files_and_dumps_of_a_store_stand_side_by_side_in_order(run, store):
    events = read_trace(run("export", "trace", "2", DUMP, "1", "--store", store).text)
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert [name.rpartition("(")[2] for name in names] == ["dump 2)", str(DUMP), "dump 1)"]


def test_the_etrecord_beside_a_dump_is_read_unless_another_is_named(run, tmp_path):
    dump = shutil.copy(DUMP, tmp_path / "run.etdp")
    assert "op_types" not in run("export", "trace", dump).text
    assert "op_types" in run("export", "trace", dump, "--etrecord", RECORD).text
    shutil.copy(RECORD, tmp_path / "run.etrecord")
    assert "op_types" in run("export", "trace", dump).text


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("x.html", "<!doctype html>"),
        ("x.HTM", "<!doctype html>"),
        ("x.folded", "Execute;Method::execute "),
        ("x.speedscope.json", '{"$schema"'),
        ("x.json", '{"displayTimeUnit"'),
    ],
)
def test_the_name_of_the_file_says_the_format(run, tmp_path, name, start):
    assert run("export", "trace", DUMP, "--run", "1", "-o", tmp_path / name).code == 0
    assert (tmp_path / name).read_text().startswith(start)


def test_a_format_that_is_stated_holds_whatever_the_name(run, tmp_path):
    stated = ("--format", "perfetto", "-o", tmp_path / "x.html")
    assert run("export", "trace", DUMP, *stated).code == 0
    assert read_trace((tmp_path / "x.html").read_text())
    stated = ("--format", "model-explorer", "--etrecord", RECORD)
    done = run("export", "trace", DUMP, "--run", "1", *stated)
    assert done.text.startswith('{"name": "µs, ')


def test_export_trace_notes_an_etrecord_of_another_program(run):
    done = run("export", "trace", DUMP, "--run", "1", "--etrecord", OTHER_RECORD)
    assert done.code == 0
    assert done.err.startswith(f"note: {DUMP}: block Execute: ")
    assert "is it of this program?" in done.err


def test_clocks_of_files_are_as_stated(run):
    done = run("export", "trace", DUMP, "--run", "1", "--clock", "us")
    (method,) = [e for e in read_trace(done.text) if e["name"] == "Method::execute"]
    plain = run("export", "trace", DUMP, "--run", "1")
    (same,) = [e for e in read_trace(plain.text) if e["name"] == "Method::execute"]
    assert method["dur"] == round(same["dur"] * 1000)


def test_cycles_are_noted(run):
    done = run("export", "trace", DUMP, "--clock", "cycles", "--format", "folded")
    assert done.err == f"note: {DUMP}: the clock's rate is unknown; 1 ns shown is 1 cycle\n"


def test_a_malformed_clock_is_reported_in_terms_of_its_option(run):
    done = run("export", "trace", DUMP, "--clock", "min")
    assert done.code == 2
    assert "clock 'min': wanted ns, us, ms, s, cycles or ticks per second, such as us" in done.err
    assert "delegate" not in done.err
    assert "Backend" not in done.err


def test_a_clock_of_a_backend_that_no_event_ran_on_is_refused(run):
    options = ("--etrecord", OTHER_RECORD, "--delegate-clock")
    assert run("export", "trace", MIXED, *options, "XnnpackBackend=us").code == 0
    done = run("export", "trace", MIXED, *options, "Nope=us")
    assert (done.code, done.out) == (1, b"")
    told = "error: delegate clock of Nope: no event ran on it; there are XnnpackBackend"
    assert done.error == told


def test_a_failed_export_leaves_the_file_as_it_was(run, tmp_path):
    target = tmp_path / "trace.json"
    target.write_text("before")
    done = run("export", "trace", DUMP, "--run", "99", "-o", target)
    assert done.code == 1
    assert "run '99'" in done.err
    assert target.read_text() == "before"


@pytest.mark.parametrize(
    ("dump", "problem"),
    [
        ("none.etdp", "none.etdp: does not exist"),
        ("0", "dump 0: the store has no such dump"),
        ("99999999999999999999", "dump 99999999999999999999: the store has no such dump"),
        ("9" * 300, "9999"),
    ],
)
def test_a_missing_dump_is_a_one_line_error(run, store, dump, problem):
    done = run("export", "trace", dump, "--store", store)
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith(f"error: {problem}")
