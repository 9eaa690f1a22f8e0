"""`tracehouse archive`: the original files of a store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.exit_codes import fail
from tracehouse.cli.options import DEFAULT_STORE, Store, with_options
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.output_file import standard_output_to
from tracehouse.cli.output.streams import output_errors
from tracehouse.warehouse.errors import StoreError

if TYPE_CHECKING:
    from tracehouse.warehouse.archive.verification import SegmentCheck

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    short_help="Extract or check the original files that a store keeps.",
    help="Extract or check the original files that a store keeps in its archive.",
)

_File = Annotated[
    str, typer.Argument(metavar="SHA256", help="SHA-256 of the file, or its first digits.")
]
_Target = Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write to FILE.")]


@app.command()
def get(file: _File, *, output: _Target = None, store: Store = DEFAULT_STORE) -> None:
    """Extract a file as it was ingested: a dump, an ETRecord, a debug buffer or a refused file.

    Raises:
        BadParameter: The bytes would go to a terminal.
    """
    from tracehouse.warehouse.archive.retrieval import find_archived

    entry = find_archived(store, file)
    if output is None and sys.stdout.isatty():
        raise typer.BadParameter("the file is binary; use --output FILE", param_hint="'--output'")
    with standard_output_to(output), output_errors():
        sys.stdout.buffer.write(entry.data)
        sys.stdout.buffer.flush()


@app.command()
@with_options
def verify(store: Store = DEFAULT_STORE, *, options: OutputOptions) -> None:
    """Read the whole archive and list damaged or missing parts; exits 1 if there are any."""
    import pyarrow as pa

    from tracehouse.warehouse.archive.verification import SegmentCheck

    found = _verify(store)
    columns = list(zip(*found, strict=True)) or [()] * len(SegmentCheck._fields)
    table = pa.table(dict(zip(SegmentCheck._fields, map(list, columns), strict=True)))
    options.write(table)
    if any(one.problem for one in found):
        fail()


def _verify(store: Path) -> list[SegmentCheck]:
    """The state of each segment.

    Raises:
        StoreError: There is no store.
    """
    from tracehouse.warehouse.archive.archive import Archive
    from tracehouse.warehouse.archive.verification import indexed_segments, verify_archive
    from tracehouse.warehouse.engine.store_file import FILE_NAME
    from tracehouse.warehouse.opening.read import NO_STORE

    found = verify_archive(Archive(store), indexed_segments(store))
    if not found and not (store / FILE_NAME).exists():
        raise StoreError(str(store), NO_STORE)
    return found
