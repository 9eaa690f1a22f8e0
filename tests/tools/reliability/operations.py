"""Operations that keep a store in order, and a store with a history to try them on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS
from tests.support.stores import MANIFEST, ingest, write
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Warehouse
from tracehouse.cli.app import run as run_command
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.rewriting import merge_segments

REAL = CORPUS / "real" / "multiout_portable_n3_debug"

Operation = Callable[[Path], None]


def command(*args: str | Path) -> Operation:
    """The operation of a command line."""

    def run_on(store: Path) -> None:
        try:
            status = run_command([*map(str, args), "--store", str(store)])
        except SystemExit as end:
            status = int(end.code or 0)
        assert status == 0, args

    return run_on


def ingest_folder(build: str, folder: Path) -> Operation:
    """The ingest of a folder."""
    manifest = MANIFEST | {"build": build}

    def run_on(store: Path) -> None:
        ingest(store, folder, manifest=manifest)

    return run_on


def merge(store: Path) -> None:
    """Merge segments, as an ingest does when there are many."""
    with Warehouse.open_to_write(store):
        merge_segments(Archive(store))


def list_operations(files: Path) -> dict[str, Operation]:
    """The operations that are killed, by name."""
    corrections = ("--set", "build=b9", "--set", "device.os=Linux")
    return {
        "ingest": ingest_folder("b7", files / "more"),
        "retention": command("store", "retention", "--raw-days", "0", "--yes"),
        "amend": command("store", "amend", "--where", "build=b3", *corrections, "--yes"),
        "forget": command("store", "forget", "--build", "b2", "--yes"),
        "compact": command("store", "compact"),
        "merge": merge,
        "rebuild": command("store", "rebuild"),
        "snapshot": command("store", "snapshot"),
        "verify": command("store", "verify", "--all"),
    }


def write_files(folder: Path) -> None:
    """Write folders to ingest: dumps, an ETRecord, a debug buffer and a file that is refused."""
    for name, numbers in {"b1": range(4), "b3": range(4, 7), "b4": (7,), "b6": (8, 9)}.items():
        for number in numbers:
            write(folder / name / f"{number}.etdp", tiny_dump(number))
    write(folder / "b1" / "bad.etdp", b"no dump" * 99)
    shutil.copytree(folder / "b1", folder / "more")
    for number in range(20, 24):
        write(folder / "more" / f"{number}.etdp", tiny_dump(number))
    for name, debug in {"b2": "_debug", "more": ""}.items():
        (folder / name).mkdir(exist_ok=True)
        shutil.copy(REAL.with_name(f"{REAL.name[:-6]}{debug}.etdp"), folder / name / "real.etdp")
        shutil.copy(MODELS / "multiout_portable.etrecord", folder / name / "real.etrecord")
    shutil.copy(f"{REAL}.debug.bin", folder / "b2" / "real.debug.bin")


def make_history(store: Path, files: Path) -> None:
    """Make a store on which all operations were done; its last commits are in the log alone."""
    for build in ("b1", "b2", "b4"):
        ingest_folder(build, files / build)(store)
    command("store", "forget", "--build", "b4", "--yes")(store)
    ingest_folder("b3", files / "b3")(store)
    command("store", "retention", "--raw-days", "0", "--keep-builds", "b[2-3]", "--yes")(store)
    command("store", "amend", "--where", "build=b1", "--set", "model.backend=xnnpack", "--yes")(
        store
    )
    command("store", "snapshot")(store)
    warehouse = Warehouse.open_to_write(store)
    warehouse.ingest([files / "b6"], manifest=MANIFEST | {"build": "b6"})
    os._exit(0)  # without closing it
