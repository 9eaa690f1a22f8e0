from __future__ import annotations

import errno
import os
import time

import pytest

from tracehouse.warehouse.errors import (
    DiskError,
    FullDiskError,
    StoreError,
    explain_failure,
    suggest,
    write_errors,
)


def test_long_names_are_not_compared():
    known = [f"{i}" + "nm" * 500_000 for i in range(5)]
    began = time.process_time()
    assert suggest("mn" * 500_000, known) == ""
    assert suggest("mn" * 500_000, [*known, "short"]) == "; there are short, ..."
    assert time.process_time() - began < 10


@pytest.mark.slow
def test_many_names_are_not_compared_for_ever():
    known = [f"{i:05}{'abcdefgh' * 11}" for i in range(200_000)]
    began = time.process_time()
    assert suggest("hgfedcba" * 12, known).startswith("; there are 00000abc")
    assert time.process_time() - began < 30


def test_no_name_is_known():
    assert suggest("x", []) == "; none exist"


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EIO, "; repair the disk and try again"),
        (errno.ENOSPC, "; free some space and try again"),
        (errno.EACCES, ""),
    ],
)
def test_failures_of_a_disk_name_their_remedy(number: int, remedy: str) -> None:
    assert explain_failure(OSError(number, os.strerror(number))) == os.strerror(number) + remedy


@pytest.mark.parametrize(
    ("number", "kind", "problem"),
    [
        (
            errno.ENOSPC,
            FullDiskError,
            "a: the disk is full (No space left on device); committed data is safe: free some "
            "space and try again",
        ),
        (
            errno.EDQUOT,
            FullDiskError,
            "a: the disk is full (Disk quota exceeded); committed data is safe: free some space "
            "and try again",
        ),
        (
            errno.EIO,
            DiskError,
            "a: cannot be written: Input/output error; committed data is safe: repair the disk "
            "and try again",
        ),
        (
            errno.EACCES,
            StoreError,
            "a: cannot be written: Permission denied; committed data is safe: correct this and "
            "try again",
        ),
    ],
)
def test_writes_that_fail_name_cause_and_remedy(
    number: int, kind: type[StoreError], problem: str
) -> None:
    with pytest.raises(StoreError) as caught, write_errors("a"):
        raise OSError(number, os.strerror(number))
    assert type(caught.value) is kind
    assert str(caught.value) == problem
