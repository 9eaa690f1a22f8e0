"""`tracehouse record PROGRAM`: run a program on this machine, and ingest its dump."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from cli.errors import options_at_fault
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
from cli.output.ingest_report import write_refusals
from cli.output.iterations import iteration_line
from cli.output.render import Format, write_table
from cli.output.streams import write_note
from cli.stores import open_to_write

if TYPE_CHECKING:
    from ingest.recording.session import RecordingPlan
    from warehouse import Warehouse

_RECORDED = ("method", "captured_at", "clock", "ticks_per_second")  # are known here
_NAMES = tuple(option for option in MANIFEST if option.name not in _RECORDED)
_MORE = (
    TextOption("inputs", "FILE", "Arrays, .npz or .npy, in the order of the method's inputs."),
    TextOption("method", "NAME", "Method to run; forward by default."),
    TextOption("etrecord", "FILE", "ETRecord of the program, to ingest with the dump."),
    TextOption("output", "FILE", "Keep the dump as FILE, its debug buffer as NAME.debug.bin."),
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
    store: Store = DEFAULT_STORE,
    wait: Wait = 0.0,
    is_shared: Shared = False,
    form: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
    **more: str | None,
) -> None:
    """Run a program here, under ExecuTorch's event tracer, and ingest the dump.

    It prints what `tracehouse query event_blocks` says of it. The model is called like the file,
    and the device's system and processor are filled in, unless options say otherwise.

    This needs executorch: pip install 'tracehouse[executorch]'
    """
    from ingest.manifest.resolver import ManifestResolver, check_fields
    from ingest.recording.session import check_program, run_recording
    from ingest.sources.paths import Source

    check_format(form, is_to_file=False)
    manifest = _state_manifest(program, more)
    with options_at_fault():
        check_fields("options", manifest)
    check_program(program)
    plan = _plan(program, more, iterations=iterations, megabytes=debug_buffer)
    etrecord = etrecord_source(more["etrecord"])
    with TemporaryDirectory() as folder:
        dump = Path(more["output"] or f"{folder}/{Path(program).stem}.etdp")
        # What would stop the ingest is better known now than after the run.
        ManifestResolver(overrides=manifest).resolve(Source(str(dump)))
        if store.exists():
            with open_to_write(store, wait=wait):
                pass
        with iteration_line(iterations) as progress:
            version = run_recording(plan, dump, progress=progress)
        manifest["executorch"] = version  # a tag
        with (
            _kept_on_failure(dump, Path(folder)),
            open_to_write(store, create=True, wait=wait, is_shared=is_shared) as warehouse,
        ):
            summary = warehouse.ingest([dump], manifest=manifest, etrecord=etrecord)
            if summary.n_dumps:
                _write_answer(warehouse, form, is_csv_safe=is_csv_safe)
    write_refusals(summary.refused)
    if summary.refused:
        fail()


add_options(record, _MORE)


def _state_manifest(program: str, more: Mapping[str, str | None]) -> dict[str, object]:
    """What the options and this machine say of the dump.

    Raises:
        BadParameter: Device or build are not given.
    """
    from datetime import UTC, datetime

    from ingest.manifest.host import describe_host

    if not more["device"] or not more["build"]:
        raise typer.BadParameter("wanted --device and --build, to tell the dump from others")
    return {
        **describe_host(),
        "model": Path(program).stem,
        "captured_at": datetime.now(UTC),
        "clock": "ns",
        **{option.name: more[option.name] for option in _NAMES if more[option.name]},
    }


def _plan(
    program: str, more: Mapping[str, str | None], *, iterations: int, megabytes: int
) -> RecordingPlan:
    from ingest.recording.session import RecordingPlan, read_inputs

    return RecordingPlan(
        program,
        inputs=read_inputs(file_source(more["inputs"])) if more["inputs"] else (),
        method=more["method"] or "forward",
        iterations=iterations,
        debug_buffer_bytes=megabytes * 1_000_000,
        python=more["python"] or sys.executable,
    )


def _write_answer(warehouse: Warehouse, form: Format, *, is_csv_safe: bool) -> None:
    """Print the event blocks of the newest dump, and its number."""
    dump_id = warehouse.sql("SELECT max(dump_id) FROM dumps")[0][0].as_py()
    table = warehouse.query("event_blocks", dump=dump_id)
    write_table(table, form, is_csv_safe=is_csv_safe)
    write_note(f"note: this is dump {dump_id:,} of the store")


@contextmanager
def _kept_on_failure(dump: Path, folder: Path) -> Iterator[None]:
    """If the store fails, what was recorded in a temporary folder is moved to this one.

    Raises:
        StoreError: It fails.
    """
    from warehouse.errors import StoreError

    try:
        yield
    except StoreError:
        if dump.parent == folder:
            kept = [shutil.move(file, Path.cwd()) for file in folder.glob(f"{dump.stem}.*")]
            write_note(f"note: the recording is kept: {', '.join(map(str, kept))}")
        raise
