"""`tracehouse sample OUT`: the real dumps that ship with tracehouse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import CsvSafe, Output
from cli.output.render import Format, write_table


def sample(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write to.")] = Path("farm"),
    *,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
) -> None:
    """Write the real dumps that ship with tracehouse, for a first try.

    148 dumps of two models in several builds, from a small device farm; OUT/truth.json lists the
    real changes between the builds. Next step: tracehouse ingest OUT
    """
    import pyarrow as pa

    from ingest.sample.copying import DUMPS, copy_sample

    copied = copy_sample(out)
    row = {"dumps": DUMPS, "files": copied.files, "megabytes": copied.byte_count / 1e6}
    write_table(pa.Table.from_pylist([row]), output, is_csv_safe=is_csv_safe)
