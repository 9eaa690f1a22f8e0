"""Damage a store's files again and again: `make torture`, and a short run in the tests.

DuckDB's file, its log and the archive's segments are cut, flipped, zeroed and deleted at random
places. Damage must be harmless or told with its remedy, and `rebuild` must give back every row of
what the archive still holds; nothing may be wrong without a word.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.corpus import dump_names, read_dump
from tests.support.forks import fork, wait
from tests.tools.reliability.findings import Findings, Results, run_recorded
from tracehouse import Warehouse
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.entries import DUMP
from tracehouse.warehouse.archive.verification import verify_archive
from tracehouse.warehouse.engine.checksums import Checksum, table_checksums
from tracehouse.warehouse.engine.connection import open_reader, translated_errors, use_database
from tracehouse.warehouse.engine.store_file import FILE_NAME, log_of
from tracehouse.warehouse.errors import WarehouseError
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

MANIFEST = {"device": "pixel8", "build": "b1", "model": "mv2"}
KINDS = ("cut", "flip", "zero", "delete")
DUMPS = 24

Rows = dict[str, Checksum]


def make_store(store: Path) -> None:
    """A store whose last commits are in the log alone, as after a kill."""
    files = store.parent / "in"
    files.mkdir()
    datas = dict.fromkeys(map(read_dump, dump_names("real")[:DUMPS]))
    for number, data in enumerate(datas):
        (files / f"{number:02}.etdp").write_bytes(data)
    (files / "bad.etdp").write_bytes(b"no dump" * 99)
    listed = sorted(files.iterdir())

    def ingest_and_die() -> None:
        warehouse = Warehouse.open_to_write(store, create=True)
        for start in range(0, len(listed), 5):
            warehouse.ingest(listed[start : start + 5], manifest=MANIFEST)
        os._exit(0)  # without closing the store

    assert wait(fork(ingest_and_die)) == "done"


def damage(path: Path, kind: str, random_: random.Random) -> None:
    """Damage a file at a random place."""
    data = bytearray(path.read_bytes())
    at = random_.randrange(len(data))
    if kind == "cut":
        del data[at:]
    elif kind == "flip":
        data[at] ^= 1 << random_.randrange(8)
    else:
        data[at : at + 4096] = bytes(len(data[at : at + 4096]))
    path.chmod(0o600)
    path.write_bytes(data)
    if kind == "delete":
        path.unlink()


def judge_index(store: Path, expected: Rows) -> tuple[str, str]:
    """Outcome and problem of a store whose file or log is damaged."""
    try:
        Warehouse.open_to_write(store).close()
        if read_rows(store) == expected:
            return "harmless", ""
        outcome, problem = "silent", "rows are missing or others, without a word"
    except WarehouseError as error:
        outcome, problem = (
            "told",
            "" if "tracehouse store rebuild" in str(error) else f"said: {error}",
        )
    rebuild_store(store)
    is_equal = read_rows(store) == expected
    return outcome, problem if is_equal else f"{problem}; rebuilt, it differs"


def judge_archive(store: Path, segment: str, expected: Rows) -> tuple[str, str]:
    """Outcome and problem of a store with a damaged segment: all else must be whole."""
    is_gone = not any(one.path.name == segment for one in Archive(store).segments())
    Warehouse.open_to_write(store).close()
    rows = read_rows(store)
    changed = {name for name in expected if rows[name] != expected[name]}
    if changed - ({"archived_files"} if is_gone else set()):  # which lacks those in it by now
        return "silent", f"the index changed: {', '.join(sorted(changed))}"
    with Warehouse.open(store, read_only=True) as warehouse:
        known = warehouse.sql("SELECT segment FROM archive_segments")["segment"].to_pylist()
    bad = [one for one in verify_archive(Archive(store), known) if one.problem]
    if not bad:
        return "harmless", ""
    if [f"{one.first:012}" for one in bad] != [segment[:12]]:
        return "told", f"{len(bad)} segments are said to be damaged"
    rebuild_store(store, is_forced=True)
    return "told", _check_files(store)


def read_rows(store: Path) -> Rows:
    """A checksum of every table; raises StoreError if the file is damaged."""
    with (
        translated_errors(store),
        open_reader(store / FILE_NAME) as connection,
    ):
        use_database(connection)
        return table_checksums(connection)


def _check_files(store: Path) -> str:
    with Warehouse.open(store, read_only=True) as warehouse:
        stored = set(warehouse.sql("SELECT sha256 FROM dumps")["sha256"].to_pylist())
    archived = {e.sha256 for _, e in Archive(store).entries() if e.kind == DUMP}
    if stored != archived:
        return "rebuilt without it, the store has other dumps than the archive"
    for _, entry in Archive(store).entries():
        if entry.data is not None and hashlib.sha256(entry.data).hexdigest() != entry.sha256:
            return f"{entry.name} is not what it was"
    return ""


def torture(
    count: int, *, seed: int, kinds: Sequence[str] = KINDS, is_log_only: bool = False
) -> dict[str, Any]:
    """Damage copies of a store, so many: any file, or only DuckDB's log."""
    findings = Findings(seed)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "store")
        make_store(store)
        whole = Path(shutil.copytree(store, Path(folder, "whole")))
        Warehouse.open_to_write(whole).close()
        expected = read_rows(whole)
        for number in range(count):
            kind = kinds[number % len(kinds)]
            copy = Path(shutil.copytree(store, Path(folder, "copy")))
            segments = [segment.path for segment in Archive(copy).segments()]
            log = log_of(copy / FILE_NAME)
            files = [copy / FILE_NAME, log, findings.random.choice(segments)]
            path = log if is_log_only else findings.random.choice(files)
            damage(path, kind, findings.random)
            if path in segments:
                what, (outcome, problem) = "segment", judge_archive(copy, path.name, expected)
            else:
                what, (outcome, problem) = path.name, judge_index(copy, expected)
            where = f"case {number}, {path.name} {kind}"
            findings.add(f"{what} {kind}: {outcome}", where, problem)
            shutil.rmtree(copy)
    return findings.results(cases=count)


def run(count: int, seed: int) -> Results:
    """Damage stores, and zero logs, which DuckDB's own checksums notice least."""
    zeroed = torture(count // 2, seed=seed, kinds=("zero",), is_log_only=True)
    return {"damaged": torture(count, seed=seed), "zeroed_log": zeroed}


if __name__ == "__main__":
    sys.exit(run_recorded(__doc__, 400, run))
