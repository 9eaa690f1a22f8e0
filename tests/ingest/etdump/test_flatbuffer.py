"""A vtable is verified once, for each type of table that leads to it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.etdump_builder import build_etdump
from tracehouse.ingest.etdump import flatbuffer
from tracehouse.ingest.etdump.arena import Arena, FaultyDumps, Scope
from tracehouse.ingest.etdump.flatbuffer import TableColumn, read_tables
from tracehouse.ingest.etdump.schema import read_headers

ZERO = np.zeros(1, np.int64)


def read_root(arena: Arena, widths: tuple[int, ...]) -> TableColumn:
    root = 1 + (arena.i32[1:2].astype(np.int64) >> 2)  # behind the size prefix
    return read_tables(Scope.of_dumps(arena, ZERO), root, ZERO, widths)


@pytest.fixture
def arena() -> Arena:
    return Arena([build_etdump({"version": 7, "run_data": []})])


def test_a_known_vtable_is_verified_anew_for_other_widths(arena: Arena):
    assert read_root(arena, (4, 4)).least == read_root(arena, (4, 4)).most
    assert len(read_root(arena, (4,)).least) == 1
    with pytest.raises(FaultyDumps):  # the root has no room for a field of 64 bytes
        read_root(arena, (64, 4))


def test_a_known_vtable_is_not_read_again(arena: Arena, monkeypatch: pytest.MonkeyPatch):
    first = read_root(arena, (4, 4))
    monkeypatch.delattr(flatbuffer, "_verify_vtables")
    again = read_root(arena, (4, 4))
    assert again.fields.tolist() == first.fields.tolist()
    with pytest.raises(NameError):
        read_root(arena, (4,))


def test_vtables_of_different_dumps_are_kept_apart():
    arena = Arena([build_etdump({"version": version}) for version in (0, 7)])
    heads = read_headers(arena)
    assert heads.version.tolist() == [0, 7]
    assert len(arena.vtables) == 2
