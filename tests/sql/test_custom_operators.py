"""Kernels of custom operators, which log their own names, are kernels in every answer."""

from __future__ import annotations

import pytest

from tests.support.documents import ROOT
from tests.support.store_rows import Event, StoreRows, run_query
from tests.support.stores import ingest
from tests.support.traced_farm import Step, write_nights
from tracehouse import Inspector, Warehouse
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings

REAL = ROOT / "tests" / "data" / "custom_operators"
SDPA, CACHE = "llama::custom_sdpa.out", "llama::update_cache.out"


def _layers(sdpa_ns):
    steps = [Step("native_call_embedding.out", 20_000)]
    for _ in range(3):
        steps += [
            Step("native_call_mul.out", 15_000),
            Step("native_call_linear.out", 90_000),
            Step(CACHE, 30_000),
            Step(SDPA, sdpa_ns),
            Step("native_call_add.out", 12_000),
        ]
    return steps


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Eight builds of a language model, whose attention takes 25 % longer from b7; a real dump."""
    folder = tmp_path_factory.mktemp("llm")
    nights = [_layers(400_000)] * 6 + [_layers(500_000)] * 2
    write_nights(folder / "dumps", nights, name="llm", backend="portable")
    ingest(folder / "store", folder / "dumps", manifest={})
    facts = {"device": "lab", "build": "real", "model": {"name": "sdpa", "backend": "portable"}}
    ingest(folder / "store", REAL, manifest=facts)
    return folder / "store"


@pytest.fixture(scope="module")
def store(place):
    with Warehouse.open(place, read_only=True) as store:
        yield store


@pytest.mark.parametrize(("model", "most"), [("llm", 0.01), ("sdpa", 0.012)])
def test_time_of_custom_operators_is_no_framework_tax(store, model, most):
    shares = [row["tax_share"] for row in _rows(store, "framework_tax", model)]
    assert all(0 < share < most for share in shares)
    rows = _rows(store, "framework_tax", model, scope="operator")
    taxes = {row["event_name"]: row["tax_share"] for row in rows}
    assert 0 < taxes[SDPA] < most


def test_attention_leads_the_hotspots(store):
    rows = _rows(store, "operator_hotspots", "llm", build=["b1"])
    assert [(row["event_name"], row["kind"]) for row in rows[:3]] == [(SDPA, "kernel")] * 3
    assert {row["event_name"] for row in rows} >= {CACHE}


def test_custom_operators_have_an_operator_type_and_delegation_coverage(store):
    types = {row["op_type"] for row in _rows(store, "op_type_history", "llm")}
    assert types == {"embedding", "mul", "linear", "update_cache", "custom_sdpa", "add"}
    covered = _rows(store, "delegation_coverage", "llm", build=["b1"])
    shares = {row["op_type"]: row["time_share"] for row in covered}
    assert shares["custom_sdpa"] == pytest.approx(0.72, abs=0.01)
    assert sum(shares.values()) > 0.99


def test_program_nodes_of_custom_operators_are_found(store):
    coverage = _rows(store, "delegation_coverage", "sdpa")
    nodes = {row["op_type"]: row["run_nodes"] for row in coverage}
    assert nodes["custom_sdpa"] == nodes["addmm"] == 1
    rows = {row["event_name"]: row for row in _rows(store, "roofline", "sdpa")}
    assert rows[SDPA]["call_ns"] == pytest.approx(168_343.5, abs=0.1)
    (whole,) = [row for row in _rows(store, "module_totals", "sdpa") if not row["module_path"]]
    assert whole["run_ns"] == pytest.approx(391_721.8, abs=0.1)


def test_the_inspector_counts_custom_operators_for_their_module():
    inspector = Inspector(etdump_path=REAL / "sdpa.etdp", etrecord=REAL / "sdpa.etrecord")
    assert inspector.find_total_for_module("L__self__") == pytest.approx(0.3917, abs=1e-4)


@pytest.mark.parametrize(("head", "state"), [("b6", None), ("b7", "new"), ("b8", "confirmed")])
def test_slower_attention_is_suspected_and_then_confirmed(store, head, state):
    report = nightly_report(store, Settings(), head=head)
    found = {
        (one.event_name, group.state.value) for group in report.groups for one in group.members
    }
    assert found == ({(SDPA, state)} if state else set())


def test_time_of_events_that_nothing_classifies_is_named():
    rows = StoreRows()
    for model, ns in (("little", 5), ("much", 6)):
        dump = rows.add_dump(model=model)
        run = [Event("mine", ns, 0), Event("Method::execute", 100, chain=-1)]
        rows.add_runs(dump, [run] * 25)
    found = run_query(rows.connect(), "data_quality")
    assert [r["model"] for r in found if r["problem"] == "unclassified time"] == ["much"]


def _rows(store, query, model, **params):
    return store.query(query, model=[model], **params).to_pylist()
