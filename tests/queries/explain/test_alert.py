from __future__ import annotations

from tests.support.nightly_farm import nightly_store
from tests.support.reports import group, member
from tracehouse import Warehouse
from tracehouse.queries.explain.explanation import MOST_PLACES, list_places, members_at
from tracehouse.queries.report.content import BuildPoint


def at(device, *builds, **changes):
    points = [BuildPoint(build=build, dump_count=9, median_ns=1.0) for build in builds]
    return member(device=device, model="net", backend=None, history=points, **changes)


def places_of(*members, first_bad="b9"):
    with Warehouse.open(nightly_store(), read_only=True) as store:
        return list_places(store, group(*members, first_bad=first_bad))


def test_the_builds_are_those_around_the_change_that_were_recorded_at_the_place():
    (place,), count = places_of(at("phone", "b5", "b7", "b10", "b11"))
    assert (place.base, place.head, count) == ("b7", "b10", 1)


def test_a_device_without_dumps_before_the_change_is_not_compared():
    assert places_of(at("phone", "b9", "b10")) == ([], 1)


def test_each_model_has_its_costliest_place():
    first, second = at("phone", "b8", "b9"), at("tablet", "b8", "b9")
    other = second.model_copy(update={"model": "other"})
    found, count = places_of(first, second, other)
    assert [(place.device, place.model) for place in found] == [
        ("phone", "net"),
        ("tablet", "other"),
    ]
    assert count == 3


def test_the_number_of_compared_models_is_limited():
    members = [
        at("phone", "b8", "b9").model_copy(update={"model": f"m{number}"}) for number in range(9)
    ]
    found, count = places_of(*members)
    assert (len(found), count) == (MOST_PLACES, 9)


def test_a_pool_is_compared_separately_from_its_devices():
    whole = at(None, "b8", "b9", pool="phones")
    (place,), _ = places_of(whole)
    assert (place.device, place.pool) == (None, "phones")
    assert members_at(group(whole, at("phone", "b8", "b9")), place) == [whole]
