"""One change has the same numbers wherever it is shown, and they add up."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

from tests.queries.report.test_night_breakdowns import FARMS, INSIDE, farm
from tests.support.cross_section import cross_section
from tests.support.traced_farm import Step, report_on, store_nights
from tracehouse import Warehouse
from tracehouse.queries.explain import forms as explanations
from tracehouse.queries.explain.explanation import explain_group
from tracehouse.queries.report import forms
from tracehouse.queries.report.breakdowns import PairBreakdowns
from tracehouse.queries.report.content import Group
from tracehouse.queries.report.parts import Breakdown
from tracehouse.queries.report.tables import list_sums

MM = "native_call_mm.out"
EQUALS = [Step(MM, 200_000), Step(MM, 205_000), Step(MM, 195_000), Step(MM, 200_000)]


@pytest.fixture(name="store", params=cross_section(FARMS, 3))
def _store(request: pytest.FixtureRequest) -> Path:
    return farm(request.param)


def compare(*nights: list[Step]) -> Group:
    """The first alert on two builds of a model."""
    (group, *_) = report_on(store_nights({"m": nights}), "b2", "b1").groups
    return group


def check(found: Breakdown, *texts: str) -> None:
    """That the parts add up, and that texts have all their rows."""
    assert sum(part.cost_ns for part in found.parts) == pytest.approx(found.cost_ns)
    (table,) = list_sums([found])
    for text in map(unescape, texts):
        for row in table.rows:
            assert all(cell in text for cell in row), row


def test_an_alert_and_its_explanation_have_the_same_parts(store: Path) -> None:
    report = report_on(store, "b8")
    (group,) = [one for one in report.groups if one.members[0].unit == "ns"]
    with Warehouse.open(store, read_only=True) as warehouse:
        found = explain_group(warehouse, report, group.id)
    (times,) = found.times
    assert [times.breakdown] == group.breakdowns
    assert times.frame.change == times.breakdown.cost_ns
    assert sum(part.change for part in times.frame.parts) == pytest.approx(times.frame.change)
    check(times.breakdown, *(explanations.render(found, form) for form in ("text", "html")))


def test_a_report_of_two_builds_and_their_comparison_have_the_same_parts(store: Path) -> None:
    report = report_on(store, "b7", "b6")
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.query("comparison", base="b6", head="b7").to_pylist()
        pair = PairBreakdowns(warehouse, rows, base="b6", head="b7")
        (found,) = pair.of_changed_methods()
    for group in report.groups:
        assert group.breakdowns in ([], [found])
    assert any(group.breakdowns for group in report.groups)
    check(found, forms.render(report, "html"))


def test_an_operator_that_falls_back_costs_its_extra_time() -> None:
    before = [Step("", parts=[*INSIDE, ("Softmax (F32) #1", 100_000)])]
    after = [Step("", parts=INSIDE), Step("native_call__softmax.out", 180_000)]
    group = compare(before, after)
    (found,) = group.breakdowns
    first, *rest = found.parts
    assert first.event_name == "native_call__softmax.out"
    assert first.cost_ns == pytest.approx(80_000, rel=0.1)
    assert max(abs(part.cost_ns) for part in rest) < 0.01 * found.base_ns


def test_a_new_one_of_five_equal_operators_is_not_singled_out() -> None:
    after = [Step(MM, 230_000), *EQUALS, Step("native_call_relu.out", 50_000)]
    group = compare([*EQUALS, after[-1]], after)
    (found,) = group.breakdowns
    first, *rest = found.parts
    assert (first.kind, first.base_count, first.head_count) == ("like operators", 4, 5)
    assert first.cost_ns == pytest.approx(230_000, rel=0.05)
    assert [part.event_name for part in rest] == ["native_call_relu.out", None, None]
    assert group.headline.title.startswith("m · b on phone: one more mm, method ")
    (table,) = list_sums([found])
    assert table.rows[0][0] == "mm #1 and the like, 4 → 5: which is new cannot be told"


def test_a_new_operator_with_a_distinctive_time_is_its_own_part() -> None:
    group = compare(EQUALS, [EQUALS[0], Step(MM, 900_000), *EQUALS[1:]])
    assert group.breakdowns[0].parts[0].kind == "new operator"
