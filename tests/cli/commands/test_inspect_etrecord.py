"""What `inspect` says of a dump with an ETRecord."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS

MIXED = CORPUS / "real" / "mixed_xnnpack_n20.etdp"
RECORD = MODELS / "mixed_xnnpack.etrecord"
BUNDLED = MODELS / "dyn_portable_bundled.etrecord"
DYNAMIC = CORPUS / "real" / "dyn_portable_shapes_debug.etdp"


def test_a_bundled_input_that_the_dump_does_not_tell_can_be_stated(run):
    buffer = DYNAMIC.with_suffix(".debug.bin")
    args = ("inspect", DYNAMIC, "--etrecord", BUNDLED, "--debug-buffer", buffer)

    def verdicts(*options):
        done = run(*args, "--compare-results", "mse", "--format", "csv", *options)
        return {row["verdict"]: row["mse"] for row in csv.DictReader(io.StringIO(done.text))}

    assert verdicts() == {"not_compared": ""}
    assert float(verdicts("--bundled-input", 0)["different"]) < 1e-12
    document = json.loads(run(*args, "--format", "json", "--bundled-input", 0).text)
    expected = [block["reference_output"] for block in document["event_blocks"]]
    assert expected[0] is None
    assert expected[1][0]["shape"] == [3]


def test_a_bundled_input_that_the_etrecord_lacks_is_one_line(run):
    done = run("inspect", DYNAMIC, "--etrecord", BUNDLED, "--bundled-input", 9)
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith("error: bundled input 9: the ETRecord has no reference output")


def test_another_graph_can_tell_the_operators(run):
    args = ("inspect", MIXED, "--etrecord", RECORD, "--format", "json", "--reference-graph-name")

    def op_types(graph):
        events = json.loads(run(*args, graph).text)["event_blocks"][1]["events"]
        return [event["op_types"] for event in events if event["op_types"]]

    assert ["aten.convolution.default", "aten.relu.default"] in op_types(
        "edge_dialect_graph_module"
    )
    assert op_types("exported_program") == []  # its nodes have no debug handles
    done = run(*args, "nope")
    assert (done.code, done.out) == (1, b"")
    assert done.error.startswith(f"error: {RECORD}: has no graph 'nope'")


@pytest.mark.parametrize(
    ("option", "what"),
    [
        (("--bundled-input", 0), "input"),
        (("--reference-graph-name", "exported_program"), "graph"),
        (("--method", "forward"), "method"),
    ],
)
def test_an_option_about_the_etrecord_needs_one(run, option, what):
    done = run("inspect", MIXED, *option)
    assert (done.code, done.out) == (2, b"")
    assert f"wanted --etrecord, too: the {what} is" in done.err
