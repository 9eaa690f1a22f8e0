from __future__ import annotations

import pytest

from queries.report.breakdown import Breakdown, Work, break_down

PLACE = {"device": "phone", "model": "m", "backend": None, "run": "Execute"}


def work(
    kind: str, base: float | None, head: float | None, name: str = "x", number: int = 1
) -> Work:
    keys = {"kind": kind, "event_name": name, "delegate_id": None, "ordinal": number}
    return Work({**keys, "op_type": name}, base, head)


def parts(found: Breakdown) -> dict[str, float]:
    costs: dict[str, float] = {}
    for part in found.parts:
        costs[part.kind] = costs.get(part.kind, 0) + part.cost_ns
    return costs


def test_kernels_framework_and_irregular_runs_add_up() -> None:
    works = [work("kernel", 500, 600), work("kernel", 200, None, "gone"), work("kernel", None, 90)]
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


def test_events_that_may_lie_within_others_are_no_parts() -> None:
    works = [work("kernel", 500, 500), work("other", 300, 900), work("control", 1, 2)]
    found = break_down(PLACE, (1_000, 1_000), works, (500, 500))
    assert parts(found) == {"operator": 0, "framework": 0, "irregular runs": 0}


@pytest.mark.parametrize(("like", "is_told"), [(0, False), (3, True)])
def test_a_new_operator_among_its_like_is_a_guess_and_says_so(like: int, is_told: bool) -> None:
    works = [work("kernel", None, 90), *(work("kernel", 5, 5, "x", n + 2) for n in range(like))]
    found = break_down(PLACE, (1_000, 1_090), works, None)
    assert (found.parts[0].note is not None) == is_told
