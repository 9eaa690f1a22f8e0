from __future__ import annotations

import difflib
import errno
import os

import pytest

from tracehouse.warehouse.errors import (
    DiskError,
    FullDiskError,
    StoreError,
    explain_failure,
    suggest,
    write_errors,
)


@pytest.fixture
def compared(monkeypatch):
    """The names that are compared, letter by letter."""
    names = []

    def compare(name, others, n):
        names.extend([name] * bool(others))
        names.extend(others)
        return []

    monkeypatch.setattr(difflib, "get_close_matches", compare)
    return names


def test_long_names_are_not_compared(compared):
    known = [f"{i}" + "nm" * 500_000 for i in range(5)]
    assert suggest("mn" * 500_000, known) == ""
    assert suggest("mn" * 500_000, [*known, "short"]) == "; there are short, ..."
    assert suggest("name", [*known, "short"]) == "; there are short, ..."
    assert compared == ["name", "short"]


def test_only_some_of_many_names_are_compared(compared):
    known = [f"{i:05}{'abcdefgh' * 11}" for i in range(20_000)]
    assert suggest("hgfedcba" * 12, known).startswith("; there are 00000abc")
    assert 100 < len(compared) < 5_000


def test_a_suggestion_without_known_names_says_that_none_exist():
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
