"""Portable kernels and XNNPACK compute the same in the shipped pairs."""

from __future__ import annotations

import shutil

import pytest

from tests.tools.parity.gaps import GAPS, find_pairs, judge_pair


@pytest.mark.parametrize("model", find_pairs(GAPS))
def test_numeric_gap_pairs_match_the_inspectors(model):
    assert list(judge_pair(GAPS, model).faults) == []


def test_shipped_pairs_are_those_that_were_paired_wrongly_and_others():
    assert find_pairs(GAPS) == ["lnorm", "mha", "mish", "rms", "std"]


def test_values_of_other_weights_and_missing_pairs_are_found(tmp_path):
    shutil.copytree(GAPS / "mha_p", tmp_path / "mha_p")
    shutil.copytree(GAPS / "mha_x", tmp_path / "mha_x")
    buffer = tmp_path / "mha_x" / "run.debug.bin"
    buffer.write_bytes(bytes(len(buffer.read_bytes())))
    found = judge_pair(tmp_path, "mha")
    assert any("of handle 27 are 0.0 dB apart" in fault for fault in found.faults)
    shutil.copytree(GAPS / "rms_p", tmp_path / "std_p")
    shutil.copytree(GAPS / "rms_x", tmp_path / "std_x")
    assert list(judge_pair(tmp_path, "std").faults) == ["std: 1 pairs, wanted 2 as the Inspector"]
