from __future__ import annotations

from typing import Any

import pytest

from tests.support.pair_rows import at, dump_row, dumps_table
from tracehouse.warehouse.regressions.pair_series import NO_PAIR, describe_dumps


def _describe(*rows: dict[str, Any]) -> Any:
    return describe_dumps(dumps_table(rows))


@pytest.mark.parametrize(
    ("times", "is_apart"),
    [
        ([(at(n), at(n + 1)) for n in range(0, 20, 2)], False),  # in turns
        ([(at(n), at(n, day=2)) for n in range(10)], True),
        ([(at(n), at(n + 6)) for n in range(10)], True),  # fewer than half of either
        ([(at(n), at(n + 4)) for n in range(10)], False),
    ],
)
def test_builds_are_apart_unless_half_of_each_was_recorded_during_the_other(times, is_apart):
    rows = [
        dump_row(start + number, captured_at=both[side])
        for side, start in enumerate((0, 100))
        for number, both in enumerate(times)
    ]
    assert set(_describe(*rows).is_apart.tolist()) == {is_apart}


@pytest.mark.parametrize(
    ("sessions", "is_apart"),
    [(("a", "b"), True), (("a", "a"), False), (("a", None), False), ((None, None), False)],
)
def test_builds_without_times_are_apart_if_their_sessions_differ(sessions, is_apart):
    rows = [dump_row(100 * side, session=session) for side, session in enumerate(sessions)]
    assert _describe(*rows).is_apart.tolist() == [is_apart] * 2


def test_a_pair_has_one_dump_of_either_build_in_a_session_of_one_device():
    def pair(number, name, **changes):
        return dump_row(number, **{"session": "s", "pair": name} | changes)

    rows = [
        *(pair(number, "whole") for number in (1, 101)),
        *(pair(number, "same side") for number in (2, 3)),
        *(pair(number, "three") for number in (4, 104, 105)),
        pair(5, "apart"),
        pair(106, "apart", session="t"),
        pair(6, "elsewhere"),
        pair(107, "elsewhere", device="tablet"),
        pair(7, "unknown", session=None),
        pair(108, "unknown", session=None),
        *(dump_row(number, session="s") for number in (8, 109)),
    ]
    found = _describe(*rows)
    paired = found.number[found.pair != NO_PAIR].tolist()
    assert paired == [1, 101]
    assert len(set(found.pair[found.pair != NO_PAIR].tolist())) == 1


def test_other_environment_differences_are_noted_per_device_model_and_backend():
    rows = [
        dump_row(1, threads=2, firmware="a"),
        dump_row(101, threads=4, firmware="b"),
        dump_row(2, device="tablet", threads=2, soc=""),
        dump_row(102, device="tablet", threads=2),
        dump_row(3, model="other", threads=None),
        dump_row(103, model="other", threads=4),
    ]
    assert _describe(*rows).notes == {
        ("phone", "net", None): "dumps differ in firmware, threads",
        ("phone", "other", None): "dumps differ in threads",
    }


def test_rows_of_dumps_are_found_by_their_ids():
    found = _describe(dump_row(107), dump_row(3))
    assert found.find(found.number).tolist() == [0, 1]
    assert found.is_head.tolist() == [False, True]
    assert len(_describe().number) == 0
