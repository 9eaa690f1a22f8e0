from __future__ import annotations

import pytest

from tests.support.cross_section import cross_section
from tests.support.nightly_farm import ingest_all, record_build
from tracehouse import Warehouse
from tracehouse.queries.report.nightly import nightly_report
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.settings import Settings

CONV = "native_call_convolution.out"
NIGHTS = 8
BAD = 6  # the first build whose convolution is 30 % slower


def night(number, *, threads=2, **names):
    """A night of net; its convolution is slower from BAD on."""
    slower = {CONV: 1.3 if number >= BAD else 1.0}
    return record_build(number, slower, run={"threads": threads, **names.pop("run", {})}, **names)


def judge(tmp_path, dumps):
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        return nightly_report(store, Settings())


def told(report):
    (group,) = [each for each in report.groups if each.direction == "regression"]
    return report.verdict, group.is_of_environment


@pytest.mark.slow
def test_a_new_model_with_more_threads_excuses_no_other_model(tmp_path):
    dumps = [dump for number in range(NIGHTS) for dump in night(number)]
    for number in range(BAD, NIGHTS):
        dumps += record_build(number, model="new", run={"threads": 4})
    report = judge(tmp_path, dumps)
    assert told(report) == ("regressions", False)
    assert report.groups[0].environment == []


@pytest.mark.slow
def test_a_control_model_with_fewer_threads_excuses_no_other_model(tmp_path):
    dumps = [dump for number in range(NIGHTS) for dump in night(number)]
    for number in range(NIGHTS):
        run = {"threads": 1 if number >= BAD else 2}
        dumps += record_build(number, model="control", run=run)
    assert told(judge(tmp_path, dumps)) == ("regressions", False)


@pytest.mark.parametrize(
    ("threads", "expected"),
    cross_section(
        [
            ([2] * BAD + [1, 1], ("other_environment", True)),
            ([2] * BAD + [1, 2], ("regressions", False)),  # as slow with two threads as before
            ([2] * (BAD - 1) + [1, 1, 1], ("regressions", False)),  # they changed too early
            ([None] * BAD + [1, 1], ("regressions", False)),  # nothing is known of those before
        ],
        4,
    ),
)
def test_the_threads_of_the_model_itself_excuse_it_if_they_changed_with_it(
    tmp_path, threads, expected
):
    dumps = [d for number in range(NIGHTS) for d in night(number, threads=threads[number])]
    report = judge(tmp_path, dumps)
    assert told(report) == expected
    if expected[1]:
        (change,) = report.groups[0].environment
        assert (change.device, change.model, change.attribute) == ("phone", "net", "threads")
        assert (change.base, change.head) == ("2", "1")
        assert "where the environment changed too (threads; " in report.summary


@pytest.mark.slow
def test_another_system_on_one_of_two_devices_excuses_neither(tmp_path):
    dumps = []
    for number in range(NIGHTS):
        version = "15" if number >= BAD else "14"
        dumps += night(number, device={"name": "phone", "os_version": version})
        dumps += night(number, device={"name": "tablet", "os_version": "14"})
    assert told(judge(tmp_path, dumps)) == ("regressions", False)


def record_with_reference(number, *, threads, beside):
    run = {"session": f"s{number}", "threads": threads}
    pinned = {"id": "pinned", "role": "reference"}
    return [
        *night(number, run=run, threads=threads),
        *record_build(number, build=pinned, run=run | {"threads": beside}),
    ]


@pytest.mark.parametrize(
    ("beside", "expected"),
    cross_section([(1, ("regressions", False)), (2, ("other_environment", True))], 2),
)
def test_a_change_against_a_reference_in_the_same_environment_is_not_excused(
    tmp_path, beside, expected
):
    dumps = []
    for number in range(NIGHTS):
        is_bad = number >= BAD
        now, then = (1, beside) if is_bad else (2, 2)
        dumps += record_with_reference(number, threads=now, beside=then)
    assert told(judge(tmp_path, dumps)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("threads", "expected"),
    cross_section([(1, ("other_environment", True)), (2, ("regressions", False))], 2),
)
def test_two_builds_are_compared_likewise(tmp_path, threads, expected):
    dumps = [*night(0), *night(BAD, threads=threads)]
    with Warehouse.open(ingest_all(tmp_path / "s", dumps), read_only=True) as store:
        report = compare_report(store, Settings(), base="b0", head=f"b{BAD}")
    assert told(report) == expected
