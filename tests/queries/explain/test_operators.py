from __future__ import annotations

from tests.support.stores import ingest
from tests.support.traced_farm import Step, write_nights
from tracehouse import Warehouse
from tracehouse.queries.explain.content import Place
from tracehouse.queries.explain.operators import OperatorKey, read_operators


def placed(**changes):
    names = {"device": "phone", "pool": None, "model": "net", "backend": None}
    return Place(**names | {"base": "b1", "head": "b2"} | changes)


def test_operators_of_one_name_are_numbered_as_in_reports(softplus, place):
    (found,) = read_operators(softplus, [place])
    rows = softplus.query("dump_values", build="b7", device="lab-x86").to_pylist()
    wanted = {OperatorKey(row["event_name"], row["delegate_id"], row["ordinal"]) for row in rows}
    assert wanted <= set(found.runs["Execute"]["head"])


def test_operators_go_by_the_names_that_builds_have_in_common(tmp_path):
    nights = [[Step("mm", 500_000), Step("mm", 200_000)],
              [Step("mm", 9_000), Step("mm", 500_000), Step("mm", 200_000)]]  # fmt: skip
    write_nights(tmp_path / "in", nights, name="net", backend="b")
    ingest(tmp_path / "s", tmp_path / "in", manifest={})
    with Warehouse.open(tmp_path / "s", read_only=True) as warehouse:
        (found,) = read_operators(warehouse, [placed(backend="b")])
    base, head = (found.runs["Execute"][side] for side in ("base", "head"))
    slow = OperatorKey("mm", None, 2)
    assert (base[slow].instruction_id, head[slow].instruction_id) == (0, 1)
    assert OperatorKey("mm", None, 1) not in base
