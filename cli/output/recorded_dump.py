"""The output of `tracehouse record`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.streams import write_note

if TYPE_CHECKING:
    from tracehouse.ingest.recording.pairs import DumpPlace, PairsPlace
    from tracehouse.warehouse.store import Store

Progress = Callable[[int], None]


def write_newest_dump(warehouse: Store, options: OutputOptions) -> None:
    """Print the event blocks and the dump_id of the newest dump."""
    dump_id = warehouse.sql("SELECT max(dump_id) FROM dumps")[0][0].as_py()
    options.write(warehouse.query("event_blocks", dump=dump_id), query="event_blocks")
    write_note(f"note: this is dump {dump_id:,} of the store")


@contextmanager
def keep_on_failure(place: DumpPlace | PairsPlace) -> Iterator[None]:
    """If the body fails with a StoreError, keep the recording and print where it is.

    Raises:
        StoreError: The body raised one.
    """
    from tracehouse.warehouse.errors import StoreError

    try:
        yield
    except StoreError:
        names = ", ".join(map(str, place.keep()))
        if names:
            write_note(f"note: the recording is kept: {names}")
        raise


@contextmanager
def iteration_line(iterations: int, place: str = "") -> Iterator[Progress | None]:
    """Yield a callback that prints the iterations done on standard error; None without a terminal.

    Args:
        iterations: Total number of iterations.
        place: Prefix of the line, which identifies one of several runs.
    """
    if not sys.stderr.isatty():
        yield None
        return
    _write_over(f"{place}starting ExecuTorch ...")
    try:
        yield lambda done: _write_over(f"{place}{done:,}/{iterations:,} iterations")
    finally:
        _write_over("")


def _write_over(text: str) -> None:
    """Overwrite the current line."""
    sys.stderr.write(f"\r{text}\x1b[K")
    sys.stderr.flush()
