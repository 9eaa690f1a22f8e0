from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest

from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.regressions import baseline, judging


def test_judging_a_fleet_file_by_file_gives_the_result_of_the_whole(
    nightly: Warehouse, pool_store: Warehouse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(judging.tempfile, "tempdir", str(tmp_path))
    stores = nightly, pool_store
    whole = [nightly_report(store, Settings()) for store in stores]
    verdicts = [store.query("nightly_verdicts") for store in stores]
    assert all(report.groups for report in whole)
    for store, values, report in zip(stores, (1000, 1), whole, strict=True):
        monkeypatch.setattr(judging, "VALUES_AT_ONCE", values)
        assert nightly_report(store, Settings()) == report
    assert [store.query("nightly_verdicts") for store in stores] == verdicts
    assert list(tmp_path.glob("*/*.arrows")) == [], "values on disk are deleted"


def test_parts_are_judged_alone_as_among_all_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The nights of other parts count: usual errors are those of so many nights of the fleet."""
    monkeypatch.setattr(baseline, "ERROR_NIGHTS", 4)
    dumps = [
        dump
        for number in range(10)
        for device in ("phone", "tablet")
        if device == "phone" or number % 3 == 0
        for dump in record_build(number, device=device)
    ]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        whole = store.query("nightly_verdicts")
        for values in (judging.VALUES_AT_ONCE, 1):
            monkeypatch.setattr(judging, "VALUES_AT_ONCE", values)
            for device in ("phone", "tablet"):
                own = store.query("nightly_verdicts", device=device)
                assert own == whole.filter(pc.equal(whole["device"], device))
                assert own["error"].null_count < len(own)


def test_device_and_model_never_recorded_together_have_no_rows(tmp_path: Path) -> None:
    dumps = [*record_build(0, device="phone"), *record_build(0, device="tablet", model="other")]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        for query in ("nightly_verdicts", "change_points"):
            found = store.query(query, device="phone", model="other")
            assert (found.schema, len(found)) == (store.query(query).schema, 0)
