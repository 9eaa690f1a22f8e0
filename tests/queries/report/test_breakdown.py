from __future__ import annotations

from tracehouse.queries.report.parts import Breakdown, Work, break_down
from tracehouse.warehouse.alignment.alignment import Guess

PLACE = {"device": "phone", "model": "m", "backend": None, "run": "Execute"}


def work(
    kind: str, base: float | None, head: float | None, name: str = "x", number: int = 1
) -> Work:
    keys = {"event_name": name, "delegate_id": None, "ordinal": number}
    return Work(keys, base, head, (kind, kind))


def parts(found: Breakdown) -> dict[str, float]:
    costs: dict[str, float] = {}
    for part in found.parts:
        costs[part.kind] = costs.get(part.kind, 0) + part.cost_ns
    return costs


def test_kernels_framework_and_irregular_runs_add_up() -> None:
    works = [
        work("kernel", 500, 600),
        work("kernel", 200, None, "gone"),
        work("kernel", None, 90, "new"),
    ]
    found = break_down(PLACE, (1_000, 1_050), works, (30, 35))
    assert parts(found) == {
        "operator": 100,
        "removed operator": -200,
        "new operator": 90,
        "framework": 5,
        "irregular runs": 55,
    }
    assert sum(part.cost_ns for part in found.parts) == found.cost_ns == 50
    assert [part.cost_ns for part in found.parts[:3]] == [-200, 100, 90]  # by size


def test_a_call_whose_operators_are_known_counts_only_what_is_outside_of_them() -> None:
    works = [work("delegate_call", 700, 900), work("delegate_op", 600, 780)]
    found = break_down(PLACE, (1_000, 1_200), works, None)
    assert parts(found) == {"operator": 180, "delegates' own": 20, "irregular runs": 0}


def test_a_call_whose_operators_are_unknown_is_a_part_itself() -> None:
    found = break_down(PLACE, (1_000, 1_200), [work("delegate_call", 700, 900)], None)
    assert parts(found) == {"delegate call": 200, "irregular runs": 0}


def test_time_that_a_call_s_operators_overlap_in_keeps_its_sign() -> None:
    works = [work("delegate_call", 500, 500), work("delegate_op", 400, 620)]
    assert parts(break_down(PLACE, (1_000, 1_000), works, None))["delegates' own"] == -220


def test_events_that_may_lie_inside_others_are_not_parts_of_a_breakdown() -> None:
    works = [work("kernel", 500, 500), work("other", 300, 900), work("control", 1, 2)]
    found = break_down(PLACE, (1_000, 1_000), works, (500, 500))
    assert parts(found) == {"operator": 0, "framework": 0, "irregular runs": 0}


def test_an_operator_that_left_its_delegate_is_inside_a_call_of_the_base_alone() -> None:
    moved = work("kernel", 100, 180)._replace(kinds=("delegate_op", "kernel"))
    works = [work("delegate_call", 710, 610, "call"), work("delegate_op", 600, 600, "y"), moved]
    found = break_down(PLACE, (800, 880), works, (90, 90))
    assert parts(found) == {
        "operator": 80,
        "delegates' own": 0,
        "framework": 0,
        "irregular runs": 0,
    }


def test_like_operators_of_which_one_is_new_are_one_part() -> None:
    works = [work("kernel", ns, ns and ns + 9, "mm", n) for n, ns in enumerate((500, 480, 510), 1)]
    works += [work("kernel", None, 490, "mm", 4), work("kernel", 70, 70, "relu")]
    keys = [one.key for one in works[:4]]
    found = break_down(PLACE, (1_600, 2_117), works, None, [Guess(tuple(keys[:3]), tuple(keys))])
    (group, *others) = found.parts
    assert (group.kind, group.event_name, group.ordinal) == ("like operators", "mm", 1)
    assert (group.base_count, group.head_count) == (3, 4)
    assert (group.base_ns, group.head_ns, group.cost_ns) == (1_490, 2_007, 517)
    assert [part.kind for part in others] == ["operator", "irregular runs"]
    assert sum(part.cost_ns for part in found.parts) == found.cost_ns
