"""Dumps from files and out of stores, alike."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS
from tests.support.stores import ingest
from tests.support.timelines import read_trace
from tracehouse import Warehouse
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.timeline.dumps import Clocks, TimedDump, read_dump, read_stored_dump
from tracehouse.queries.timeline.perfetto import perfetto_lines
from tracehouse.queries.timeline.slices import lay_out_runs
from tracehouse.warehouse.errors import QueryError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump beside its ETRecord, and a store of both."""
    path = tmp_path_factory.mktemp("timeline")
    shutil.copy(CORPUS / "real/prefill_decode_xnnpack_debug.etdp", path / "run.etdp")
    shutil.copy(MODELS / "prefill_decode_xnnpack.etrecord", path / "run.etrecord")
    stated = {"device": "pixel8", "build": "b1", "model": "mv2", "clock": "us"}
    ingest(path / "store", path / "run.etdp", manifest=stated)
    return path


def _events(dump: TimedDump) -> list[dict[str, object]]:
    events = read_trace("".join(perfetto_lines([lay_out_runs(dump)])))
    return [event for event in events if event["ph"] != "M"]


def test_a_dump_of_a_store_is_as_its_file(folder: Path) -> None:
    file = read_dump(
        Source(str(folder / "run.etdp")), Source(str(folder / "run.etrecord")), Clocks(1e3)
    )
    with Warehouse.open(folder / "store", read_only=True) as store:
        stored = read_stored_dump(store, 1)
    assert stored.label == "pixel8 · mv2 · b1 (dump 1)"
    assert stored.facts["device"] == "pixel8"
    assert stored.clocks == Clocks(1e3, {"": 1e3})
    assert _events(stored) == _events(file)


def test_a_dump_that_the_store_lacks_is_refused(folder: Path) -> None:
    with (
        Warehouse.open(folder / "store", read_only=True) as store,
        pytest.raises(QueryError, match="dump 7: the store has no such dump"),
    ):
        read_stored_dump(store, 7)


def test_a_dump_whose_events_are_gone_says_where_its_file_is(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "store", tmp_path / "store")
    with Warehouse.open(tmp_path / "store") as store:
        store.writing.execute("DELETE FROM events")
        with pytest.raises(
            QueryError, match=r"dump 1: .*tracehouse store archive get [0-9a-f]{12}"
        ):
            read_stored_dump(store, 1)
