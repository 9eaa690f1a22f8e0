"""Every block is handed over when it ends, whole, in order, in a form that is ingested."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from datetime import UTC, datetime

import numpy as np
import pytest

from tests.support.reference_reader import read_reference
from tracehouse import FolderSink, StreamingTracer, Warehouse
from tracehouse.ingest.errors import SinkError

MANIFEST = {"device": "host", "build": "b1", "model": {"name": "mv2", "backend": "portable"}}


def names(dumps):
    return [[run["name"] for run in read_reference(dump.etdump)["run_data"]] for dump in dumps]


def test_each_block_is_handed_over_when_it_ends():
    dumps = []
    tracer = StreamingTracer(dumps.append)
    with tracer.block("one"), tracer.profile("a"):
        assert dumps == []
    assert names(dumps) == [["one"]]
    tracer.create_event_block("two")
    tracer.create_event_block("three")
    assert names(dumps) == [["one"], ["two"]]
    assert names([tracer.finish()]) == [["three"]]
    assert len(dumps) == 2


def test_reset_hands_nothing_over():
    dumps = []
    tracer = StreamingTracer(dumps.append)
    tracer.create_event_block("lost")
    tracer.reset()
    with tracer.block("kept"):
        pass
    assert names(dumps) == [["kept"]]


def test_each_block_has_a_debug_buffer_of_its_own():
    dumps = []
    tracer = StreamingTracer(dumps.append)
    for number in (1, 2):
        with tracer.block("Execute"):
            tracer.log_evalue(np.array([number], np.uint8))
    assert [dump.debug_buffer for dump in dumps] == [b"\1", b"\2"]


def test_an_error_of_a_sink_reaches_the_caller_and_tracing_goes_on():
    dumps = []

    def fail_once(dump):
        if not dumps:
            dumps.append(None)
            raise SinkError("full")
        dumps.append(dump)

    tracer = StreamingTracer(fail_once)
    with pytest.raises(SinkError), tracer.block("lost"):
        pass
    with tracer.block("kept"):
        pass
    assert names(dumps[1:]) == [["kept"]]


@pytest.mark.store
def test_dumps_of_a_folder_are_ingested_while_the_process_runs(tmp_path):
    tracer = StreamingTracer(FolderSink(tmp_path / "out", MANIFEST))
    with Warehouse.open(tmp_path / "store", create=True) as store:
        for blocks in (2, 3):
            before = datetime.now(UTC)
            for _ in range(blocks):
                with tracer.block("Execute"), tracer.profile("native_call_add.out", instruction=1):
                    pass
            store.ingest([tmp_path / "out"])
        rows = store.sql(
            "SELECT d.device, d.build, d.model, d.captured_at, count(*) AS n"
            " FROM named_dumps AS d JOIN named_events AS e USING (dump_id) GROUP BY ALL ORDER BY 4"
        ).to_pylist()
    assert [(r["device"], r["build"], r["model"], r["n"]) for r in rows] == [
        ("host", "b1", "mv2", 1)
    ] * 5
    assert before <= rows[-1]["captured_at"].astimezone(UTC) <= datetime.now(UTC)


def test_names_sort_by_block_and_nothing_unfinished_is_left(tmp_path):
    tracer = StreamingTracer(FolderSink(tmp_path))
    for number in range(12):
        with tracer.block(str(number)):
            tracer.log_evalue(np.array([number], np.uint8))
    dumps = sorted(tmp_path.glob("*.etdp"))
    runs = [read_reference(path.read_bytes())["run_data"] for path in dumps]
    assert [run["name"] for (run,) in runs] == [str(number) for number in range(12)]
    assert [path.with_suffix(".debug.bin").read_bytes()[0] for path in dumps] == list(range(12))
    assert len(list(tmp_path.iterdir())) == 36


def test_sinks_of_one_folder_do_not_collide(tmp_path):
    sinks = [FolderSink(tmp_path, MANIFEST) for _ in range(3)]
    for sink in sinks:
        with StreamingTracer(sink).block("Execute"):
            pass
    assert len(list(tmp_path.glob("*.etdp"))) == 3
    assert json.loads((tmp_path / "manifest.json").read_bytes()) == MANIFEST


def test_folder_with_another_manifest_is_refused(tmp_path):
    FolderSink(tmp_path, MANIFEST)
    with pytest.raises(SinkError, match=r"manifest\.json: has another manifest; wanted one folder"):
        FolderSink(tmp_path, {**MANIFEST, "build": "b2"})


def test_manifest_that_is_not_json_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(SinkError, match=r"manifest\.json: not JSON; wanted"):
        FolderSink(tmp_path, MANIFEST)


def test_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match=r"file.*: .*; wanted a writable folder"):
        FolderSink(tmp_path / "file" / "out", MANIFEST)


def test_folder_that_is_gone_costs_the_block_and_no_more(tmp_path):
    tracer = StreamingTracer(FolderSink(tmp_path / "out"))
    (tmp_path / "out").rmdir()
    with pytest.raises(SinkError, match="No such file"), tracer.block("lost"):
        pass
    (tmp_path / "out").mkdir()
    with tracer.block("kept"):
        pass
    assert len(list((tmp_path / "out").glob("*.etdp"))) == 1


@pytest.mark.smoke
@pytest.mark.system
def test_killed_process_leaves_whole_dumps(tmp_path):
    script = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from tracehouse import FolderSink, StreamingTracer
        tracer = StreamingTracer(FolderSink(Path(sys.argv[1])))
        for number in range(5):
            with tracer.block("Execute"), tracer.profile("a"):
                if number == 3:
                    os.kill(os.getpid(), 9)
    """)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)])
    assert done.returncode == -9
    dumps = sorted(tmp_path.glob("*.etdp"))
    assert [len(read_reference(path.read_bytes())["run_data"]) for path in dumps] == [1, 1, 1]
