from __future__ import annotations

import pytest

from tests.support.language_farm import record_nights
from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.forms import MEDIA_TYPES, render
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import BudgetLimit, Settings


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


# Globs choose devices, models and backends.
GLOBS = [
    {"at_most": "1 ns"},
    {"at_most": "2 ns", "model": "c*", "device": "ph*"},
    {"at_most": "3 ns", "backend": "xnnpack"},
]
UNFIT = [{"measure": "load_tme", "at_most": "3 ms"}, {"measure": "load_time", "at_most": "3 MB"}]


@pytest.fixture(scope="module")
def kept(store):
    return judge(store, *({"measure": measure, **kept} for measure, kept, _, _ in LIMITS), *UNFIT)


@pytest.fixture(scope="module")
def broken(store):
    limits = [{"measure": measure, **broken} for measure, _, broken, _ in LIMITS]
    return judge(store, *limits, *({"measure": "method"} | limit for limit in GLOBS))


def test_budgets_within_their_limits_are_not_broken(kept):
    assert kept.verdict != "over_budget"
    assert not any(budget.is_broken for budget in kept.budgets)
    assert {name(budget) for budget in kept.budgets} == {measure for measure, *_ in LIMITS}


def test_broken_limits_are_reported(broken):
    assert broken.verdict == "over_budget"
    found = {(name(budget), budget.unit) for budget in broken.budgets if budget.is_broken}
    assert found == {(measure, unit) for measure, _, _, unit in LIMITS}
    assert " budgets are broken (" in broken.summary


def test_globs_choose_devices_models_and_backends(broken):
    found = {(row.limit, row.model, row.device) for row in broken.budgets if row.unit == "ns"}
    assert {row for row in found if row[0] < 4} == {
        (1, "llm", "phone"),
        (1, "cnn", "phone"),
        (2, "cnn", "phone"),
    }


def test_every_form_says_what_is_broken(broken):
    for form in MEDIA_TYPES:
        text = render(broken, form)
        for part in ("load_time", "phone", "llm", "at most" if form == "json" else "3.000 ms"):
            assert part in text


def test_a_limit_that_fits_nothing_or_is_in_another_unit_is_a_warning(kept):
    misspelt, other_unit = kept.notes[-2:]
    for part in ("load_tme", "matches nothing", "load_time"):
        assert part in misspelt
    assert "is in bytes, its values are in ns" in other_unit


def test_a_value_equal_to_its_budget_does_not_break_it(tmp_path):
    limits = [{"at_most": "3.7 ms"}, {"at_least": "3.7 ms"}, {"at_most": 3.6999e6}]
    wait = [{"name": "wait", "unit": "ms", "value": 3.7}]
    dumps = [dump for n in range(3) for dump in record_build(n, count=3, counters=wait)]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        budgets = judge(store, *({"measure": "wait", **limit} for limit in limits)).budgets
    assert sorted((budget.limit, budget.is_broken) for budget in budgets) == [
        (3.6999e6, True),
        (3.7e6, False),
        (3.7e6, False),
    ]
