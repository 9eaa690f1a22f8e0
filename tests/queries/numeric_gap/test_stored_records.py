from __future__ import annotations

import pytest

from tests.support.etrecord_builder import MODELS
from tracehouse.ingest.etrecord.names import EDGE_PROGRAM
from tracehouse.ingest.etrecord.record import build_etrecord_tables, decode_etrecord, read_etrecord
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.numeric_gap.logged_operators import read_nodes, read_outputs
from tracehouse.queries.numeric_gap.stored_dumps import write_record

RECORDS = sorted(path.name for path in MODELS.glob("*.etrecord"))


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_written_from_its_tables_says_the_same(name):
    record = read_etrecord(Source(str(MODELS / name)))
    tables = build_etrecord_tables(record)
    nodes = [
        row
        for row in tables["graph_nodes"].to_pylist()
        if (row["graph"], row["scope"]) == (EDGE_PROGRAM, "")
    ]
    rows = (tables[name].to_pylist() for name in ("debug_handles", "delegates"))
    written = decode_etrecord(write_record(nodes, *rows), "written")
    wanted = {method: handles for method, handles in record.debug_handles.items() if handles}
    assert written.debug_handles == wanted
    assert written.num_outputs == {k: v for k, v in record.num_outputs.items() if k in wanted}
    for method in wanted:
        assert written.delegates.get(method, {}) == record.delegates.get(method, {})
        ours, theirs = written.edge_graph(method), record.edge_graph(method)
        assert (ours is None) == (theirs is None)
        if ours and theirs:
            assert [node for node in ours.nodes if node.op != "placeholder"] == [
                node for node in theirs.nodes if node.op != "placeholder"
            ]
            assert read_nodes(ours) == read_nodes(theirs)
            assert read_outputs(ours) == read_outputs(theirs)
