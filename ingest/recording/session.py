"""Runs a program on this machine under ExecuTorch's event tracer, which writes an ETDump."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracehouse.ingest.errors import RecordingError, SourceError
from tracehouse.ingest.manifest.resolver import ManifestResolver, check_fields
from tracehouse.ingest.sources.listing import DEBUG_BUFFER_SUFFIX
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import describe_refusal, read_source

_CPUINFO = Path("/proc/cpuinfo")
_FREQUENCY_POLICIES = Path("/sys/devices/system/cpu/cpufreq")
_PROCESSOR_KEYS = ("model name", "Model", "Hardware")  # on x86, Arm boards and older Arm kernels

Array = NDArray[Any]
_WORKER = Path(__file__).with_name("worker.py")
_INSTALL = "pip install '.[executorch]' in a checkout"
_IDENTIFIER = slice(4, 6)  # in a .pte: ET12, or another version
_ARRAY_MARKS = (b"PK", b"\x93NUMPY")
_NUMBER_KINDS = "biufc"
# What numpy raises for a foreign or damaged file.
_ARRAY_FAULTS = (
    *(EOFError, KeyError, MemoryError, OSError, OverflowError, RuntimeError, SyntaxError),
    *(TypeError, ValueError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
# The runtime logs "[method.cpp:1206] Input 0 has unexpected scalar type: ..." before it fails.
_LOGGED = re.compile(r"^\[(?!cpuinfo)\w+\.\w+:\d+\] (.+)$", re.MULTILINE)
_LOG_LINES = 2
_NO_TYPE = "not yet supported in ETDump"  # the run goes on, and the dump is unreadable
_HINTS = {
    "Ran out of space to store intermediate outputs": "wanted a larger debug buffer",
    _NO_TYPE: "wanted no debug buffer",
}
_OF_A_BUILD = ("build", "commit", "branch", "committed_at", "ordinal", "parent", "role")
_LETTERS = 12


def describe_host() -> dict[str, str]:
    """The known attributes of this machine: os, os_version, arch and soc."""
    facts = {
        "os": platform.system(),
        "os_version": platform.release(),
        "arch": platform.machine(),
        "soc": _read_processor() or platform.processor(),
    }
    return {name: fact for name, fact in facts.items() if fact}


def describe_run_context() -> dict[str, str | int]:
    """The known conditions of a run on this machine: governor and threads.

    Different governors of several processors are each named once. Threads are the processors that
    this process may use.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = {"governor": ", ".join(sorted(set(_read_governors()))), "threads": usable}
    return {name: fact for name, fact in facts.items() if fact}


def _read_governors() -> list[str]:
    """The governors of the processors under Linux; empty elsewhere."""
    try:
        files = _FREQUENCY_POLICIES.glob("policy*/scaling_governor")
        return [file.read_text(encoding="utf-8").strip() for file in files]
    except (OSError, UnicodeDecodeError):
        return []


