"""flatc and the Inspector read our dumps as they read the runtime's: `make test-executorch`.

R and I numbers name bugs of the runtime and of the Inspector; docs/etdump-format.md lists them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.corpus import CORPUS
from tests.support.runtime_calls import CALLS, VALUES_START, make_writer
from tracehouse.ingest.tracer.writer import Dump, ETDumpWriter

PYTHON = os.environ.get("EXECUTORCH_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="make test-executorch installs executorch")

UNREADABLE = {"capi/badutf8": "I24", "capi/double_inf": "I5", "capi/double_nan": "I5"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[str, Any]:
    """What flatc and the Inspector say of our dumps, and of the corpus's under "theirs ..."."""
    folder = tmp_path_factory.mktemp("dumps")
    paths = {}
    for name in CALLS:
        ours = _write(folder, name, make_writer(name).finish())
        buffer = CORPUS / f"{name}.debug.bin"
        paths[name] = ours
        paths[f"theirs {name}"] = (
            CORPUS / f"{name}.etdp",
            buffer if name == "capi/values" else ours[1],
        )
    for make in (_bundled, _allocators_only, _halves, _outputs, _channels_last):
        paths[make.__name__] = _write(folder, make.__name__, make().finish())
    found = folder / "answers.json"
    subprocess.run(
        [PYTHON, Path(__file__).with_name("inspector_worker.py"), found],
        input=json.dumps([[str(path) for path in pair] for pair in paths.values()]),
        text=True,
        check=True,
    )
    return dict(zip(paths, json.loads(found.read_text()), strict=True))


@pytest.mark.parametrize("name", sorted(CALLS))
def test_flatc_prints_the_same_for_ours_and_theirs(answers, name):
    theirs = answers[f"theirs {name}"]["flatc"]
    if name == "capi/values":
        theirs = re.sub(r'(?<="offset": )\d+', lambda n: str(int(n[0]) - VALUES_START), theirs)
    assert answers[name]["flatc"] == theirs
    assert ('"run_data"' in theirs) == (name != "capi/badutf8")


@pytest.mark.parametrize("name", sorted(CALLS))
def test_inspector_shows_the_same_for_ours_and_theirs(answers, name):
    assert repr(answers[name]["blocks"]) == repr(answers[f"theirs {name}"]["blocks"])
    assert isinstance(answers[name]["blocks"], str) == (name in UNREADABLE)


def test_inspector_reads_the_bundled_input_index(answers):  # R1
    assert [block["bundled_input_index"] for block in answers["_bundled"]["blocks"]] == [-1, 2]


def test_inspector_passes_over_a_block_with_allocators_only(answers):  # R2
    assert [block["name"] for block in answers["_allocators_only"]["blocks"]] == ["Execute"]
    assert '"allocators"' in answers["_allocators_only"]["flatc"]


def test_inspector_reads_half_precision_tensors(answers):  # R3
    (block,) = answers["_halves"]["blocks"]
    assert block["events"][0]["debug_data"] == [["torch.float16", [1.5, -2.0]]]


def test_inspector_shows_outputs_of_every_type(answers):  # R5
    (block,) = answers["_outputs"]["blocks"]
    assert block["run_output"] == [7, True, 2.25, ["torch.float64", [1.0]]]
    assert block["events"] == []


def test_inspector_reads_a_channels_last_tensor_in_the_order_of_memory(answers):  # I10
    (block,) = answers["_channels_last"]["blocks"]
    assert block["events"][0]["debug_data"] == [["torch.uint8", [[0, 1, 2], [3, 4, 5]]]]


def _write(folder: Path, name: str, dump: Dump) -> tuple[Path, Path]:
    path = folder / name.replace("/", "_")
    pair = path.with_suffix(".etdp"), path.with_suffix(".debug.bin")
    for file, data in zip(pair, dump, strict=True):
        file.write_bytes(data)
    return pair


def _bundled() -> ETDumpWriter:
    writer = ETDumpWriter()
    for index in (-1, 2):
        writer.set_bundled_input_index(index)
        with writer.block("Execute"), writer.profile_method("Method::execute"):
            pass
    return writer


def _allocators_only() -> ETDumpWriter:
    writer = ETDumpWriter()
    with writer.block("Default"):
        writer.track_allocator("planned")
    with writer.block("Execute"), writer.profile_method("Method::execute"):
        pass
    return writer


def _halves() -> ETDumpWriter:
    writer = ETDumpWriter()
    with writer.block("Execute"):
        writer.log_evalue(np.array([1.5, -2], np.float16))
    return writer


def _outputs() -> ETDumpWriter:
    writer = ETDumpWriter()
    with writer.block("Execute"):
        for value in (7, True, 2.25, np.ones(1)):
            writer.log_evalue(value, is_output=True)
    return writer


def _channels_last() -> ETDumpWriter:
    writer = ETDumpWriter()
    with writer.block("Execute"):
        writer.log_evalue(np.arange(6, dtype=np.uint8).reshape(3, 2).T)
    return writer
