from __future__ import annotations

import pytest

from queries.report.forms import FORMS, render
from queries.report.nightly import nightly_report
from queries.report.settings import BudgetLimit, Settings
from tests.support.language_farm import record_nights
from tests.support.nightly_farm import ingest_all, record_build
from warehouse import Warehouse


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    dumps = [
        *record_nights({}, nights=3),
        *(d for n in range(3) for d in record_build(n, allocated=1000, model="cnn")),
    ]
    path = ingest_all(tmp_path_factory.mktemp("budgets") / "s", dumps)
    with Warehouse.open(path, read_only=True) as store:
        yield store


def judge(store, **limit):
    settings = Settings(budgets=[BudgetLimit(**limit)])
    return nightly_report(store, settings)


@pytest.mark.parametrize(
    ("measure", "kept", "broken", "unit"),
    [
        ("load_time", {"at_most": "5 ms"}, {"at_most": "3 ms"}, "ns"),
        ("first_token", {"at_most": "1 ms"}, {"at_most": "0.5 ms"}, "ns"),
        ("tokens_per_second", {"at_least": "15000 /s"}, {"at_least": "25000 /s"}, "/s"),
        ("energy", {"at_most": "90 mJ"}, {"at_most": "70 mJ"}, "mJ"),
        ("throughput", {"at_least": 200}, {"at_least": 400}, "images/s"),
        ("allocated_bytes", {"at_most": "1 KB"}, {"at_most": "999 B"}, "bytes"),
        ("operator_count", {"at_most": 4, "model": "cnn"}, {"at_most": 3, "model": "cnn"}, "count"),
        ("delegated_share", {"at_most": 0}, {"at_least": "5 %"}, "share"),
        ("method", {"at_most": "1 ms"}, {"at_most": "1 us"}, "ns"),
    ],
)
def test_a_limit_is_kept_or_broken(store, measure, kept, broken, unit):
    good, bad = judge(store, measure=measure, **kept), judge(store, measure=measure, **broken)
    assert (good.verdict != "over_budget", bad.verdict) == (True, "over_budget")
    assert not any(budget.is_broken for budget in good.budgets)
    assert bad.budgets[0].is_broken
    assert {budget.unit for budget in bad.budgets} == {unit}
    assert ", budgets broken: " in bad.summary


def test_globs_choose_devices_models_and_backends(store):
    names = {(row.model, row.device) for row in judge(store, measure="method", at_most=1).budgets}
    assert names == {("llm", "phone"), ("cnn", "phone")}
    (row,) = judge(store, measure="method", model="c*", device="ph*", at_most=1).budgets
    assert row.model == "cnn"
    assert judge(store, measure="method", backend="xnnpack", at_most=1).budgets == []


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_what_is_broken(store, form):
    text = render(judge(store, measure="load_time", at_most="3 ms"), form)
    for part in ("load_time", "phone", "llm", *(["at most"] if form == "json" else ["3.000 ms"])):
        assert part in text


def test_a_limit_that_fits_nothing_is_a_warning(store):
    made = judge(store, measure="load_tme", at_most="3 ms")
    assert "load_tme" in made.quality.warnings[0]
    assert "fits nothing" in made.quality.warnings[0]
    assert "load_time" in made.quality.warnings[0]
    assert made.verdict != "over_budget"


def test_a_limit_in_another_unit_is_a_warning(store):
    (warning, *_) = judge(store, measure="load_time", at_most="3 MB").quality.warnings
    assert "is in bytes, its values are in ns" in warning
