from __future__ import annotations

from tracehouse.warehouse.alignment.programs import Event, Name, Program

INSIDE = ("delegate_op", "delegate_phase", "delegate_counter")


def event(id_: int, kind: str, instruction: int | None, logged: str = "x #1") -> Event:
    return Event(id_, instruction, logged, None, Name(logged, None, 1, kind, None))


def test_a_kernel_is_one_operator_with_the_call_around_it() -> None:
    program = Program([event(1, "kernel", 4), event(2, "operator_call", 4)])
    assert [one.id for one in program.events] == [1]
    assert [one and one.id for one in program.callers] == [2]


def test_a_call_whose_kernel_logs_nothing_is_an_operator_itself() -> None:
    program = Program([event(2, "operator_call", 4)])
    assert ([one.id for one in program.events], program.callers) == ([2], [None])


def test_events_of_whole_runs_are_no_operators() -> None:
    program = Program([event(1, "method", None), event(2, "load", None), event(3, "other", None)])
    assert program.operators == ()


def test_events_that_a_delegate_logs_are_inside_its_call() -> None:
    events = [event(n, kind, 2, f"{kind} #1") for n, kind in enumerate(INSIDE)]
    program = Program([*events, event(9, "delegate_call", 2, "DELEGATE_CALL")])
    assert [one.call for one in program.operators] == [3, 3, 3, -1]
    assert program.contents == {3: tuple(sorted(INSIDE))}


def test_numbers_are_no_part_of_the_shape() -> None:
    one = Program([event(1, "kernel", 0, "a #1"), event(2, "kernel", 1, "b #1")])
    other = Program([event(3, "kernel", 5, "a #7"), event(4, "kernel", 9, "b #2")])
    assert one.shape == other.shape
    assert one.shape != Program([event(3, "kernel", 5, "b #7")]).shape
