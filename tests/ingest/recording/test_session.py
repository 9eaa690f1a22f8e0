from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.corpus import CORPUS
from tests.support.cross_section import cross_section
from tests.support.stand_in import VERSION, install_stand_in, write_program
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.recording import session
from tracehouse.ingest.recording.session import (
    RecordingError,
    RecordingPlan,
    check_program,
    describe_host,
    describe_run_context,
    read_inputs,
    run_recording,
)
from tracehouse.ingest.sources.places import Source

NO_SPACE = "Ran out of space to store intermediate outputs"


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs, and a stand-in for ExecuTorch that runs them."""
    monkeypatch.setenv("PYTHONPATH", str(install_stand_in(tmp_path / "packages")))
    return tmp_path


def record(program: Path, *inputs: np.ndarray[Any, Any], **more: Any) -> Path:
    dump = program.with_suffix(".etdp")
    version = run_recording(RecordingPlan(str(program), inputs, **more), dump)
    assert version == VERSION
    return dump


def saved(*arrays: Any, **named: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, *arrays, **named)
    return file.getvalue()


def read(tmp_path: Path, data: bytes) -> list[np.ndarray[Any, Any]]:
    path = tmp_path / "inputs.npz"
    path.write_bytes(data)
    return read_inputs(Source(str(path)))


def test_inputs_come_in_the_order_in_which_they_were_saved(tmp_path):
    assert [a.item() for a in read(tmp_path, saved(z=1, a=2))] == [1, 2]
    assert [a.item() for a in read(tmp_path, saved(*range(12)))] == list(range(12))


def test_an_npy_file_is_one_input(tmp_path):
    file = io.BytesIO()
    np.save(file, np.ones((2, 3)))
    (array,) = read(tmp_path, file.getvalue())
    assert array.shape == (2, 3)


def test_inputs_are_laid_out_as_torch_takes_them(tmp_path):
    foreign = np.arange(6, dtype=">i2").reshape(2, 3).T
    (array,) = read(tmp_path, saved(foreign))
    assert array.dtype == np.dtype("=i2")
    assert array.flags.c_contiguous
    np.testing.assert_array_equal(array, foreign)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is neither .npz nor .npy"),
        (b"{}", "is neither .npz nor .npy"),
        (saved(np.zeros(100))[:90], "cannot be read: "),
        (saved(np.array([{}])), "cannot be read: Object arrays cannot be loaded"),
        (saved(x=np.array(["a"])), "x: found <U1, wanted numbers"),
    ],
)
def test_malformed_input_files_are_refused(tmp_path, data, problem):
    with pytest.raises(SourceError, match=f"inputs.npz: {problem}"):
        read(tmp_path, data)


def test_an_input_zip_without_arrays_is_refused(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "text")
    with pytest.raises(SourceError, match=r"a\.txt: found no array"):
        read(tmp_path, file.getvalue())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 263), byte=st.integers(0, 255))
@example(place=0, byte=0)
@pytest.mark.filterwarnings("ignore")  # numpy's, of headers written by Python 2
def test_a_damaged_file_raises_or_gives_arrays(tmp_path, place, byte):
    data = bytearray(saved(np.zeros(3)))
    data[place] = byte
    try:
        arrays = read(tmp_path, bytes(data))
    except SourceError:
        return
    assert all(array.dtype.kind in "biufc" for array in arrays)


def test_a_file_that_is_no_program_is_refused_at_once(tmp_path):
    with pytest.raises(SourceError, match=r"load_only.etdp: is not an ExecuTorch program"):
        check_program(str(CORPUS / "real" / "load_only.etdp"))
    with pytest.raises(SourceError, match="cannot be read: Is a directory"):
        check_program(str(tmp_path))
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        check_program(str(tmp_path / "gone.pte"))


@pytest.mark.smoke
@pytest.mark.system
def test_recording_writes_the_dump_and_its_debug_buffer(stand_in):
    dump = record(write_program(stand_in / "a.pte"), debug_buffer_bytes=64)
    assert dump.read_bytes() == (CORPUS / "real" / "cnn_xnnpack_n20.etdp").read_bytes()
    assert dump.with_suffix(".debug.bin").stat().st_size == 64


@pytest.mark.system
def test_record_passes_numbers_to_number_inputs(stand_in):
    program = write_program(stand_in / "a.pte", inputs=("tensor", "number", "tensor"))
    assert record(program, np.ones(2), np.array(3), np.array(3)).exists()


@pytest.mark.system
def test_progress_begins_when_the_program_is_loaded(stand_in):
    done: list[int] = []
    program = write_program(stand_in / "a.pte")
    run_recording(RecordingPlan(str(program)), stand_in / "a.etdp", progress=done.append)
    assert done[0] == 0


@pytest.mark.system
@pytest.mark.parametrize(
    ("program", "problem"),
    cross_section(
        [
            (
                {
                    "fails": "error 0x12",
                    "log": ("[cpuinfo_utils.cpp:7] x", "[method.cpp:1] Wrong."),
                },
                "ExecuTorch cannot run forward: Wrong; error 0x12",
            ),
            (
                {"aborts": True, "log": (f"[sink.cpp:4] {NO_SPACE}.",)},
                f"{NO_SPACE}; it was killed by SIGABRT; wanted a larger debug buffer",
            ),
            (
                {
                    "log": (
                        "[etdump_flatcc.cpp:74] This ScalarType = 5 is not yet supported in ETDump",
                    )
                },
                "This ScalarType = 5 is not yet supported in ETDump; wanted no debug buffer",
            ),
            ({"dump": "gone"}, "No such file or directory"),
            ({"inputs": ("tensor",)}, "AssertionError: []"),  # what nobody foresaw
        ],
        3,
    ),
)
def test_a_failure_of_the_runtime_is_reported(stand_in, program, problem):
    with pytest.raises(RecordingError) as caught:
        record(write_program(stand_in / "a.pte", **program))
    assert str(caught.value).startswith(str(stand_in / "a.pte"))
    assert problem in str(caught.value)


@pytest.mark.system
def test_an_unknown_method_is_reported_with_the_known_ones(stand_in):
    with pytest.raises(RecordingError, match=r"no method 'x'; wanted one of: decode, forward"):
        record(write_program(stand_in / "a.pte"), method="x")


def test_recording_refuses_to_overwrite_files(stand_in):
    program = write_program(stand_in / "a.pte")
    (stand_in / "a.debug.bin").touch()
    with pytest.raises(RecordingError, match=r"a\.debug\.bin: already exists; wanted a new file"):
        record(program)


@pytest.mark.system
def test_an_environment_without_executorch_is_told_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "executorch.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RecordingError, match=r"needs executorch .*: pip install"):
        record(write_program(tmp_path / "a.pte"))


@pytest.mark.system
@pytest.mark.parametrize(
    ("python", "problem"),
    [("gone", "gone: cannot be run: No such file"), ("false", "false: exit status 1; wanted Pyth")],
)
def test_an_invalid_python_is_reported(tmp_path, python, problem):
    with pytest.raises(RecordingError, match=problem):
        record(write_program(tmp_path / "a.pte"), python=python)


def test_this_host_has_a_system_and_an_architecture():
    facts = describe_host()
    assert {"os", "os_version", "arch"} <= facts.keys() <= {"os", "os_version", "arch", "soc"}
    assert all(facts.values())
    assert facts["os"].casefold().startswith(sys.platform[:3])


def test_this_host_has_threads_to_run_on_and_perhaps_a_governor(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "_FREQUENCY_POLICIES", tmp_path)
    facts = describe_run_context()
    assert facts.keys() == {"threads"}
    assert facts["threads"] >= 1
    for number, governor in enumerate(("schedutil", "performance", "schedutil")):
        (tmp_path / f"policy{number}").mkdir()
        (tmp_path / f"policy{number}" / "scaling_governor").write_text(f"{governor}\n")
    assert describe_run_context()["governor"] == "performance, schedutil"
