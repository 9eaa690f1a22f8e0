from __future__ import annotations

from pathlib import Path

import pytest

from queries.report.nightly import nightly_report
from queries.report.settings import Settings
from warehouse import Warehouse
from warehouse.regressions import judging


def test_a_fleet_that_is_judged_file_by_file_has_the_result_of_the_whole(
    nightly: Warehouse, pool_store: Warehouse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(judging.tempfile, "tempdir", str(tmp_path))
    stores = nightly, pool_store
    whole = [nightly_report(store, Settings()) for store in stores]
    verdicts = [store.query("nightly_verdicts") for store in stores]
    assert all(report.groups for report in whole)
    for values in (1, 1000):
        monkeypatch.setattr(judging, "VALUES_AT_ONCE", values)
        assert [nightly_report(store, Settings()) for store in stores] == whole
    assert [store.query("nightly_verdicts") for store in stores] == verdicts
    assert list(tmp_path.glob("*/*.arrows")) == [], "values on disk are deleted"