def _read_processor() -> str | None:
    """The name of the processor under Linux; None elsewhere."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    facts = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)
    }
    return next((facts[key] for key in _PROCESSOR_KEYS if facts.get(key)), None)


@dataclass(frozen=True)
class RecordingPlan:
    """A program to run, and its settings.

    Attributes:
        program: Path of the program, a .pte file.
        inputs: The method's inputs, in order.
        debug_buffer_bytes: Size of the debug buffer for intermediate values; 0 to log none.
        python: Python interpreter of an environment that has executorch.
    """

    program: str
    inputs: Sequence[Array] = ()
    method: str = "forward"
    iterations: int = 50
    debug_buffer_bytes: int = 0
    python: str = sys.executable


def read_inputs(source: Source) -> list[Array]:
    """The arrays of an .npz file in the order in which they were saved, or the one of an .npy file.

    Nothing is unpickled.

    Raises:
        SourceError: The file is unreadable or damaged, or holds data other than arrays of numbers.
    """
    data = read_source(source)
    if not bytes(data[:6]).startswith(_ARRAY_MARKS):
        raise SourceError(source.name, "is neither .npz nor .npy; wanted arrays saved by numpy")
    try:
        content = np.load(io.BytesIO(data), allow_pickle=False)
        named = {"": content} if isinstance(content, np.ndarray) else dict(content)
    except _ARRAY_FAULTS as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise SourceError(source.name, f"cannot be read: {problem}") from error
    for name, array in named.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in _NUMBER_KINDS:
            found = getattr(array, "dtype", "no array")
            raise SourceError(source.name, f"{name or 'array'}: found {found}, wanted numbers")
    return [np.asarray(a, a.dtype.newbyteorder("="), order="C") for a in named.values()]


def check_program(path: str) -> None:
    """Check that the file looks like a program.

    Raises:
        SourceError: The file cannot be read, or is not a program.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(_IDENTIFIER.stop)
    except OSError as error:
        raise SourceError(Source(path).name, describe_refusal(error)) from error
    if head[_IDENTIFIER] != b"ET":
        raise SourceError(Source(path).name, "is not an ExecuTorch program; wanted a .pte file")


def run_recording(
    plan: RecordingPlan, dump: Path, *, progress: Callable[[int], None] | None = None
) -> str:
    """Run a program and write its ETDump, and its debug buffer, if any, as ``NAME.debug.bin``.

    The runtime runs in a separate process, so that its crashes do not affect this one.

    Args:
        plan: The program and its settings.
        dump: File to write; neither the file nor its debug buffer may exist.
        progress: Called with the iterations done, first with 0, when the program is loaded.

    Returns:
        ExecuTorch's version. A program that cannot be read raises SourceError.

    Raises:
        RecordingError: The environment has no executorch, the program cannot run on these inputs,
            the debug buffer is too small, or the dump cannot be written.
    """
    check_program(plan.program)
    buffer = dump.with_suffix(DEBUG_BUFFER_SUFFIX)
    for file in (dump, buffer):
        if file.exists():
            raise RecordingError(f"{file}: already exists; wanted a new file")
    if not dump.parent.is_dir():
        raise RecordingError(f"{dump}: its folder does not exist")
    with TemporaryDirectory() as folder, TemporaryFile() as log:
        request = _write_request(Path(folder), plan, dump, buffer)
        last, status = _run_worker(plan.python, request, log, progress)
        log.seek(0)
        text = log.read().decode(errors="replace")
    if "executorch" not in last or _NO_TYPE in text:
        raise RecordingError(_describe_failure(plan, last, status, text))
    return str(last["executorch"])


def _write_request(folder: Path, plan: RecordingPlan, dump: Path, buffer: Path) -> Path:
    inputs, request = folder / "inputs.npz", folder / "request.json"
    np.savez(inputs, *plan.inputs)
    wanted = {
        "program": os.path.abspath(plan.program),
        "inputs": str(inputs),
        "method": plan.method,
        "iterations": plan.iterations,
        "debug_buffer_bytes": plan.debug_buffer_bytes,
        "dump": os.path.abspath(dump),
        "debug_buffer": os.path.abspath(buffer) if plan.debug_buffer_bytes else "",
    }
    request.write_text(json.dumps(wanted), encoding="utf-8")
    return request


def _run_worker(
    python: str, request: Path, log: IO[bytes], progress: Callable[[int], None] | None
) -> tuple[dict[str, object], int]:
    """The worker's last report, and its exit status.

    Raises:
        RecordingError: The Python interpreter cannot be started.
    """
    last: dict[str, object] = {}
    command = [python, "-P", str(_WORKER), str(request)]  # -P: the worker imports nothing from here
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own choice of Python
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        )
    except OSError as error:
        raise RecordingError(f"{python}: cannot be run: {error.strerror or error}") from error
    with process:
        for line in process.stdout or ():
            last = json.loads(line)
            done = last.get("done")
            if progress is not None and isinstance(done, int):
                progress(done)
    return last, process.returncode


