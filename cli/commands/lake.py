"""`tracehouse lake`: check a lake, or merge its small files."""

from __future__ import annotations

from tracehouse.cli.errors import fail
from tracehouse.cli.help import command_group
from tracehouse.cli.options import LakePlace, with_options
from tracehouse.cli.output.options import OutputOptions

app = command_group(
    "Check a lake (see 'tracehouse export lake'), or merge its small files.",
    short="Check a lake, or merge its small files.",
)


@app.command()
@with_options
def verify(uri: LakePlace, *, options: OutputOptions) -> None:
    """Check every file of a lake and list problems; exits 1 if there are any."""
    import pyarrow as pa

    from tracehouse.warehouse.lake.place import Lake
    from tracehouse.warehouse.lake.verification import LakeProblem, verify_lake

    found = verify_lake(Lake(uri))
    schema = pa.schema([(name, pa.string()) for name in LakeProblem._fields])
    options.write_rows((problem._asdict() for problem in found), schema)
    if found:
        fail()


@app.command()
@with_options
def compact(uri: LakePlace, *, options: OutputOptions) -> None:
    """Merge small files of a lake, and delete files that were replaced more than an hour ago.

    Readers that follow the lake's commits never miss a file; readers of all files see some rows
    twice until the old files are deleted. The command can be interrupted at any moment; the next
    call continues.
    """
    from tracehouse.warehouse.lake.compaction import compact_lake
    from tracehouse.warehouse.lake.place import Lake

    options.write_rows([compact_lake(Lake(uri))._asdict()])
