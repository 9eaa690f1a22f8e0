from __future__ import annotations

from queries.explain.content import Place
from queries.explain.operators import OperatorKey, read_operators
from tests.support.nightly_farm import ingest_all, record_build
from warehouse import Warehouse

EXECUTE = OperatorKey("Method::execute", None, 1)
CONVOLUTION = OperatorKey("native_call_convolution.out", None, 1)


def placed(**changes):
    names = {"device": "phone", "pool": None, "model": "net", "backend": None}
    return Place(**names | {"base": "b1", "head": "b2"} | changes)


def test_values_are_medians_over_the_dumps_of_each_build(tmp_path):
    dumps = [
        *record_build(1, count=5),
        *record_build(2, {"native_call_convolution.out": 1.5}, count=3),
        *record_build(3, {"native_call_convolution.out": 9.0}, count=3),
    ]
    store = ingest_all(tmp_path / "s", dumps)
    with Warehouse.open(store, read_only=True) as warehouse:
        (found,) = read_operators(warehouse, [placed()])
        row = warehouse.query("dump_values", build="b2", event=CONVOLUTION.event_name)
    (sides,) = found.runs.values()
    assert [side.dump_count for side in sides.values()] == [5, 3]
    values = sorted(row["value"].to_pylist())
    assert sides["head"].operators[CONVOLUTION].value == values[1]
    assert 1.45 < values[1] / sides["base"].operators[CONVOLUTION].value < 1.55
    assert found.etrecords == {}


def test_dumps_that_are_too_short_count_only_if_no_other_has_a_value(softplus, place):
    (found,) = read_operators(softplus, [place])
    (sides,) = found.runs.values()
    assert all(side.method.unit == "ns" for side in sides.values())
    assert set(found.etrecords) == {"base", "head"}
    assert found.etrecords["base"] != found.etrecords["head"]


def test_operators_of_one_name_are_numbered_as_in_reports(softplus, place):
    (found,) = read_operators(softplus, [place])
    rows = softplus.query("dump_values", build="b7", device="lab-x86").to_pylist()
    wanted = {OperatorKey(row["event_name"], row["delegate_id"], row["ordinal"]) for row in rows}
    assert wanted <= set(found.runs["Execute"]["head"].operators)


def test_runs_of_one_name_with_other_events_are_numbered(tmp_path):
    longer = {"native_call_sigmoid.out": 1.0}
    dumps = [
        *record_build(1, count=2),
        *record_build(1, longer, count=2),
        *record_build(2, count=2),
    ]
    store = ingest_all(tmp_path / "s", dumps)
    with Warehouse.open(store, read_only=True) as warehouse:
        (found,) = read_operators(warehouse, [placed()])
    runs = {run: [*sides] for run, sides in found.runs.items()}
    assert runs == {"forward": ["base", "head"], "forward #2": ["base"]}


def test_a_pool_is_all_of_its_devices(tmp_path):
    dumps = [
        dump
        for number in (1, 2)
        for name in ("one", "two")
        for dump in record_build(number, device={"name": name, "pool": "phones"}, count=2)
    ]
    store = ingest_all(tmp_path / "s", dumps)
    with Warehouse.open(store, read_only=True) as warehouse:
        whole, one = read_operators(
            warehouse, [placed(device=None, pool="phones"), placed(device="one")]
        )
    assert [side.dump_count for side in whole.runs["forward"].values()] == [4, 4]
    assert [side.dump_count for side in one.runs["forward"].values()] == [2, 2]
