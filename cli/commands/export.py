"""`tracehouse export`: dumps or a store in formats of other programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.files import dump_source, read_etrecord_of
from tracehouse.cli.help import command_group
from tracehouse.cli.options import (
    DEFAULT_STORE,
    LakePlace,
    StoreOptions,
    StorePath,
    TextOption,
    add_options,
    with_options,
)
from tracehouse.cli.output.output_file import standard_output_to
from tracehouse.cli.output.streams import write_note, write_text
from tracehouse.cli.stores import open_to_read

if TYPE_CHECKING:
    from tracehouse.ingest.sources.places import Source
    from tracehouse.queries.timeline.dumps import Clocks, TimedDump
    from tracehouse.queries.timeline.slices import TimedRuns


app = command_group(
    "Write traces or a lake for other programs.",
)

_FORMAT = (
    "For ui.perfetto.dev and chrome://tracing; flamegraph.pl; speedscope.app; a browser; or node "
    "data for Model Explorer (of two dumps: the change from the first to the second). By default "
    "chosen by the suffix of --output: .html, .folded, .speedscope.json, else perfetto."
)
_RUN = "Position of a run, or median for a run of median length; repeatable. By default all runs."
_PARTS_AT_ONCE = 5_000
_MOST_DIGITS = 100  # of a dump_id; names of files are as long
_MORE = (
    TextOption(
        "etrecord", "FILE", "ETRecord of the files; by default found as by 'tracehouse ingest'."
    ),
    TextOption(
        "clock", "CLOCK", "Clock of the files: a unit (by default ns), or ticks per second."
    ),
    TextOption(
        "delegate_clock",
        "[BACKEND=]CLOCK,...",
        "Clock of delegated events in the files, for one backend or all.",
    ),
)


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


class TraceFormat(StrEnum):
    """File formats of traces."""

    PERFETTO = "perfetto"
    FOLDED = "folded"
    SPEEDSCOPE = "speedscope"
    HTML = "html"
    MODEL_EXPLORER = "model-explorer"


_BY_ENDING = {
    ".html": TraceFormat.HTML,
    ".htm": TraceFormat.HTML,
    ".folded": TraceFormat.FOLDED,
    ".speedscope.json": TraceFormat.SPEEDSCOPE,
}


def trace(
    dumps: Annotated[
        list[str],
        typer.Argument(metavar="DUMP", help="ETDump files, or dump_ids of dumps in the store."),
    ],
    run: Annotated[list[str] | None, typer.Option(metavar="N|median", help=_RUN)] = None,
    *,
    output: Annotated[
        TraceFormat | None, typer.Option("--format", metavar="|".join(TraceFormat), help=_FORMAT)
    ] = None,
    output_file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE.")
    ] = None,
    store: StorePath = DEFAULT_STORE,
    **more: str | None,
) -> None:
    """Write runs of dumps on a time axis, as nested events with their durations.

    Several dumps are shown side by side. With --run, every run begins at 0; without it, runs keep
    their start times.

    Raises:
        BadParameter: The trace would go to a terminal.
    """
    from tracehouse.queries.event_blocks.time_scales import check_backends
    from tracehouse.queries.timeline.dumps import parse_clocks
    from tracehouse.queries.timeline.slices import lay_out_runs

    if output_file is None and sys.stdout.isatty():
        raise typer.BadParameter(
            "a trace is for programs; use --output FILE", param_hint="'--output'"
        )
    with as_usage_errors():
        clocks = parse_clocks(more["clock"], more["delegate_clock"])
    read = _read_dumps(dumps, store, clocks, more)
    shown = [lay_out_runs(dump, run or ()) for dump in read]
    events = (event for one in shown for event in one.events)
    check_backends(clocks.delegates, (event.origin.delegate_backend_name for event in events))
    with standard_output_to(output_file):
        for part in _batched(_rendered(shown, output or _format_for(output_file))):
            write_text(part)
    for one in shown:
        for note in one.notes:
            write_note(f"note: {one.dump.label}: {note}")
        if one.dump.clocks.ns_per_tick is None:
            write_note(
                f"note: {one.dump.label}: the clock's rate is unknown; 1 ns shown is 1 cycle"
            )


add_options(trace, _MORE)


def _read_dumps(
    names: Sequence[str], store: Path, clocks: Clocks, more: Mapping[str, str | None]
) -> list[TimedDump]:
    """The dumps of these names; a number that is not a file is a dump_id of the store."""
    from tracehouse.queries.timeline.dumps import read_stored_dump

    stored = {name for name in names if _is_number(name) and not Path(name).exists()}
    found = {
        name: _read_file(dump_source(name), more["etrecord"], clocks)
        for name in names
        if name not in stored
    }
    if stored:
        with open_to_read(store) as warehouse:
            found |= {name: read_stored_dump(warehouse, int(name)) for name in stored}
    return [found[name] for name in names]


def _is_number(name: str) -> bool:
    return name.isdecimal() and len(name) <= _MOST_DIGITS


def _read_file(dump: Source, etrecord: str | None, clocks: Clocks) -> TimedDump:
    from tracehouse.queries.event_blocks.build import correlate
    from tracehouse.queries.timeline.dumps import read_dump

    record = read_etrecord_of(dump, etrecord)
    return read_dump(dump, correlate(record) if record else None, clocks)


def _format_for(file: Path | None) -> TraceFormat:
    """The format that a file's suffix names."""
    name = "" if file is None else file.name.lower()
    found = (form for ending, form in _BY_ENDING.items() if name.endswith(ending))
    return next(found, TraceFormat.PERFETTO)


def _rendered(shown: Sequence[TimedRuns], form: TraceFormat) -> Iterable[str]:
    """The trace in this format, in pieces."""
    from tracehouse.queries.timeline import node_data, page, perfetto

    match form:
        case TraceFormat.PERFETTO:
            return perfetto.perfetto_lines(shown)
        case TraceFormat.FOLDED:
            return page.fold_stacks(shown)
        case TraceFormat.SPEEDSCOPE:
            return [page.speedscope_document(shown)]
        case TraceFormat.HTML:
            return [page.page_text(shown)]
        case TraceFormat.MODEL_EXPLORER:
            return [node_data.node_data_document(shown)]


def _batched(parts: Iterable[str]) -> Iterator[str]:
    """The same text in fewer pieces, as each piece is flushed."""
    left = iter(parts)
    while some := "".join(islice(left, _PARTS_AT_ONCE)):
        yield some


app.command()(trace)
