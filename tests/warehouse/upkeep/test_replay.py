from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS, read_dump
from tests.support.etrecord_builder import MODELS
from tests.support.stores import everything, ingest, write
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.rewriting import merge_segments
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.upkeep.amend import amend_manifests, parse_corrections, plan_amendments
from tracehouse.warehouse.upkeep.choice import ChosenDump, choose_dumps
from tracehouse.warehouse.upkeep.compact import compact_store
from tracehouse.warehouse.upkeep.forget import forget_dumps
from tracehouse.warehouse.upkeep.rebuild import rebuild_store
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events

NAMES = (
    "mixed_xnnpack_n20", "mixed_portable_n20", "cnn_portable_n20", "multiout_portable_n3_debug",
    "load_only",
)  # fmt: skip


class LivedIn:
    """A store to which things happen, at random."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.store, self._files = folder / "store", folder / "in"
        self._random = random.Random(seed)  # noqa: S311 - nothing is secret here

    def happen(self, count: int) -> list[str]:
        self.ingest()
        deeds = (
            self.ingest, self.ingest, self.ingest, self.attach, self.amend, self.drop, self.forget,
            self.merge, self.compact, self.lose, self.decide,
        )  # fmt: skip
        done = [self._random.choice(deeds) for _ in range(count)]
        for deed in done:
            deed()
        return [deed.__name__ for deed in done]

    def ingest(self) -> None:
        for name in self._random.sample(NAMES, 2):
            data = read_dump(f"real/{name}")
            facts = {
                "device": self._random.choice("xyz"),
                "build": {"id": self._random.choice("ab"), "commit": self._random.choice("123")},
                "model": {"name": "m", "backend": self._random.choice(["xnnpack", "p"])},
            }
            file = write(self._files / f"{name}.etdp", data)
            ingest(self.store, file, manifest=facts)

    def attach(self) -> None:
        shutil.copy(MODELS / "mixed_xnnpack.etrecord", self._files / "mixed_xnnpack_n20.etrecord")
        shutil.copy(
            CORPUS / "real/multiout_portable_n3_debug.debug.bin",
            self._files / "multiout_portable_n3_debug.debug.bin",
        )
        self.ingest()

    def amend(self) -> None:
        stated = self._random.choice(
            [["build=c", "build.commit=9"], ["device=x"], ["device.os=Linux", "clock=us"],
             ["model.backend="], ["build.parent=a", "role=reference"],
             ["build.commit=", "build.ordinal=4"], ["captured_at=2026-01-01"]]
        )  # fmt: skip
        with Warehouse.open_to_write(self.store) as warehouse:
            dumps = all_dumps(warehouse)
            some = self._random.sample(dumps, min(len(dumps), 2))
            plan = plan_amendments(warehouse.writing, some, parse_corrections(stated))
            amend_manifests(warehouse.writing, self.store, plan)

    def drop(self) -> None:
        with Warehouse.open_to_write(self.store) as warehouse:
            old = find_old_events(warehouse.writing, days=0, kept_builds="b")
            drop_old_events(warehouse.writing, self.store, old)

    def forget(self) -> None:
        with Warehouse.open_to_write(self.store) as warehouse:
            dumps = all_dumps(warehouse)
            forget_dumps(warehouse.writing, self.store, dumps[: self._random.randrange(3)])

    def decide(self) -> None:
        with Warehouse.open_to_write(self.store) as warehouse:
            warehouse.decide(self._random.choice("gh"), state="accepted", reason="it must be")

    def merge(self) -> None:
        merge_segments(Archive(self.store))

    def compact(self) -> None:
        compact_store(self.store)

    def lose(self) -> None:
        """Go on with an older file, as after a log that was cut."""
        older = (self.store / FILE_NAME).read_bytes()
        self.ingest()
        self._random.choice([self.ingest, self.amend, self.forget, self.decide])()
        (self.store / FILE_NAME).write_bytes(older)


def all_dumps(warehouse: Warehouse) -> list[ChosenDump]:
    count = warehouse.sql("SELECT 1 FROM dumps").num_rows
    return choose_dumps(warehouse.writing, where={"model": "m"}) if count else []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_store_after_any_operations_is_rebuilt_the_same(tmp_path: Path, seed: int) -> None:
    lived = LivedIn(tmp_path, seed)
    done = lived.happen(9)
    Warehouse.open_to_write(lived.store).close()
    before = everything(lived.store)
    different = [table.name for table in rebuild_store(lived.store).tables if not table.is_equal]
    assert (different, done) == ([], done)
    assert everything(lived.store) == before
