"""Each query's answer on the small farm, and some on the recorded one, cell by cell.

After a deliberate change: `pytest tests/sql/test_golden.py --refresh-golden`, and read the diff.
"""

import csv
import io

import pytest

from tests.support.documents import ROOT
from tests.support.small_farm import QUESTIONS, small_farm
from tests.support.store_rows import run_query
from warehouse import Warehouse
from warehouse.catalogue.queries import load_catalogue

GOLDEN = ROOT / "tests" / "golden"
# What is asked of the recorded farm.
RECORDED = {
    "change_points": {"event": "native_call_c*"},
    "environment_changes": {"base": "base", "head": "ch26"},
    "exact_changes": {"base": "base", "head": "extra"},
    "run_shifts": {"base": "base", "head": "f136"},
    "stability": {},
}


@pytest.fixture(scope="module")
def farm():
    return small_farm()


def _as_csv(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.12g}" if isinstance(v, float) else v for k, v in row.items()})
    return text.getvalue()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    with Warehouse.open(tmp_path_factory.mktemp("recorded") / "s", create=True) as warehouse:
        warehouse.ingest([ROOT / "tests" / "data" / "farm"], archive=False)
        yield warehouse


@pytest.mark.parametrize("name", load_catalogue())
def test_answer_on_the_small_farm_equals_the_golden_file(name, farm, request, tmp_path):
    rows = run_query(farm, name, **QUESTIONS.get(name, {}))
    _compare(rows, GOLDEN / name / "small_farm.csv", request, tmp_path)


@pytest.mark.parametrize("name", RECORDED)
def test_answer_on_the_recorded_farm_equals_the_golden_file(name, recorded, request, tmp_path):
    rows = recorded.query(name, **RECORDED[name]).to_pylist()
    _compare(rows, GOLDEN / name / "farm.csv", request, tmp_path)


def _compare(rows, golden, request, tmp_path):
    actual = _as_csv(rows)
    if request.config.getoption("--refresh-golden"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(actual, encoding="utf-8")
    saved = tmp_path / "actual.csv"
    saved.write_text(actual, encoding="utf-8")
    assert actual == golden.read_text(encoding="utf-8"), f"differs; actual output is in {saved}"
