"""`tracehouse export trace`: runs of dumps on a time axis, for the viewers people have."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.errors import as_usage_errors
from cli.files import dump_source, file_source
from cli.options import DEFAULT_STORE, Store, TextOption, add_options
from cli.output.streams import write_note, write_text
from cli.output_file import standard_output_to
from cli.stores import open_to_read

if TYPE_CHECKING:
    from ingest.sources.paths import Source
    from queries.timeline.clocks import Clocks
    from queries.timeline.dumps import TimedDump
    from queries.timeline.slices import TimedRuns


class TraceFormat(StrEnum):
    """What a trace can be written as."""

    PERFETTO = "perfetto"
    FOLDED = "folded"
    SPEEDSCOPE = "speedscope"
    HTML = "html"
    MODEL_EXPLORER = "model-explorer"


_FORMAT = (
    "For ui.perfetto.dev and chrome://tracing; flamegraph.pl; speedscope.app; a browser; or the "
    "nodes of a graph in Model Explorer, of two dumps the change from the first to the second. "
    "Else as the name of --output ends: .html, .folded, .speedscope.json."
)
_BY_ENDING = {
    ".html": TraceFormat.HTML,
    ".htm": TraceFormat.HTML,
    ".folded": TraceFormat.FOLDED,
    ".speedscope.json": TraceFormat.SPEEDSCOPE,
}
_RUN = "Position of a run, or median for one of median length; repeatable. Else all, in turn."
_PARTS_AT_ONCE = 5_000
_MOST_DIGITS = 100  # of a dump_id; names of files are as long
_MORE = (
    TextOption("etrecord", "FILE", "ETRecord of the files; else NAME.etrecord beside each."),
    TextOption("clock", "CLOCK", "Clock of the files: a unit, ns if not given, or ticks a second."),
    TextOption(
        "delegate_clock",
        "[BACKEND=]CLOCK,...",
        "Clock of delegated events in the files, of one backend or all.",
    ),
)


def trace(
    dumps: Annotated[
        list[str],
        typer.Argument(metavar="DUMP...", help="ETDumps, or the dump_id of some in the store."),
    ],
    run: Annotated[list[str] | None, typer.Option(metavar="N|median", help=_RUN)] = None,
    *,
    output: Annotated[
        TraceFormat | None, typer.Option("--format", metavar="|".join(TraceFormat), help=_FORMAT)
    ] = None,
    output_file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")
    ] = None,
    store: Store = DEFAULT_STORE,
    **more: str | None,
) -> None:
    """Write runs of dumps on a time axis: what ran within what, and for how long.

    Several dumps stand side by side. Runs that are named all begin at 0; without --run each begins
    when it did.

    Raises:
        BadParameter: It would go to a terminal.
    """
    from queries.timeline.clocks import parse_clocks
    from queries.timeline.slices import check_backends, timed_runs

    if output_file is None and sys.stdout.isatty():
        raise typer.BadParameter("it is for a program; use --output FILE", param_hint="'--output'")
    with as_usage_errors():
        clocks = parse_clocks(more["clock"], more["delegate_clock"])
    read = _read_dumps(dumps, store, clocks, more)
    shown = [timed_runs(dump, run or ()) for dump in read]
    check_backends(clocks, shown)
    with standard_output_to(output_file):
        for part in _batched(_rendered(shown, output or _format_for(output_file))):
            write_text(part)
    for one in shown:
        for note in one.notes:
            write_note(f"note: {one.dump.label}: {note}")
        if one.dump.clocks.ns_per_tick is None:
            write_note(f"note: {one.dump.label}: cycles of unknown rate; 1 ns shown is 1 cycle")


add_options(trace, _MORE)


def _read_dumps(
    names: Sequence[str], store: Path, clocks: Clocks, more: Mapping[str, str | None]
) -> list[TimedDump]:
    """The dumps of these names: numbers are those of the store, if there are no such files."""
    from queries.timeline.dumps import read_dump, stored_dump

    stored = {name for name in names if _is_number(name) and not Path(name).exists()}
    found = {
        name: read_dump(dump_source(name), _etrecord(name, more["etrecord"]), clocks)
        for name in names
        if name not in stored
    }
    if stored:
        with open_to_read(store) as warehouse:
            found |= {name: stored_dump(warehouse, int(name)) for name in stored}
    return [found[name] for name in names]


def _is_number(name: str) -> bool:
    return name.isdecimal() and len(name) <= _MOST_DIGITS


def _etrecord(dump: str, given: str | None) -> Source | None:
    from ingest.sources.companions import CompanionFinder

    return file_source(given) if given else CompanionFinder().find(dump_source(dump)).etrecord


def _format_for(file: Path | None) -> TraceFormat:
    """The format that the name of a file ends in."""
    name = "" if file is None else file.name.lower()
    found = (form for ending, form in _BY_ENDING.items() if name.endswith(ending))
    return next(found, TraceFormat.PERFETTO)


def _rendered(shown: Sequence[TimedRuns], form: TraceFormat) -> Iterable[str]:
    """The trace in a format, in pieces."""
    from queries.timeline import node_data, page, perfetto, stacks

    match form:
        case TraceFormat.PERFETTO:
            return perfetto.perfetto_lines(shown)
        case TraceFormat.FOLDED:
            return stacks.folded_lines(shown)
        case TraceFormat.SPEEDSCOPE:
            return [stacks.speedscope_document(shown)]
        case TraceFormat.HTML:
            return [page.page_text(shown)]
        case TraceFormat.MODEL_EXPLORER:
            return [node_data.node_data_document(shown)]


def _batched(parts: Iterable[str]) -> Iterator[str]:
    """The same text in fewer pieces: each is flushed."""
    left = iter(parts)
    while some := "".join(islice(left, _PARTS_AT_ONCE)):
        yield some
