"""`tracehouse spark`: lakes written by Apache Spark."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from tracehouse.cli.commands import spark_query
from tracehouse.cli.commands.watch import stopped_by_signals
from tracehouse.cli.errors import UsageError, fail
from tracehouse.cli.help import command_group
from tracehouse.cli.manifest_options import MANIFEST, check_manifest
from tracehouse.cli.options import KeepGoing, Layout, Master, Once, add_options, with_options
from tracehouse.cli.output.ingest_report import write_refusals
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.streams import write_note

app = command_group(
    "Fill and query a lake with Apache Spark, on one machine or many. Needs Java 17 and: "
    "pip install '.[spark]' in a checkout",
    short="Fill and query a lake with Apache Spark.",
)

_REMEDY = "list them with: tracehouse query ingest_errors --lake LAKE"

_Inbox = Annotated[
    str,
    typer.Argument(metavar="INBOX", help="Place of the dumps: a folder, or a URI such as s3://."),
]
_FilledLake = Annotated[
    str, typer.Argument(metavar="LAKE", help="The lake: a folder or a URI; created if needed.")
]


def ingest(
    inbox: _Inbox,
    lake: _FilledLake,
    *,
    master: Master = None,
    layout: Layout = None,
    keep_going: KeepGoing = False,
    options: OutputOptions,
    **more: str | None,
) -> None:
    """Load the dumps of an inbox into a lake, on the machines of Spark.

    Dumps that the lake already has are skipped; an interrupted ingest is completed first. Names,
    ETRecords and debug buffers are found as by 'tracehouse ingest'. The column attached counts
    known dumps that received an ETRecord or debug buffer, and changed counts dumps that changed
    while they were read.
    """
    from tracehouse.warehouse.lake.place import Lake
    from tracehouse.warehouse.spark.inboxes import ManifestDefaults, find_files
    from tracehouse.warehouse.spark.ingest import LakeIngester
    from tracehouse.warehouse.spark.session import opened_session
    from tracehouse.warehouse.spark.tasks import SparkTasks

    start = time.perf_counter()
    check_manifest(more)
    Lake(lake).check_room()
    files = find_files(inbox)
    stated = ManifestDefaults(more, layout)
    with opened_session(master) as session:
        done = LakeIngester(SparkTasks(session), inbox, lake, stated).ingest(files)
    row = {
        "dumps": done.n_dumps,
        "events": done.n_events,
        "known": done.n_known,
        "attached": done.n_attached,
        "changed": done.n_changed,
        "refused": len(done.refused),
        "seconds": time.perf_counter() - start,
    }
    options.write_rows([row])
    write_refusals(done.refused, remedy=_REMEDY)
    if done.refused and not keep_going:
        fail()


def watch(
    inbox: _Inbox,
    lake: _FilledLake,
    *,
    master: Master = None,
    layout: Layout = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Where Spark keeps its progress: a folder, or a URI that Hadoop supports; by "
            "default inside the lake, if that is a folder.",
        ),
    ] = None,
    pause_seconds: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Time between two looks at the inbox.")
    ] = 10.0,
    is_once: Once = False,
    **more: str | None,
) -> None:
    """Load dumps into a lake as they arrive in an inbox, with a Spark stream, until stopped.

    The command can be stopped or killed and restarted at any moment: each dump is loaded once.
    Write dumps under a name that begins with a dot, or elsewhere, and rename them when complete.
    """
    from tracehouse.warehouse.lake.place import Lake
    from tracehouse.warehouse.spark.inboxes import ManifestDefaults, open_place
    from tracehouse.warehouse.spark.ingest import LakeIngest, LakeIngester
    from tracehouse.warehouse.spark.session import opened_session
    from tracehouse.warehouse.spark.tasks import SparkTasks

    check_manifest(more)
    Lake(lake).check_room()
    open_place(inbox)
    place = checkpoint or _checkpoint_in(lake, inbox)
    counts = LakeIngest()

    def print_counts(done: LakeIngest) -> None:
        nonlocal counts
        counts += done
        write_refusals(done.refused, remedy=_REMEDY)

    with opened_session(master) as session:
        from tracehouse.warehouse.spark.watching import StreamOptions, watch_inbox

        ingester = LakeIngester(SparkTasks(session), inbox, lake, ManifestDefaults(more, layout))
        streaming = StreamOptions(place, pause_seconds, is_once)
        watch_inbox(session, ingester, streaming, stop=stopped_by_signals(), report=print_counts)
    refused = len(counts.refused)
    write_note(f"{counts.n_dumps:,} ingested, {counts.n_known:,} known, {refused:,} refused")
    if is_once and refused:
        fail()


def _checkpoint_in(lake: str, inbox: str) -> str:
    """The default checkpoint of an inbox's stream, inside the lake.

    Raises:
        UsageError: The lake is not a local folder.
    """
    if "://" in lake:
        raise UsageError("wanted --checkpoint PLACE, as the lake is not a local folder")
    import hashlib
    from pathlib import Path

    name = hashlib.sha256(inbox.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return Path(lake, "_lake", "streams", name).absolute().as_uri()


for _command in (ingest, watch):
    add_options(_command, MANIFEST)
app.command()(with_options(ingest))
app.command()(watch)
app.add_typer(spark_query.queries, name="query")
app.command()(spark_query.report)
