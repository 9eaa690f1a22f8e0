from __future__ import annotations

import errno
import os
import time

import pytest

from warehouse.errors import explain_failure, suggest


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
