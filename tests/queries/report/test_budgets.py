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


def judge(store, *limits):
    return nightly_report(store, Settings(budgets=[BudgetLimit(**limit) for limit in limits]))


def name(budget):
    return budget.measure.partition(" ")[0]


LIMITS = [
    ("load_time", {"at_most": "5 ms"}, {"at_most": "3 ms"}, "ns"),
    ("first_token", {"at_most": "1 ms"}, {"at_most": "0.5 ms"}, "ns"),
    ("tokens_per_second", {"at_least": "15000 /s"}, {"at_least": "25000 /s"}, "/s"),
    ("energy", {"at_most": "90 mJ"}, {"at_most": "70 mJ"}, "mJ"),
    ("throughput", {"at_least": 200}, {"at_least": 400}, "images/s"),
    ("allocated_bytes", {"at_most": "1 KB"}, {"at_most": "999 B"}, "bytes"),
    ("operator_count", {"at_most": 4, "model": "cnn"}, {"at_most": 3, "model": "cnn"}, "count"),
    ("delegated_share", {"at_most": 0}, {"at_least": "5 %"}, "share"),
    ("method", {"at_most": "1 ms"}, {"at_most": "1 us"}, "ns"),
]


def test_limits_are_kept(store):
    report = judge(store, *({"measure": measure, **kept} for measure, kept, _, _ in LIMITS))
    assert report.verdict != "over_budget"
    assert not any(budget.is_broken for budget in report.budgets)
    assert {name(budget) for budget in report.budgets} == {measure for measure, *_ in LIMITS}


def test_limits_are_broken(store):
    report = judge(store, *({"measure": measure, **broken} for measure, _, broken, _ in LIMITS))
    assert report.verdict == "over_budget"
    broken = {(name(budget), budget.unit) for budget in report.budgets if budget.is_broken}
    assert broken == {(measure, unit) for measure, _, _, unit in LIMITS}
    assert ", budgets broken: " in report.summary


@pytest.mark.slow
def test_globs_choose_devices_models_and_backends(store):
    limits = (
        {"at_most": "1 ns"},
        {"at_most": "2 ns", "model": "c*", "device": "ph*"},
        {"at_most": "3 ns", "backend": "xnnpack"},
    )
    budgets = judge(store, *({"measure": "method"} | limit for limit in limits)).budgets
    assert {(row.limit, row.model, row.device) for row in budgets} == {
        (1, "llm", "phone"),
        (1, "cnn", "phone"),
        (2, "cnn", "phone"),
    }


@pytest.mark.slow
def test_every_form_says_what_is_broken(store):
    report = judge(store, {"measure": "load_time", "at_most": "3 ms"})
    for form in FORMS:
        text = render(report, form)
        for part in ("load_time", "phone", "llm", "at most" if form == "json" else "3.000 ms"):
            assert part in text


def test_a_limit_that_fits_nothing_is_a_warning(store):
    made = judge(store, {"measure": "load_tme", "at_most": "3 ms"})
    assert "load_tme" in made.quality.warnings[0]
    assert "matches nothing" in made.quality.warnings[0]
    assert "load_time" in made.quality.warnings[0]
    assert made.verdict != "over_budget"


@pytest.mark.slow
def test_a_limit_in_another_unit_is_a_warning(store):
    (warning, *_) = judge(store, {"measure": "load_time", "at_most": "3 MB"}).quality.warnings
    assert "is in bytes, its values are in ns" in warning
