from __future__ import annotations

from pathlib import Path

import pytest

from tests.queries.report.test_night_breakdowns import FARMS
from tests.support.stores import ingest
from tests.support.traced_farm import write_nights
from tracehouse import Warehouse
from tracehouse.queries.report import forms
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.settings import Settings


@pytest.mark.parametrize("name", FARMS)
def test_the_parts_add_up_to_the_method_and_swapped_builds_to_the_opposite(
    tmp_path: Path, name: str
) -> None:
    before, after, expected = FARMS[name]
    write_nights(tmp_path / "in", [before, after], name="m", backend="b")
    ingest(tmp_path / "store", tmp_path / "in", manifest={})
    with Warehouse.open(tmp_path / "store", read_only=True) as store:
        forth = compare_report(store, Settings(), base="b1", head="b2")
        back = compare_report(store, Settings(), base="b2", head="b1")
    found, other = (report.groups[0].breakdowns[0] for report in (forth, back))
    for one in (found, other):
        assert sum(part.cost_ns for part in one.parts) == pytest.approx(one.cost_ns)
    costs = {kind: sum(p.cost_ns for p in found.parts if p.kind == kind) for kind in expected}
    for kind, us in expected.items():
        assert costs[kind] == pytest.approx(us * 1_000, abs=0.02 * found.base_ns)
    assert other.cost_ns == pytest.approx(-found.cost_ns, rel=0.02)
    by_name = {(p.event_name, p.ordinal): p.cost_ns for p in other.parts if p.event_name}
    for part in found.parts:
        if part.event_name:
            cost = by_name[part.event_name, part.ordinal]
            assert cost == pytest.approx(-part.cost_ns, abs=0.01 * found.base_ns)
    for form in ("html", "markdown"):
        assert "Parts of the change" in forms.render(forth, form)
