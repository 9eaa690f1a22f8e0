from datetime import timedelta

from tests.support.store_rows import LONG_AGO, StoreRows, run_query


def _store():
    store = StoreRows()
    for hours, celsius in ((0, 30.0), (1, 33.0), (2, None), (24, 41.0)):
        run = {} if celsius is None else {"temperature_c": celsius}
        at = LONG_AGO + timedelta(hours=hours)
        store.add_dump(device="phone", pool="lab", run=run, ingested_at=at)
    store.add_dump(device="tablet")
    for hours in (1, 2, 48):
        at = LONG_AGO + timedelta(hours=hours)
        store.add_error(f"{hours}.etdp", device="phone", pool="lab", refused_at=at)
    store.add_error("unknown.etdp")
    return store.connect()


def _days(**params):
    names = "dump_count", "refused_count", "temperature_c", "max_temperature_c"
    return [
        (row["device"], (row["day"] - LONG_AGO).days, *(row[name] for name in names))
        for row in run_query(_store(), "device_days", **params)
    ]


def test_a_day_has_the_dumps_the_refusals_and_the_temperatures_of_a_device():
    assert _days() == [
        ("phone", 0, 3, 2, 31.5, 33.0),
        ("phone", 1, 1, 0, 41.0, 41.0),
        ("phone", 2, 0, 1, None, None),
        ("tablet", 0, 1, 0, None, None),
    ]


def test_filters_apply_to_refusals_too():
    assert [day[:2] for day in _days(device="tablet")] == [("tablet", 0)]
    until = LONG_AGO + timedelta(hours=2)
    assert _days(pool="lab", until=until)[0][2:4] == (3, 1)
