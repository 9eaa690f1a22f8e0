"""`tracehouse inspect`: one dump, as ExecuTorch's own tools show it, without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.files import dump_source, find_companions, read_etrecord_of
from tracehouse.cli.options import TextOption, add_options
from tracehouse.cli.output.event_report import arrange_events, write_block_notes
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.render import Format, write_document
from tracehouse.cli.output.streams import write_lines, write_note
from tracehouse.queries.event_blocks.time_scales import TimeScale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracehouse.ingest.sources.places import Source
    from tracehouse.warehouse.programs.correlation import Correlation

_MORE = (
    TextOption(
        "etrecord",
        "FILE",
        "ETRecord of the program, which adds operators, modules and stack traces; by default found "
        "as by 'tracehouse ingest'.",
    ),
    TextOption("method", "NAME", "Method that was run, if the ETRecord has several."),
    TextOption(
        "reference_graph_name",
        "GRAPH",
        "Graph of the ETRecord to take operators, modules and stack traces from, by default the "
        "edge dialect program. 'etrecord show' lists the graphs.",
    ),
    TextOption(
        "debug_buffer",
        "FILE",
        "Debug buffer, with the elements of logged tensors; by default found likewise.",
    ),
    TextOption("module", "PATH", "Show only the time spent in a module, e.g. layers.0.attention."),
    TextOption(
        "compare_results",
        "METRIC,...",
        "Show only how far outputs are from the ETRecord's reference outputs, in these metrics: "
        "snr, mse, cosine_similarity, l1.",
    ),
    TextOption(
        "delegate_clock",
        "[BACKEND=]CLOCK,...",
        "Clock of delegated events, for one backend or all: a unit, or ticks per second.",
    ),
)


def inspect(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="An ETDump, a zip with one, ZIP!MEMBER, or a profiler blob."
        ),
    ],
    source_time_scale: Annotated[
        TimeScale, typer.Option(case_sensitive=False, help="Unit of the dump's clock ticks.")
    ] = TimeScale.NS,
    target_time_scale: Annotated[
        TimeScale, typer.Option(case_sensitive=False, help="Unit to show durations in.")
    ] = TimeScale.MS,
    *,
    bundled_input: Annotated[
        int | None,
        typer.Option(min=0, help="Bundled input that was run, for dumps that do not record it."),
    ] = None,
    is_exact: Annotated[
        bool, typer.Option("--exact", help="With --module: leave out nested modules.")
    ] = False,
    is_all: Annotated[
        bool,
        typer.Option("--all", help="Show rows named OPERATOR_CALL, too; JSON always has them."),
    ] = False,
    options: OutputOptions,
    **more: str | None,
) -> None:
    """Show one ETDump's event blocks, as ExecuTorch's Inspector does; needs no store.

    JSON has everything about each event, including every sample; the other formats have the
    Inspector's table, one row per event.

    A blob of ExecuTorch's older profiler is shown as its parser shows it: profile, framework tax
    and memory, in ms or cycles. Only the time scales apply to it.
    """
    from tracehouse.ingest.producers import read_user_rules, use_user_rules
    from tracehouse.ingest.profiler_blob import is_profiler_blob
    from tracehouse.ingest.sources.reading import read_dump_bytes, read_source
    from tracehouse.queries.event_blocks.build import (
        build_event_blocks,
        decode_tables,
        with_reference_outputs,
    )
    from tracehouse.queries.event_blocks.scales import coarse_clock_note
    from tracehouse.queries.event_blocks.time_scales import parse_delegate_clocks, target_per_source

    with as_usage_errors():
        target_per_source(source_time_scale, target_time_scale)
        delegate_times = parse_delegate_clocks(more["delegate_clock"] or "")
        metrics = _parse_metrics(more["compare_results"])
    dump = dump_source(file)
    data = read_dump_bytes(dump)
    if is_profiler_blob(data):
        _write_profile(data, source_time_scale, dump.name, options)
        return
    correlation = _read_correlation(dump, more, bundled_input)
    use_user_rules(read_user_rules)
    debug_buffer = find_companions(dump, debug_buffer=more["debug_buffer"]).debug_buffer
    tables = decode_tables(data, dump.name)
    blocks = build_event_blocks(
        tables,
        correlation=correlation,
        debug_buffer=read_source(debug_buffer) if debug_buffer else None,
        source_time_scale=source_time_scale,
        target_time_scale=target_time_scale,
        delegate_times=delegate_times,
    )
    blocks = with_reference_outputs(blocks, correlation, bundled_input)
    if metrics is not None:
        from tracehouse.queries.numeric_gap.output_gap import compare_results

        table = compare_results(blocks, metrics)
    elif more["module"] is not None:
        from tracehouse.queries.event_blocks.module_totals import module_total_table

        table = module_total_table(
            blocks, more["module"], is_exact=is_exact, unit=target_time_scale
        )
    elif options.format is Format.JSON:
        from tracehouse.queries.event_blocks.table import event_blocks_json

        write_document(event_blocks_json(blocks))
        return
    else:
        from tracehouse.queries.event_blocks.table import event_block_table

        table = event_block_table(blocks, target_time_scale, has_framework_events=is_all)
        table = arrange_events(table, options.format)
    options.write(table)
    write_block_notes(blocks)
    if note := coarse_clock_note(tables, source_time_scale):
        write_note(f"note: {note}")


add_options(inspect, _MORE)


def _write_profile(data: bytes | memoryview, scale: str, name: str, options: OutputOptions) -> None:
    """Print a profiler blob: profile, framework tax and memory.

    CSV, TSV, Arrow and Parquet have only the profile, one row per event and iteration.

    Raises:
        BadParameter: The parser has no such unit.
    """
    from tracehouse.queries.profiler_blob import (
        ProfilerTimeScale,
        build_profiler_blocks,
        profiler_blob_json,
        sample_table,
        titled_tables,
    )

    try:
        time_scale = ProfilerTimeScale(scale)
    except ValueError as error:
        problem = f"'{scale}', wanted {', '.join(ProfilerTimeScale)} for a profiler blob"
        raise typer.BadParameter(problem, param_hint="'--source-time-scale'") from error
    blocks = build_profiler_blocks(data, time_scale, name=name)
    if options.format is Format.JSON:
        write_document(profiler_blob_json(blocks))
    elif options.format is Format.TABLE:
        for title, table in titled_tables(blocks, time_scale):
            write_lines([title])
            options.write(table)
            write_lines([""])
    else:
        options.write(sample_table(blocks, time_scale))
    wrong_count = sum(block.wrong_count for block in blocks)
    if wrong_count:
        write_note(
            f"note: impossible durations: {wrong_count:,}; shown as logged (end minus "
            "start) and counted in the framework tax"
        )


def _read_correlation(
    dump: Source, more: Mapping[str, str | None], bundled_input: int | None
) -> Correlation | None:
    """The ETRecord of a dump, with the given method and graph.

    Raises:
        BadParameter: An option about an ETRecord is given, and there is none.
    """
    from tracehouse.queries.event_blocks.build import correlate

    method, graph = more["method"], more["reference_graph_name"]
    if record := read_etrecord_of(dump, more["etrecord"]):
        return correlate(record, method=method, graph=graph)
    stated = (
        ("--method", method, "method"),
        ("--reference-graph-name", graph, "graph"),
        ("--bundled-input", bundled_input, "input"),
    )
    for option, value, what in stated:
        if value is not None:
            problem = f"wanted --etrecord, too: the {what} is one of the ETRecord's"
            raise typer.BadParameter(problem, param_hint=f"'{option}'")
    return None


def _parse_metrics(names: str | None) -> list[str] | None:
    """The metrics of --compare-results; an unknown one raises QueryError."""
    if names is None:
        return None
    from tracehouse.queries.numeric_gap.comparators import find_comparators

    return list(find_comparators(names.split(",")))
