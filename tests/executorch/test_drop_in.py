"""The drop-in beside the Inspector itself: `make test-executorch`.

The dumps are ones for which no bug of the Inspector makes a difference.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tracehouse
from tests.support.corpus import CORPUS
from tracehouse import Inspector, compare_results

PYTHON = os.environ.get("EXECUTORCH_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="make test-executorch installs executorch")

CASES = {
    "real/mapping_demo_n3": {"etrecord": "models/mapping_demo.etrecord"},
    "real/mixed_xnnpack_n20": {},
    "real/traced_int_n1_debug": {"debug_buffer_path": "real/traced_int_n1_debug.debug.bin"},
    "real/stateful_portable_n3": {},
    "synthetic/debug_only": {},
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[str, Any]:
    """What the Inspector shows of each case."""
    found = tmp_path_factory.mktemp("drop_in") / "answers.json"
    subprocess.run(
        [PYTHON, Path(__file__).with_name("drop_in_worker.py"), found],
        input=json.dumps([arguments(name) for name in CASES]),
        text=True,
        check=True,
    )
    return dict(zip(CASES, json.loads(found.read_text()), strict=True))


def arguments(name: str) -> dict[str, str]:
    files = {key: str(CORPUS / path) for key, path in CASES[name].items()}
    return {"etdump_path": str(CORPUS / f"{name}.etdp"), **files}


def test_tracehouse_has_all_public_names_of_the_inspector():
    modules = ("inspector", "inspector.numerical_comparator")
    lines = "; ".join(f"print(*executorch.devtools.{name}.__all__)" for name in modules)
    imports = ", ".join(f"executorch.devtools.{name}" for name in modules)
    shown = subprocess.run(
        [PYTHON, "-c", f"import {imports}; {lines}"], capture_output=True, text=True, check=True
    )
    assert {*shown.stdout.split()} <= {*tracehouse.__all__}


@pytest.mark.parametrize("name", CASES)
def test_printed_tables_equal_the_inspectors_byte_for_byte(answers, name):
    inspector, printed = Inspector(**arguments(name)), []
    for has_units in (True, False):
        file = io.StringIO()
        inspector.print_data_tabular(file, has_units, True)
        printed.append(file.getvalue())
    assert printed == answers[name]["printed"]


@pytest.mark.parametrize("name", CASES)
def test_events_have_the_same_columns_operators_and_tuples(answers, name):
    events = [
        [event.name, [*event.asdict(" (ms)")], event.op_types, _plain(event.module_hierarchy)]
        for block in Inspector(**arguments(name)).event_blocks
        for event in block.events
    ]
    assert events == answers[name]["events"]


def test_outputs_are_compared_alike(answers):
    compared = 0
    for name in CASES:
        blocks = [b for b in Inspector(**arguments(name)).event_blocks if b.run_output]
        if "debug_buffer_path" in CASES[name]:
            ours = [
                compare_results(block.run_output, [value * 1.01 for value in block.run_output])
                for block in blocks
            ]
            assert ours == answers[name]["results"]
            compared += len(ours)
    assert compared


def _plain(hierarchy: Any) -> Any:
    if isinstance(hierarchy, dict):
        return {key: _plain(value) for key, value in hierarchy.items()}
    return ["a tuple", *hierarchy] if isinstance(hierarchy, tuple) else hierarchy
