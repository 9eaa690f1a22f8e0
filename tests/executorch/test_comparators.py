"""Comparators written for torch, beside the Inspector itself: `make test-executorch`."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

PYTHON = os.environ.get("EXECUTORCH_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="make test-executorch installs executorch")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def answer(tmp_path_factory) -> dict[str, Any]:
    """What the worker found."""
    folder = tmp_path_factory.mktemp("comparators")
    worker = Path(__file__).with_name("comparator_worker.py")
    subprocess.run(
        [PYTHON, worker, folder, sysconfig.get_path("purelib")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    found: dict[str, Any] = json.loads((folder / "answer.json").read_text())
    return found


def test_tensors_reach_comparators_that_are_made_for_them(answer):
    theirs, ours = (dict(map(_row, answer[name]["gaps"])) for name in ("original", "tensors"))
    assert {handle: ours[handle] for handle in theirs} == theirs
    assert all(gap > 0 for gaps in theirs.values() for gap in gaps)
    assert answer["tensors"]["value_types"] == ["Tensor"]
    assert answer["outputs"] == ["Tensor"]


def test_a_comparator_of_executorch_that_gets_arrays_is_warned_of(answer):
    assert {gap for _, [gap] in answer["arrays"]["gaps"]} == {0.0}
    [warning] = answer["arrays"]["warnings"]
    assert warning.startswith("ForTensors expects torch's tensors but gets numpy arrays")
    for name in ("tensors", "theirs on arrays", "theirs on tensors"):
        assert answer[name]["warnings"] == []


def test_executorchs_own_comparators_take_both_forms(answer):
    theirs = dict(map(_row, answer["theirs"]["gaps"]))
    for name in ("theirs on arrays", "theirs on tensors"):
        ours = dict(map(_row, answer[name]["gaps"]))
        assert {handle: ours[handle] for handle in theirs} == theirs


def test_gaps_are_floats_whatever_a_comparator_returns(answer):
    for name in ("arrays", "tensors", "function"):
        assert answer[name]["gap_types"] == ["float"]


def test_wrong_arguments_raise_what_the_inspector_raises(answer):
    assert answer["original errors"].keys() == answer["our errors"].keys() == {"metric", "graph"}
    for name, kinds in answer["our errors"].items():
        assert answer["original errors"][name][0] in kinds
        assert "QueryError" in kinds


def _row(row: Any) -> tuple[tuple[int, ...], list[float]]:
    handles, gaps = row
    return tuple(handles), gaps
