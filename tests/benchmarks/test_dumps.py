"""The dumps that benchmarks are made of are as real as the one they are made from."""

from __future__ import annotations

import pytest

from ingest import decode_dumps
from tests.benchmarks.decode import DATA, SMALL, SMALL_EVENTS
from tests.benchmarks.dumps import Template, repeat_runs
from tests.benchmarks.record import Record, ratio


def test_a_dump_repeated_once_is_the_dump():
    assert repeat_runs(SMALL.read_bytes(), 1) == SMALL.read_bytes()


@pytest.mark.parametrize("name", ["cnn_portable_n20", "cnn_portable_n1_debug"])
def test_repeated_runs_decode_to_the_runs_repeated(name):
    dump = (DATA / f"corpus/real/{name}.etdp").read_bytes()
    one = decode_dumps([dump]).tables
    three = decode_dumps([repeat_runs(dump, 3)])
    assert three.errors.num_rows == 0
    runs = one["runs"].drop_columns("run_index").to_pylist()
    assert three.tables["runs"].drop_columns("run_index").to_pylist() == runs * 3
    assert three.tables["events"].num_rows == 3 * one["events"].num_rows
    assert three.tables["debug_values"].num_rows == 3 * one["debug_values"].num_rows


def test_varied_dumps_differ_in_their_times_only():
    template = Template(SMALL.read_bytes())
    batch = decode_dumps([template.vary(0), template.vary(1)])
    assert template.vary(0) != template.vary(1)
    assert batch.tables["events"].num_rows == 2 * SMALL_EVENTS
    assert (
        batch.tables["run_signatures"]
        == decode_dumps([SMALL.read_bytes()]).tables["run_signatures"]
    )


def test_a_record_comes_back_as_it_was_written(tmp_path):
    record = Record.of({"decode": {"CPU ns/event": 98.7654321}}, torch="2.13.0")
    record.write(tmp_path / "build/bench.json")
    assert Record.read(tmp_path / "build/bench.json") == record
    assert record.figures == {"decode": {"CPU ns/event": 98.77}}


def test_figures_are_compared_with_those_of_the_record():
    record = Record.of({"decode": {"CPU ns/event": 200}})
    assert ratio(record, "decode", "CPU ns/event", 100) == "0.50"
    assert ratio(record, "decode", "s wall", 100) == ""
    assert ratio(None, "decode", "CPU ns/event", 100) == ""
