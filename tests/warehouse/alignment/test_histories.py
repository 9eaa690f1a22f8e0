from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from tracehouse.warehouse.alignment.histories import Sighting, list_steps, name_operators
from tracehouse.warehouse.alignment.programs import Event, Name, Program


def program(id_: int, *names: str) -> Program:
    """A program of kernels; the ids of its events are 100 times its own and more."""
    seen: dict[str, int] = {}
    events = []
    for place, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        own = Name(name, None, seen[name], "kernel", name)
        events.append(Event(100 * id_ + place, place, name, None, own))
    return Program(events)


def renamed(
    programs: Mapping[int, Program],
    ran: Sequence[tuple[str, int, int]],
    times: Mapping[tuple[str, int, int], Sequence[float]] | None = None,
) -> dict[int, tuple[str, int]]:
    """The new name and number of events that have one, of programs by device, build and id."""
    sightings = [Sighting(device, position, 5, id_) for device, position, id_ in ran]
    known = {
        key: dict(zip((e.id for e in programs[key[2]].events), own, strict=True))
        for key, own in (times or {}).items()
    }
    found = name_operators(sightings, programs, known)
    return {event: (name.event_name, name.ordinal) for _, event, name in found}


def test_an_operator_goes_by_its_name_in_the_newest_program() -> None:
    programs = {1: program(1, "conv", "relu"), 2: program(2, "conv", "conv", "relu")}
    times = {("a", 1, 1): [500, 20], ("a", 2, 2): [90_000, 500, 20]}
    ran = [("a", 1, 1), ("a", 2, 2)]
    assert renamed(programs, ran, times) == {100: ("conv", 2)}
    assert renamed(programs, ran[::-1], times) == {100: ("conv", 2)}


def test_a_removed_operator_keeps_its_name_with_a_number_that_is_free() -> None:
    programs = {1: program(1, "conv", "mul", "conv"), 2: program(2, "mul", "conv")}
    # The newest has conv #1, which is the old conv #2; the old conv #1 becomes another.
    assert renamed(programs, [("a", 1, 1), ("a", 2, 2)]) == {100: ("conv", 2), 102: ("conv", 1)}


def test_names_follow_a_chain_of_programs() -> None:
    programs = {
        1: program(1, "conv", "relu", "add"),
        2: program(2, "conv_fast", "relu", "add", "mul"),
        3: program(3, "mul", "relu", "conv_fast", "relu", "add", "mul"),
    }
    ran = [("a", 1, 1), ("a", 2, 2), ("a", 3, 3)]
    found = renamed(programs, ran)
    assert found[101] == found[201] == ("relu", 2)
    assert found[203] == ("mul", 2)


def test_a_revert_restores_the_first_operator_names() -> None:
    programs = {1: program(1, "conv", "relu"), 2: program(2, "conv", "conv", "relu")}
    ran = [("a", 1, 1), ("a", 2, 2), ("a", 3, 1)]
    times = {
        ("a", 1, 1): [500_000, 20],
        ("a", 2, 2): [90_000, 500_000, 20],
        ("a", 3, 1): [500_000, 20],
    }
    assert renamed(programs, ran, times) == {200: ("conv", 2), 201: ("conv", 1)}


def test_a_device_that_lags_behind_shares_the_names() -> None:
    programs = {1: program(1, "conv", "relu"), 2: program(2, "relu", "conv", "relu")}
    ran = [("a", 1, 1), ("a", 2, 2), ("b", 1, 1), ("b", 3, 1)]
    # Program 1 is the newest; still, both are linked through device a.
    assert renamed(programs, ran) == {200: ("relu", 2), 202: ("relu", 1)}


def test_programs_that_no_device_ran_both_keep_their_names() -> None:
    programs = {1: program(1, "conv", "relu"), 2: program(2, "relu", "conv", "relu")}
    assert renamed(programs, [("a", 1, 1), ("b", 2, 2)]) == {}


def test_the_order_of_ingest_does_not_matter() -> None:
    programs = {
        1: program(1, "conv", "relu", "conv"),
        2: program(2, "conv", "relu"),
        3: program(3, "add", "conv", "relu", "conv"),
    }
    ran = [("a", 1, 1), ("a", 2, 2), ("b", 2, 3), ("a", 3, 3)]
    answers = [renamed(programs, order) for order in permutations(ran)]
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]


def test_operators_of_one_program_get_distinct_names() -> None:
    programs = {
        1: program(1, "conv", "conv", "conv", "relu"),
        2: program(2, "conv", "relu"),
        3: program(3, "conv", "mul", "conv", "relu", "conv"),
    }
    found = renamed(programs, [("a", 1, 1), ("a", 2, 2), ("a", 3, 3)])
    for own in programs.values():
        names = [found.get(e.id, (e.name.event_name, e.name.ordinal)) for e in own.events]
        assert len(set(names)) == len(names)


def test_times_are_needed_where_a_device_changed_its_program() -> None:
    programs = {1: program(1, "conv"), 2: program(2, "conv", "add")}
    ran = [Sighting("a", n, 1, id_) for n, id_ in enumerate((1, 1, 2, 2), 1)]
    assert [one.position for one in list_steps(ran, programs)] == [2, 3]


def test_names_of_a_part_of_a_history_are_those_of_the_whole_where_they_agree() -> None:
    programs = {
        1: program(1, "conv", "relu"),
        2: program(2, "relu"),
        3: program(3, "conv", "relu", "add"),
    }
    history = [Sighting("a", position, 5, position) for position in (1, 2, 3)]
    whole = {(id_, event): name for id_, event, name in name_operators(history, programs, {})}
    assert whole[1, 100].ordinal == 2  # another one than that of program 3
    ends = [history[0], history[2]]
    assert list(name_operators(ends, programs, {}, whole)) == []
    apart = {**whole, (3, 301): programs[3].events[1].name._replace(ordinal=7)}
    found = {event: name.ordinal for _, event, name in name_operators(ends, programs, {}, apart)}
    assert found == {101: 7, 301: 7}
