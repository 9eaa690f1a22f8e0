from __future__ import annotations

from pathlib import Path

from tests.support.corpus import read_dump
from tests.support.stores import MANIFEST, ingest, write


def test_clock_by_which_a_dump_ran_for_days_is_doubted_once_by_name(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{name}.etdp", read_dump(f"real/mixed_{name}_n20"))
        for name in ("xnnpack", "portable")
    ]
    assert ingest(tmp_path / "other", paths[0]).doubts == ()
    clock = MANIFEST | {"clock": "s"}
    (doubt,) = ingest(tmp_path / "store", *paths, manifest=clock).doubts
    assert doubt.startswith(f"{paths[0]} and 1 more: with a clock in s it would have run for ")
    assert ingest(tmp_path / "store", *paths, manifest=clock).doubts == ()  # said before
