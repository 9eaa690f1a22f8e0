"""Each query's answer on the small farm, cell by cell.

After a deliberate change: `pytest tests/sql/test_golden.py --refresh-golden`, and read the diff.
"""

import csv
import io
from pathlib import Path

import pytest

from tests.support.small_farm import QUESTIONS, small_farm
from tests.support.store_rows import run_query
from warehouse.catalogue.queries import load_catalogue

GOLDEN = Path(__file__).parents[1] / "golden"


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


@pytest.mark.parametrize("name", load_catalogue())
def test_answer_on_the_small_farm_equals_the_golden_file(name, farm, request, tmp_path):
    actual = _as_csv(run_query(farm, name, **QUESTIONS.get(name, {})))
    golden = GOLDEN / name / "small_farm.csv"
    if request.config.getoption("--refresh-golden"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(actual, encoding="utf-8")
    saved = tmp_path / "actual.csv"
    saved.write_text(actual, encoding="utf-8")
    assert actual == golden.read_text(encoding="utf-8"), f"differs; actual output is in {saved}"
