from __future__ import annotations

import pytest

from tests.support.etdump_builder import build_etdump
from tracehouse import decode_dumps
from tracehouse.ingest.etdump import layouts
from tracehouse.ingest.etdump.layouts import LayoutCache


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> LayoutCache:
    fresh = LayoutCache()
    monkeypatch.setattr(layouts, "CACHE", fresh)
    return fresh


def dump(*names: str) -> bytes:
    events = [{"profile_event": {"name": name, "instruction_id": 0}} for name in names]
    return build_etdump({"version": 0, "run_data": [{"name": "Execute", "events": events}]})


def test_dumps_of_one_program_are_grouped_once(
    cache: LayoutCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = decode_dumps([dump("a", "b")])
    monkeypatch.setattr(layouts, "group_events", lambda _: pytest.fail("grouped again"))
    assert decode_dumps([dump("a", "b")]).tables == first.tables
    assert len(cache.known) == 1


def test_layouts_that_are_kept_are_few(cache: LayoutCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "_MOST_CACHED", 5)
    decode_dumps([dump("a", "b"), dump("c", "d")])
    assert (len(cache.known), cache.size) == (2, 4)
    decode_dumps([dump("e", "f")])
    assert (len(cache.known), cache.size) == (1, 2)
    decode_dumps([dump(*"abcdef")])
    assert (len(cache.known), cache.size) == (1, 2)


def test_a_layout_with_long_texts_is_not_kept(cache: LayoutCache) -> None:
    decode_dumps([dump("x" * (3 << 20))])
    assert not cache.known
