"""`tracehouse record PROGRAM`: run a program on this machine and ingest its dump."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.errors import as_usage_errors, fail
from tracehouse.cli.files import etrecord_source, file_source
from tracehouse.cli.manifest_options import MANIFEST
from tracehouse.cli.options import (
    DEFAULT_STORE,
    Shared,
    StoreOptions,
    StorePath,
    TextOption,
    Wait,
    add_options,
)
from tracehouse.cli.output.ingest_report import errors_of, write_refusals
from tracehouse.cli.output.options import CsvSafe, RowFormat, check_format
from tracehouse.cli.output.recorded_dump import iteration_line, keep_on_failure, write_newest_dump
from tracehouse.cli.output.render import Format
from tracehouse.cli.paired_recording import Opponent, record_against
from tracehouse.cli.stores import open_to_write

if TYPE_CHECKING:
    from tracehouse.ingest.recording.session import PlannedDump, RecordingPlan
    from tracehouse.ingest.sources.places import Source

_REFERENCE_SUFFIX = ".reference.etdp"
_RECORDED = ("method", "captured_at", "clock", "ticks_per_second")  # known without options
_NAMES = tuple(option for option in MANIFEST if option.name not in _RECORDED)
_MORE = (
    TextOption("inputs", "FILE", "The method's inputs in order, as an .npz or .npy file."),
    TextOption("method", "NAME", "Method to run; by default forward."),
    TextOption("etrecord", "FILE", "ETRecord of the program, to ingest with the dump."),
    TextOption(
        "reference",
        "FILE",
        "A fixed program to run first: a change that it shows, too, comes from the device.",
    ),
    TextOption(
        "against",
        "FILE",
        "A program to compare with: both are recorded alternately, in pairs, and then compared.",
    ),
    TextOption(
        "against_build",
        "ID",
        "Build of that program; by default a reference build named by its hash.",
    ),
    TextOption(
        "output",
        "FILE",
        "Keep the dump as FILE and its debug buffer as NAME.debug.bin; for pairs, a new folder.",
    ),
    TextOption("python", "FILE", "Python interpreter that has executorch; by default this one."),
    *_NAMES,
)


def record(
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="An ExecuTorch program, a .pte file.")
    ],
    *,
    iterations: Annotated[int, typer.Option(min=1, help="Number of runs.")] = 50,
    debug_buffer: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="MEGABYTES",
            help="Also log up to this many megabytes of intermediate values; this distorts "
            "timings.",
        ),
    ] = 0,
    pairs: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Pairs of dumps to record with --against.")
    ] = 10,
    store: StorePath = DEFAULT_STORE,
    wait: Wait = 0.0,
    is_shared: Shared = False,
    form: RowFormat = Format.TABLE,
    is_csv_safe: CsvSafe = False,
    **more: str | None,
) -> None:
    """Run a program on this machine under ExecuTorch's event tracer, and ingest the dump.

    Prints the dump's event blocks, as `tracehouse query event_blocks` does. By default the model is
    named after the file, and the device's system and processor are filled in. With --against,
    prints what `tracehouse compare` says about the two builds: each dump is paired with one of the
    other program, recorded right before or after it, so that changes of the device cancel out.

    This needs executorch: pip install '.[executorch]' in a checkout
    """
    from tracehouse.ingest.recording.pairs import place_for_dump
    from tracehouse.ingest.recording.session import check_manifest, run_recording

    check_format(form, is_to_file=False)
    stated = _state_names(more)
    plan = _plan(program, more, iterations=iterations, megabytes=debug_buffer)
    planned = _plan_dumps(plan, stated, more["reference"])
    etrecord = etrecord_source(more["etrecord"])
    options = StoreOptions(store, wait, form, is_csv_safe)
    if opponent := _opponent(more, pairs, etrecord):
        record_against(planned[-1], opponent, options, is_shared=is_shared)
        return
    with place_for_dump(more["output"], program) as place:
        # Check whatever could stop the ingest before the run, not after it.
        dumps = [place.dump.with_suffix(_REFERENCE_SUFFIX), place.dump][-len(planned) :]
        for dump, (_, fields) in zip(dumps, planned, strict=True):
            check_manifest(dump, fields)
        if store.exists():
            with open_to_write(store, wait=wait):
                pass
        for dump, (own, fields) in zip(dumps, planned, strict=True):
            with iteration_line(iterations) as progress:
                fields["executorch"] = run_recording(own, dump, progress=progress)
        with (
            keep_on_failure(place),
            open_to_write(store, create=True, wait=wait, is_shared=is_shared) as warehouse,
        ):
            summaries = [
                warehouse.ingest(
                    [dump], manifest=fields, etrecord=etrecord if dump == place.dump else None
                )
                for dump, (_, fields) in zip(dumps, planned, strict=True)
            ]
            if summaries[-1].n_dumps:
                write_newest_dump(warehouse, options)
    refused = [one for summary in summaries for one in summary.refused]
    write_refusals(refused, remedy=errors_of(store))
    if refused:
        fail()


add_options(record, _MORE)


def _opponent(
    more: Mapping[str, str | None], pairs: int, etrecord: Source | None
) -> Opponent | None:
    """The program to record against, if any.

    Raises:
        BadParameter: --against is given with --reference, or --against-build without --against.
    """
    program = more["against"]
    if program and more["reference"]:
        raise typer.BadParameter("wanted --against or --reference, not both")
    if not program:
        if more["against_build"]:
            raise typer.BadParameter("--against-build needs --against")
        return None
    return Opponent(program, more["against_build"], pairs, more["output"], etrecord)


def _state_names(more: Mapping[str, str | None]) -> dict[str, str | None]:
    """The manifest fields that the options give.

    Raises:
        BadParameter: Device or build are missing.
    """
    if not more["device"] or not more["build"]:
        raise typer.BadParameter("wanted --device and --build, which identify the dump")
    return {option.name: more[option.name] for option in _NAMES}


def _plan_dumps(
    plan: RecordingPlan, stated: Mapping[str, str | None], reference: str | None
) -> Sequence[PlannedDump]:
    """The dump to record, preceded by one of the reference program, if any."""
    from tracehouse.ingest.recording.session import PlannedDump, describe_recording, share_session

    with as_usage_errors():
        fields = describe_recording(plan, stated)
    if reference:
        return share_session(plan, fields, reference)
    return [PlannedDump(plan, fields)]


def _plan(
    program: str, more: Mapping[str, str | None], *, iterations: int, megabytes: int
) -> RecordingPlan:
    from tracehouse.ingest.recording.session import RecordingPlan, check_program, read_inputs

    check_program(program)
    return RecordingPlan(
        program,
        inputs=read_inputs(file_source(more["inputs"])) if more["inputs"] else (),
        method=more["method"] or "forward",
        iterations=iterations,
        debug_buffer_bytes=megabytes * 1_000_000,
        python=more["python"] or sys.executable,
    )
