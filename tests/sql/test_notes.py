import pytest

from tests.support.store_rows import StoreRows, run_query


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for device, pool in (("phone", "lab"), ("tablet", "field"), ("board", None)):
        for build in ("b1", "b2"):
            store.add_dump(device=device, pool=pool, build=build)
    store.add_note("phone", "b1", device="phone", event_name="conv")
    store.add_note("lab", "b2", pool="lab")
    store.add_note("all", "b1")
    store.add_note("xnnpack", "b2", backend="xnnpack", device="board")
    store.add_note("wrong", "b1")
    store.add_note("wrong", "b1", state="withdrawn")
    return store.connect()


def _texts(farm, **params):
    return {row["text"] for row in run_query(farm, "notes", **params)}


def test_notes_are_listed_until_they_are_withdrawn(farm):
    assert _texts(farm) == {"phone", "lab", "all", "xnnpack"}
    (row,) = run_query(farm, "notes", device="phone", build="b2")
    assert (row["pool"], row["device"], row["note_id"], row["written_by"]) == (
        "lab", None, "lab", "ann",
    )  # fmt: skip


def test_a_note_is_listed_where_a_chosen_dump_has_its_point(farm):
    assert _texts(farm, device="tablet") == {"all"}
    assert _texts(farm, build="b2") == {"lab", "xnnpack"}
    assert _texts(farm, device="board", backend="xnnpack") == {"all", "xnnpack"}


def test_notes_of_a_pool_are_those_of_the_pool_and_of_its_devices(farm):
    assert _texts(farm, pool="lab") == {"phone", "lab"}
    assert _texts(farm, pool="field") == set()
