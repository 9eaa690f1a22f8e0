"""Some of the trials of `make torture` in which disks fail under commands."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.cross_section import cross_section
from tests.support.disk_shim import COMPILER
from tests.tools.reliability.disk_faults import torture
from tests.tools.reliability.fault_table import COMBINATIONS, NUMBERS, Combination, judge_message

FEW = NUMBERS[::4]
SAMPLES = [
    Combination("decide", "log", "sync"),
    Combination("ingest", "archive", "space"),
    Combination("forget", "archive", "unlink"),
    Combination("rebuild", "new file", "sync"),
    Combination("export", "lake", "write"),
    Combination("drain", "inbox", "read"),
]


@pytest.mark.skipif(not shutil.which(COMPILER), reason=f"no C compiler ({COMPILER})")
@pytest.mark.parametrize("numbers", cross_section([(FEW,), (NUMBERS,)], 2), ids=str)
def test_commands_survive_disks_that_fail(numbers: Sequence[int]) -> None:
    assert {*SAMPLES} <= {*COMBINATIONS}
    found = torture(SAMPLES, numbers=numbers)
    assert found["problems"] == []
    assert found["faults"] >= len(SAMPLES)


def test_messages_must_say_in_one_line_what_failed_and_where(tmp_path: Path) -> None:
    store = tmp_path / "store"
    good = f"error: {store}: cannot be written: No space left on device; free some space\n"
    assert judge_message("1", good, store) == ""
    assert judge_message("0", good, store).startswith("ended with 0: ")
    assert judge_message("1", good * 2, store).startswith("2 errors: ")
    assert judge_message("1", "Traceback\n", store).startswith(
        "a traceback, 0 errors, no place, no cause, no remedy"
    )
