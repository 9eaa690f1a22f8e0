from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.traced_farm import Step, report_on, store_nights
from tracehouse.queries.report import forms
from tracehouse.queries.report.content import Group

CONV = "Convolution (F32)"
INSIDE = [(f"{CONV} #1", 500_000), (f"{CONV} #2", 200_000), ("Add (F32) #1", 60_000)]
KERNELS = [Step("native_call_mm.out", 300_000), Step("native_call_relu.out", 100_000)]
# Programs before and after, and the parts of the change in microseconds.
FARMS = {
    "one operator more": (
        [Step("", parts=INSIDE), *KERNELS],
        [Step("", parts=[("Transpose (X32) #1", 210_000), *INSIDE]), *KERNELS],
        {"new operator": 210},
    ),
    "an operator that is slower": (
        [Step("", parts=INSIDE), *KERNELS],
        [Step("", parts=INSIDE), Step("native_call_mm.out", 400_000), KERNELS[1]],
        {"operator": 100},
    ),
    "one less, and one that is slower": (
        [*KERNELS, Step("native_call_clone.out", 50_000)],
        [Step("native_call_mm.out", 500_000), KERNELS[1]],
        {"operator": 200, "removed operator": -50},
    ),
}


@pytest.mark.parametrize("name", FARMS)
def test_the_parts_add_up_to_what_the_alert_says_of_the_method(name: str) -> None:
    expected = FARMS[name][2]
    group = alert(name)
    (found,) = group.breakdowns
    method = next(one for one in (*group.members, *group.explains) if one.kind == "method")
    assert (found.base_ns, found.head_ns) == (method.base_ns, method.head_ns)
    assert found.cost_ns == method.cost_ns
    assert sum(part.cost_ns for part in found.parts) == pytest.approx(found.cost_ns)
    told = {kind: sum(p.cost_ns for p in found.parts if p.kind == kind) for kind in expected}
    for kind, us in expected.items():
        assert told[kind] == pytest.approx(us * 1_000, abs=0.02 * found.base_ns)
    rest = [part.cost_ns for part in found.parts if part.kind not in expected]
    assert max(map(abs, rest)) < 0.01 * found.base_ns
    # What an alert lists as changed has the same numbers in the sum.
    for member in group.members:
        if member.kind in ("kernel", "delegate_op"):
            (part,) = [p for p in found.parts if p.event_name == member.event_name
                       and p.ordinal == member.ordinal]  # fmt: skip
            assert (part.base_ns, part.head_ns) == (member.base_ns, member.head_ns)


def test_an_operator_costs_the_same_in_the_alert_and_in_the_breakdown() -> None:
    group = alert("one operator more")
    (edit,) = group.edits
    (part,) = [part for part in group.breakdowns[0].parts if part.kind == "new operator"]
    assert edit.cost_ns == part.cost_ns
    assert "added Transpose #1, method" in group.headline.title


def farm(name: str) -> Path:
    """Six builds before an edit, b7 and b8 after it."""
    before, after, _ = FARMS[name]
    return store_nights({"m": [before] * 6 + [after] * 2})


def alert(name: str) -> Group:
    report = report_on(farm(name), "b8")
    (group,) = [one for one in report.groups if one.members[0].unit == "ns"]
    for form in ("html", "markdown"):
        assert "Parts of the change" in forms.render(report, form)
    return group
