"""Times laid over a graph."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS
from tests.support.timelines import event, forward, timed_dump
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.timeline.dumps import Clocks, read_dump
from tracehouse.queries.timeline.node_data import node_data_document
from tracehouse.queries.timeline.slices import TimedRuns, lay_out_runs
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.correlation import Origin


def _run(name: str, *runs: str, clock: float = 1.0) -> TimedRuns:
    dump = read_dump(
        Source(str(CORPUS / f"real/{name}_debug.etdp")),
        Source(str(MODELS / f"{name}.etrecord")),
        Clocks(clock),
    )
    return lay_out_runs(dump, runs)


def test_a_node_has_the_microseconds_of_what_ran_it() -> None:
    document = json.loads(node_data_document([_run("prefill_decode_portable", "1")]))
    assert document["results"]["aten_relu_default"] == {"value": 10.115}
    assert document["results"]["aten_addmm_default"] == {"value": 18.347 + 57.105}
    assert [stop["stop"] for stop in document["gradient"]] == [0.0, 0.5, 1.0]
    assert document["name"].startswith("µs, ")


def test_node_data_of_two_dumps_is_the_extra_time_of_the_second() -> None:
    base = _run("prefill_decode_portable", "1")
    head = _run("prefill_decode_portable", "1", clock=2.0)
    document = json.loads(node_data_document([base, head]))
    assert document["results"]["aten_relu_default"]["value"] == 10.115
    assert document["results"]["aten_addmm_default"]["bgColor"] == "#d7301f"
    back = json.loads(node_data_document([head, base]))
    assert back["results"]["aten_addmm_default"]["bgColor"] == "#1a9850"
    same = json.loads(node_data_document([base, base]))
    assert {result["bgColor"] for result in same["results"].values()} == {"#f7f7f7"}


def test_a_delegate_of_unmapped_events_counts_as_a_whole() -> None:
    document = json.loads(node_data_document([_run("prefill_decode_xnnpack", "1")]))
    assert document["results"]["aten_relu_default"] == {"value": 38.778}


def test_a_call_counts_in_runs_where_its_delegate_logged_nothing() -> None:
    call = [event("DELEGATE_CALL", 0, 50, 1), event("Method::execute", 0, 60)]
    shown = lay_out_runs(timed_dump([event("", 10, 40, 1, id="conv"), *call], call))
    origin = Origin(stack_traces={"aten_relu_default": None})
    events = [
        one._replace(origin=origin) if one.kind.startswith("delegate") else one
        for one in shown.events
    ]
    document = json.loads(node_data_document([replace(shown, events=events)]))
    assert document["results"] == {"aten_relu_default": {"value": (0.03 + 0.05) / 2}}


def test_several_methods_share_no_graph() -> None:
    with pytest.raises(QueryError, match="ran decode, prefill; choose a run"):
        node_data_document([_run("prefill_decode_portable")])


def test_node_data_without_an_etrecord_is_an_error() -> None:
    with pytest.raises(QueryError, match="no node is known"):
        node_data_document([lay_out_runs(timed_dump(forward()))])


def test_three_dumps_are_no_base_and_head() -> None:
    with pytest.raises(QueryError, match="a base and a head"):
        node_data_document([lay_out_runs(timed_dump(forward()))] * 3)
