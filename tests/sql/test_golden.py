"""Each query's answer on a small farm, and some on what was recorded, cell by cell.

After a deliberate change, or for a new query: `pytest tests/sql/test_golden.py --refresh-golden`,
and read the diff. A query that the small farm has no answer to gets an empty file `rich_farm.csv`
first, which moves it to the rich farm.
"""

import csv
import io

import pytest

from tests.support.cross_section import cross_section
from tests.support.documents import ROOT
from tests.support.questions import GOLDEN, every_query, farm_for, needs_rich_farm, question
from tests.support.store_rows import run_query
from tracehouse import Warehouse

# What is asked of the recorded farm.
RECORDED = {
    "cold_start": {},
    "coverage_gaps": {},
    "data_quality": {},
    "delegate_transitions": {"build": ["base", "extra"]},
    "delegation_coverage": {"build": "base"},
    "device_comparison": {},
    "environment_changes": {"base": "base", "head": "ch26"},
    "exact_changes": {"base": "base", "head": "extra"},
    "op_type_history": {"device": "lab-x86-quiet-ab", "model": "conv"},
    "operator_variance": {"build": "base", "top_n": 3},
    "outlier_runs": {"build": "base", "min_excess": 5},
    "run_shifts": {"base": "base", "head": "f136"},
    "stability": {},
    "tax_history": {},
    "warmup": {"build": "base"},
}
# What is asked of single dumps: the model, backend, build and tag of each, and its ETRecord.
DUMPS = [
    ("synthetic/allocations", {"model": "memory", "build": "base"}, None),
    ("synthetic/allocation_and_profile_in_one_event", {"model": "memory", "build": "head"}, None),
    ("real/cnn_portable_n20", {"model": "cnn", "backend": "portable", "size": 32}, None),
    ("real/cnn_xnnpack_n20", {"model": "cnn", "backend": "xnnpack", "size": 32}, "cnn_xnnpack"),
    ("real/mixed_xnnpack_n20", {"model": "mixed", "backend": "xnnpack"}, "mixed_xnnpack"),
    ("real/failed_run_middle", {"model": "failed"}, None),
    (
        "real/prefill_decode_portable",
        {"model": "llm", "backend": "portable", "size": 4},
        "prefill_decode_portable",
    ),
    (
        "real/prefill_decode_xnnpack_debug",
        {"model": "llm", "backend": "xnnpack", "size": 4},
        "prefill_decode_xnnpack",
    ),
]
OF_DUMPS = {
    "backend_comparison": {"base_backend": "portable", "head_backend": "xnnpack"},
    "cold_start": {},
    "data_quality": {},
    "delegate_transitions": {},
    "delegation_coverage": {},
    "layer_hotspots": {"model": ["llm", "mixed"]},
    "memory_by_instruction": {},
    "memory_deltas": {"base": "base", "head": "head"},
    "memory_totals": {"scope": "total"},
    "roofline": {"model": ["cnn", "llm"], "peak_gflops": 50, "peak_gbps": 20},
    "scaling": {"size_tag": "size"},
    "token_latency": {"model": "llm"},
    "warmup": {},
}


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
        warehouse.ingest([ROOT / "tests" / "data" / "farm"])
        yield warehouse


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    corpus = ROOT / "tests" / "data" / "corpus"
    with Warehouse.open(tmp_path_factory.mktemp("dumps") / "s", create=True) as warehouse:
        for dump, facts, etrecord in DUMPS:
            warehouse.ingest(
                [corpus / f"{dump}.etdp"],
                manifest={"device": "host", "build": "b1", **facts},
                etrecord=etrecord and corpus / "models" / f"{etrecord}.etrecord",
            )
        yield warehouse


@pytest.mark.parametrize("name", every_query())
def test_answer_on_a_made_farm_equals_the_golden_file(name, request, tmp_path):
    rows = run_query(farm_for(name), name, **question(name))
    farm = "rich_farm" if needs_rich_farm(name) else "small_farm"
    _compare(rows, GOLDEN / name / f"{farm}.csv", request, tmp_path)


@pytest.mark.parametrize("name", cross_section(RECORDED, 3))
def test_answer_on_the_recorded_farm_equals_the_golden_file(name, recorded, request, tmp_path):
    rows = recorded.query(name, **RECORDED[name]).to_pylist()
    _compare(rows, GOLDEN / name / "farm.csv", request, tmp_path)


@pytest.mark.parametrize("name", cross_section(OF_DUMPS, 3))
def test_answer_on_single_dumps_equals_the_golden_file(name, dumps, request, tmp_path):
    rows = dumps.query(name, **OF_DUMPS[name]).to_pylist()
    _compare(rows, GOLDEN / name / "dumps.csv", request, tmp_path)


def _compare(rows, golden, request, tmp_path):
    assert rows, f"no answer for {golden}"
    actual = _as_csv(rows)
    if request.config.getoption("--refresh-golden"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(actual, encoding="utf-8")
    saved = tmp_path / "actual.csv"
    saved.write_text(actual, encoding="utf-8")
    assert actual == golden.read_text(encoding="utf-8"), f"differs; actual output is in {saved}"
