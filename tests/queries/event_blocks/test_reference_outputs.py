from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.support.event_blocks import blocks_of, integer, logged, run, timed
from tracehouse.ingest.errors import EtRecordError
from tracehouse.queries.event_blocks.build import with_reference_outputs
from tracehouse.warehouse.errors import QueryError

OUTPUT = integer(7) | {"output": {"bool_val": True}}


def answer(blocks, cases, bundled_input=None):
    """The reference outputs with an ETRecord that has these cases of the method forward."""
    correlation = SimpleNamespace(record=SimpleNamespace(reference_outputs={"forward": cases}))
    blocks = [replace(block, method="forward") for block in blocks]
    found = with_reference_outputs(blocks, correlation, bundled_input)
    return [block.reference_output for block in found]


def executed(*events, **fields):
    return blocks_of(run(timed("Method::execute", 0, 1), *events, **fields))


def test_the_only_case_is_taken_without_asking():
    assert answer(executed(), [[7]]) == [[7]]
    assert answer(blocks_of(run(timed("a", 0, 1), logged(OUTPUT))), [[7]]) == [[7]]


def test_the_stated_case_is_taken_of_several():
    assert answer(executed(), [[7], [8]]) == [None]
    assert answer(executed(), [[7], [8]], bundled_input=1) == [[8]]


def test_blocks_that_did_not_run_the_method_have_no_reference_output():
    assert answer(blocks_of(run(timed("Method::init", 0, 1))), [[7]]) == [None]


def test_the_case_that_the_dump_states_wins_over_the_given_one():
    [block] = executed(bundled_input_index=1)
    assert answer([replace(block, reference_output=[8])], [[7], [8]], bundled_input=0) == [[8]]


def test_a_bundled_input_that_the_etrecord_lacks_is_an_error():
    with pytest.raises(QueryError, match="bundled input 2: the ETRecord has no reference output"):
        answer(executed(), [[7]], bundled_input=2)


def test_blocks_without_an_etrecord_get_no_reference_outputs():
    blocks = executed()
    assert with_reference_outputs(blocks, None, None) == blocks


def test_reference_outputs_that_cannot_be_read_are_a_note():
    class Record:
        @property
        def reference_outputs(self):
            raise EtRecordError("r.etrecord", "damaged")

    [block] = executed()
    correlation = SimpleNamespace(record=Record())
    [found] = with_reference_outputs([replace(block, method="forward")], correlation, None)
    assert found.reference_output is None
    assert "r.etrecord" in found.notes[-1]
