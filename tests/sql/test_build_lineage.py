"""The views that say in which order builds came, and from which each was made."""

from datetime import timedelta

from tests.support.store_rows import LONG_AGO, StoreRows
from tracehouse.warehouse.catalogue.sql_files import read_statement


def _store(*builds):
    """Builds of (name, branch, parent, role), in order."""
    store = StoreRows()
    for ordinal, (name, branch, parent, role) in enumerate(builds):
        store.add_build(name, ordinal=ordinal, branch=branch, parent=parent, role=role)
        store.add_dump(build=name)
    return store


def _ancestors(store, build):
    text = (
        "SELECT ancestor, distance FROM build_lineage WHERE build = ? ORDER BY distance, ancestor"
    )
    return store.connect().execute(text, [build]).fetchall()


def test_a_night_ends_with_the_next_build_of_its_branch_but_no_trial_of_another():
    store = StoreRows()
    made = [("m1", "main", None), ("try", "mine", "m1"), ("m2", "main", None), ("n1", None, None)]
    made.append(("n2", None, None))
    for hour, (name, branch, parent) in enumerate(made):
        store.add_build(name, ordinal=hour, branch=branch, parent=parent)
        store.add_dump(build=name, captured_at=LONG_AGO + timedelta(hours=hour))
    connection, text = store.connect(), read_statement("known_until")
    connection.execute("UPDATE dumps SET ingested_at = captured_at")
    ends = {
        name: connection.sql(text, params={"head": name}).to_arrow_table()["until"][0].as_py()
        for name, _, _ in made
    }
    assert ends == {
        "m1": LONG_AGO + timedelta(hours=2),
        "try": None,
        "m2": None,
        "n1": LONG_AGO + timedelta(hours=4),
        "n2": None,
    }


def test_builds_come_by_ordinal_commit_time_time_of_recording_and_name():
    store = StoreRows()
    store.add_build("z", ordinal=1)
    store.add_build("y", committed_at=LONG_AGO)
    for build, hours in (("c", 5), ("x", 1), ("c", 1), ("z", 9), ("y", 9), ("b", 1)):
        store.add_dump(build=build, captured_at=LONG_AGO + timedelta(hours=hours))
    text = "SELECT build, position, first_captured_at FROM builds_in_order ORDER BY position"
    rows = store.connect().sql(text).to_arrow_table()
    assert rows["build"].to_pylist() == ["z", "y", "b", "x", "c"]
    assert rows["position"].to_pylist() == [1, 2, 3, 4, 5]
    assert rows["first_captured_at"][4].as_py() == LONG_AGO + timedelta(hours=1)


def test_the_build_before_on_the_branch_is_the_parent_where_none_is_stated():
    store = _store(
        ("m1", "main", None, None),
        ("f1", "feature", None, None),
        ("m2", "main", None, None),
        ("m3", "main", None, None),
    )
    assert _ancestors(store, "m3") == [("m2", 1), ("m1", 2)]
    assert _ancestors(store, "f1") == []


def test_a_stated_parent_wins_and_one_that_the_store_does_not_have_counts_for_nothing():
    store = _store(
        ("m1", "main", None, None),
        ("m2", "main", None, None),
        ("m3", "main", "m1", None),
        ("f1", "feature", "m2", None),
        ("f2", "feature", "unheard of", None),
    )
    assert _ancestors(store, "m3") == [("m1", 1)]
    assert _ancestors(store, "f2") == [("f1", 1), ("m2", 2), ("m1", 3)]


def test_reference_builds_neither_are_nor_have_ancestors():
    store = _store(
        ("m1", "main", None, None),
        ("pinned", "main", None, "reference"),
        ("m2", "main", None, None),
        ("m3", "main", "pinned", None),
    )
    assert _ancestors(store, "m2") == [("m1", 1)]
    assert _ancestors(store, "m3") == [("m2", 1), ("m1", 2)]
    assert _ancestors(store, "pinned") == []


def test_builds_that_state_each_other_as_parents_have_each_other_once():
    store = _store(
        ("a", "main", "c", None),
        ("b", "main", "a", None),
        ("c", "main", "b", None),
        ("d", "main", "d", None),
    )
    assert _ancestors(store, "a") == [("c", 1), ("b", 2)]
    assert _ancestors(store, "d") == [("c", 1), ("b", 2), ("a", 3)]


def test_at_most_128_ancestors_are_listed():
    store = _store(*((f"b{number:03}", "main", None, None) for number in range(140)))
    found = _ancestors(store, "b139")
    assert found == [(f"b{139 - distance:03}", distance) for distance in range(1, 129)]
    assert _ancestors(store, "b003") == [("b002", 1), ("b001", 2), ("b000", 3)]
