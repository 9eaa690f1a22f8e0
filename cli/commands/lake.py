"""`tracehouse lake`: check a lake, or merge its small files."""

from __future__ import annotations

import typer

from cli.exit_codes import fail
from cli.options import CsvSafe, LakePlace, Output
from cli.output.render import Format, write_table
from cli.output_file import with_output_file

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    short_help="Check a lake, or merge its small files.",
    help="Check a lake (see 'tracehouse export lake'), or merge its small files.",
)


def verify(uri: LakePlace, output: Output = Format.TABLE, is_csv_safe: CsvSafe = False) -> None:
    """Check every file of a lake and list problems; exits 1 if there are any."""
    import pyarrow as pa

    from warehouse.lake.place import Lake
    from warehouse.lake.verification import LakeProblem, verify_lake

    found = verify_lake(Lake(uri))
    schema = pa.schema([(name, pa.string()) for name in LakeProblem._fields])
    rows = [problem._asdict() for problem in found]
    write_table(pa.Table.from_pylist(rows, schema), output, is_csv_safe=is_csv_safe)
    if found:
        fail()


def compact(uri: LakePlace, output: Output = Format.TABLE, is_csv_safe: CsvSafe = False) -> None:
    """Merge small files of a lake, and delete files that were replaced more than an hour ago.

    Readers that follow the lake's commits never miss a file; readers of all files see some rows
    twice until the old files are deleted. The command can be interrupted at any moment; the next
    call continues.
    """
    import pyarrow as pa

    from warehouse.lake.compaction import compact_lake
    from warehouse.lake.place import Lake

    done = compact_lake(Lake(uri))
    write_table(pa.Table.from_pylist([done._asdict()]), output, is_csv_safe=is_csv_safe)


for _command in (verify, compact):
    app.command()(with_output_file(_command))
