"""`tracehouse record PROGRAM`: run a program on this machine, and ingest its dump."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.errors import as_usage_errors
from cli.exit_codes import fail
from cli.files import etrecord_source, file_source
from cli.manifest_options import MANIFEST
from cli.options import (
    DEFAULT_STORE,
    CsvSafe,
    Output,
    Shared,
    Store,
    TextOption,
    Wait,
    add_options,
    check_format,
)
from cli.output.ingest_report import errors_of, write_refusals
from cli.output.iterations import iteration_line
from cli.output.recorded_dump import keep_on_failure, write_newest_dump
from cli.output.render import Format
from cli.paired_recording import Answer, Opponent, record_against
from cli.stores import open_to_write

if TYPE_CHECKING:
    from ingest.recording.manifest import PlannedDump
    from ingest.recording.session import RecordingPlan
    from ingest.sources.places import Source

_REFERENCE_SUFFIX = ".reference.etdp"
_RECORDED = ("method", "captured_at", "clock", "ticks_per_second")  # are known here
_NAMES = tuple(option for option in MANIFEST if option.name not in _RECORDED)
_MORE = (
    TextOption("inputs", "FILE", "Arrays, .npz or .npy, in the order of the method's inputs."),
    TextOption("method", "NAME", "Method to run; forward by default."),
    TextOption("etrecord", "FILE", "ETRecord of the program, to ingest with the dump."),
    TextOption(
        "reference",
        "FILE",
        "A pinned program to run first: what changes it too, the device did, and not the code.",
    ),
    TextOption(
        "against",
        "FILE",
        "A program to compare with: both are recorded in turn, in pairs, and then compared.",
    ),
    TextOption(
        "against_build",
        "ID",
        "Build of that program; by default a reference called by its content.",
    ),
    TextOption(
        "output",
        "FILE",
        "Keep the dump as FILE, its debug buffer as NAME.debug.bin; of pairs, a new folder.",
    ),
    TextOption("python", "FILE", "Python that has executorch; this one by default."),
    *_NAMES,
)


def record(
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="An ExecuTorch program, a .pte file.")
    ],
    *,
    iterations: Annotated[int, typer.Option(min=1, help="How often to run it.")] = 50,
    debug_buffer: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="MEGABYTES",
            help="Log intermediate values too, at most so much; timings suffer.",
        ),
    ] = 0,
    pairs: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Pairs of dumps, with --against.")
    ] = 10,
    store: Store = DEFAULT_STORE,
    wait: Wait = 0.0,
    is_shared: Shared = False,
    form: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
    **more: str | None,
) -> None:
    """Run a program here, under ExecuTorch's event tracer, and ingest the dump.

    It prints what `tracehouse query event_blocks` says of it. The model is called like the file,
    and the device's system and processor are filled in, unless options say otherwise. With
    --against it prints what `tracehouse compare` says of the two builds: each dump has a partner
    of the other program, recorded right before or after it, so that what the device does meanwhile
    cancels.

    This needs executorch: pip install 'tracehouse[executorch]'
    """
    from ingest.recording.dump_place import place_for_dump
    from ingest.recording.manifest import check_manifest
    from ingest.recording.session import run_recording

    check_format(form, is_to_file=False)
    stated = _state_names(more)
    plan = _plan(program, more, iterations=iterations, megabytes=debug_buffer)
    planned = _plan_dumps(plan, stated, more["reference"])
    etrecord = etrecord_source(more["etrecord"])
    opponent = _opponent(more, pairs, etrecord)
    if opponent:
        answer = Answer(store, wait, is_shared, form, is_csv_safe)
        record_against(planned[-1], opponent, answer)
        return
    with place_for_dump(more["output"], program) as place:
        # What would stop the ingest is better known now than after the run.
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
                write_newest_dump(warehouse, form, is_csv_safe=is_csv_safe)
    refused = [one for summary in summaries for one in summary.refused]
    write_refusals(refused, remedy=errors_of(store))
    if refused:
        fail()


add_options(record, _MORE)


def _opponent(
    more: Mapping[str, str | None], pairs: int, etrecord: Source | None
) -> Opponent | None:
    """The program to record against, if there is one.

    Raises:
        BadParameter: It is given with a reference, or its build without it.
    """
    program = more["against"]
    if program and more["reference"]:
        raise typer.BadParameter("wanted --against or --reference, not both")
    if not program:
        if more["against_build"]:
            raise typer.BadParameter("--against-build goes with --against")
        return None
    return Opponent(program, more["against_build"], pairs, more["output"], etrecord)


def _state_names(more: Mapping[str, str | None]) -> dict[str, str | None]:
    """What the options say of the dump.

    Raises:
        BadParameter: Device or build are not given.
    """
    if not more["device"] or not more["build"]:
        raise typer.BadParameter("wanted --device and --build, to tell the dump from others")
    return {option.name: more[option.name] for option in _NAMES}


def _plan_dumps(
    plan: RecordingPlan, stated: Mapping[str, str | None], reference: str | None
) -> Sequence[PlannedDump]:
    """The dump to record, after one of the reference program, if there is one."""
    from ingest.recording.manifest import PlannedDump, describe_recording, share_session

    with as_usage_errors():
        fields = describe_recording(plan, stated)
    if reference:
        return share_session(plan, fields, reference)
    return [PlannedDump(plan, fields)]


def _plan(
    program: str, more: Mapping[str, str | None], *, iterations: int, megabytes: int
) -> RecordingPlan:
    from ingest.recording.session import RecordingPlan, check_program, read_inputs

    check_program(program)
    return RecordingPlan(
        program,
        inputs=read_inputs(file_source(more["inputs"])) if more["inputs"] else (),
        method=more["method"] or "forward",
        iterations=iterations,
        debug_buffer_bytes=megabytes * 1_000_000,
        python=more["python"] or sys.executable,
    )
