"""Dumps made from another one are as real as that one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpus import CORPUS
from tests.support.cross_section import cross_section
from tests.support.etdump_builder import build_etdump
from tests.support.event_blocks import run, timed
from tests.tools.simulation.dump_template import DumpTemplate, repeat_runs
from tracehouse import decode_dumps
from tracehouse.ingest.errors import DumpError

REAL = sorted((CORPUS / "real").glob("*.etdp"))
TEMPLATE = DumpTemplate((CORPUS / "real/cnn_xnnpack_n20.etdp").read_bytes())


def whole(path):
    """The tables of a dump that can be read and has runs, else None."""
    batch = decode_dumps([path.read_bytes()])
    return batch.tables if batch.tables["runs"].num_rows else None


@pytest.mark.parametrize("path", cross_section(REAL, 3), ids=lambda path: path.stem)
def test_runs_repeated_from_any_on_decode_to_the_runs_repeated(path):
    tables = whole(path)
    if tables is None:
        pytest.skip("cannot be read, or has no runs")
    dump = path.read_bytes()
    runs = tables["runs"].drop_columns("run_index").to_pylist()
    values = [row["run_index"] for row in tables["debug_values"].to_pylist()]
    assert repeat_runs(dump, 1) == dump
    for first_run in {0, min(1, len(runs) - 1), len(runs) - 1}:
        batch = decode_dumps([repeat_runs(dump, 3, first_run=first_run)])
        assert batch.errors.num_rows == 0
        assert batch.tables["runs"].drop_columns("run_index").to_pylist() == (
            runs[:first_run] + runs[first_run:] * 3
        )
        repeated = sum(index >= first_run for index in values)
        assert batch.tables["debug_values"].num_rows == len(values) + 2 * repeated


@pytest.mark.slow
@given(st.randoms(use_true_random=False))
def test_times_put_in_come_out_again_and_nothing_else_changes(random):
    starts, ends = (
        np.array([random.getrandbits(random.randint(1, 64)) for _ in TEMPLATE.starts], np.uint64)
        for _ in range(2)
    )
    dump = TEMPLATE.with_times(starts, ends)
    again = DumpTemplate(dump)
    assert (again.starts == starts).all()
    assert (again.ends == ends).all()
    assert again.with_times(TEMPLATE.starts, TEMPLATE.ends) == TEMPLATE.with_times(
        TEMPLATE.starts, TEMPLATE.ends
    )


@pytest.mark.parametrize(
    "name", ["cnn_portable_n20", "mixed_xnnpack_n20_debug", "lstm_xnnpack_n20", "step_api"]
)
def test_a_template_with_its_own_times_gives_the_original_dump(name):
    dump = (CORPUS / f"real/{name}.etdp").read_bytes()
    template = DumpTemplate(dump)
    assert template.with_times(template.starts, template.ends) == dump


def test_a_run_can_be_made_to_log_its_first_events_only():
    counts = decode_dumps([TEMPLATE.with_times(TEMPLATE.starts, TEMPLATE.ends)]).tables["runs"]
    wanted = counts["n_events"].to_pylist()
    wanted[7] = 4
    batch = decode_dumps([TEMPLATE.with_times(TEMPLATE.starts, TEMPLATE.ends, event_counts={7: 4})])
    assert batch.errors.num_rows == 0
    assert batch.tables["runs"]["n_events"].to_pylist() == wanted


def test_an_event_without_place_for_a_time_is_refused():
    dump = build_etdump({"run_data": [run(timed("native_call_add", 0, 5))]})
    with pytest.raises(DumpError, match="starts or ends at tick 0"):
        DumpTemplate(dump)
