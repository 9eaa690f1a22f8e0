"""Whatever a producer logs, no answer says what cannot be."""

import json

import pytest

from tests.support.cross_section import cross_section
from tests.support.producer_dumps import (
    CALL_NS,
    PRODUCERS,
    QNN_EVENTS,
    QNN_GPU_EVENTS,
    RUNS,
    producer_dump,
)
from tests.support.questions import columns, required, takes
from tests.support.stores import ingest, write, write_corpus
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.queries import load_catalogue

# Queries that show times or shares of models.
NAMES = [
    name
    for name in load_catalogue()
    if "model" in columns(name)
    and any(column.endswith(("_ns", "_share")) for column in columns(name))
    and name != "variance_components"  # needs several dumps of a model
    and not any(takes(name, param) for param in ("base", "base_backend", "size_tag"))
]
QUESTIONS = [
    *((name, required(name, event="*")) for name in NAMES),
    ("framework_tax", {"scope": "all"}),
    ("percentiles", {"approx": True}),
]
OF_OTHERS = {  # need an ETRecord, or more runs than the dumps of producers have
    "layer_hotspots", "module_totals", "outlier_runs", "roofline",
}  # fmt: skip
CHANGES = ("drift_ns", "culprit_share")  # which may be below 0, or above 1
ON_A_CLOCK_OF_THEIR_OWN = {"Neutron", "Vulkan"}  # of which nothing but a manifest could tell
COUNTERS = {
    ("Accelerator (execute) time", "cycles"): 36_123_456,
    ("Number of HVX threads used", "count"): 4,
    ("VTCM acquired", "bytes"): 8_388_608,
    ("conv2d_1:OpId_12", "cycles"): 20_400_000,
    ("conv2d_2:OpId_14", "cycles"): 9_300_000,
    ("Input OpId_2", "cycles"): 912_004,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A store with a dump of each producer, as a model of its name, and those that ship."""
    folder = tmp_path_factory.mktemp("producers")
    dumps, corpus = folder / "dumps", folder / "corpus"
    for number, producer in enumerate(PRODUCERS):
        write(dumps / f"{number}.etdp", producer_dump(producer))
        write(dumps / f"{number}.etdp.json", json.dumps({"model": producer}).encode())
    corpus.mkdir()
    for name in write_corpus(corpus):
        write(corpus / f"{name}.etdp.json", json.dumps({"model": name}).encode())
    manifest = {"device": "d", "build": "b", "clock": "ns"}
    ingest(folder / "store", dumps, corpus, manifest=manifest)
    return folder / "store"


@pytest.fixture
def store(place):
    with Warehouse.open(place, read_only=True) as store:
        yield store


def _impossible(rows):
    """What no answer may say: times below 0, shares below 0 or above 1."""
    return [
        (row["model"], name, value)
        for row in rows
        for name, value in row.items()
        if name.endswith(("_ns", "_share"))
        and name not in CHANGES
        and value is not None
        and (value < 0 or (name.endswith("_share") and value > 1 + 1e-9))
    ]


@pytest.mark.parametrize(("query", "params"), cross_section(QUESTIONS, 6))
def test_no_query_returns_impossible_times_or_shares(store, query, params):
    rows = store.query(query, **params).to_pylist()
    assert {row["model"] for row in rows} > (set() if query in OF_OTHERS else {"QNN"})
    assert _impossible(rows) == []


def test_timelines_have_no_impossible_times(store):
    dumps = store.sql("SELECT dump_id, model FROM named_dumps ORDER BY ALL").to_pylist()
    for dump in [dump for dump in dumps if dump["model"] in PRODUCERS] + dumps[::8]:
        rows = store.query("run_timeline", dump=dump["dump_id"]).to_pylist()
        assert _impossible([dump | row for row in rows]) == []
        if dump["model"] in PRODUCERS.keys() - ON_A_CLOCK_OF_THEIR_OWN:
            ends = [row["start_ns"] + row["duration_ns"] for row in rows if row["start_ns"]]
            assert CALL_NS / 2 < max(ends) < 2 * CALL_NS


def _rows(store, query, model, **params):
    rows = store.query(query, **params).to_pylist()
    return {
        row.get("delegate_id") or row["event_name"]: row for row in rows if row["model"] == model
    }


def test_qnn_counts_do_not_count_as_times(store):
    rows = _rows(store, "operator_hotspots", "QNN")
    assert rows.keys() == {"Method::execute", "native_call_add.out", "DELEGATE_CALL"}
    assert rows["DELEGATE_CALL"]["self_ns"] == rows["DELEGATE_CALL"]["total_ns"] > CALL_NS * RUNS
    times = {name: value * 1000 for name, value in QNN_EVENTS.items() if name.endswith("(us)")}
    found = _rows(store, "percentiles", "QNN")
    assert {name: row["p50_ns"] for name, row in found.items() if name in QNN_EVENTS} == times


def test_qnn_counts_are_counters_of_each_run_and_delegate(store):
    rows = store.sql(
        "SELECT name, c.unit, run_index, value, c.instruction_id FROM counters AS c "
        "JOIN named_dumps AS d ON d.dump_id = c.dump_id WHERE d.model = 'QNN'"
    ).to_pylist()
    assert {(row["name"], row["unit"]): row["value"] for row in rows} == COUNTERS
    assert len(rows) == RUNS * len(COUNTERS)
    assert {row["run_index"] for row in rows} == set(range(1, RUNS + 1))
    assert {row["instruction_id"] for row in rows} == {1}
    totals = store.query("counter_totals", model="QNN").to_pylist()
    assert {(row["counter"], row["unit"]): row["per_inference"] for row in totals} == COUNTERS


def test_operator_times_that_are_compared_have_one_unit(store):
    rows = store.sql(
        "SELECT DISTINCT unit, delegate_id FROM operator_stats WHERE model LIKE 'QNN%'"
    ).to_pylist()
    assert {row["unit"] for row in rows} == {"ns"}
    names = {row["delegate_id"] for row in rows if row["delegate_id"]}
    assert names == {name for name in {**QNN_EVENTS, **QNN_GPU_EVENTS} if name.endswith("(us)")}
    judged = store.sql(
        "SELECT name, unit, value FROM dump_measures WHERE kind = 'counter'"
    ).to_pylist()
    assert {(row["name"], row["unit"]): row["value"] for row in judged} == COUNTERS


def test_event_blocks_of_qnn_match_the_inspector(store):
    rows = store.query("event_blocks", dump=1).to_pylist()
    shown = {row["delegate_id"]: row["avg_ns"] for row in rows if row["delegate_id"]}
    assert shown == QNN_EVENTS


def test_nodes_that_qnn_times_are_operators(store):
    rows = _rows(store, "operator_hotspots", "QNN GPU")
    node = rows["conv2d_1:OpId_12 (us)"]
    assert (node["kind"], node["mean_ns"]) == ("delegate_op", 20_000_000)
    assert "relu_1:OpId_13" not in rows


def test_a_value_of_unknown_unit_is_a_data_quality_problem(store):
    rows = store.query("data_quality").to_pylist()
    found = {row["model"] for row in rows if row["problem"] == "unknown units"}
    assert found == {"QNN", "QNN GPU"}


def test_npu_time_of_ethos_u_is_a_phase_of_its_call(store):
    rows = _rows(store, "percentiles", "Ethos-U")
    assert rows["+EthosUBackend::execute()NPU"]["kind"] == "delegate_phase"
    assert rows["+EthosUBackend::execute()NPU"]["p50_ns"] == 27_000_000
    assert rows["+EthosUBackend::init()vela_bin_read()"]["kind"] == "load"


@pytest.mark.parametrize("model", ["Core ML estimates", "Neutron"])
def test_operators_longer_than_their_call_give_no_shares_or_own_time(store, model):
    rows = _rows(store, "operator_hotspots", model)
    inner = [row for row in rows.values() if row["kind"] == "delegate_op"]
    assert inner
    assert {row["time_share"] for row in inner} == {None}
    assert rows["DELEGATE_CALL"]["self_ns"] is None
    (crossing,) = _rows(store, "delegate_transitions", model).values()
    assert (crossing["operator_ns"], crossing["crossing_ns"]) == (None, None)
