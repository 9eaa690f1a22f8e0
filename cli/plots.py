"""Plots of answers: next to the rows on a terminal, or drawn into files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.output_file import standard_output_to
from tracehouse.cli.output.render import Format
from tracehouse.cli.output.streams import output_errors, write_text

if TYPE_CHECKING:
    import pyarrow as pa

ON_TERMINAL = "-"
_PICTURE = ".png"

Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="[FILE.svg|FILE.png]",
        help="Draw the answer into FILE instead of printing it. Only 'query percentiles' needs no "
        "FILE: a histogram then stands next to each row.",
    ),
]


def check_plot(name: str, plot: str | None) -> None:
    """Check that a query's answer can be drawn in the form of --plot.

    Raises:
        BadParameter: The file is neither SVG nor PNG, or is missing for a query other than
            percentiles.
    """
    if plot == ON_TERMINAL and name != "percentiles":
        problem = "wanted FILE.svg or FILE.png; only percentiles are drawn on a terminal"
        raise typer.BadParameter(problem, param_hint="'--plot'")
    if plot in (None, ON_TERMINAL):
        return
    if not str(plot).lower().endswith((".svg", _PICTURE)):
        problem = f"{plot}: wanted a file name that ends in .svg or .png"
        raise typer.BadParameter(problem, param_hint="'--plot'")
    if _is_picture(str(plot)):
        from tracehouse.queries.drawing.png import load_renderer

        load_renderer()  # fails before the query runs if resvg is not installed


def plain_plots(args: list[str]) -> list[str]:
    """The words of a command line, with ON_TERMINAL inserted after a --plot without a file."""
    ends = [*args[1:], "--"]
    pairs = zip(args, ends, strict=True) if args else ()
    return [
        word
        for arg, after in pairs
        for word in ((arg, ON_TERMINAL) if arg == "--plot" and after.startswith("--") else (arg,))
    ]


def write_answer(
    name: str,
    table: pa.Table,
    options: OutputOptions,
    *,
    plot: str | None,
    params: Mapping[str, object],
) -> None:
    """Print or draw the answer of a canned query; raises OutputError if that fails.

    On a terminal, hotspots have bars, and histories are followed by their trends; in pipes and
    files, which programs read, neither is added.
    """
    if plot not in (None, ON_TERMINAL):
        from tracehouse.queries.plots.figure import query_figure

        _write_picture(query_figure(name, table, params), Path(str(plot)))
        return
    is_text = options.format is Format.TABLE and table.num_rows > 0
    is_seen = is_text and sys.stdout.isatty()
    if plot == ON_TERMINAL and is_text:
        from tracehouse.queries.plots.terminal import with_histograms

        table = with_histograms(table)
    elif is_seen and name.endswith("_hotspots"):
        from tracehouse.queries.plots.terminal import HOTSPOTS, with_bars

        table = with_bars(table, HOTSPOTS[name])
    options.write(table, query=name)
    if is_seen and name.endswith("_history"):
        from tracehouse.queries.plots.terminal import HISTORIES, trends

        write_text("\n")
        options.write(trends(table, HISTORIES[name]), query=name)


def draw_comparison(table: pa.Table, plot: str, *, base: str, head: str) -> None:
    """Draw the changes of two builds into a file; raises OutputError if that fails."""
    from tracehouse.queries.comparison import comparison_picture, describe_pair

    found = describe_pair(table.to_pylist(), base=base, head=head)
    _write_picture(comparison_picture(found), Path(plot))


def _write_picture(drawn: str, path: Path) -> None:
    content = drawn.encode()
    if _is_picture(path.name):
        from tracehouse.queries.drawing.png import draw_png

        content = draw_png(drawn)
    with standard_output_to(path), output_errors():
        sys.stdout.buffer.write(content)


def _is_picture(name: str) -> bool:
    return name.lower().endswith(_PICTURE)
