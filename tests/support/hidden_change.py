"""A farm whose delegates round times to whole microseconds, which hides a change.

It has two models, whose delegates have an operator that is 15 % slower from a build on: in
`hidden` its time goes from 3.1 to 3.6 us, both logged as 3; in `shown` from 3.4 to 4.0 us.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.tools.simulation import FarmSize, FarmWriter, plan_farm
from tests.tools.simulation.changes import Change, ChangeKind
from tests.tools.simulation.plan import Family
from tests.tools.simulation.programs import TemplateEvent, TemplateProgram

BASE, HEAD, LATER = "sim-006", "sim-007", "sim-008"
OPERATOR = "Sigmoid (NC) #1"
OTHERS_NS = {"Add (ND) #1": 2_600.0, "Fully Connected #1": 4_600.0}
_FIRST_BAD, _RATIO, _ORIGIN = 6, 1.15, 20
_OPERATOR_NS = {"hidden": 3_000.0, "shown": 3_300.0}


def write_hidden_change(folder: Path) -> None:
    """Write the farm."""
    plan = plan_farm(FarmSize(devices=1, builds=8, models=1, dumps=12, iterations=50), 1)
    program = plan.families[1].program
    plan = replace(
        plan,
        families=[
            Family(name, "xnnpack", _make_program(program, ns)) for name, ns in _OPERATOR_NS.items()
        ],
        changes=[
            Change(ChangeKind.REGRESSION, _FIRST_BAD, family, _ORIGIN, _RATIO)
            for family in range(len(_OPERATOR_NS))
        ],
        missing_nights=frozenset(),
    )
    FarmWriter(plan).write(folder)


def _make_program(program: TemplateProgram, operator_ns: float) -> TemplateProgram:
    """A model of two kernels and a delegate that logs three operators."""
    inside = tuple(
        TemplateEvent(None, name, _ORIGIN + number, ns, 1.0)
        for number, (name, ns) in enumerate({OPERATOR: operator_ns, **OTHERS_NS}.items())
    )
    calls = [TemplateEvent("DELEGATE_CALL", None, 10, 400.0, 1.0, inside)]
    for number, name in enumerate(("native_call_mul.out", "native_call_mean.out")):
        kernel = TemplateEvent(name, None, 30 + number, 15_000.0, 1.0)
        calls.append(TemplateEvent("OPERATOR_CALL", None, 40 + number, 200.0, 1.0, (kernel,)))
    return replace(program, execute=replace(program.execute, own_ns=2_000.0, parts=tuple(calls)))
