"""Verdicts on programs whose operators were inserted, numbered or named anew, or moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.traced_farm import Step, report_on, store_nights, write_nights
from tracehouse import Warehouse
from tracehouse.queries.report.content import Group, Report
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.settings import Settings
from tracehouse.queries.report.verdicts import State, Verdict

BASES, HEADS = 6, 2
MM, RELU = "native_call_mm.out", "native_call_relu.out"
KERNELS = [Step(MM, 500_000), Step(MM, 200_000), Step(RELU, 60_000), Step(MM, 300_000)]
INSIDE = [("Conv (F32) #1", 500_000), ("Conv (F32) #2", 200_000), ("Add (F32) #1", 60_000)]
_SHADER = '{{"operator": {{"name": "aten.{0}", "delegate_node_id": {1}}}, "kernel_name": "{0}"}}'


def shaders(first: int, *named: tuple[str, float]) -> list[tuple[str, float]]:
    return [(_SHADER.format(name, first + at), ns) for at, (name, ns) in enumerate(named)]


SHADERS = (
    ("conv", 500_000),
    ("softmax", 50_000),
    ("conv", 300_000),
    ("add", 90_000),
    ("pool", 80_000),
)
# Edits that make nothing slower, and the operators that they add or remove.
HARMLESS = {
    "a kernel before its like": (KERNELS, [Step(MM, 9_000), *KERNELS], ["new_op"]),
    "a kernel less": ([Step(MM, 9_000), *KERNELS], KERNELS, ["removed_op"]),
    "an operator of a delegate before its like": (
        [Step("", parts=INSIDE)],
        [
            Step(
                "",
                parts=[
                    ("Conv (F32) #1", 9_000),
                    ("Conv (F32) #2", 500_000),
                    ("Conv (F32) #3", 200_000),
                    ("Add (F32) #1", 60_000),
                ],
            )
        ],
        ["new_op"],
    ),
    "a node at the head of a Vulkan program": (
        [Step("", parts=shaders(0, *SHADERS))],
        [Step("", parts=shaders(0, ("clone", 9_000), *SHADERS))],
        ["new_op"],
    ),
    "numbers": (
        [Step("", parts=shaders(0, *SHADERS))],
        [Step("", parts=shaders(7, *SHADERS))],
        [],
    ),
    "names": (
        [Step("", parts=INSIDE)],
        [Step("", parts=[(id_.replace("F32", "F32, QC8W"), ns) for id_, ns in INSIDE])],
        [],
    ),
}
# Edits beside which an operator becomes slower: by how much, and its name since.
SLOWER = {
    "a kernel that another is inserted before": (
        KERNELS,
        [Step(MM, 9_000), KERNELS[0], Step(MM, 260_000), *KERNELS[2:]],
        (MM, 3, 0.3),
    ),
    "an operator that is renamed": (
        [Step("", parts=INSIDE)],
        [Step("", parts=[INSIDE[0], ("Conv (F32) NCHW #1", 260_000), INSIDE[2]])],
        ("Conv (F32) NCHW #1", 1, 0.3),
    ),
    "a shader whose node has another number": (
        [Step("", parts=shaders(0, *SHADERS))],
        [Step("", parts=shaders(5, SHADERS[0], ("softmax", 65_000), *SHADERS[2:]))],
        ("softmax #6", 1, 0.3),
    ),
    "an operator that falls back to a kernel": (
        [Step("", parts=[*INSIDE, ("Softmax (F32) #1", 100_000)])],
        [Step("", parts=INSIDE), Step("native_call__softmax.out", 180_000)],
        ("native_call__softmax.out", 1, 0.8),
    ),
}


def farm(edits: Mapping[str, tuple[Sequence[Step], Sequence[Step], Any]]) -> Path:
    """Nights of a model for each edit: six builds before it, b7 and b8 after it."""
    return store_nights(
        {name: [before] * BASES + [after] * HEADS for name, (before, after, _) in edits.items()}
    )


def of_times(report: Report, model: str = "m") -> list[Group]:
    members = [(group, group.members[0]) for group in report.groups]
    return [group for group, one in members if (one.unit, one.model) == ("ns", model)]


@pytest.mark.parametrize("edit", HARMLESS)
def test_a_harmless_program_edit_makes_no_operator_change(edit: str) -> None:
    store, edits = farm(HARMLESS), HARMLESS[edit][2]
    assert of_times(report_on(store, "b8"), edit) == []
    for report in (report_on(store, "b7"), report_on(store, "b7", "b6")):
        assert of_times(report, edit) == []
        changes = [one.change for one in report.operator_changes if one.model == edit]
        assert [change for change in changes if change.endswith("_op")] == edits


@pytest.mark.parametrize("edit", SLOWER)
def test_the_operator_that_became_slower_is_named_whatever_was_edited(edit: str) -> None:
    store, (name, ordinal, delta) = farm(SLOWER), SLOWER[edit][2]
    for report, state in (
        (report_on(store, "b7"), State.NEW),
        (report_on(store, "b8"), State.CONFIRMED),
        (report_on(store, "b7", "b6"), State.CONFIRMED),
    ):
        (group,) = of_times(report, edit)
        assert (group.direction, group.state, group.first_bad) == ("regression", state, "b7")
        (member,) = [one for one in group.members if one.kind in ("kernel", "delegate_op")]
        assert (member.event_name, member.ordinal) == (name, ordinal)
        assert member.delta == pytest.approx(delta, abs=0.03)


def test_a_decision_survives_a_later_rename_and_an_insertion(tmp_path: Path) -> None:
    slow = [INSIDE[0], ("Conv (F32) #2", 260_000), INSIDE[2]]
    renamed = [
        ("Add (F32) #1", 9_000),
        ("Conv (F16) #1", 500_000),
        ("Conv (F16) #2", 260_000),
        ("Add (F32) #2", 60_000),
    ]
    nights = [INSIDE] * 6 + [slow] * 2 + [renamed] * 2
    steps = [[Step("", parts=parts)] for parts in nights]
    write_nights(tmp_path / "in", steps, name="m", backend="b")
    with Warehouse.open(tmp_path / "store", create=True) as store:
        store.ingest([tmp_path / "in" / f"b{night}" for night in range(1, 9)])
        (group,) = of_times(nightly_report(store, Settings(), head="b8"))
        store.decide(group.id, state="accepted", reason="wider")
        for night in (9, 10):
            store.ingest([tmp_path / "in" / f"b{night}"])
            report = nightly_report(store, Settings(), head=f"b{night}")
            (later,) = of_times(report)
            assert (later.id, later.state, later.first_bad) == (group.id, State.ACCEPTED, "b7")
            assert report.verdict == Verdict.KNOWN


def test_a_slower_operator_of_a_faster_method_says_so() -> None:
    after = [Step(MM, 250_000), KERNELS[1], Step(RELU, 90_000), KERNELS[3]]
    store = farm({"m": (KERNELS, after, None)})
    for report in (report_on(store, "b8"), report_on(store, "b7", "b6")):
        (slower,) = [one for one in of_times(report) if one.direction == "regression"]
        assert "relu" in slower.headline.title
        assert "; the method is faster, −2" in slower.headline.title
