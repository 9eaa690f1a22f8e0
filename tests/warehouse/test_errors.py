from __future__ import annotations

import time

import pytest

from warehouse.errors import suggest


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
