"""What others hand over and a child does not survive costs only itself."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import ENVIRONMENT
from tests.support.corpus import CORPUS, read_dump
from tests.support.cross_section import cross_section
from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import MODELS
from tests.support.event_blocks import run
from tests.support.store_inbox import hand_over, names_in_inbox
from tests.support.stores import MANIFEST, contents, write
from tests.support.tiny_dumps import stored_event_counts, tiny_dump, tiny_dump_events, tiny_incoming
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.ingest.dump import Companion, Dump
from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.etrecord import record as etrecord_record
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.manifest.sidecars import Sidecar
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.children import messages, process
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.load import children, pipeline
from tracehouse.warehouse.load.content import ChildError, NewDump
from tracehouse.warehouse.programs import reader as program_reader
from tracehouse.warehouse.programs.reader import read_program

STATED = Manifest.model_validate(MANIFEST)
BAD = 6  # of the dumps
BAD_SHA256 = hashlib.sha256(tiny_dump(BAD)).hexdigest()
# What a child runs at its start: it goes wrong where it meets certain bytes.
FAULTY = """
import os, signal, time
from tracehouse.warehouse.load import child
from tracehouse.warehouse.load import content

log = open({log!r}, "a")  # a child can open no file once it works

def fail():
    print(os.getpid(), file=log, flush=True)
    {fault}

def failing(called):
    def call(data, *args):
        for one in data if isinstance(data, list) else [args[0] if args else data, data]:
            if isinstance(one, memoryview) and bytes(one) == {bad!r}:
                fail()
        return called(data, *args)
    return call

