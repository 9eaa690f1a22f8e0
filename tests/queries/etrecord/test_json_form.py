from __future__ import annotations

import json

from tests.support.etrecord_builder import MODELS
from tracehouse.ingest.etrecord.record import read_etrecord
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.etrecord import etrecord_json


def test_document_holds_maps_and_graphs_with_the_code_of_each_node() -> None:
    record = read_etrecord(Source(str(MODELS / "mixed_xnnpack.etrecord")))
    document = json.loads(json.dumps(etrecord_json(record)))
    assert document["sha256"] == record.sha256
    assert document["delegates"]["forward"]["0"]["name"] == "XnnpackBackend"
    names = [(graph["name"], graph["method"]) for graph in document["graphs"]]
    assert names == [(graph.name, graph.method) for graph in record.graphs]
    for graph, read in zip(document["graphs"], record.graphs, strict=True):
        assert len(graph["nodes"]) == len(read.nodes)
        assert all(node["code"] for node in graph["nodes"])
