from datetime import timedelta

from tests.support.store_rows import LONG_AGO, StoreRows, run_query


def _store():
    store = StoreRows()
    store.add_dump()
    first = f"{1:064x}"
    store.add_error("copy.etdp", sha256=first, refused_at=LONG_AGO)
    store.add_error("001.etdp", sha256="f" * 64, refused_at=LONG_AGO + timedelta(hours=1))
    store.add_error("bad.etdp", sha256="f" * 64, refused_at=LONG_AGO + timedelta(hours=2))
    store.add_error("unread.etdp", refused_at=LONG_AGO + timedelta(hours=3))
    return store.connect()


def test_error_is_resolved_once_its_bytes_or_its_source_are_in_the_store():
    rows = run_query(_store(), "ingest_errors")
    assert [(row["source"], row["is_resolved"]) for row in rows] == [
        ("copy.etdp", True),
        ("001.etdp", True),
        ("bad.etdp", False),
        ("unread.etdp", False),
    ]


def test_time_range_is_that_of_the_refusal():
    rows = run_query(
        _store(), "ingest_errors", since="2026-01-01T01:00:00Z", until="2026-01-01T03:00:00Z"
    )
    assert [row["source"] for row in rows] == ["001.etdp", "bad.etdp"]
