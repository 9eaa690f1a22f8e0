"""Some of the trials of `make torture` in which disks fail under commands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.disk_shim import COMPILER
from tests.tools.reliability.disk_faults import torture
from tests.tools.reliability.fault_table import COMBINATIONS, Combination, judge_message

SAMPLES = [
    Combination("decide", "log", "sync"),
    Combination("ingest", "archive", "space"),
    Combination("forget", "archive", "unlink"),
    Combination("rebuild", "new file", "sync"),
    Combination("export", "lake", "write"),
    Combination("drain", "inbox", "read"),
]


@pytest.mark.skipif(not shutil.which(COMPILER), reason=f"no C compiler ({COMPILER})")
@pytest.mark.parametrize("combination", SAMPLES)
def test_commands_survive_disks_that_fail(combination: Combination) -> None:
    assert combination in COMBINATIONS
    found = torture([combination])
    assert found["problems"] == []
    assert found["faults"]


def test_messages_must_say_in_one_line_what_failed_and_where(tmp_path: Path) -> None:
    store = tmp_path / "store"
    good = f"error: {store}: cannot be written: No space left on device; free some space\n"
    assert judge_message("1", good, store) == ""
    assert judge_message("0", good, store).startswith("ended with 0: ")
    assert judge_message("1", good * 2, store).startswith("2 errors: ")
    assert judge_message("1", "Traceback\n", store).startswith(
        "a traceback, 0 errors, no place, no cause, no remedy"
    )