content.decode_dumps = failing(content.decode_dumps)
child.stream_dump = failing(child.stream_dump)
child.build_tensors = failing(child.build_tensors)
child.decode_etrecord = failing(child.decode_etrecord)
"""
KILL = "os.kill(os.getpid(), signal.SIGKILL)"
EAT = "import numpy; held = [numpy.empty(1 << 28, 'u1') for _ in range(1 << 10)]"
HANG = "time.sleep(600)"
BUG = "raise KeyError('bug')"
BROKEN = "raise ImportError('no module named flatbuffers')"
# What is told of a dump that does so.
DIED = "its decoder died of SIGKILL; if it is genuine, write it"
ENDED = "its decoder ended with 3; if it is genuine"
ATE = "takes more than 2,048 MiB of memory to decode; if it is genuine"
HUNG = "took more than 3 s to decode; if it is genuine"
IS_BUG = "KeyError: 'bug'; this is a bug"
Break = Callable[..., Path]


@pytest.fixture
def broken_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Break:
    """Makes children go wrong with bytes; gives the file that they write their ids to by then."""

    def break_(fault: str, bad: bytes = tiny_dump(BAD)) -> Path:
        log = tmp_path / "failed"
        code = FAULTY.format(log=str(log), fault=fault, bad=bad)
        (tmp_path / "sitecustomize.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        return log

    return break_


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[children.DecodingChild]:
    """The children that are started from now on."""
    listed: list[children.DecodingChild] = []
    start = children.DecodingChild.__init__

    def note(self: children.DecodingChild) -> None:
        listed.append(self)
        start(self)

    monkeypatch.setattr(children.DecodingChild, "__init__", note)
    return listed


@pytest.mark.parametrize(
    ("fault", "is_streamed", "told"),
    [
        pytest.param(KILL, False, DIED, id="killed"),
        pytest.param(KILL, True, DIED, id="killed in parts", marks=pytest.mark.slow),
        pytest.param("os._exit(3)", False, ENDED, id="exited", marks=pytest.mark.slow),
        pytest.param(EAT, False, ATE, id="memory", marks=pytest.mark.slow),
        pytest.param(BUG, False, IS_BUG, id="bug", marks=pytest.mark.slow),
        pytest.param(BUG, True, IS_BUG, id="bug in parts", marks=pytest.mark.slow),
        pytest.param(HANG, False, HUNG, id="hangs", marks=pytest.mark.slow),
    ],
)
def test_a_dump_that_breaks_a_child_costs_only_itself_and_its_owner_can_ingest_it(
    store: Path,
    tmp_path: Path,
    broken_child: Break,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    is_streamed: bool,
    told: str,
) -> None:
    if is_streamed:
        monkeypatch.setattr(pipeline, "STREAM_BYTES", 1)
    if fault == HANG:
        monkeypatch.setattr(children, "MOST_SECONDS", 3.0)
    broken_child(fault)
    hand_over(store, *map(tiny_incoming, range(12)))
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
        hand_over(store, *map(tiny_incoming, range(10, 14)))
        later = warehouse.drain()
        recorded = warehouse.sql("SELECT sha256, reason, detail FROM ingest_errors").to_pylist()
    assert (summary.n_files, summary.n_dumps, later.n_dumps, later.n_duplicates) == (12, 11, 2, 2)
    ((sha256, reason, detail),) = [(r.sha256, r.reason, r.detail) for r in summary.refused]
    assert (sha256, reason, detail[: len(told)]) == (BAD_SHA256, "undecodable", told)
    assert recorded == [{"sha256": sha256, "reason": reason, "detail": detail}]
    wanted = {hashlib.sha256(tiny_dump(i)).hexdigest(): tiny_dump_events(i) for i in range(14)}
    del wanted[BAD_SHA256]
    assert stored_event_counts(store) == sorted(wanted.items())
    assert names_in_inbox(store) == []
    kept = Archive(store).find(BAD_SHA256)
    assert kept is not None
    assert bytes(kept.data) == tiny_dump(BAD)
    honest = write(tmp_path / "honest.etdp", tiny_dump(BAD))
    with Warehouse.open(store) as warehouse:
        assert warehouse.ingest([honest], manifest=MANIFEST).n_dumps == 1
        assert warehouse.query("ingest_errors")["is_resolved"].to_pylist() == [True]


@pytest.mark.slow
def test_an_etrecord_that_breaks_a_child_is_refused_and_its_dumps_are_taken(
    store: Path, broken_child: Break
) -> None:
    good, bad = (
        (MODELS / f"{name}.etrecord").read_bytes() for name in ("mixed_xnnpack", "twins_portable")
    )
    log = broken_child(KILL, bad)
    dumps = [Dump.of_bytes(f"{i}", tiny_dump(i), STATED, etrecord=bad) for i in range(3)]
    hand_over(store, *dumps, Dump.of_bytes("3", tiny_dump(3), STATED, etrecord=good))
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
    assert (summary.n_dumps, [r.reason for r in summary.refused]) == (4, ["etrecord"])
    assert summary.refused[0].source == "0: ETRecord"
    assert summary.refused[0].detail.startswith("its decoder died of SIGKILL")
    assert len(contents(store)["etrecords"]) == 1
    assert len(log.read_text().split()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_there", cross_section([False, True], 2), ids=["new", "stored"])
def test_a_debug_buffer_that_breaks_a_child_is_refused_and_its_dump_is_taken(
    store: Path, broken_child: Break, is_there: bool
) -> None:
    names = [
        f"{name}_debug" for name in ("multiout_portable_n3", "nan_portable_n2", "traced_int_n1")
    ]
    dumps = {name: read_dump(f"real/{name}") for name in names}
    buffers = {name: (CORPUS / f"real/{name}.debug.bin").read_bytes() for name in names}
    broken_child(KILL, buffers[names[1]])
    if is_there:
        hand_over(store, *(Dump.of_bytes(name, dumps[name], STATED) for name in names))
        with Warehouse.open(store) as warehouse:
            warehouse.drain()
    hand_over(
        store,
        *(Dump.of_bytes(n, dumps[n], STATED, debug_buffer=buffers[n]) for n in names),
    )
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
        buffered = warehouse.sql("SELECT source FROM dumps WHERE debug_buffer_sha256 IS NOT NULL")
    assert (summary.n_dumps, [r.reason for r in summary.refused]) == (
        3 - 3 * is_there,
        ["undecodable"],
    )
    assert summary.refused[0].source == f"{names[1]}: debug buffer"
    assert summary.refused[0].detail.startswith(f"the debug buffer of {names[1]}: its decoder died")
    assert set(buffered["source"].to_pylist()) == {names[0], names[2]}


@pytest.mark.smoke
def test_a_store_uses_one_child_for_all_drains_and_ends_it_when_closed(
    store: Path, started: list[children.DecodingChild]
) -> None:
    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == 0
        assert started == []
        for number in range(3):
            hand_over(store, tiny_incoming(number))
            assert warehouse.drain(jobs=1).n_dumps == 1
        (child,) = started
        assert child.process.poll() is None
    assert child.process.poll() is not None


def test_a_child_that_was_killed_while_it_waited_costs_no_dump(
    store: Path, started: list[children.DecodingChild]
) -> None:
    with Warehouse.open(store) as warehouse:
        for number in range(2):
            hand_over(store, tiny_incoming(number))
            summary = warehouse.drain(jobs=1)
            assert (summary.n_dumps, summary.refused) == (1, ())
            started[-1].process.kill()
            started[-1].process.wait()
    assert len(started) == 2


def test_a_child_whose_owner_is_gone_ends_silently() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.close()
        program = f"from tracehouse.warehouse.load.child import serve; serve({theirs.fileno()})"
        started = subprocess.run(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env=ENVIRONMENT,
            check=True,
        )
    assert b"Traceback" not in started.stderr


@pytest.mark.slow
def test_a_child_that_cannot_start_refuses_no_dump_and_keeps_the_inbox(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_over(store, tiny_incoming(1))
    with Warehouse.open(store) as warehouse, monkeypatch.context() as patched:
        patched.setattr(sys, "executable", str(store / "python"))
        with pytest.raises(StoreError, match=r"cannot be started .No such file"):
            warehouse.drain()
    with Warehouse.open(store) as warehouse, monkeypatch.context() as patched:
        patched.setattr(process, "_PROGRAM", "import sys; sys.exit(7)")
        with pytest.raises(StoreError, match=r"cannot be started .it ended with 7.*inbox are safe"):
            warehouse.drain()
    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == 1


@pytest.mark.slow
def test_killing_a_drain_while_its_child_works_loses_no_dump_and_no_child_stays(
    store: Path, broken_child: Break
) -> None:
    log = broken_child(HANG)
    hand_over(store, *map(tiny_incoming, range(BAD + 2)))
    draining = os.fork()
    if not draining:
        try:
            Warehouse.open(store).drain()
        finally:
            os._exit(1)
    until(lambda: log.exists() and bool(log.read_text().strip()))
    child = int(log.read_text())
    os.kill(draining, signal.SIGKILL)
    os.waitpid(draining, 0)
    until(lambda: not is_running(child))
    (log.parent / "sitecustomize.py").unlink()
    with Warehouse.open(store) as warehouse:
        assert warehouse.drain().n_dumps == BAD + 2
    assert len(stored_event_counts(store)) == BAD + 2
    assert names_in_inbox(store) == []


def is_running(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.slow
def test_metadata_that_breaks_its_parser_costs_only_its_dump(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os\nfrom tracehouse.warehouse.load import delegate_metadata as d\n"
    code += "tell = d.metadata_json\n"
    code += "d.metadata_json = lambda raw, who: os.abort() if raw == b'bomb' else tell(raw, who)\n"
    (tmp_path / "sitecustomize.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    for metadata in (b'{"a":1}', b"bomb", b"\xff"):
        event = {"name": "op", "delegate_debug_metadata": metadata, "end_time": 1}
        dump = build_etdump({"version": 0, "run_data": [run({"profile_event": event})]})
        hand_over(store, Dump.of_bytes(metadata.hex(), dump, STATED))
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
        parsed = warehouse.sql("SELECT parsed FROM delegate_metadata ORDER BY dump_id").to_pylist()
    assert (summary.n_dumps, [r.source for r in summary.refused]) == (2, [b"bomb".hex()])
    assert [row["parsed"] for row in parsed] == ['{"a": 1}', None]


def test_a_decoding_child_has_a_lower_priority_than_its_owner() -> None:
    """A child that is ready computes less than its owner where both want to."""
    decoding = children.DecodingChildren()
    try:
        with decoding.one() as child:
            child.request("decode", [], backends=[])
            own, its = (os.getpriority(os.PRIO_PROCESS, id_) for id_ in (0, child.process.pid))
        assert own < its
    finally:
        decoding.close()


def test_an_etrecord_from_others_is_read_and_traced_by_a_child_alone(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the owner reads an ETRecord")

    record = (MODELS / "mixed_xnnpack.etrecord").read_bytes()
    dump = read_dump("real/mixed_xnnpack_n20")
    incoming = Dump.of_bytes("a.etdp", dump, STATED, etrecord=record)
    hand_over(store, incoming)
    for module in (etrecord_record, program_reader):
        monkeypatch.setattr(module, "decode_etrecord", fail)
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
    assert (summary.n_dumps, summary.refused) == (1, ())
    monkeypatch.undo()
    own = store.with_name("own")
    with Warehouse.open(own, create=True) as warehouse:
        warehouse.ingest([incoming])
    stored, expected = contents(store), contents(own)
    for table in ("etrecords", "graph_nodes", "debug_handles", "delegates", "event_origins"):
        assert stored[table] == expected[table] != []
    assert stored["event_modules"] == expected["event_modules"]


def test_an_etrecord_that_is_malformed_is_refused_with_the_reason_that_the_child_gives(
    store: Path,
) -> None:
    for number, record in enumerate((b"no zip", b"no zip")):
        dump = Dump.of_bytes(f"{number}.etdp", tiny_dump(number), STATED, etrecord=record)
        hand_over(store, dump)
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
    assert summary.n_dumps == 2
    told = [(one.source, one.reason, one.detail) for one in summary.refused]
    problem = "not an ETRecord (a zip), but text that begins with 'no zip'"
    assert told[0] == ("0.etdp: ETRecord", "etrecord", problem)


def test_files_without_a_place_on_disk_are_sent_to_a_child() -> None:
    decoding = children.DecodingChildren()
    decoder = children.ChildDecoder(decoding, {})
    record = (MODELS / "mixed_xnnpack.etrecord").read_bytes()
    data = tiny_dump(1)
    dump = NewDump("1.etdp", hashlib.sha256(data).hexdigest(), STATED, data=data)
    try:
        assert decoder.decode([dump]).decoded.tables["events"].num_rows == tiny_dump_events(1)
        parts = [part.tables["events"].num_rows for part in decoder.stream(dump)]
        assert sum(parts) == tiny_dump_events(1)
        file = Companion("a.etrecord", lambda: record, key="key")
        program = decoder.read_program(file, None, {})
        assert program == read_program(file, None, {})._replace(
            tables=program.tables, trace=program.trace
        )
        assert decoder.read_program(file, None, {program.id: program}) is program
    finally:
        decoding.close()


@pytest.mark.parametrize("fault", [KILL, EAT, BUG])
def test_a_sidecar_that_breaks_a_child_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    code = f"""
import os, signal
from tracehouse.warehouse.load import child
def parse_sidecar(*_):
    {fault}
