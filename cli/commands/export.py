"""`tracehouse export`: dumps or a store in formats of other programs."""

from __future__ import annotations

from tracehouse.cli.commands.export_trace import trace
from tracehouse.cli.help import command_group
from tracehouse.cli.options import LakePlace, StoreOptions, with_options
from tracehouse.cli.stores import open_to_read

app = command_group(
    "Write traces or a lake for other programs.",
)


app.command()(trace)


@app.command()
@with_options
def lake(uri: LakePlace, *, options: StoreOptions) -> None:
    """Bring a lake up to date: Parquet files that DuckDB, Spark, Trino, pandas or Polars read.

    Writes only what is new, and applies corrections and forgotten dumps, too. An export can be
    interrupted at any moment; the next one continues. Raw events that were dropped from the store
    stay in the lake.
    """
    from tracehouse.cli.output.progress import progress_bar

    with (
        progress_bar(unit="dumps") as progress,
        open_to_read(options.store, wait=options.wait) as warehouse,
    ):
        done = warehouse.export_lake(uri, progress=progress)
    options.write_rows([done._asdict()])