def _describe_failure(plan: RecordingPlan, last: dict[str, object], status: int, log: str) -> str:
    if "missing" in last:
        why = f"recording needs executorch in {plan.python} ({last['missing']})"
        return f"{why}: {_INSTALL}, or name another environment's Python with --python"
    last_line = log.strip().rpartition("\n")[2] or f"exit status {status}"
    if not last and status > 0:
        return f"{plan.python}: {last_line}; wanted Python 3.11 or newer with executorch"
    reasons = list(dict.fromkeys(_LOGGED.findall(log)))[-_LOG_LINES:]
    if status < 0:
        reasons.append(f"it was killed by {signal.Signals(-status).name}")
    elif "executorch" not in last:
        reasons.append(str(last.get("problem", last_line)))
    for mark, hint in _HINTS.items():
        if mark in log:
            reasons.append(hint)
    what = f"{Source(plan.program).name}: ExecuTorch cannot run {plan.method}"
    return f"{what}: {'; '.join(line.removesuffix('.') for line in reasons)}"


class PlannedDump(NamedTuple):
    """A program to run, and the manifest fields of its dump."""

    plan: RecordingPlan
    fields: dict[str, object]


def describe_recording(plan: RecordingPlan, stated: Mapping[str, str | None]) -> dict[str, object]:
    """The manifest fields of a recording: the stated fields, and defaults for the others.

    By default the device is this machine, and the model is named after the program's file.
    Malformed fields raise ManifestError.
    """
    known: dict[str, object] = {
        **describe_host(),
        **describe_run_context(),
        "model": Path(plan.program).stem,
        "captured_at": datetime.now(UTC),
        "clock": "ns",
        **_describe_size(plan.program),
        **{name: text for name, text in stated.items() if text},
        "method": plan.method,
    }
    check_fields("options", known)
    return known


def _describe_size(program: str) -> dict[str, object]:
    """The size of a program as a counter; empty if the file is missing, which fails later."""
    try:
        size = Path(program).stat().st_size
    except OSError:
        return {}
    return {"counters": [{"name": "program_bytes", "unit": "bytes", "value": size}]}


def share_session(
    plan: RecordingPlan, fields: Mapping[str, object], reference: str
) -> tuple[PlannedDump, PlannedDump]:
    """A recording of a reference program followed by one of the program itself, in one session.

    Both recordings differ only in the program, so that changes of the device affect both. The
    reference's build is named by its hash, so that another program is another build. A program
    that cannot be read raises SourceError.
    """
    session = session_of(fields)
    own, digest = fields_of_other(fields, reference)
    pinned = {"build": f"reference-{digest}", "role": "reference", **_describe_size(reference)}
    return (
        PlannedDump(replace(plan, program=reference), {**own, **session, **pinned}),
        PlannedDump(plan, {**fields, **session}),
    )


def session_of(fields: Mapping[str, object]) -> dict[str, object]:
    """The field that names the session of this and later recordings."""
    return {"session": f"{fields['captured_at']:%Y-%m-%dT%H:%M:%S.%fZ}"}


def fields_of_other(fields: Mapping[str, object], program: str) -> tuple[dict[str, object], str]:
    """The fields that also apply to another program (all but the build), and its hash.

    A program that cannot be read raises SourceError.
    """
    check_program(program)
    with open(program, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    own = {name: value for name, value in fields.items() if name not in _OF_A_BUILD}
    return own, digest[:_LETTERS]


def check_manifest(dump: Path, fields: Mapping[str, object]) -> None:
    """Check that these fields make a complete manifest; a missing field raises ManifestError."""
    resolver = ManifestResolver(overrides=fields, tops=[str(dump.parent)])
    resolver.resolve(Source(str(dump)))
