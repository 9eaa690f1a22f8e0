"""`tracehouse sample OUT`: the real dumps that ship with tracehouse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracehouse.cli.output.options import OutputOptions


def sample(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write to.")] = Path("farm"),
    *,
    options: OutputOptions,
) -> None:
    """Write the real dumps that ship with tracehouse, for a first try.

    532 dumps of five models in several builds, among them eight nights of which the last ones are
    slower. OUT/truth.json, and the one in OUT/nights.zip, list the real changes between the builds.
    Next step: tracehouse ingest OUT
    """
    from tracehouse.ingest.sample.copying import DUMPS, copy_sample

    copied = copy_sample(out)
    row = {"dumps": DUMPS, "files": copied.files, "megabytes": copied.byte_count / 1e6}
    options.write_rows([row])
