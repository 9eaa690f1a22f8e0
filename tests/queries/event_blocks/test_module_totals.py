from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.event_blocks.blocks import Event, EventBlock, PerfData
from tracehouse.queries.event_blocks.build import read_event_blocks
from tracehouse.queries.event_blocks.module_totals import (
    module_paths,
    module_total_table,
    module_totals,
)
from tracehouse.queries.event_blocks.time_scales import TimeScale
from tracehouse.warehouse.errors import QueryError


def event(kind, instruction, time, *modules, handles=1, samples_per_run=None):
    """An event of one node per module path."""
    hierarchy = {
        f"node{i}_": {
            f"L__self__{part}": [part, "Module"]
            for part in ["", *(path[:end] for end in _ends(path))]
        }
        for i, path in enumerate(modules)
    }
    return Event(
        "name",
        PerfData([time] * sum(samples_per_run or [1])),
        debug_handles=handles if modules else None,
        module_hierarchy=hierarchy,
        _instruction_id=instruction,
        _kind=kind,
        samples_per_run=samples_per_run,
    )


def _ends(path):
    return [end for end in range(1, len(path) + 1) if end == len(path) or path[end] == "."]


def block(*events):
    return EventBlock("Execute", list(events))


def total(path, *events, is_exact=False):
    [found] = module_totals([block(*events)], path, is_exact=is_exact)
    return found.total


def test_a_module_has_the_time_of_its_kernels_and_of_modules_inside_it():
    events = [
        event("kernel", 0, 1.0, "layers.0"),
        event("kernel", 1, 2.0, "layers.0.attention"),
        event("kernel", 2, 4.0, "layers.01"),
        event("kernel", 3, 8.0),
    ]
    assert total("layers.0", *events) == 3.0
    assert total("layers.0", *events, is_exact=True) == 1.0
    assert total("layers", *events) == 7.0
    assert total("", *events) == total("L__self__", *events) == 7.0
    assert total("L__self__layers.0", *events) == 3.0
    assert total("attention", *events) == 0.0


def test_an_event_of_several_modules_counts_in_full_for_each():
    fused = event("kernel", 0, 5.0, "a", "b")
    assert (total("a", fused), total("b", fused), total("", fused)) == (5.0, 5.0, 5.0)


def test_a_key_means_its_own_nodes_though_others_have_the_same_path():
    def called(instruction, time, *keys):
        nodes = {"node_": {key: [path, "Module"] for key, path in keys}}
        return replace(event("kernel", instruction, time, "x"), module_hierarchy=nodes)

    first, again = ("L__self__a", "a"), ("L__self__a@1", "a")
    events = [
        called(0, 1.0, ("L__self__", ""), first, ("L__self__a.fc", "a.fc")),
        called(1, 2.0, ("L__self__", ""), again, ("L__self__a.fc@1", "a.fc")),
        called(2, 4.0, ("L__self__L__self__", ""), ("L__self__L__self__a", "a")),
        called(3, 8.0, ("L__self__", "")),
    ]
    assert total("L__self__a", *events) == 1.0
    assert total("L__self__a@1", *events) == 2.0
    assert total("a", *events) == 7.0
    assert total("L__self__", *events) == 11.0
    assert total("L__self__", *events, is_exact=True) == 8.0
    assert total("L__self__L__self__", *events) == 4.0
    assert total("", *events) == 15.0


def test_framework_events_never_count():
    kinds = ("operator_call", "other", "method", "load", "delegate_phase")
    events = [event(kind, 0, 1.0, "a") for kind in kinds]
    assert total("a", *events) == 0.0


def test_a_delegates_call_and_the_events_inside_it_never_both_count():
    events = [
        event("delegate_op", 0, 1.0, "a"),
        event("delegate_op", 0, 2.0, "b"),
        event("delegate_call", 0, 10.0, "a", "b"),
    ]
    assert (total("a", *events), total("b", *events), total("", *events)) == (1.0, 2.0, 10.0)


def test_a_delegate_whose_inner_events_are_unknown_counts_with_its_call():
    events = [event("delegate_op", 0, 1.0), event("delegate_call", 0, 10.0, "a", "b")]
    assert (total("a", *events), total("b", *events)) == (10.0, 10.0)


def test_inner_events_count_where_their_call_was_not_timed():
    assert total("a", event("delegate_op", 0, 1.0, "a")) == 1.0


def test_an_event_that_repeats_counts_per_run():
    assert total("a", event("kernel", 0, 2.0, "a", samples_per_run=[3, 5])) == 8.0


def test_the_table_has_a_row_per_block_that_counts_and_their_sum():
    blocks = [block(event("kernel", 0, 1.0, "a")), block(), block(event("kernel", 0, 2.0, "a.b"))]
    table = module_total_table(blocks, "a", is_exact=False, unit=TimeScale.MS)
    assert table.to_pylist() == [
        {"event_block_name": "Execute", "bundled_input_index": -1, "event_count": 1,
         "total (ms)": 1.0},
        {"event_block_name": "Execute", "bundled_input_index": -1, "event_count": 1,
         "total (ms)": 2.0},
        {"event_block_name": "(all)", "bundled_input_index": -1, "event_count": 2,
         "total (ms)": 3.0},
    ]  # fmt: skip


def test_an_unknown_module_lists_the_known_ones():
    blocks = [block(event("kernel", 0, 1.0, "b.c"), event("kernel", 1, 1.0, "a"))]
    with pytest.raises(
        QueryError, match=r"no event of this dump is in it; known modules: a, b, b\.c"
    ):
        module_total_table(blocks, "x", is_exact=False, unit=TimeScale.MS)
    with pytest.raises(QueryError, match="no module is known"):
        module_total_table([block()], "x", is_exact=False, unit=TimeScale.MS)


def test_totals_of_a_real_program_are_those_of_its_kernels_and_delegate_calls():
    blocks = read_event_blocks(
        Source(str(CORPUS / "real" / "mixed_xnnpack_n20.etdp")),
        etrecord=Source(str(MODELS / "mixed_xnnpack.etrecord")),
    )
    assert module_paths(blocks) == ["c1", "c2", "fc"]
    everything = sum(
        event.perf_data.avg
        for event in blocks[1].events
        if event.kind in ("kernel", "delegate_call")
    )
    whole, c1 = (module_totals(blocks, path)[1].total for path in ("", "c1"))
    assert whole == pytest.approx(everything)
    assert c1 == pytest.approx(0.0051858)