child.parse_sidecar = parse_sidecar
"""
    (tmp_path / "sitecustomize.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    decoding = children.DecodingChildren()
    parse = children.ChildSidecars(decoding).parse
    told = {KILL: "its decoder died of SIGKILL", EAT: "takes more than 2,048 MiB", BUG: IS_BUG}
    try:
        with pytest.raises(ManifestError, match=f"^run.log: {told[fault]}"):
            parse(Sidecar.LOG, "run.log", b" " * 5_000)
        assert parse(Sidecar.LOG, "run.log", b" ") == {}  # short ones need no child
    finally:
        decoding.close()


def test_a_file_that_a_child_cannot_read_is_not_the_fault_of_a_dump(tmp_path: Path) -> None:
    decoding = children.DecodingChildren()
    dump = NewDump("1.etdp", "1", STATED, data=b"")
    try:
        decoder = children.ChildDecoder(decoding, {"1": (tmp_path / "gone.log", 0, 10)})
        with pytest.raises(StoreError, match=r"gone\.log: cannot be read: No such file"):
            decoder.decode([dump])
    finally:
        decoding.close()


@pytest.mark.parametrize(
    ("number", "told"), [("EMFILE", "Too many open files"), ("ENOMEM", "Cannot allocate memory")]
)
def test_a_child_that_lacks_files_or_memory_refuses_no_dump(
    store: Path, broken_child: Break, number: str, told: str
) -> None:
    broken_child(f"import errno; raise OSError(errno.{number}, os.strerror(errno.{number}))")
    hand_over(store, *map(tiny_incoming, range(8)))
    with Warehouse.open(store) as warehouse:
        with pytest.raises(StoreError, match=told):
            warehouse.drain()
        assert not warehouse.sql("SELECT reason FROM ingest_errors").num_rows
    assert names_in_inbox(store)


def test_a_dump_that_makes_a_child_open_a_file_costs_only_itself(
    store: Path, broken_child: Break
) -> None:
    broken_child("raise PermissionError(1, 'Operation not permitted', '/etc/passwd')")
    hand_over(store, *map(tiny_incoming, range(8)))
    with Warehouse.open(store) as warehouse:
        summary = warehouse.drain()
    assert (summary.n_dumps, [one.sha256 for one in summary.refused]) == (7, [BAD_SHA256])
    assert summary.refused[0].detail.startswith("PermissionError: ")


def test_more_files_than_a_message_takes_are_decoded_together(tmp_path: Path) -> None:
    count = messages.MOST_FILES + 6
    dumps, places = [], {}
    for number in range(count):
        data = tiny_dump(number)
        sha256 = hashlib.sha256(data).hexdigest()
        file = write(tmp_path / f"{number}.log", b"before" + data + b"after")
        places[sha256] = (file, len(b"before"), len(data))
        dumps.append(NewDump(f"{number}", sha256, STATED, data=data))
    decoding = children.DecodingChildren()
    try:
        content = children.ChildDecoder(decoding, places).decode(dumps)
    finally:
        decoding.close()
    assert content.decoded.tables["events"].num_rows == sum(map(tiny_dump_events, range(count)))
    assert content.decoded.errors.num_rows == 0


def test_a_file_that_was_emptied_meanwhile_is_a_fault_of_no_child(tmp_path: Path) -> None:
    decoding = children.DecodingChildren()
    dump = NewDump("1.etdp", "1", STATED, data=b"")
    decoder = children.ChildDecoder(decoding, {"1": (write(tmp_path / "a.log", b""), 0, 10)})
    try:
        errors = decoder.decode([dump]).decoded.errors
        assert errors["reason"].to_pylist() == ["empty"]
    finally:
        decoding.close()


@pytest.mark.parametrize(
    ("code", "parsed"),
    [
        ("import decimal\ndef Vendor(raw): return {'is': str(decimal.Decimal(1))}", '{"is": "1"}'),
        ("def Vendor(raw): return open(__file__).read()", '{"a": 1}'),
        ("def Vendor(raw): import subprocess; return subprocess.run(['true'])", '{"a": 1}'),
        ("raise KeyError('a bug of a vendor')", None),
    ],
    ids=["loaded before", "opens a file", "starts a process", "broken"],
)
def test_a_parser_of_a_package_is_loaded_before_a_child_is_confined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, parsed: str | None
) -> None:
    write(tmp_path / "vendor_parsers.py", code.encode())
    about = tmp_path / "vendor_parsers-1.dist-info"
    write(about / "METADATA", b"Metadata-Version: 2.1\nName: vendor-parsers\nVersion: 1\n")
    point = b"[tracehouse.delegate_metadata]\nVendor = vendor_parsers:Vendor\n"
    write(about / "entry_points.txt", point)
    monkeypatch.syspath_prepend(tmp_path)
    event = {"name": "op", "delegate_debug_metadata": b'{"a": 1}', "end_time": 1}
    data = build_etdump({"version": 0, "run_data": [run({"profile_event": event})]})
    stated = Manifest.model_validate({**MANIFEST, "model": {"name": "m", "backend": "Vendor"}})
    dump = NewDump("1.etdp", hashlib.sha256(data).hexdigest(), stated, data=data)
    decoding = children.DecodingChildren()
    try:
        decoder = children.ChildDecoder(decoding)
        if parsed is None:
            with pytest.raises(
                ChildError, match="'Vendor = vendor_parsers:Vendor' cannot be loaded"
            ):
                decoder.decode([dump])
        else:
            rows = decoder.decode([dump]).decoded.tables["delegate_metadata"]
            assert rows["parsed"].to_pylist() == [parsed]
    finally:
        decoding.close()


def test_a_child_that_lacks_a_module_stops_the_work_and_refuses_no_dump(
    store: Path, broken_child: Break
) -> None:
    broken_child(BROKEN)
    hand_over(store, *map(tiny_incoming, range(8)))
    with Warehouse.open(store) as warehouse:
        with pytest.raises(StoreError, match="no module named flatbuffers"):
            warehouse.drain()
        assert not warehouse.sql("SELECT reason FROM ingest_errors").num_rows
    assert names_in_inbox(store)
