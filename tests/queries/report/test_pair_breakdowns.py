from __future__ import annotations

import pytest

from tests.queries.report.test_night_breakdowns import FARMS, farm
from tests.support.traced_farm import report_on
from tracehouse.queries.report import forms


@pytest.mark.parametrize("name", FARMS)
def test_the_parts_add_up_to_the_method_and_swapped_builds_to_the_opposite(name: str) -> None:
    expected = FARMS[name][2]
    forth = report_on(farm(name), "b7", "b6")
    back = report_on(farm(name), "b6", "b7")
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
