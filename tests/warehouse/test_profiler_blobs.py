"""Profiler blobs in a store answer the queries that ETDumps answer."""

from __future__ import annotations

import shutil

from tests.support.corpus import CORPUS
from tracehouse import Warehouse


def test_blobs_of_a_folder_are_stored_and_queried(tmp_path):
    folder = tmp_path / "dev" / "b1" / "net"
    folder.mkdir(parents=True)
    shutil.copy(CORPUS / "legacy" / "iterations.prof", folder)
    shutil.copy(CORPUS / "legacy" / "lengths_differ.prof", folder / "no_suffix")
    with Warehouse.open(tmp_path / "store", create=True) as store:
        layout = "{device}/{build}/{model}/*.prof"
        assert store.ingest([tmp_path / "dev"], layout=layout).n_dumps == 1
        (row,) = [
            row
            for row in store.query("percentiles").to_pylist()
            if row["event_name"] == "Method::execute"
        ]
        assert row["p50_ns"] == (478770 + 482655) / 2
        assert store.query("framework_tax")["run_count"].to_pylist() == [6]
