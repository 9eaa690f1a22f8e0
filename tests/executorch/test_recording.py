"""The real runtime records, and ExecuTorch reads programs back: `make test-executorch`."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from tests.support.command import ENVIRONMENT, Outcome, run_process
from tracehouse import Warehouse

PYTHON = os.environ.get("EXECUTORCH_PYTHON", "")
WORKER = Path(__file__).with_name("program_worker.py")
pytestmark = pytest.mark.skipif(not PYTHON, reason="make test-executorch installs executorch")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a linear layer lowered to portable kernels and to XNNPACK, and its inputs."""
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run([PYTHON, WORKER, "export", folder], check=True)
    np.savez(folder / "inputs.npz", np.ones((1, 4), np.float32))
    return folder


def record(programs: Path, backend: str, store: Path, *more: str | Path) -> Outcome:
    return run_process(
        "record", programs / f"{backend}.pte", "--inputs", programs / "inputs.npz",
        "--etrecord", programs / f"{backend}.etrecord", "--device", "here", "--build", "b1",
        "--model", "layer", "--backend", backend, "--python", PYTHON, "--store", store, *more,
    )  # fmt: skip


def test_recorded_dump_has_every_iteration_and_module(programs, tmp_path):
    done = record(programs, "portable", tmp_path / "store", "--format", "json")
    assert done.code == 0, done.err
    rows = {row["event_name"]: row for row in json.loads(done.out)}
    assert rows["native_call_addmm.out"]["sample_count"] == 50
    assert rows["Method::execute"]["sample_count"] == 50
    with Warehouse.open(tmp_path / "store", read_only=True) as store:
        paths = store.query("module_totals", model="layer")["module_path"].to_pylist()
    assert "linear" in paths


def test_exported_program_of_a_recorded_dump_has_the_nodes_of_its_tables(programs, tmp_path):
    store = tmp_path / "store"
    assert record(programs, "xnnpack", store).code == 0
    command = [PYTHON, WORKER, "read", store, sysconfig.get_path("purelib")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=ENVIRONMENT)
    with Warehouse.open(store, read_only=True) as warehouse:
        nodes = warehouse.sql(
            "SELECT DISTINCT node, node_index FROM graph_nodes "
            "WHERE graph = 'edge_dialect_exported_program' AND scope = '' ORDER BY node_index"
        )
    assert nodes["node"].to_pylist() == json.loads(done.stdout)


def test_backends_recorded_with_values_compute_the_same(programs, tmp_path):
    for backend in ("portable", "xnnpack"):
        kept = ("--output", tmp_path / f"{backend}.etdp", "--debug-buffer", "1")
        assert record(programs, backend, tmp_path / "store", *kept).code == 0
    done = run_process(
        "numeric-gap", tmp_path / "portable.etdp", tmp_path / "xnnpack.etdp",
        "--etrecord", programs / "portable.etrecord",
        "--head-etrecord", programs / "xnnpack.etrecord", "--format", "json",
    )  # fmt: skip
    (relu,) = [row for row in json.loads(done.out) if row["base_event"] == "native_call_relu.out"]
    assert relu["mse"] < 1e-12


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.ones((1, 4)), "Input 0 has unexpected scalar type: expected Float but was Double"),
        (np.ones((1, 5), np.float32), "Expected shape (1, 4), but received (1, 5)"),
    ],
)
def test_inputs_that_do_not_fit_are_reported_in_one_line(programs, tmp_path, array, problem):
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, array)
    done = record(programs, "portable", tmp_path / "store", "--inputs", inputs)
    assert done.code == 1
    assert problem in done.error


def test_a_debug_buffer_that_is_too_small_is_reported(programs, tmp_path):
    more = ("--iterations", "10000", "--debug-buffer", "1")
    done = record(programs, "portable", tmp_path / "store", *more)
    assert done.code == 1
    assert "it was killed by SIGABRT; wanted a larger debug buffer" in done.error
