from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from tests.support.blob_builder import block, build_profiler_blob
from tracehouse.queries.profiler_blob import (
    ProfilerTimeScale,
    build_profiler_blocks,
    sample_table,
    titled_tables,
)

CYCLES, NS = ProfilerTimeScale.CYCLES, ProfilerTimeScale.NS


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.prof"
    path.write_bytes(
        build_profiler_blob(
            block("load"),
            block("run", ("Method::execute", 0, 40), ("native_call_a", 5, 35)),
            block(
                "run",
                ("Method::execute", 2**63, 2**63 + 80),
                ("native_call_a", 2**63, 2**63 + 20),
            ),
        )
    )
    return path.read_bytes()


def test_samples_are_one_row_per_event_and_iteration(source):
    table = sample_table(build_profiler_blocks(source, CYCLES), CYCLES)
    assert table.column_names == [
        "block", "name", "chain_index", "instruction_id", "iteration_index", "start (cycles)",
        "duration (cycles)",
    ]  # fmt: skip
    assert table["name"].to_pylist() == ["Method::execute"] * 2 + ["native_call_a"] * 2
    assert table["iteration_index"].to_pylist() == [0, 1, 0, 1]
    assert table["start (cycles)"].to_pylist()[1] == Decimal(2**63)
    assert table["duration (cycles)"].to_pylist() == [40, 80, 30, 20]


def test_samples_in_ms_are_doubles(source):
    table = sample_table(build_profiler_blocks(source, NS), NS)
    assert table["duration (ms)"].type == pa.float64()
    assert table["duration (ms)"].to_pylist() == [4e-05, 8e-05, 3e-05, 2e-05]


def test_titled_tables_are_profiles_then_taxes_then_memory(source):
    tables = dict(titled_tables(build_profiler_blocks(source, NS), NS))
    assert list(tables) == [
        "load: profile (ms)", "run: profile (ms)", "run: framework tax (ms)", "load: memory",
        "run: memory",
    ]  # fmt: skip
    assert tables["load: profile (ms)"].num_rows == tables["load: memory"].num_rows == 0
    assert tables["run: profile (ms)"]["iteration 1"].to_pylist() == [8e-05, 2e-05]
    assert tables["run: framework tax (ms)"].to_pylist() == [
        {
            "iteration_index": i,
            "execute": execute,
            "kernels and delegates": kernel,
            "framework tax (%)": tax,
        }
        for i, (execute, kernel, tax) in enumerate([(4e-05, 3e-05, 25.0), (8e-05, 2e-05, 75.0)])
    ]


def test_each_block_has_its_own_tax_and_as_many_iterations_as_it_ran(tmp_path):
    path = tmp_path / "a.prof"
    events = ("Method::execute", 0, 4), ("native_call_a", 1, 2)
    path.write_bytes(build_profiler_blob(*[block("many", *events)] * 3, block("once", *events)))
    tables = dict(titled_tables(build_profiler_blocks(path.read_bytes(), NS), NS))
    assert [table.num_rows for title, table in tables.items() if "tax" in title] == [3, 1]
    assert tables["many: profile (ms)"].column_names[3:] == [f"iteration {i}" for i in range(3)]
    assert tables["once: profile (ms)"].column_names[3:] == ["iteration 0"]
