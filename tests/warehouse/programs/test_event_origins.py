"""What the store says of events' origins is what event blocks say of each dump."""

from __future__ import annotations

from collections import defaultdict
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import MODELS
from tests.support.event_blocks import integer, logged, run, timed
from tests.support.stores import MANIFEST, ingest, located_blocks, write, write_corpus
from tracehouse import Warehouse
from tracehouse.warehouse.programs.correlation import as_list

STORED = """
WITH blocks AS (
    SELECT d.source, d.etrecord_id, r.run_signature_id, min(r.run_index) AS first
    FROM runs AS r JOIN dumps AS d ON d.dump_id = r.dump_id GROUP BY ALL
), listed AS (
    SELECT b.*, unnest(s.events) AS event_signature_id, generate_subscripts(s.events, 1) AS place
    FROM blocks AS b JOIN run_signatures AS s ON s.run_signature_id = b.run_signature_id
)
SELECT regexp_extract(l.source, '([^/]*)[.]etdp$', 1) AS dump,
    o.method, o.delegate_backend, o.debug_handles, o.op_types
FROM listed AS l JOIN event_origins AS o ON o.etrecord_id = l.etrecord_id
AND o.run_signature_id = l.run_signature_id AND o.event_signature_id = l.event_signature_id
ORDER BY dump, l.first, l.place
"""


def stored_origins(warehouse):
    origins = defaultdict(list)
    for row in warehouse.sql(STORED).to_pylist():
        origins[row.pop("dump")].append(tuple(row.values()))
    return origins


def origins_of_blocks(data, record):
    return [
        (
            block.method,
            event.delegate_backend_name,
            None if event.debug_handles is None else as_list(event.debug_handles),
            list(event.op_types),
        )
        for block in located_blocks(data, record)
        for event in block.events
    ]


@pytest.mark.slow
def test_origins_of_the_corpus_are_those_of_its_event_blocks(tmp_path):
    written = write_corpus(tmp_path / "in")
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert summary.n_dumps > 100
    refused = {refusal.source for refusal in summary.refused}
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        stored = stored_origins(warehouse)
    for name, (data, record) in written.items():
        if str(tmp_path / f"in/{name}.etdp") not in refused:
            assert stored[name] == origins_of_blocks(data, record), name


NUMBERS = count()
CHAINS = st.sampled_from([-1, 0, 1])
INSTRUCTIONS = st.sampled_from([0, 0, 1, None])
NAMES = st.sampled_from(["native_call_convolution.out", "OPERATOR_CALL", "DELEGATE_CALL", "x"])


@st.composite
def events(draw):
    place = {"chain_index": draw(CHAINS)}
    instruction = draw(INSTRUCTIONS)
    if instruction is not None:
        place["instruction_id"] = instruction
    if draw(st.booleans()):
        return timed(draw(NAMES), 1, 5, **place)
    place["chain_index"] %= 2**64
    return logged(integer(1), name=draw(st.sampled_from(["", "a"])), **place)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    with Warehouse.open(tmp_path_factory.mktemp("chains"), create=True) as warehouse:
        yield warehouse


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    runs=st.lists(st.lists(events(), min_size=1, max_size=6), min_size=1, max_size=3),
)
def test_instruction_0_is_the_programs_where_event_blocks_say_so(warehouse, tmp_path_factory, runs):
    name = f"run{next(NUMBERS)}"  # of equal run signatures, the first dump speaks for all
    data = build_etdump({"run_data": [run(*some, name=name) for some in runs]})
    path = write(tmp_path_factory.mktemp("dump") / f"{name}.etdp", data)
    warehouse.ingest([path], manifest=MANIFEST, etrecord=MODELS / "mixed_xnnpack.etrecord", jobs=1)
    assert stored_origins(warehouse)[name] == origins_of_blocks(data, "mixed_xnnpack")
