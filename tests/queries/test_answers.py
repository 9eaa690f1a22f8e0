from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.nightly_farm import nightly_store
from tracehouse import Warehouse
from tracehouse.queries.answers import answer_by_settings, stream_answer
from tracehouse.queries.report.settings import ExpectedRecordings, ReportChoice, Settings, Threshold
from tracehouse.warehouse.errors import ParameterError


@pytest.fixture(scope="module")
def nights() -> Path:
    return nightly_store()


def test_default_settings_give_the_answer_of_the_store(nights: Path) -> None:
    with Warehouse.open(nights, read_only=True) as store:
        for name, params in (("nightly_verdicts", {"head": "b9"}), ("coverage", {})):
            with stream_answer(store, name, params, Settings()) as rows:
                answer = rows.read_all()
            assert answer == store.query(name, **params)


def test_settings_have_thresholds_and_expected_recordings(nights: Path) -> None:
    deaf = Settings(
        thresholds=[Threshold(min_change=0.5)],
        expected=[ExpectedRecordings(devices=["watch"], models=["net"])],
    )
    with Warehouse.open(nights, read_only=True) as store:
        params = {"head": "b9"}
        found = [
            answer_by_settings(store, "nightly_verdicts", params, deaf),
            store.query("nightly_verdicts", **params),
        ]
        is_seen = ["suspect_regression" in rows["verdict"].to_pylist() for rows in found]
        assert is_seen == [False, True]
        with stream_answer(store, "coverage_gaps", {}, deaf) as rows:
            assert "watch" in rows.read_all()["device"].to_pylist()


def test_an_unknown_branch_or_build_is_refused(nights: Path) -> None:
    mine = Settings(report=ReportChoice(branch="mine"))
    with Warehouse.open(nights, read_only=True) as store:
        with pytest.raises(ParameterError, match="of the branch 'mine'"):
            answer_by_settings(store, "nightly_verdicts", {}, mine)
        with pytest.raises(ParameterError, match="'x' is not in the store"):
            answer_by_settings(store, "nightly_verdicts", {"head": "x"}, Settings())
