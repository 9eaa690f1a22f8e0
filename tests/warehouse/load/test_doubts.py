from __future__ import annotations

from pathlib import Path

from tests.support.corpus import read_dump
from tests.support.stores import MANIFEST, ingest, write


def test_clock_by_which_a_dump_ran_for_days_is_doubted_once_by_name(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{name}.etdp", read_dump(f"real/mixed_{name}_n20"))
        for name in ("xnnpack", "portable")
    ]
    clock = MANIFEST | {"clock": "s"}
    (doubt,) = ingest(tmp_path / "store", *paths, manifest=clock).doubts
    assert doubt.startswith(f"{paths[0]} and 1 more: with a clock in s it would have run for ")
    assert ingest(tmp_path / "store", *paths, manifest=clock).doubts == ()  # said before


def test_clock_that_can_be_right_is_not_doubted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.etdp", read_dump("real/mixed_xnnpack_n20"))
    assert ingest(tmp_path / "store", path).doubts == ()
