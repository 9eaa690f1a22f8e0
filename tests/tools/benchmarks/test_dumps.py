"""The dumps that benchmarks are made of are as real as the one they are made from."""

from __future__ import annotations

from tests.tools.benchmarks.decode import SMALL, SMALL_EVENTS
from tests.tools.benchmarks.dumps import Template
from tests.tools.benchmarks.record import Record, ratio
from tracehouse import decode_dumps


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
