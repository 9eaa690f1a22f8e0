"""Verdicts on programs whose operators were inserted, numbered or named anew, or moved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.stores import ingest
from tests.support.traced_farm import Step, write_nights
from tracehouse import Warehouse
from tracehouse.queries.report.content import Group, Report
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.settings import Settings
from tracehouse.queries.report.verdicts import State, Verdict

BASES, HEADS = 6, 3
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


def farm(folder: Path, before: Sequence[Step], after: Sequence[Step]) -> Path:
    write_nights(folder / "in", [before] * BASES + [after] * HEADS, name="m", backend="b")
    ingest(folder / "store", folder / "in", manifest={})
    return folder / "store"


def of_times(report: Report) -> list[Group]:
    return [group for group in report.groups if group.members[0].unit == "ns"]


@pytest.mark.parametrize("edit", HARMLESS)
def test_an_edit_that_makes_nothing_slower_is_no_change_of_an_operator(
    tmp_path: Path, edit: str
) -> None:
    before, after, edits = HARMLESS[edit]
    with Warehouse.open(farm(tmp_path, before, after), read_only=True) as store:
        for head in ("b7", "b8", "b9"):
            report = nightly_report(store, Settings(), head=head)
            assert of_times(report) == [], head
            if head == "b7":
                assert [one.change for one in report.operator_changes] == edits
        pair = compare_report(store, Settings(), base="b6", head="b7")
    assert of_times(pair) == []
    assert [one.change for one in pair.operator_changes if one.change.endswith("_op")] == edits


@pytest.mark.parametrize("edit", SLOWER)
def test_the_operator_that_became_slower_is_named_whatever_was_edited(
    tmp_path: Path, edit: str
) -> None:
    before, after, (name, ordinal, delta) = SLOWER[edit]
    with Warehouse.open(farm(tmp_path, before, after), read_only=True) as store:
        states = {"b7": State.NEW, "b8": State.CONFIRMED, "b9": State.CONFIRMED}
        reports = [(nightly_report(store, Settings(), head=head), states[head]) for head in states]
        reports.append((compare_report(store, Settings(), base="b6", head="b7"), State.CONFIRMED))
    for report, state in reports:
        (group,) = of_times(report)
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
        for night in range(1, 9):
            store.ingest([tmp_path / "in" / f"b{night}"])
        (group,) = of_times(nightly_report(store, Settings(), head="b8"))
        store.decide(group.id, state="accepted", reason="wider")
        for night in (9, 10):
            store.ingest([tmp_path / "in" / f"b{night}"])
            report = nightly_report(store, Settings(), head=f"b{night}")
            (later,) = of_times(report)
            assert (later.id, later.state, later.first_bad) == (group.id, State.ACCEPTED, "b7")
            assert report.verdict == Verdict.KNOWN


def test_a_slower_operator_of_a_faster_method_says_so(tmp_path: Path) -> None:
    after = [Step(MM, 250_000), KERNELS[1], Step(RELU, 90_000), KERNELS[3]]
    with Warehouse.open(farm(tmp_path, KERNELS, after), read_only=True) as store:
        reports = [
            nightly_report(store, Settings(), head="b8"),
            compare_report(store, Settings(), base="b6", head="b7"),
        ]
    for report in reports:
        (slower,) = [one for one in of_times(report) if one.direction == "regression"]
        assert "relu" in slower.headline.title
        assert "; the method is faster, −2" in slower.headline.title
