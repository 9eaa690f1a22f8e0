"""Commands that meet failing disks, and the folder that they work on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from tests.support.forks import fork, wait
from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from tests.tools.reliability.operations import make_history, write_files
from tracehouse import Inbox, Warehouse
from tracehouse.cli.app import run as run_command
from tracehouse.cli.output.streams import write_error
from tracehouse.warehouse.errors import WarehouseError
from tracehouse.warehouse.upkeep.decide import decide_group

Operation = Callable[[Path, Path], int]  # of the disk and the files to ingest; the exit status

_STORE = ("--store", "DISK/store")


def line(*words: str) -> Operation:
    """A command line; DISK and FILES in words are the two folders."""

    def run_on(disk: Path, files: Path) -> int:
        args = [word.replace("DISK", str(disk)).replace("FILES", str(files)) for word in words]
        try:
            return run_command(args)
        except SystemExit as end:
            return int(end.code or 0)

    return run_on


def _decide(disk: Path, _: Path) -> int:
    """Accept an alert that no dump has, as a command does."""
    store = disk / "store"
    try:
        with Warehouse.open_to_write(store) as warehouse:
            decide_group(
                warehouse.writing, store, "0123456789ab", state="accepted", reason="so", user="me"
            )
    except WarehouseError as error:
        write_error(error)
        return 1
    return 0


OPERATIONS: Mapping[str, Operation] = {
    "ingest": line("ingest", "FILES/new", *_STORE, "--device=d", "--build=b7", "--model=m"),
    "drain": line("store", "drain", *_STORE),
    "retention": line("store", "retention", "--raw-days=0", "--yes", *_STORE),
    "amend": line("store", "amend", "--where=build=b3", "--set=build=b9", "--yes", *_STORE),
    "forget": line("store", "forget", "--build=b2", "--yes", *_STORE),
    "decide": _decide,
    "compact": line("store", "compact", *_STORE),
    "snapshot": line("store", "snapshot", *_STORE),
    "rebuild": line("store", "rebuild", *_STORE),
    "export": line("export", "lake", "DISK/lake", *_STORE),
    "lake compact": line("lake", "compact", "DISK/lake"),
    "token": line("token", "create", "lab", "--scope=ingest", *_STORE),
}


def make_disk(disk: Path, files: Path) -> None:
    """Make a store with a history, and a lake that misses the last dump of it.

    Another dump waits in "waiting", from where `fill_inbox` hands it over.
    """
    write_files(files)
    for number in range(40, 44):
        write(files / "new" / f"{number}.etdp", tiny_dump(number))
    _apart(lambda: make_history(disk / "store", files))
    _apart(lambda: _export(disk, files))
    _apart(lambda: _ingest_without_closing(disk / "store"))
    _apart(lambda: _hand_over(disk / "store"))
    (disk / "store" / "inbox").rename(disk / "waiting")


def _hand_over(store: Path) -> None:
    with Inbox.open(store) as inbox:
        inbox.accept(tiny_incoming(31))


def fill_inbox(disk: Path) -> None:
    """Put the dump that waits into the inbox."""
    (disk / "waiting").rename(disk / "store" / "inbox")


def _export(disk: Path, files: Path) -> None:
    """Export twice, so that the lake has files to compact; a later ingest is in the log alone."""
    export = OPERATIONS["export"]
    assert export(disk, files) == 0
    write(files / "b8" / "32.etdp", tiny_dump(32))
    ingest = line("ingest", "FILES/b8", *_STORE, "--device=e", "--build=b8", "--model=m")
    assert (ingest(disk, files), export(disk, files)) == (0, 0)


def _ingest_without_closing(store: Path) -> None:
    """Ingest a dump, whose commit stays in DuckDB's log."""
    Warehouse.open_to_write(store).ingest([tiny_incoming(30)])
    os._exit(0)


def _apart(action: Callable[[], None]) -> None:
    assert wait(fork(partial(_quietly, action))) == "done"


def _quietly(action: Callable[[], None]) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    action()
